// SPDX-License-Identifier: Apache-2.0
#include "base/python_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wick {
namespace {

// CPython's float_repr_style: exponent form below 1e-4 and from 1e16 on (Objects/floatobject.c, format code 'r').
constexpr int kFirstExponentForm = 16;
constexpr int kLastSmallFixed = -4;

std::string fixed_form(std::string_view digits, int exponent) {
  const auto count = static_cast<int>(digits.size());
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + std::string(digits);
  if (exponent + 1 >= count)
    return std::string(digits) + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  const auto point = static_cast<std::size_t>(exponent + 1);
  return std::string(digits.substr(0, point)) + "." + std::string(digits.substr(point));
}

std::string exponent_form(std::string_view digits, int exponent) {
  std::string text(digits.substr(0, 1));
  if (digits.size() > 1) text += "." + std::string(digits.substr(1));
  const std::string magnitude = std::to_string(std::abs(exponent));
  return text + (exponent < 0 ? "e-" : "e+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
}

}  // namespace

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::fabs(value), std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, e));
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  int exponent = 0;
  const std::string_view power = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  const bool fixed = exponent >= kLastSmallFixed && exponent < kFirstExponentForm;
  return (std::signbit(value) ? "-" : "") + (fixed ? fixed_form(digits, exponent) : exponent_form(digits, exponent));
}

std::string python_big_integer(std::string_view twos_complement) {
  if (twos_complement.empty()) return "0";
  const bool negative = (static_cast<unsigned char>(twos_complement.back()) & 0x80U) != 0;
  // Base 2^32 magnitude, then repeated division by 10^9: quadratic, so limits bound what reaches here.
  std::vector<std::uint32_t> words((twos_complement.size() + 3) / 4, 0);
  std::uint32_t carry = negative ? 1 : 0;
  for (std::size_t i = 0; i < words.size() * 4; ++i) {
    const bool present = i < twos_complement.size();
    std::uint32_t byte = present ? static_cast<unsigned char>(twos_complement[i]) : (negative ? 0xFFU : 0U);
    if (negative) {
      byte = (~byte & 0xFFU) + carry;
      carry = byte >> 8U;
      byte &= 0xFFU;
    }
    words[i / 4] |= byte << (8 * (i % 4));
  }
  std::string reversed;
  while (!words.empty()) {
    std::uint64_t remainder = 0;
    for (std::size_t i = words.size(); i-- > 0;) {
      const std::uint64_t part = remainder << 32U | words[i];
      words[i] = static_cast<std::uint32_t>(part / 1'000'000'000U);
      remainder = part % 1'000'000'000U;
    }
    while (!words.empty() && words.back() == 0) words.pop_back();
    for (int digit = 0; digit < 9 && (!words.empty() || remainder != 0); ++digit, remainder /= 10)
      reversed += static_cast<char>('0' + remainder % 10);
  }
  if (reversed.empty()) return "0";
  if (negative) reversed += '-';
  return {reversed.rbegin(), reversed.rend()};
}

}  // namespace wick
