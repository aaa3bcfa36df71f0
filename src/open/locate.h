// SPDX-License-Identifier: Apache-2.0
// A place in the object tree by the way people write it: "state_dict.fc.weight", "model.0",
// "optimizer.param_groups[0].lr".
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/contents.h"

namespace wick::open_detail {

struct Located {
  pickle::Value value;  // resolved
  std::uint32_t section = 0;
};

// Follows `path` down from `from`. Keys may hold dots themselves: the longest key that fits is tried first, then
// shorter ones; the module steps (_parameters ...) may be left out or written. "" is `from` itself. NotFound tells how
// far it got and what is there.
Result<pickle::Value> locate(const checkpoint::Contents& contents, pickle::Value from, std::string_view path);

// The same from the file's sections: the main one first, "constants.pkl:0" in another.
Result<Located> locate_in(const checkpoint::Contents& contents, std::string_view path);

// Up to `count` keys of `value`, quoted, for error messages.
std::string some_keys(const checkpoint::Contents& contents, pickle::Value value, std::size_t count = 6);

}  // namespace wick::open_detail
