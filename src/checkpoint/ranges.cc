// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/ranges.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace wick::checkpoint {

std::uint32_t RangeOpener::add(std::uint64_t offset, std::uint64_t length) {
  ranges_.push_back({offset, length});
  return static_cast<std::uint32_t>(ranges_.size() - 1);
}

Result<tensor::StoragePtr> RangeOpener::open(std::uint32_t entry) const {
  if (entry >= ranges_.size()) return fail(ErrorCode::Bug, "range {} of {} wanted", entry, ranges_.size());
  return tensor::range_storage(source_, ranges_[entry].offset, ranges_[entry].length);
}

Result<std::uint64_t> RangeOpener::file_offset(std::uint32_t entry) const {
  if (entry >= ranges_.size()) return fail(ErrorCode::Bug, "range {} of {} wanted", entry, ranges_.size());
  return ranges_[entry].offset;
}

namespace {

// The stride after one over a dimension of `size`: their product, saturated.
std::int64_t next_stride(std::int64_t stride, std::int64_t size) {
  std::int64_t product = 0;
  const std::int64_t factor = std::max<std::int64_t>(size, 1);
  if (__builtin_mul_overflow(stride, factor, &product)) return std::numeric_limits<std::int64_t>::max();
  return product;
}

}  // namespace

std::vector<std::int64_t> c_order_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = next_stride(stride, sizes[i]);
  }
  return strides;
}

std::vector<std::int64_t> fortran_order_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    strides[i] = stride;
    stride = next_stride(stride, sizes[i]);
  }
  return strides;
}

std::uint32_t add_packed_tensor(Contents& contents, DType dtype, std::span<const std::int64_t> sizes,
                                std::uint32_t storage) {
  TensorRow row;
  row.dtype = dtype;
  row.storage = storage;
  row.sizes = contents.dims.put(sizes);
  row.strides = contents.dims.put(c_order_strides(sizes));
  return contents.add_tensor(row);
}

std::uint32_t add_storage(Contents& contents, std::uint32_t opener, std::uint32_t entry, std::uint64_t bytes,
                          DType dtype) {
  StorageRow row;
  row.bytes = bytes;
  row.declared = bytes;
  row.opener = opener;
  row.entry = entry;
  row.dtype = dtype;
  contents.storages.push_back(row);
  return static_cast<std::uint32_t>(contents.storages.size() - 1);
}

pickle::Value tensor_leaf(Contents& contents, std::uint32_t tensor) {
  const pickle::Value leaf = pickle::Arena::leaf(tensor);
  contents.mean(leaf, {Meaning::What::Tensor, tensor});
  return leaf;
}

Result<std::uint64_t> packed_size(DType dtype, std::span<const std::int64_t> sizes) {
  std::uint64_t elements = 1;
  bool empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return fail(ErrorCode::Malformed, "size {} is negative", size);
    if (size == 0) empty = true;
  }
  for (const std::int64_t size : sizes) {
    // safetensors and torch multiply in order; a zero anywhere makes the whole product 0 and nothing overflows.
    if (empty) return std::uint64_t{0};
    WICK_TRY(elements, checked_mul(elements, static_cast<std::uint64_t>(size), "number of elements"));
  }
  const auto bytes = packed_bytes(dtype, elements);
  if (!bytes) return fail(ErrorCode::Malformed, "{} elements of {} overflow 64 bits", elements, name_of(dtype));
  return *bytes;
}

}  // namespace wick::checkpoint
