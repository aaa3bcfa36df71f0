// SPDX-License-Identifier: Apache-2.0
// Strides followed: elements of a strided view copied to C order, and the conj and neg bits resolved in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wick/dtype.h"

namespace wick::tensor {

// True when walking `sizes` in C order touches consecutive elements (dimensions of size 1 may have any stride).
bool is_contiguous(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

// Elements from the first to one past the last a view touches, its offset not counted; 0 when a size is 0. The caller
// has checked that nothing overflows.
std::uint64_t extent(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

// Copies every element in C order. `from` holds the extent of the view, `into` numel * item bytes.
void gather(std::span<const std::byte> from, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
            std::uint32_t item, std::span<std::byte> into);

// The same for elements of 2, 4 or 6 bits, packed flat from the low bits up; element i of `from` begins at bit i *
// bits. `first` is the offset in elements of the view's first element in `from`. Spare bits at the end of `into` are 0.
void gather_bits(std::span<const std::byte> from, std::uint64_t first, std::span<const std::int64_t> sizes,
                 std::span<const std::int64_t> strides, std::uint32_t bits, std::span<std::byte> into);

// conj: turns the sign of every imaginary part. neg: of every component. Little-endian elements of `dtype`; both may
// hold.
void resolve_math_bits(std::span<std::byte> elements, DType dtype, bool conj, bool neg);

}  // namespace wick::tensor
