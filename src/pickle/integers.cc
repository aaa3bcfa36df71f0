// SPDX-License-Identifier: Apache-2.0
#include "pickle/integers.h"

#include <vector>

#include "base/cursor.h"

namespace wick::pickle {

namespace {

using Limbs = std::vector<std::uint32_t>;  // least significant first

unsigned digit_of(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a') + 10;
  return static_cast<unsigned>(digit - 'A') + 10;
}

void multiply_add(Limbs& limbs, std::uint32_t factor, std::uint32_t addend) {
  std::uint64_t carry = addend;
  for (auto& limb : limbs) {
    carry += std::uint64_t{limb} * factor;
    limb = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) limbs.push_back(static_cast<std::uint32_t>(carry));
}

void negate(std::string& bytes) {
  unsigned carry = 1;
  for (auto& byte : bytes) {
    const unsigned flipped = (static_cast<unsigned>(static_cast<unsigned char>(byte)) ^ 0xFFU) + carry;
    byte = static_cast<char>(flipped & 0xFFU);
    carry = flipped >> 8;
  }
}

bool is_negative(std::string_view bytes) { return !bytes.empty() && static_cast<unsigned char>(bytes.back()) >= 0x80; }

std::string minimal(std::string bytes) {
  bytes.resize(minimal_twos_complement(as_bytes_of(bytes)).size());
  return bytes;
}

}  // namespace

std::string_view minimal_twos_complement(std::span<const std::byte> bytes) {
  std::string_view text = as_text(bytes);
  const char fill = is_negative(text) ? '\xFF' : '\0';
  while (!text.empty() && text.back() == fill) {
    const std::string_view shorter = text.substr(0, text.size() - 1);
    if (is_negative(shorter) != (fill != '\0')) break;
    text = shorter;
  }
  return text;
}

std::int64_t int64_from_twos_complement(std::string_view bytes) {
  std::uint64_t value = is_negative(bytes) ? ~std::uint64_t{0} : 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(value);
}

std::string twos_complement_of(std::int64_t value) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xFFU));
  return minimal(std::move(bytes));
}

std::string twos_complement_of(std::string_view digits, unsigned base, bool negative) {
  Limbs limbs;
  for (std::size_t i = 0; i < digits.size();) {
    std::uint32_t factor = 1;
    std::uint32_t part = 0;
    for (; i < digits.size() && factor <= 10'000'000; ++i) {  // factor and part stay below 2^32
      part = part * base + digit_of(digits[i]);
      factor *= base;
    }
    multiply_add(limbs, factor, part);
  }
  std::string bytes;
  for (const std::uint32_t limb : limbs)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(limb >> shift & 0xFFU));
  bytes.push_back('\0');
  if (negative) negate(bytes);
  return minimal(std::move(bytes));
}

}  // namespace wick::pickle
