// SPDX-License-Identifier: Apache-2.0
// UTF-8 after Unicode table 3-7, Python's repr after Objects/unicodeobject.c and bytesobject.c (unicode_repr,
// PyBytes_Repr).
#include "base/text.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/format.h"

namespace wick {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// One step through a text: a code point, or the bytes of one maximal bad sequence.
struct Step {
  std::uint32_t code = 0;
  std::size_t length = 1;
  bool good = false;
};

std::uint8_t byte_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

// Bytes that follow a lead byte, and the range the first of them must lie in (Unicode 15, table 3-7).
struct Lead {
  std::size_t following;
  std::uint8_t low;
  std::uint8_t high;
};

constexpr Lead lead_of(std::uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};  // what lies above would be a surrogate
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

Step step_at(std::string_view text, std::size_t at) {
  const std::uint8_t first = byte_at(text, at);
  if (first < 0x80) return {first, 1, true};
  const Lead lead = lead_of(first);
  if (lead.following == 0) return {};
  std::uint32_t code = first & (0x3FU >> lead.following);
  for (std::size_t i = 1; i <= lead.following; ++i) {
    if (at + i >= text.size()) return {0, i, false};
    const std::uint8_t next = byte_at(text, at + i);
    const std::uint8_t low = i == 1 ? lead.low : std::uint8_t{0x80};
    const std::uint8_t high = i == 1 ? lead.high : std::uint8_t{0xBF};
    if (next < low || next > high) return {0, i, false};
    code = (code << 6U) | (next & 0x3FU);
  }
  return {code, lead.following + 1, true};
}

// A surrogate written as three bytes (CPython's surrogatepass): pickles hold strings with such.
bool surrogate_at(std::string_view text, std::size_t at, std::uint32_t& code) {
  if (text.size() - at < 3 || byte_at(text, at) != 0xED) return false;
  const std::uint8_t second = byte_at(text, at + 1);
  const std::uint8_t third = byte_at(text, at + 2);
  if (second < 0xA0 || second > 0xBF || third < 0x80 || third > 0xBF) return false;
  code = 0xD000U | (static_cast<std::uint32_t>(second & 0x3FU) << 6U) | (third & 0x3FU);
  return true;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
constexpr Range kUnprintable[] = {
#define WICK_UNPRINTABLE(first, last) {first, last},
#include "base/unprintable.def"
#undef WICK_UNPRINTABLE
};

bool is_printable(std::uint32_t code) {
  if (code >= 0x20 && code < 0x7F) return true;
  const auto* range = std::upper_bound(std::begin(kUnprintable), std::end(kUnprintable), code,
                                       [](std::uint32_t value, const Range& r) { return value < r.first; });
  return range == std::begin(kUnprintable) || code > std::prev(range)->last;
}

constexpr std::string_view kHex = "0123456789abcdef";

void append_hex(std::string& out, std::uint32_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    out += kHex[(value >> static_cast<unsigned>(shift)) & 0xFU];
}

void append_code_escape(std::string& out, std::uint32_t code) {
  if (code == '\n' || code == '\r' || code == '\t') {
    out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    return;
  }
  const int digits = code <= 0xFF ? 2 : code <= 0xFFFF ? 4 : 8;
  out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  append_hex(out, code, digits);
}

char python_quote_mark(std::string_view text) {
  return text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const Step step = step_at(bytes, at);
    if (!step.good) return false;
    at += step.length;
  }
  return true;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Step step = step_at(bytes, at);
    out += step.good ? bytes.substr(at, step.length) : kReplacement;
    at += step.length;
  }
  return out;
}

std::string escape_for_display(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Step step = step_at(bytes, at);
    if (!step.good) {
      for (std::size_t i = 0; i < step.length; ++i) {
        out += "\\x";
        append_hex(out, byte_at(bytes, at + i), 2);
      }
    } else if (is_printable(step.code)) {
      out += bytes.substr(at, step.length);
    } else if (step.code >= 0x80 && step.code <= 0xFF) {
      out += "\\u";  // \x is for bytes: a C1 control is a code point of two bytes
      append_hex(out, step.code, 4);
    } else {
      append_code_escape(out, step.code);
    }
    at += step.length;
  }
  return out;
}

std::string python_quote(std::string_view utf8) {
  const char mark = python_quote_mark(utf8);
  std::string out(1, mark);
  out.reserve(utf8.size() + 2);
  for (std::size_t at = 0; at < utf8.size();) {
    const Step step = step_at(utf8, at);
    std::uint32_t surrogate = 0;
    if (!step.good && surrogate_at(utf8, at, surrogate)) {
      append_code_escape(out, surrogate);
      at += 3;
      continue;
    }
    if (!step.good) {
      append_code_escape(out, 0xDC00U + byte_at(utf8, at));  // as Python's surrogateescape would carry the byte
      at += 1;
      continue;
    }
    if (step.code == '\\' || step.code == static_cast<std::uint8_t>(mark)) out += '\\';
    if (is_printable(step.code))
      out += utf8.substr(at, step.length);
    else
      append_code_escape(out, step.code);
    at += step.length;
  }
  return out += mark;
}

std::string python_quote_bytes(std::string_view bytes) {
  const char mark = python_quote_mark(bytes);
  std::string out = "b";
  out += mark;
  out.reserve(bytes.size() + 3);
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '\\' || c == mark) out += '\\';
    if (byte >= 0x20 && byte < 0x7F)
      out += c;
    else
      append_code_escape(out, byte);
  }
  return out += mark;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = static_cast<std::uint32_t>(byte_at(bytes, at)) << 16U;
    if (here > 1) group |= static_cast<std::uint32_t>(byte_at(bytes, at + 1)) << 8U;
    if (here > 2) group |= byte_at(bytes, at + 2);
    for (std::size_t i = 0; i < 4; ++i)
      out += i <= here ? kAlphabet[(group >> (18U - 6U * static_cast<unsigned>(i))) & 0x3FU] : '=';
  }
  return out;
}

namespace {
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
}  // namespace

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string with_commas(std::uint64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array<std::string_view, 6> kUnits{"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {  // 999.5 would be shown with four digits
    value /= 1000;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

}  // namespace wick
