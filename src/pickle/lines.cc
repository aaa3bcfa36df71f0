// SPDX-License-Identifier: Apache-2.0
#include "pickle/lines.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/cursor.h"
#include "base/text.h"
#include "base/try.h"
#include "pickle/integers.h"

namespace wick::pickle {

namespace {

// Turning digits into an integer takes time with the square of their number; CPython stops at 4,300 for that reason.
constexpr std::size_t kMaxDigits = 20'000;
constexpr std::size_t kShown = 40;  // characters of a bad line in its message

std::string shown(std::string_view line) {
  return escape_for_display(line.substr(0, kShown)) + (line.size() > kShown ? "..." : "");
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool all_digits(std::string_view digits, unsigned base) {
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), [base](char c) {
    const int digit = hex_digit(c);
    return digit >= 0 && static_cast<unsigned>(digit) < base;
  });
}

// Base 0 of strtol and PyLong_FromString: 0x, 0o and 0b prefixes, and strtol's octal after a plain zero.
unsigned take_base(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char mark = static_cast<char>(digits[1] | 0x20);
  const unsigned base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (base == 0) return 8;
  digits.remove_prefix(2);
  return base;
}

Result<IntLine> parse_integer(std::string_view line, std::string_view what) {
  std::string_view digits = trim(line);
  const bool negative = !digits.empty() && digits[0] == '-';
  if (negative || (!digits.empty() && digits[0] == '+')) digits.remove_prefix(1);
  const unsigned base = take_base(digits);
  if (!all_digits(digits, base)) return fail(ErrorCode::Malformed, "{} is not an integer: '{}'", what, shown(line));
  if (digits.size() > kMaxDigits)
    return fail(ErrorCode::Limit, "{} has {} digits, {} are read", what, digits.size(), kMaxDigits);
  IntLine parsed;
  const std::string signed_digits = (negative ? "-" : "") + std::string(digits);
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [stop, status] = std::from_chars(signed_digits.data(), end, parsed.value, static_cast<int>(base));
  if (status == std::errc() && stop == end) return parsed;
  parsed.small = false;
  parsed.bytes = twos_complement_of(digits, base, negative);
  return parsed;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0U | point >> 6);
  } else if (point < 0x10000) {
    put(0xE0U | point >> 12);
    put(0x80U | (point >> 6 & 0x3FU));
  } else {
    put(0xF0U | point >> 18);
    put(0x80U | (point >> 12 & 0x3FU));
    put(0x80U | (point >> 6 & 0x3FU));
  }
  put(0x80U | (point & 0x3FU));
}

// `count` hexadecimal digits from `at` on; nothing when there are fewer.
std::optional<std::uint32_t> read_hex(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() - at < count) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    value = value << 4 | static_cast<std::uint32_t>(digit);
  }
  return value;
}

// What a backslash and one letter mean in a bytes literal, or 0.
char simple_escape(char letter) {
  switch (letter) {
    case '\\':
    case '\'':
    case '"': return letter;
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return '\0';
  }
}

// One to three octal digits; more than 0377 wraps, as CPython does.
char read_octal(std::string_view text, std::size_t& at) {
  unsigned value = 0;
  for (int i = 0; i < 3 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++i, ++at)
    value = value * 8 + static_cast<unsigned>(text[at] - '0');
  return static_cast<char>(value & 0xFFU);
}

}  // namespace

// PyBytes_DecodeEscape.
Result<std::string> decode_escapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out.push_back(text[at++]);
      continue;
    }
    if (++at == text.size()) return fail(ErrorCode::Malformed, "the text ends with a lone backslash");
    const char letter = text[at];
    if (const char plain = simple_escape(letter); plain != '\0') {
      out.push_back(plain);
      ++at;
    } else if (letter >= '0' && letter <= '7') {
      out.push_back(read_octal(text, at));
    } else if (letter == 'x') {
      const auto byte = read_hex(text, at + 1, 2);
      if (!byte) return fail(ErrorCode::Malformed, "the text has \\x without two hexadecimal digits");
      out.push_back(static_cast<char>(*byte));
      at += 3;
    } else {
      out.push_back('\\');  // an unknown escape stays as it is
    }
  }
  return out;
}

Result<IntLine> parse_int_line(std::string_view line) {
  // Python 2 wrote the booleans as 00 and 01.
  if (line == "00" || line == "01") return IntLine{true, true, line == "01" ? 1 : 0, {}};
  return parse_integer(line, "INT");
}

Result<IntLine> parse_long_line(std::string_view line) {
  if (!line.empty() && line.back() == 'L') line.remove_suffix(1);
  return parse_integer(line, "LONG");
}

Result<std::uint64_t> parse_slot_line(std::string_view line) {
  const std::string_view digits = trim(line);
  std::uint64_t slot = 0;
  const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), slot);
  if (status == std::errc() && stop == digits.data() + digits.size()) return slot;
  if (status == std::errc::result_out_of_range && all_digits(digits, 10))
    return std::numeric_limits<std::uint64_t>::max();
  return fail(ErrorCode::Malformed, "memo slot is not a number: '{}'", shown(line));
}

Result<double> parse_float_line(std::string_view line) {
  std::string_view digits = line;
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  double value = 0;
  const char* end = digits.data() + digits.size();
  const bool two_signs = digits.size() < line.size() && !digits.empty() && digits[0] == '-';
  const bool payload = digits.find('(') != std::string_view::npos;  // from_chars reads nan(...), Python does not
  const auto [stop, status] = std::from_chars(digits.data(), end, value);
  if (!two_signs && !payload && stop == end && status == std::errc()) return value;
  if (!two_signs && !payload && stop == end && status == std::errc::result_out_of_range) {
    // Too small becomes zero; too large is Python's OverflowError.
    const bool minus = digits[0] == '-';
    const bool small = digits.find("e-") != std::string_view::npos || digits.find("E-") != std::string_view::npos ||
                       digits.substr(minus ? 1 : 0, 1) == "0" || digits.substr(minus ? 1 : 0, 1) == ".";
    if (small) return minus ? -0.0 : 0.0;
    return fail(ErrorCode::Malformed, "FLOAT is beyond the range of a double: '{}'", shown(line));
  }
  return fail(ErrorCode::Malformed, "FLOAT is not a number: '{}'", shown(line));
}

Result<std::string> parse_quoted_line(std::string_view line) {
  const bool quoted = line.size() >= 2 && line.front() == line.back() && (line.front() == '\'' || line.front() == '"');
  if (!quoted) return fail(ErrorCode::Malformed, "STRING is not quoted: '{}'", shown(line));
  return decode_escapes(line.substr(1, line.size() - 2));
}

Result<std::string> parse_unicode_line(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    const auto byte = static_cast<unsigned char>(line[at++]);
    if (byte != '\\' || at == line.size()) {
      append_utf8(out, byte);
      continue;
    }
    const char letter = line[at];
    if (letter != 'u' && letter != 'U') {
      out.push_back('\\');
      append_utf8(out, static_cast<unsigned char>(line[at++]));
      continue;
    }
    const std::size_t count = letter == 'u' ? 4 : 8;
    const auto point = read_hex(line, at + 1, count);
    if (!point) return fail(ErrorCode::Malformed, "UNICODE has \\{} without {} hexadecimal digits", letter, count);
    if (*point > 0x10FFFF) return fail(ErrorCode::Malformed, "UNICODE has the code point {:#x}", *point);
    append_utf8(out, *point);
    at += 1 + count;
  }
  return out;
}

}  // namespace wick::pickle
