// SPDX-License-Identifier: Apache-2.0
// fmt (compiled in base/fmt.cc) and the ways to make an Error with numbers in it.
#pragma once

#include <fmt/format.h>

#include "wick/error.h"

namespace wick {

// fail(ErrorCode::Malformed, offset, "entry count {} exceeds the {} bytes left", count, left)
template <class... Args>
Error fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error(code, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
Error fail_at(ErrorCode code, std::uint64_t offset, fmt::format_string<Args...> text, Args&&... args) {
  return Error(code, fmt::format(text, std::forward<Args>(args)...)).at(offset);
}

}  // namespace wick
