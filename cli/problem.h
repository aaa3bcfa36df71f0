// SPDX-License-Identifier: Apache-2.0
// How a failure is told: the sentence on stderr and the wick.error/1 object, and which exit code it means.
#pragma once

#include <string>
#include <string_view>

#include "wick/error.h"

namespace wick::cli {

class JsonWriter;

inline constexpr int kExitYes = 0;
inline constexpr int kExitNo = 1;      // a negative answer: nothing matched
inline constexpr int kExitFailed = 2;  // could not do it
inline constexpr int kExitUsage = 64;  // the command line is wrong

// A command line that is wrong: its slug is "usage".
Error usage_error(std::string message, std::string_view next = {});
bool is_usage(const Error& error);

// "wick: a.pt::archive/data.pkl @0x1f: message" and the next step below it, escaped, each ended by a newline. `input`
// is what the user typed; it stands first when the error does not begin with it.
std::string describe(const Error& error, std::string_view input);

// "error": {"code", "class", "message", "where", "offset", "next"} into an object that is open.
void write_error(JsonWriter& json, const Error& error);

}  // namespace wick::cli
