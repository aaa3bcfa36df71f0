// SPDX-License-Identifier: Apache-2.0
// The handlers of globals.def and what they share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/contents.h"
#include "pickle/arena.h"

namespace wick::python {

using Arguments = std::span<const pickle::Value>;

// Each handler looks at one object made of `args` and records what it is; false when the arguments are not those it
// knows, and the object stays what it was.
#define WICK_PYTHON_GLOBAL(module, name, handler) \
  bool handler(checkpoint::Contents& contents, pickle::Value object, Arguments args);
#include "python/globals.def"
#undef WICK_PYTHON_GLOBAL

// Protocols 0 to 2 write bytes as objects, and those in a state are made after the object whose state it is: gives
// `value` its meaning now when it is such bytes, and nothing else (so nothing nests).
void give_meaning_to_bytes(checkpoint::Contents& contents, pickle::Value value);
// The bytes of a Bytes, ByteArray or Python 2 string, also one that was made by _codecs.encode.
std::optional<std::string_view> bytes_of(const checkpoint::Contents& contents, pickle::Value value);
// The same as a Bytes value.
pickle::Value bytes_value(const checkpoint::Contents& contents, pickle::Value value);
std::optional<std::string_view> text_of(const checkpoint::Contents& contents, pickle::Value value);
std::optional<std::int64_t> int_of(const checkpoint::Contents& contents, pickle::Value value);
// Python's repr of a complex number.
std::string complex_text(double real, double imaginary);
// Code points up to 255 of UTF-8 as bytes; nothing when there are others.
std::optional<std::string> latin1_of(std::string_view utf8);

}  // namespace wick::python
