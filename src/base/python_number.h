// SPDX-License-Identifier: Apache-2.0
// Numbers as Python's repr() writes them.
#pragma once

#include <string>
#include <string_view>

namespace wick {

// Shortest digits that round-trip, in Python's layout: "0.1", "1e-05", "1e+16", "inf", "-0.0", "nan".
std::string python_float(double value);

// Decimal digits of an integer of any size from two's complement little-endian bytes; "0" when empty.
std::string python_big_integer(std::string_view twos_complement);

}  // namespace wick
