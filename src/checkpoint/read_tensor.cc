// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/read_tensor.h"

#include <algorithm>

#include "base/checked.h"
#include "tensor/gather.h"

namespace wick::checkpoint {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20U;

// What reading a strided row needs, checked once.
struct Plan {
  tensor::StoragePtr storage;
  std::uint64_t elements = 0;
  std::uint64_t packed = 0;  // bytes of the result
  std::uint32_t item = 0;    // bytes of one element; 0 for sub-byte types
  std::uint32_t bits = 0;    // of one element of a sub-byte type
  std::uint64_t first = 0;   // byte of the first element (whole-byte types)
  bool contiguous = false;
};

std::uint32_t item_bytes(const Contents& contents, const TensorRow& row) {
  if (row.dtype == DType::NumpyOther) return row.more == kNone ? 0 : contents.more[row.more].item_bytes;
  const DTypeFacts& facts = facts_of(row.dtype);
  return facts.block_elements == 1 ? facts.block_bytes : 0;
}

Result<Plan> plan_for(const Contents& contents, std::uint32_t tensor) {
  const TensorRow& row = contents.tensors[tensor];
  if (const Error* error = contents.error_of(row)) return *error;
  if (row.layout != Layout::Strided && row.layout != Layout::Storage)
    return fail(ErrorCode::Unsupported, "a {} tensor has no elements of its own; read its parts", name_of(row.layout));
  if (row.is_meta) return Error(ErrorCode::Unsupported, "a meta tensor has no values: none were saved");
  const auto elements = contents.numel(row);
  if (!elements) return Error(ErrorCode::Malformed, "the product of its sizes overflows");
  Plan plan;
  plan.elements = *elements;
  plan.packed = contents.tensor_bytes(row);
  plan.item = item_bytes(contents, row);
  plan.bits = plan.item == 0 ? facts_of(row.dtype).bits : 0;
  plan.contiguous = tensor::is_contiguous(contents.sizes(row), contents.strides(row));
  WICK_TRY(plan.first, checked_mul(row.offset, plan.item, "tensor offset"));
  if (*elements == 0) {
    plan.storage = tensor::owned_storage({});
    plan.first = 0;
    return plan;
  }
  WICK_TRY(plan.storage, open_storage(contents, tensor));
  return plan;
}

// GGUF blocks and other types whose unit is no element: stored in order from the storage's start.
bool is_block_type(const Plan& plan) { return plan.item == 0 && plan.bits == 0; }

Result<std::vector<std::byte>> read_strided(const Contents& contents, const TensorRow& row, const Plan& plan) {
  const auto sizes = contents.sizes(row);
  const auto strides = contents.strides(row);
  const std::uint64_t reached = tensor::extent(sizes, strides);
  WICK_TRY(const std::uint64_t bytes, checked_mul(reached, plan.item, "tensor extent"));
  WICK_CHECK(check_memory(contents.limits, bytes, "this strided tensor"));
  std::vector<std::byte> from(static_cast<std::size_t>(bytes));
  WICK_CHECK(plan.storage->read(plan.first, from));
  std::vector<std::byte> into(static_cast<std::size_t>(plan.packed));
  tensor::gather(from, sizes, strides, plan.item, into);
  return into;
}

Result<std::vector<std::byte>> read_bits(const Contents& contents, const TensorRow& row, const Plan& plan) {
  const auto sizes = contents.sizes(row);
  const auto strides = contents.strides(row);
  WICK_TRY(const std::uint64_t reached, checked_add(row.offset, tensor::extent(sizes, strides), "tensor extent"));
  WICK_TRY(const std::uint64_t bits, checked_mul(reached, plan.bits, "tensor extent"));
  WICK_CHECK(check_memory(contents.limits, bits / 8, "this packed tensor"));
  std::vector<std::byte> from(static_cast<std::size_t>(bits / 8 + (bits % 8 != 0 ? 1 : 0)));
  WICK_CHECK(plan.storage->read(0, from));
  std::vector<std::byte> into(static_cast<std::size_t>(plan.packed));
  tensor::gather_bits(from, row.offset, sizes, strides, plan.bits, into);
  return into;
}

Result<std::vector<std::byte>> read_planned(const Contents& contents, const TensorRow& row, const Plan& plan) {
  WICK_CHECK(check_memory(contents.limits, plan.packed, "this tensor"));
  if (plan.elements == 0) return std::vector<std::byte>();
  if (plan.bits != 0) return read_bits(contents, row, plan);
  if (!plan.contiguous && !is_block_type(plan)) {
    WICK_TRY(auto elements, read_strided(contents, row, plan));
    tensor::resolve_math_bits(elements, row.dtype, row.conj, row.neg);
    return elements;
  }
  std::vector<std::byte> elements(static_cast<std::size_t>(plan.packed));
  WICK_CHECK(plan.storage->read(plan.first, elements));
  tensor::resolve_math_bits(elements, row.dtype, row.conj, row.neg);
  return elements;
}

}  // namespace

Result<tensor::StoragePtr> open_storage(const Contents& contents, std::uint32_t tensor) {
  const TensorRow& row = contents.tensors[tensor];
  if (const Error* error = contents.error_of(row)) return *error;
  if (row.storage == kNone) return Error(ErrorCode::Unsupported, "it has no storage of its own");
  const StorageRow& storage = contents.storages[row.storage];
  if (storage.bytes == 0 && storage.declared != 0)  // traced_inputs.pkl of TorchScript
    return fail(ErrorCode::Unsupported, "its record is empty, as torch writes it here: the {} bytes were never saved",
                storage.declared);
  if (storage.opener == kNone) return Error(ErrorCode::NotFound, "its storage has no bytes in the file");
  WICK_TRY(auto opened, contents.openers[storage.opener]->open(storage.entry));
  if (!storage.swapped) return opened;
  return tensor::swapped_storage(std::move(opened), facts_of(row.dtype).component);
}

Result<std::vector<std::byte>> read_elements(const Contents& contents, std::uint32_t tensor) {
  WICK_TRY(const Plan plan, plan_for(contents, tensor));
  return read_planned(contents, contents.tensors[tensor], plan);
}

Result<void> stream_elements(const Contents& contents, std::uint32_t tensor,
                             const std::function<Result<void>(std::span<const std::byte>)>& take) {
  const TensorRow& row = contents.tensors[tensor];
  WICK_TRY(const Plan plan, plan_for(contents, tensor));
  const bool plain = (plan.contiguous || is_block_type(plan)) && plan.bits == 0;
  if (!plain || !plan.storage->ranges_are_cheap() || plan.packed <= kChunk) {
    WICK_TRY(const auto elements, read_planned(contents, row, plan));
    return take(elements);
  }
  std::vector<std::byte> chunk(kChunk);  // a power of two, so no component is split
  for (std::uint64_t at = 0; at < plan.packed; at += chunk.size()) {
    const auto part =
        std::span(chunk).first(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, plan.packed - at)));
    WICK_CHECK(plan.storage->read(plan.first + at, part));
    tensor::resolve_math_bits(part, row.dtype, row.conj, row.neg);
    WICK_CHECK(take(part));
  }
  return {};
}

Result<ByteView> view_elements(const Contents& contents, std::uint32_t tensor) {
  const TensorRow& row = contents.tensors[tensor];
  if (row.conj || row.neg)
    return Error(ErrorCode::Unsupported, "its conjugate or negative bit is set: the values differ from the bytes");
  WICK_TRY(const Plan plan, plan_for(contents, tensor));
  if (plan.bits != 0 || (!plan.contiguous && !is_block_type(plan)))
    return Error(ErrorCode::Unsupported, "its elements do not lie in C order");
  WICK_TRY(auto view, plan.storage->view(plan.first, plan.packed));
  return view;
}

}  // namespace wick::checkpoint
