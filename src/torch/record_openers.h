// SPDX-License-Identifier: Apache-2.0
// Openers of storages: records of a zip, ranges of a source (legacy streams, tars), ranges of a byte string in a
// pickle, and bytes that a reader made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "archive/zip.h"
#include "checkpoint/contents.h"

namespace wick::torch {

// Entry = index in the zip's directory; kNone stands for the record of an empty storage that is not there.
class ZipRecords final : public checkpoint::StorageOpener {
 public:
  ZipRecords(std::shared_ptr<const archive::Zip> zip, Limits limits) : zip_(std::move(zip)), limits_(limits) {}
  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override;
  [[nodiscard]] std::string member(std::uint32_t entry) const override;
  [[nodiscard]] bool compressed(std::uint32_t entry) const override;
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t entry) const override;

 private:
  std::shared_ptr<const archive::Zip> zip_;
  Limits limits_;
};

// Ranges of one source. Filled while reading, then never changed.
class SourceRanges final : public checkpoint::StorageOpener {
 public:
  explicit SourceRanges(io::SourcePtr source) : source_(std::move(source)) {}
  std::uint32_t add(std::uint64_t offset, std::uint64_t length);
  std::uint32_t add_part(std::uint32_t entry, std::uint64_t offset, std::uint64_t length);  // inside that entry
  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override;
  [[nodiscard]] std::string member(std::uint32_t /*entry*/) const override { return {}; }
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t entry) const override;

 private:
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  io::SourcePtr source_;
  std::vector<Range> ranges_;
};

// Byte ranges that the arena of the same Contents holds, or that are held here. What it opens owns a copy, so that it
// may outlive the arena.
class OwnedBytes final : public checkpoint::StorageOpener {
 public:
  std::uint32_t add(std::vector<std::byte> bytes);
  std::uint32_t borrow(std::span<const std::byte> bytes);  // they live as long as the Contents
  std::uint32_t borrow_part(std::uint32_t entry, std::uint64_t offset, std::uint64_t length);  // inside that entry
  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override;
  [[nodiscard]] std::string member(std::uint32_t /*entry*/) const override { return {}; }
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t entry) const override;

 private:
  std::vector<std::vector<std::byte>> kept_;
  std::vector<std::span<const std::byte>> ranges_;
};

}  // namespace wick::torch
