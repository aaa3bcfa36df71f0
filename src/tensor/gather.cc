// SPDX-License-Identifier: Apache-2.0
#include "tensor/gather.h"

#include <cstring>

namespace wick::tensor {
namespace {

bool is_complex(DType dtype) {
  return dtype == DType::Complex32 || dtype == DType::Complex64 || dtype == DType::Complex128;
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
    case DType::UInt8:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64: return true;
    default: return false;
  }
}

// Counts through `sizes` in C order and keeps the element offset that `strides` give.
class Odometer {
 public:
  Odometer(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides)
      : sizes_(sizes), strides_(strides), at_(sizes.size(), 0) {}
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  bool advance() {
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      offset_ += static_cast<std::uint64_t>(strides_[d]);
      if (++at_[d] < sizes_[d]) return true;
      offset_ -= static_cast<std::uint64_t>(strides_[d]) * static_cast<std::uint64_t>(sizes_[d]);
      at_[d] = 0;
    }
    return false;
  }

 private:
  std::span<const std::int64_t> sizes_;
  std::span<const std::int64_t> strides_;
  std::vector<std::int64_t> at_;
  std::uint64_t offset_ = 0;
};

bool is_empty(std::span<const std::int64_t> sizes) {
  for (const std::int64_t size : sizes)
    if (size == 0) return true;
  return false;
}

void negate(std::span<std::byte> component, bool integer) {
  if (!integer) {
    component.back() ^= std::byte{0x80};
    return;
  }
  unsigned carry = 1;  // two's complement: invert and add one
  for (std::byte& byte : component) {
    const unsigned sum = (~std::to_integer<unsigned>(byte) & 0xFFU) + carry;
    byte = static_cast<std::byte>(sum & 0xFFU);
    carry = sum >> 8U;
  }
}

}  // namespace

bool is_contiguous(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  if (is_empty(sizes)) return true;
  std::int64_t expected = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

std::uint64_t extent(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  std::uint64_t reached = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    reached += static_cast<std::uint64_t>(sizes[d] - 1) * static_cast<std::uint64_t>(strides[d]);
  }
  return reached;
}

void gather(std::span<const std::byte> from, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
            std::uint32_t item, std::span<std::byte> into) {
  if (is_empty(sizes)) return;
  // Trailing dimensions that lie in C order are copied as one run.
  std::size_t outer = sizes.size();
  std::int64_t run = 1;
  while (outer > 0 && (strides[outer - 1] == run || sizes[outer - 1] == 1)) run *= sizes[--outer];
  const std::size_t run_bytes = static_cast<std::size_t>(run) * item;
  Odometer odometer(sizes.first(outer), strides.first(outer));
  std::byte* out = into.data();
  do {
    std::memcpy(out, from.data() + odometer.offset() * item, run_bytes);
    out += run_bytes;
  } while (odometer.advance());
}

void gather_bits(std::span<const std::byte> from, std::uint64_t first, std::span<const std::int64_t> sizes,
                 std::span<const std::int64_t> strides, std::uint32_t bits, std::span<std::byte> into) {
  std::memset(into.data(), 0, into.size());
  if (is_empty(sizes)) return;
  Odometer odometer(sizes, strides);
  std::uint64_t out_bit = 0;
  do {
    const std::uint64_t in_bit = (first + odometer.offset()) * bits;
    for (std::uint32_t b = 0; b < bits; ++b) {
      const std::uint64_t source = in_bit + b;
      const unsigned bit = std::to_integer<unsigned>(from[source / 8]) >> (source % 8) & 1U;
      into[(out_bit + b) / 8] |= static_cast<std::byte>(bit << ((out_bit + b) % 8));
    }
    out_bit += bits;
  } while (odometer.advance());
}

void resolve_math_bits(std::span<std::byte> elements, DType dtype, bool conj, bool neg) {
  const std::uint32_t component = facts_of(dtype).component;
  if (component == 0 || (!conj && !neg)) return;
  const bool complex = is_complex(dtype);
  const bool integer = is_integer(dtype);
  bool imaginary = false;
  for (std::size_t at = 0; at + component <= elements.size(); at += component) {
    const bool turn = neg != (conj && complex && imaginary);
    if (turn) negate(elements.subspan(at, component), integer);
    imaginary = complex && !imaginary;
  }
}

}  // namespace wick::tensor
