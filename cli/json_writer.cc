// SPDX-License-Identifier: Apache-2.0
#include "json_writer.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include "base/format.h"
#include "base/text.h"

namespace wick::cli {
namespace {

constexpr std::int64_t kLargestExact = (std::int64_t{1} << 53) - 1;  // what every JSON reader keeps

// `utf8` between quotes; U+2028 and others are legal JSON and stay as they are.
void append_quoted(std::string& out, std::string_view utf8) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

bool is_plain_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

std::string_view name_of_special(double value) { return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"; }

// Shortest digits that read back as the same double; always with a point or an exponent, so that it stays a float.
template <class Float>
std::string shortest(Float value) {
  char digits[40];
  const auto [end, code] = std::to_chars(std::begin(digits), std::end(digits), value);
  (void)code;  // 40 characters hold every double
  std::string text(digits, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

void JsonWriter::comma() {
  if (needs_comma_) buffer_ += ',';
  needs_comma_ = true;
}

void JsonWriter::raw(std::string_view text) {
  comma();
  buffer_ += text;
}

JsonWriter& JsonWriter::open(char bracket) {
  comma();
  buffer_ += bracket;
  needs_comma_ = false;
  return *this;
}

void JsonWriter::close(char bracket) {
  buffer_ += bracket;
  needs_comma_ = true;
  spill();
}

JsonWriter& JsonWriter::key(std::string_view name) {
  comma();
  buffer_ += '"';
  buffer_ += name;
  buffer_ += "\":";
  needs_comma_ = false;
  return *this;
}

void JsonWriter::text_key(std::string_view bytes) {
  text(bytes);
  buffer_ += ':';
  needs_comma_ = false;
}

void JsonWriter::integer(std::int64_t value) {
  if (value > kLargestExact || value < -kLargestExact)
    raw(fmt::format("{{\"int\":\"{}\"}}", value));
  else
    raw(fmt::format_int(value).c_str());
}

void JsonWriter::natural(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(kLargestExact))
    raw(fmt::format("{{\"int\":\"{}\"}}", value));
  else
    raw(fmt::format_int(value).c_str());
}

void JsonWriter::real(double value) {
  if (std::isfinite(value))
    raw(shortest(value));
  else
    raw(fmt::format("{{\"float\":\"{}\"}}", name_of_special(value)));
}

void JsonWriter::element(double value) {
  if (std::isfinite(value))
    raw(shortest(value));
  else
    text(name_of_special(value));
  spill();
}

void JsonWriter::element(float value) {
  if (!std::isfinite(value)) return element(static_cast<double>(value));
  raw(shortest(value));
  spill();
}

void JsonWriter::element_integer(std::int64_t value) {
  if (value > kLargestExact || value < -kLargestExact)
    text(fmt::format_int(value).c_str());
  else
    raw(fmt::format_int(value).c_str());
  spill();
}

void JsonWriter::element_natural(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(kLargestExact))
    text(fmt::format_int(value).c_str());
  else
    raw(fmt::format_int(value).c_str());
  spill();
}

void JsonWriter::text(std::string_view bytes) {
  comma();
  if (is_plain_ascii(bytes) || is_utf8(bytes))
    append_quoted(buffer_, bytes);
  else
    append_quoted(buffer_, to_valid_utf8(bytes));
}

void JsonWriter::named_text(std::string_view name, std::string_view bytes) {
  key(name).text(bytes);
  if (is_plain_ascii(bytes) || is_utf8(bytes)) return;
  key(fmt::format("{}_b64", name)).text(base64(bytes));
}

void JsonWriter::digits(std::string_view number) { raw(number); }

void JsonWriter::end_line() {
  buffer_ += '\n';
  needs_comma_ = false;
  output_.text(buffer_);
  buffer_.clear();
}

// Long documents leave in parts.
void JsonWriter::spill() {
  if (buffer_.size() < 16 * 1024) return;
  output_.text(buffer_);
  buffer_.clear();
}

}  // namespace wick::cli
