// SPDX-License-Identifier: Apache-2.0
#include "torch/record_openers.h"

#include "base/try.h"

namespace wick::torch {

using checkpoint::kNone;

Result<tensor::StoragePtr> ZipRecords::open(std::uint32_t entry) const {
  if (entry == kNone) return tensor::owned_storage({});
  const archive::ZipEntry record = zip_->entry(entry);
  if (record.method == 0 && (record.flags & 1U) == 0 && record.compressed == record.size) {
    WICK_TRY(const std::uint64_t offset, zip_->data_offset(entry));
    return tensor::range_storage(zip_->source(), offset, record.size);
  }
  return tensor::derived_storage(record.size, "the record is deflated",
                                 [zip = zip_, entry, limits = limits_] { return zip->read(entry, limits); });
}

std::string ZipRecords::member(std::uint32_t entry) const {
  return entry == kNone ? std::string() : std::string(zip_->entry(entry).name);
}

bool ZipRecords::compressed(std::uint32_t entry) const { return entry != kNone && zip_->entry(entry).method != 0; }

Result<std::uint64_t> ZipRecords::file_offset(std::uint32_t entry) const {
  if (entry == kNone) return Error(ErrorCode::NotFound, "an empty storage without a record has no place in the file");
  return zip_->data_offset(entry);
}

std::uint32_t SourceRanges::add(std::uint64_t offset, std::uint64_t length) {
  ranges_.push_back({offset, length});
  return static_cast<std::uint32_t>(ranges_.size() - 1);
}

std::uint32_t SourceRanges::add_part(std::uint32_t entry, std::uint64_t offset, std::uint64_t length) {
  return add(ranges_[entry].offset + offset, length);
}

Result<tensor::StoragePtr> SourceRanges::open(std::uint32_t entry) const {
  return tensor::range_storage(source_, ranges_[entry].offset, ranges_[entry].length);
}

Result<std::uint64_t> SourceRanges::file_offset(std::uint32_t entry) const { return ranges_[entry].offset; }

std::uint32_t OwnedBytes::add(std::vector<std::byte> bytes) {
  kept_.push_back(std::move(bytes));
  return borrow(kept_.back());
}

std::uint32_t OwnedBytes::borrow(std::span<const std::byte> bytes) {
  ranges_.push_back(bytes);
  return static_cast<std::uint32_t>(ranges_.size() - 1);
}

std::uint32_t OwnedBytes::borrow_part(std::uint32_t entry, std::uint64_t offset, std::uint64_t length) {
  return borrow(ranges_[entry].subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)));
}

Result<tensor::StoragePtr> OwnedBytes::open(std::uint32_t entry) const {
  return tensor::owned_storage({ranges_[entry].begin(), ranges_[entry].end()});
}

Result<std::uint64_t> OwnedBytes::file_offset(std::uint32_t /*entry*/) const {
  return Error(ErrorCode::NotFound, "these bytes lie inside a pickle, not in a record of their own");
}

}  // namespace wick::torch
