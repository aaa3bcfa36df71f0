// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/graft.h"

#include <vector>

namespace wick::checkpoint {

using pickle::Kind;
using pickle::Value;

namespace {

// Another file's opener, with the name of that file.
class ForeignOpener final : public StorageOpener {
 public:
  ForeignOpener(std::shared_ptr<const StorageOpener> inner, std::string file)
      : inner_(std::move(inner)), file_(std::move(file)) {}
  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override {
    auto storage = inner_->open(entry);
    if (!storage) return std::move(storage).error().inside(file_);
    return storage;
  }
  [[nodiscard]] std::string member(std::uint32_t entry) const override { return inner_->member(entry); }
  [[nodiscard]] std::string file(std::uint32_t) const override { return file_; }
  [[nodiscard]] bool compressed(std::uint32_t entry) const override { return inner_->compressed(entry); }
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t entry) const override {
    return inner_->file_offset(entry);
  }

 private:
  std::shared_ptr<const StorageOpener> inner_;
  std::string file_;
};

}  // namespace

Graft::Graft(Contents& into, const Contents& from, std::string file)
    : into_(into), from_(from), file_(std::move(file)), first_opener_(static_cast<std::uint32_t>(into.openers.size())) {
  for (const auto& opener : from.openers) into.openers.push_back(std::make_shared<ForeignOpener>(opener, file_));
}

Value Graft::key(Value key) {
  const auto& arena = from_.arena;
  switch (key.kind()) {
    case Kind::Int: return into_.arena.integer(pickle::Arena::as_int(key));
    case Kind::Str:
    case Kind::Py2Str:
    case Kind::Bytes: return into_.arena.text(key.kind(), arena.as_text(key));
    default: return {};
  }
}

std::uint32_t Graft::storage(std::uint32_t storage) {
  if (storage == kNone) return kNone;
  if (const auto known = storages_.find(storage); known != storages_.end()) return known->second;
  StorageRow row = from_.storages[storage];
  row.key = key(row.key);
  if (row.opener != kNone) row.opener += first_opener_;
  row.device = into_.device_index(from_.devices[row.device]);
  if (row.error != kNone) {
    into_.errors.push_back(Error(from_.errors[row.error]).inside(file_));
    row.error = static_cast<std::uint32_t>(into_.errors.size() - 1);
  }
  into_.storages.push_back(row);
  const auto index = static_cast<std::uint32_t>(into_.storages.size() - 1);
  storages_.emplace(storage, index);
  return index;
}

std::uint32_t Graft::copy_row(std::uint32_t tensor) {
  TensorRow row = from_.tensors[tensor];
  row.storage = storage(row.storage);
  if (row.sizes != kNone) row.sizes = into_.dims.put(from_.dims.get(row.sizes));
  if (row.strides != kNone) row.strides = into_.dims.put(from_.dims.get(row.strides));
  row.device = into_.device_index(from_.devices[row.device]);
  row.more = kNone;
  return into_.add_tensor(row);
}

std::uint32_t Graft::tensor(std::uint32_t wanted) {
  if (const auto known = tensors_.find(wanted); known != tensors_.end()) return known->second;
  // Rows first, then what they name: parts may have parts, and a hostile file may let them name each other.
  std::vector<std::uint32_t> pending{wanted};
  const auto row_of = [&](std::uint32_t tensor) {
    if (tensor == kNone) return kNone;
    const auto known = tensors_.find(tensor);
    if (known != tensors_.end()) return known->second;
    const std::uint32_t row = copy_row(tensor);
    tensors_.emplace(tensor, row);
    pending.push_back(tensor);
    return row;
  };
  const std::uint32_t result = copy_row(wanted);
  tensors_.emplace(wanted, result);
  while (!pending.empty()) {
    const std::uint32_t tensor = pending.back();
    pending.pop_back();
    const TensorMore* there = from_.find_more(tensor);
    if (there == nullptr) continue;
    TensorMore more = *there;
    if (more.error) more.error = std::move(*more.error).inside(file_);
    more.scales = row_of(more.scales);
    more.zero_points = row_of(more.zero_points);
    for (auto& part : more.parts) part.second = row_of(part.second);
    into_.more_of(tensors_.at(tensor)) = std::move(more);
  }
  return result;
}

}  // namespace wick::checkpoint
