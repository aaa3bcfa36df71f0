// SPDX-License-Identifier: Apache-2.0
// The arguments that protocol 0 writes as text. Source: CPython's Modules/_pickle.c and what it calls (strtol,
// PyLong_FromString, PyOS_string_to_double, PyBytes_DecodeEscape, PyUnicode_DecodeRawUnicodeEscape).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/format.h"

namespace wick::pickle {

struct IntLine {
  bool is_bool = false;  // 00, 01
  bool small = true;     // `value` holds it, else `bytes`
  std::int64_t value = 0;
  std::string bytes;  // minimal two's complement
};

// INT: "12", "-3", "0x1f", "00" and "01" for the booleans.
Result<IntLine> parse_int_line(std::string_view line);
// LONG: the same without booleans, with an optional L at the end.
Result<IntLine> parse_long_line(std::string_view line);
// PUT and GET: a memo slot.
Result<std::uint64_t> parse_slot_line(std::string_view line);
Result<double> parse_float_line(std::string_view line);
// STRING: the bytes between the quotes, escapes resolved.
Result<std::string> parse_quoted_line(std::string_view line);
// A line as Python's codecs.escape_decode reads it: what pickletools makes of GLOBAL, INST and PERSID.
Result<std::string> decode_escapes(std::string_view text);
// UNICODE: UTF-8, lone surrogates as three bytes.
Result<std::string> parse_unicode_line(std::string_view line);

}  // namespace wick::pickle
