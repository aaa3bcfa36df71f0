// SPDX-License-Identifier: Apache-2.0
// Python's integers of any size as two's complement, least significant byte first, as LONG1 and LONG4 hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wick::pickle {

// Without the bytes that only repeat the sign; zero is no bytes at all.
std::string_view minimal_twos_complement(std::span<const std::byte> bytes);
// Of at most 8 bytes, sign-extended.
std::int64_t int64_from_twos_complement(std::string_view bytes);
// Minimal.
std::string twos_complement_of(std::int64_t value);
// `digits` in `base` (2, 8, 10, 16), all valid and without a sign, minimal. Time grows with the square: callers bound
// the length.
std::string twos_complement_of(std::string_view digits, unsigned base, bool negative);

}  // namespace wick::pickle
