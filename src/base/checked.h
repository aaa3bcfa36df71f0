// SPDX-License-Identifier: Apache-2.0
// Arithmetic on numbers that came from a file: it succeeds exactly or is an Error that names the quantity.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/format.h"
#include "base/try.h"

namespace wick {

inline Result<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return fail(ErrorCode::Malformed, "{} overflows: {} + {}", what, a, b);
  return sum;
}

inline Result<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return fail(ErrorCode::Malformed, "{} overflows: {} x {}", what, a, b);
  return product;
}

// The same value in a narrower type, or an Error.
template <class To, class From>
Result<To> checked_narrow(From value, std::string_view what) {
  if (!std::in_range<To>(value)) return fail(ErrorCode::Malformed, "{} {} is out of range", what, value);
  return static_cast<To>(value);
}

// True when [offset, offset+length) lies within `size` bytes; subtracts, so it cannot overflow.
constexpr bool lies_within(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace wick
