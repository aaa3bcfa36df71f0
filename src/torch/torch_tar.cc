// SPDX-License-Identifier: Apache-2.0
// The tar of torch 0.1: members `storages`, `tensors`, `pickle`. Format: docs/formats/torch-tar.md;
// torch.serialization.legacy_load.
#include <array>
#include <map>

#include "archive/tar.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "pickle/machine.h"
#include "torch/readers.h"
#include "torch/rebuild.h"
#include "torch/record_openers.h"
#include "torch/storage_id.h"
#include "torch/zip_save.h"

namespace wick::torch {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Meaning;
using checkpoint::StorageRow;
using checkpoint::TensorRow;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

constexpr std::string_view kStorages = "storages";
constexpr std::string_view kTensors = "tensors";
constexpr std::string_view kPickle = "pickle";

std::string_view member_name(std::string_view name) { return name.starts_with("./") ? name.substr(2) : name; }

std::optional<std::size_t> find_member(const archive::Tar& tar, std::string_view name) {
  for (std::size_t i = 0; i < tar.entries.size(); ++i)
    if (member_name(tar.entries[i].name) == name) return i;
  return std::nullopt;
}

// The members of a tar, as ls --members shows them.
class TarMembers final : public checkpoint::MemberList {
 public:
  explicit TarMembers(archive::Tar tar) : tar_(std::move(tar)) {}
  [[nodiscard]] std::uint64_t size() const override { return tar_.entries.size(); }
  [[nodiscard]] checkpoint::Member at(std::uint64_t index) const override {
    const archive::TarEntry& entry = tar_.entries[static_cast<std::size_t>(index)];
    checkpoint::Member member;
    member.name = entry.name;
    member.size = member.compressed = entry.size;
    member.method = "stored";
    member.header = entry.offset < 512 ? 0 : entry.offset - 512;
    return member;
  }
  [[nodiscard]] Result<io::SourcePtr> open(std::string_view name, const Limits& /*limits*/) const override {
    for (std::size_t i = 0; i < tar_.entries.size(); ++i)
      if (tar_.entries[i].name == name) return archive::open_entry(tar_, i);
    return fail(ErrorCode::NotFound, "the archive has no member '{}'", name);
  }

 private:
  archive::Tar tar_;
};

class Reader {
 public:
  Reader(const checkpoint::Probe& probe, const archive::Tar& tar)
      : tar_(tar), source_(probe.source), ranges_(std::make_shared<SourceRanges>(probe.source)) {
    contents_.name = probe.name;
    contents_.kind = FileKind::TorchTar;
    contents_.source = probe.source;
    contents_.limits = probe.context.limits;
    contents_.findings = tar.findings;
    contents_.members = std::make_shared<TarMembers>(tar);
    contents_.openers.push_back(ranges_);
  }

  Result<Contents> read() {
    WICK_TRY(const std::size_t storages, member(kStorages));
    WICK_TRY(const std::size_t tensors, member(kTensors));
    WICK_TRY(const std::size_t object, member(kPickle));
    WICK_CHECK(inside(kStorages, read_storages(tar_.entries[storages])));
    WICK_CHECK(inside(kTensors, read_tensors(tar_.entries[tensors])));
    const std::size_t first = contents_.arena.object_count();
    const archive::TarEntry& entry = tar_.entries[object];
    auto read = pickle::read_pickle_at(*source_, entry.offset, contents_.arena, contents_.limits);
    if (!read) return std::move(read).error().inside(kPickle);
    PickleFacts().add(contents_, *read);
    contents_.sections.push_back({"", read->root, checkpoint::Role::Unknown});
    Walk walk(contents_);
    walk.enter(first, contents_.arena.object_count(), read->persistent_ids,
               [&](Contents&, Value id) { return mean_id(id); });
    WICK_CHECK(walk.run());
    contents_.arena.drop_duplicate_keys();
    return std::move(contents_);
  }

 private:
  Result<std::size_t> member(std::string_view name) const {
    if (const auto found = find_member(tar_, name)) return *found;
    return fail(ErrorCode::NotFound, "the archive has no member '{}'", name);
  }

  static Result<void> inside(std::string_view name, Result<void> result) {
    if (result) return {};
    return std::move(result).error().inside(name);
  }

  Result<std::int64_t> read_number(std::uint64_t& at, std::string_view what) {
    WICK_TRY(const auto read, pickle::read_pickle_at(*source_, at, contents_.arena, contents_.limits));
    if (!read.root.is(Kind::Int) || Arena::as_int(read.root) < 0)
      return fail_at(ErrorCode::Malformed, at, "{} is no number", what);
    at = read.end;
    return Arena::as_int(read.root);
  }

  Result<Value> read_tuple(std::uint64_t& at, std::size_t fields, std::string_view what) {
    WICK_TRY(const auto read, pickle::read_pickle_at(*source_, at, contents_.arena, contents_.limits));
    if (!read.root.is(Kind::Tuple) || contents_.arena.items(read.root).size() != fields)
      return fail_at(ErrorCode::Malformed, at, "{} is no tuple of {} fields", what, fields);
    at = read.end;
    return read.root;
  }

  template <class T>
  Result<T> read_raw(std::uint64_t& at, std::uint64_t end, std::string_view what) {
    std::array<std::byte, sizeof(T)> raw{};
    if (at > end || end - at < raw.size())
      return fail_at(ErrorCode::Truncated, at, "{} wants {} bytes, the member ends at {}", what, raw.size(), end);
    WICK_CHECK(source_->read_at(at, raw));
    at += raw.size();
    return load_le<T>(raw.data());
  }

  static std::optional<std::int64_t> as_key(const Arena& arena, Value value) {
    if (value.is(Kind::Int)) return Arena::as_int(value);
    const auto text = text_of(arena, value);
    if (!text || text->empty() || text->size() > 18) return std::nullopt;
    std::int64_t key = 0;
    for (const char c : *text) {
      if (c < '0' || c > '9') return std::nullopt;
      key = key * 10 + (c - '0');
    }
    return key;
  }

  // N, then N times: (key, location, class), count, elements; then the views (key, root, offset, count).
  Result<void> read_storages(const archive::TarEntry& entry) {
    std::uint64_t at = entry.offset;
    const std::uint64_t end = entry.offset + entry.size;
    WICK_TRY(const std::int64_t count, read_number(at, "number of storages"));
    for (std::int64_t i = 0; i < count; ++i) WICK_CHECK(read_storage(at, end));
    WICK_TRY(const auto views, pickle::read_pickle_at(*source_, at, contents_.arena, contents_.limits));
    if (!views.root.is(Kind::List)) return fail_at(ErrorCode::Malformed, at, "the list of storage views is no list");
    for (const Value view : contents_.arena.items(views.root)) WICK_CHECK(read_view(view));
    return {};
  }

  Result<void> read_storage(std::uint64_t& at, std::uint64_t end) {
    WICK_TRY(const Value header, read_tuple(at, 3, "storage header"));
    const auto fields = contents_.arena.items(header);
    const auto key = as_key(contents_.arena, fields[0]);
    const auto type = storage_class(contents_.arena, fields[2]);
    if (!key || !type) return fail_at(ErrorCode::Malformed, at, "a storage without a number or a known class");
    WICK_TRY(const auto count, read_raw<std::uint64_t>(at, end, "number of elements"));
    StorageRow row;
    row.key = fields[0];
    row.dtype = type->dtype;
    row.untyped = type->untyped;
    if (const auto location = text_of(contents_.arena, fields[1])) row.device = contents_.device_index(*location);
    WICK_TRY(row.declared, checked_mul(count, type->untyped ? 1 : storage_item_bytes(type->dtype), "storage size"));
    if (row.declared > end - at)
      return fail_at(ErrorCode::Truncated, at, "storage {} wants {} bytes, the member has {} left", *key, row.declared,
                     end - at);
    row.bytes = row.declared;
    row.opener = 0;
    row.entry = ranges_->add(at, row.bytes);
    at += row.bytes;
    storages_[*key] = static_cast<std::uint32_t>(contents_.storages.size());
    contents_.storages.push_back(row);
    return {};
  }

  Result<void> read_view(Value view) {
    const auto fields = view.is(Kind::Tuple) ? contents_.arena.items(view) : std::span<const Value>();
    if (fields.size() != 4 || !fields[2].is(Kind::Int) || !fields[3].is(Kind::Int))
      return Error(ErrorCode::Malformed, "a storage view is not (key, root, offset, count)");
    const auto key = as_key(contents_.arena, fields[0]);
    const auto root_key = as_key(contents_.arena, fields[1]);
    const auto root = root_key ? storages_.find(*root_key) : storages_.end();
    if (!key || root == storages_.end()) return Error(ErrorCode::Malformed, "a view of a storage that is not there");
    StorageRow row = contents_.storages[root->second];
    const std::uint64_t item = storage_item_bytes(row.dtype);
    WICK_TRY(const auto offset, checked_mul(static_cast<std::uint64_t>(Arena::as_int(fields[2])), item, "view offset"));
    WICK_TRY(const auto length, checked_mul(static_cast<std::uint64_t>(Arena::as_int(fields[3])), item, "view size"));
    if (!lies_within(offset, length, row.bytes))
      return fail(ErrorCode::Malformed, "a view of {} bytes at {} of a storage of {}", length, offset, row.bytes);
    row.key = fields[0];
    row.bytes = row.declared = length;
    row.entry = ranges_->add_part(row.entry, offset, length);
    storages_[*key] = static_cast<std::uint32_t>(contents_.storages.size());
    contents_.storages.push_back(row);
    return {};
  }

  // N, then N times: (key, storage key, class), dimensions, sizes, strides, offset.
  Result<void> read_tensors(const archive::TarEntry& entry) {
    std::uint64_t at = entry.offset;
    const std::uint64_t end = entry.offset + entry.size;
    WICK_TRY(const std::int64_t count, read_number(at, "number of tensors"));
    for (std::int64_t i = 0; i < count; ++i) WICK_CHECK(read_tensor(at, end));
    return {};
  }

  Result<void> read_tensor(std::uint64_t& at, std::uint64_t end) {
    WICK_TRY(const Value header, read_tuple(at, 3, "tensor header"));
    const auto fields = contents_.arena.items(header);
    const auto key = as_key(contents_.arena, fields[0]);
    const auto storage_key = as_key(contents_.arena, fields[1]);
    if (!key) return fail_at(ErrorCode::Malformed, at, "a tensor's key is no number");
    WICK_TRY(const auto dimensions, read_raw<std::uint32_t>(at, end, "number of dimensions"));
    WICK_TRY(const auto unused, read_raw<std::uint32_t>(at, end, "upper half of the number of dimensions"));
    (void)unused;
    if (dimensions > (end - at) / 16)  // a size and a stride each
      return fail_at(ErrorCode::Truncated, at, "{} dimensions do not fit the {} bytes left", dimensions, end - at);
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      WICK_TRY(const auto size, read_raw<std::int64_t>(at, end, "size"));
      sizes.push_back(size);
    }
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      WICK_TRY(const auto stride, read_raw<std::int64_t>(at, end, "stride"));
      strides.push_back(stride);
    }
    WICK_TRY(const auto offset, read_raw<std::uint64_t>(at, end, "storage offset"));
    add_tensor(*key, storage_key, sizes, strides, offset);
    return {};
  }

  void add_tensor(std::int64_t key, std::optional<std::int64_t> storage_key, std::span<const std::int64_t> sizes,
                  std::span<const std::int64_t> strides, std::uint64_t offset) {
    TensorRow row;
    row.sizes = contents_.dims.put(sizes);
    row.strides = contents_.dims.put(strides);
    row.offset = offset;
    const auto storage = storage_key ? storages_.find(*storage_key) : storages_.end();
    if (storage != storages_.end()) {
      row.storage = storage->second;
      row.dtype = contents_.storages[row.storage].dtype;
      row.device = contents_.storages[row.storage].device;
    }
    const std::uint32_t tensor = contents_.add_tensor(row);
    if (row.storage == kNone)
      contents_.set_error(tensor, fail(ErrorCode::NotFound, "storage {} is not there", storage_key.value_or(0)));
    checkpoint::check_bounds(contents_, tensor);
    tensors_[key] = tensor;
  }

  // A tensor's key, or (class, source file, source).
  std::uint32_t mean_id(Value id) {
    const Value pid = contents_.arena.pid(id);
    if (pid.is(Kind::Tuple)) {
      const auto fields = contents_.arena.items(pid);
      if (!fields.empty()) contents_.mean_same(id, fields[0]);
      return kNone;
    }
    const auto key = as_key(contents_.arena, pid);
    const auto tensor = key ? tensors_.find(*key) : tensors_.end();
    if (tensor != tensors_.end()) {
      contents_.mean(id, {Meaning::What::Tensor, tensor->second});
      return kNone;
    }
    const std::uint32_t missing = contents_.add_tensor({});
    contents_.set_error(missing, fail(ErrorCode::NotFound, "tensor {} is not there", key.value_or(0)));
    contents_.mean(id, {Meaning::What::Tensor, missing});
    return kNone;
  }

  const archive::Tar& tar_;
  io::SourcePtr source_;
  std::shared_ptr<SourceRanges> ranges_;
  Contents contents_;
  std::map<std::int64_t, std::uint32_t> storages_;
  std::map<std::int64_t, std::uint32_t> tensors_;
};

}  // namespace

bool is_torch_tar(const checkpoint::Probe& probe) {
  if (!archive::looks_like_tar(probe.head)) return false;
  const auto tar = archive::read_tar(probe.source, probe.context.limits);
  return tar && find_member(*tar, kPickle) && find_member(*tar, kStorages) && find_member(*tar, kTensors);
}

Result<Contents> read_torch_tar(const checkpoint::Probe& probe) {
  WICK_TRY(const auto tar, archive::read_tar(probe.source, probe.context.limits));
  return Reader(probe, tar).read();
}

}  // namespace wick::torch
