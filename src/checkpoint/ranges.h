// SPDX-License-Identifier: Apache-2.0
// Rows for formats whose tensors are ranges of one source (safetensors, GGUF, npy, flatbuffers): one opener for all of
// them, and tensors in C order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/contents.h"

namespace wick::checkpoint {

// Opens ranges of one source, which it keeps alive. Filled while reading, then never changed.
class RangeOpener final : public StorageOpener {
 public:
  explicit RangeOpener(io::SourcePtr source) : source_(std::move(source)) {}
  // The entry of a new range, which need not lie inside the source: open() says so then.
  std::uint32_t add(std::uint64_t offset, std::uint64_t length);
  void reserve(std::size_t count) { ranges_.reserve(count); }

  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override;
  [[nodiscard]] std::string member(std::uint32_t) const override { return {}; }
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t entry) const override;

 private:
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  io::SourcePtr source_;
  std::vector<Range> ranges_;
};

// Strides of a packed tensor in C order, as torch counts them (a size of 0 counts as 1). They saturate where they would
// overflow; such a tensor's element count overflows as well and check_bounds says so.
std::vector<std::int64_t> c_order_strides(std::span<const std::int64_t> sizes);
// The same with the first dimension innermost (Fortran order).
std::vector<std::int64_t> fortran_order_strides(std::span<const std::int64_t> sizes);

// A new tensor row in C order over the storage row `storage` (kNone: no bytes, the caller sets its error).
std::uint32_t add_packed_tensor(Contents& contents, DType dtype, std::span<const std::int64_t> sizes,
                                std::uint32_t storage);
// A new storage row over entry `entry` of opener `opener`.
std::uint32_t add_storage(Contents& contents, std::uint32_t opener, std::uint32_t entry, std::uint64_t bytes,
                          DType dtype);
// The value that stands for a tensor in the tree of a format without pickle.
pickle::Value tensor_leaf(Contents& contents, std::uint32_t tensor);

// Bytes of `sizes` elements of a dtype, with what is wrong as an Error: a negative size, a product that overflows.
Result<std::uint64_t> packed_size(DType dtype, std::span<const std::int64_t> sizes);

}  // namespace wick::checkpoint
