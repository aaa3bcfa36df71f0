// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/contents.h"

#include <algorithm>

#include "base/checked.h"

namespace wick::checkpoint {

using pickle::Kind;
using pickle::Value;

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::Strided: return "strided";
    case Layout::SparseCoo: return "sparse_coo";
    case Layout::SparseCsr: return "sparse_csr";
    case Layout::SparseCsc: return "sparse_csc";
    case Layout::SparseBsr: return "sparse_bsr";
    case Layout::SparseBsc: return "sparse_bsc";
    case Layout::Nested: return "nested";
    case Layout::Jagged: return "jagged";
    case Layout::Mkldnn: return "mkldnn";
    case Layout::Storage: return "storage";
    case Layout::Wrapper: return "wrapper";
  }
  return "strided";
}

std::string_view name_of(Role role) {
  switch (role) {
    case Role::Unknown: return "";
    case Role::Parameter: return "parameter";
    case Role::Buffer: return "buffer";
    case Role::NonPersistent: return "non_persistent";
    case Role::Attribute: return "attribute";
    case Role::Optimizer: return "optimizer";
    case Role::Constant: return "constant";
    case Role::Storage: return "storage";
  }
  return "";
}

std::uint32_t DimPool::put(std::span<const std::int64_t> dims) {
  std::uint64_t hash = dims.size();
  for (const std::int64_t dim : dims)
    hash = (hash ^ static_cast<std::uint64_t>(dim)) * 0x9E3779B97F4A7C15U + (hash >> 29U);
  const auto [first, last] = known_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const auto there = get(known->second);
    if (std::equal(there.begin(), there.end(), dims.begin(), dims.end())) return known->second;
  }
  const auto index = static_cast<std::uint32_t>(words_.size());
  words_.push_back(static_cast<std::int64_t>(dims.size()));
  words_.insert(words_.end(), dims.begin(), dims.end());
  known_.emplace(hash, index);
  return index;
}

std::span<const std::int64_t> DimPool::get(std::uint32_t index) const {
  if (index == kNone) return {};
  return {words_.data() + index + 1, static_cast<std::size_t>(words_[index])};
}

// ---- meanings ----

namespace {

void put_at(std::vector<Meaning>& rows, std::uint64_t ordinal, Meaning meaning) {
  if (ordinal >= rows.size()) rows.resize(static_cast<std::size_t>(ordinal) + 1);
  rows[static_cast<std::size_t>(ordinal)] = meaning;
}

Meaning get_at(const std::vector<Meaning>& rows, std::uint64_t ordinal) {
  return ordinal < rows.size() ? rows[static_cast<std::size_t>(ordinal)] : Meaning{};
}

}  // namespace

void Contents::mean(Value object, Meaning meaning) {
  switch (object.kind()) {
    case Kind::Object: put_at(object_meanings_, object.index(), meaning); break;
    case Kind::Leaf: put_at(leaf_meanings_, object.index(), meaning); break;
    case Kind::PersistentId: id_meanings_.insert_or_assign(object.index(), meaning); break;
    default: break;
  }
}

void Contents::mean_same(Value object, Value value) {
  values.push_back(value);
  mean(object, {Meaning::What::Same, static_cast<std::uint32_t>(values.size() - 1)});
}

void Contents::mean_shown(Value object, std::string_view text) {
  values.push_back(arena.text(Kind::Str, text));
  mean(object, {Meaning::What::Shown, static_cast<std::uint32_t>(values.size() - 1)});
}

Meaning Contents::meaning(Value value) const {
  switch (value.kind()) {
    case Kind::Object: return get_at(object_meanings_, value.index());
    case Kind::Leaf: return get_at(leaf_meanings_, value.index());
    case Kind::PersistentId: {
      const auto found = id_meanings_.find(value.index());
      return found == id_meanings_.end() ? Meaning{} : found->second;
    }
    default: return {};
  }
}

Value Contents::resolve(Value value) const {
  constexpr int kLongestChain = 64;  // a value that means itself must not hang us
  for (int i = 0; i < kLongestChain; ++i) {
    const Meaning what = meaning(value);
    if (what.what != Meaning::What::Same) return value;
    value = values[what.index];
  }
  return value;
}

// ---- filling ----

std::uint32_t Contents::device_index(std::string_view tag) {
  const auto found = std::find(devices.begin(), devices.end(), tag);
  if (found != devices.end()) return static_cast<std::uint32_t>(found - devices.begin());
  devices.emplace_back(tag);
  return static_cast<std::uint32_t>(devices.size() - 1);
}

std::uint32_t Contents::add_tensor(TensorRow row) {
  tensors.push_back(row);
  return static_cast<std::uint32_t>(tensors.size() - 1);
}

TensorMore& Contents::more_of(std::uint32_t tensor) {
  TensorRow& row = tensors[tensor];
  if (row.more == kNone) {
    row.more = static_cast<std::uint32_t>(more.size());
    more.emplace_back();
  }
  return more[row.more];
}

const TensorMore* Contents::find_more(std::uint32_t tensor) const {
  const std::uint32_t index = tensors[tensor].more;
  return index == kNone ? nullptr : &more[index];
}

void Contents::set_error(std::uint32_t tensor, Error error) {
  TensorMore& there = more_of(tensor);
  if (!there.error) there.error = std::move(error);
}

// ---- looking ----

std::span<const std::int64_t> Contents::sizes(const TensorRow& row) const { return dims.get(row.sizes); }
std::span<const std::int64_t> Contents::strides(const TensorRow& row) const { return dims.get(row.strides); }

std::optional<std::uint64_t> Contents::numel(const TensorRow& row) const {
  if (row.sizes == kNone && row.is_meta) return 0;  // a lazy parameter: it has no shape yet
  std::uint64_t product = 1;
  bool overflow = false;
  for (const std::int64_t size : sizes(row)) {
    if (size < 0) return std::nullopt;
    if (size == 0) return 0;
    overflow = __builtin_mul_overflow(product, static_cast<std::uint64_t>(size), &product) || overflow;
  }
  if (overflow) return std::nullopt;
  return product;
}

std::uint64_t Contents::tensor_bytes(const TensorRow& row) const {
  if (row.layout != Layout::Strided && row.layout != Layout::Storage) return 0;
  const auto elements = numel(row);
  if (!elements) return 0;
  if (row.dtype == DType::NumpyOther) {
    const std::uint64_t item = row.more == kNone ? 0 : more[row.more].item_bytes;
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(*elements, item, &bytes) ? 0 : bytes;
  }
  return packed_bytes(row.dtype, *elements).value_or(0);
}

const Error* Contents::error_of(const TensorRow& row) const {
  if (row.more != kNone && more[row.more].error) return &*more[row.more].error;
  if (row.storage != kNone && storages[row.storage].error != kNone) return &errors[storages[row.storage].error];
  return nullptr;
}

// ---- bounds ----

namespace {

// Elements from the storage's start to one past the last that the tensor touches; an Error when that can not be told.
Result<std::uint64_t> elements_reached(const TensorRow& row, std::span<const std::int64_t> sizes,
                                       std::span<const std::int64_t> strides) {
  if (sizes.size() != strides.size())
    return fail(ErrorCode::Malformed, "{} sizes but {} strides", sizes.size(), strides.size());
  WICK_TRY(std::uint64_t reached, checked_add(row.offset, 1, "tensor offset"));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] < 0) return fail(ErrorCode::Malformed, "stride {} of dimension {} is negative", strides[i], i);
    WICK_TRY(const std::uint64_t span, checked_mul(static_cast<std::uint64_t>(sizes[i] - 1),
                                                   static_cast<std::uint64_t>(strides[i]), "tensor extent"));
    WICK_TRY(reached, checked_add(reached, span, "tensor extent"));
  }
  return reached;
}

Result<void> check_row(const Contents& contents, const TensorRow& row, const TensorMore* more) {
  const auto sizes = contents.sizes(row);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0) return fail(ErrorCode::Malformed, "size {} of dimension {} is negative", sizes[i], i);
  const auto elements = contents.numel(row);
  if (!elements) return fail(ErrorCode::Malformed, "the product of its {} sizes overflows", sizes.size());
  if (row.is_meta || row.storage == kNone) return {};
  if (*elements == 0) return {};  // needs no byte; its offset and strides may be anything (reference 4.1)
  WICK_TRY(const std::uint64_t reached, elements_reached(row, sizes, contents.strides(row)));
  const std::uint64_t item = row.dtype == DType::NumpyOther && more != nullptr ? more->item_bytes : 0;
  std::optional<std::uint64_t> needed = packed_bytes(row.dtype, reached);
  if (item != 0) {
    WICK_TRY(needed, checked_mul(reached, item, "tensor bytes"));
  }
  if (!needed) return fail(ErrorCode::Malformed, "{} elements of {} overflow", reached, name_of(row.dtype));
  const StorageRow& storage = contents.storages[row.storage];
  if (*needed > storage.bytes)
    return fail(ErrorCode::Malformed, "needs {} bytes of a storage of {}: offset, sizes and strides reach past its end",
                *needed, storage.bytes);
  return {};
}

}  // namespace

void check_bounds(Contents& contents, std::uint32_t tensor) {
  const TensorRow& row = contents.tensors[tensor];
  if (row.layout != Layout::Strided && row.layout != Layout::Storage) return;
  if (contents.error_of(row) != nullptr) return;  // a missing storage says more than its length would
  if (auto fits = check_row(contents, row, contents.find_more(tensor)); !fits)
    contents.set_error(tensor, std::move(fits).error());
}

}  // namespace wick::checkpoint
