// SPDX-License-Identifier: Apache-2.0
// Text from files: is it UTF-8, how is it shown, how does it go into JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

// True for valid UTF-8 without surrogates.
bool is_utf8(std::string_view bytes);
// Valid UTF-8: every byte that is none becomes U+FFFD (one for each maximal bad sequence).
std::string to_valid_utf8(std::string_view bytes);
// Safe on a terminal, in one line: control characters, bidi controls and bytes that are no UTF-8 as \xNN, \n, \u202e
// ...; the rest as it is.
std::string escape_for_display(std::string_view bytes);
// Python's repr of a str: quotes chosen as Python does, escapes \n \t \\ \x.. \u....; printable Unicode as it is.
std::string python_quote(std::string_view utf8);
// Python's repr of bytes: b'..'.
std::string python_quote_bytes(std::string_view bytes);
std::string base64(std::string_view bytes);
// ASCII only, whatever the locale.
std::string to_lower(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
// 4,000,674
std::string with_commas(std::uint64_t number);
// 1.31 GB, 93.8 MB, 512 B: decimal units, three digits.
std::string human_bytes(std::uint64_t bytes);

}  // namespace wick
