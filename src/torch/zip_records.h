// SPDX-License-Identifier: Apache-2.0
// Torch's view of a zip: the root folder, its records by name, and the storages that pickles name in it.
// Format: docs/formats/torch-zip.md; caffe2/serialize/inline_container.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/zip.h"
#include "checkpoint/contents.h"
#include "torch/storage_id.h"

namespace wick::torch {

// Where in the zip torch's records lie, and which of them were asked for.
class ZipRoot {
 public:
  // The root is the folder that holds `record` ("data.pkl"); of several the one torch would take (that of the first
  // entry), else the first. Nothing when no entry is called so.
  static std::optional<ZipRoot> find(const archive::Zip& zip, std::string_view record);

  [[nodiscard]] std::string_view folder() const {
    return prefix_.empty() ? "" : std::string_view(prefix_).substr(0, prefix_.size() - 1);
  }
  [[nodiscard]] std::string_view prefix() const { return prefix_; }  // "archive/" or ""
  // The entry of a record below the root, upper and lower case alike if the archive needs it.
  [[nodiscard]] std::optional<std::uint32_t> entry(const archive::Zip& zip, std::string_view record) const;

 private:
  std::string prefix_;
  bool ignore_case_ = false;
};

// The storages named by the pickles of one archive: one row for each record, whichever pickle names it.
class ZipStorages {
 public:
  // `opener` = index of the archive's opener in Contents::openers.
  ZipStorages(const archive::Zip& zip, const ZipRoot& root, std::uint32_t opener, bool big_endian);

  // Record folders to look for keys in, first match wins: "data/", "constants/", ".data/". `empty_is_usual`: a
  // record without bytes is as torch writes it. `ending` of every record's name: ".storage" in packages.
  void look_in(std::vector<std::string> folders, bool empty_is_usual, std::string_view ending = {});
  // The row of the storage a persistent id names; kNone when it names none. Rows with an error for what is missing.
  std::uint32_t storage_of(checkpoint::Contents& contents, pickle::Value persistent_id);

  // True for entries that became a storage.
  [[nodiscard]] bool is_used(std::uint32_t entry) const {
    return entry < rows_.size() && rows_[entry] != checkpoint::kNone;
  }
  // A finding for records that are longer than declared, and for what else was odd, however many there are.
  void report(checkpoint::Contents& contents) const;

 private:
  std::optional<std::uint32_t> find_record(std::string_view key);
  std::uint32_t row_of_record(checkpoint::Contents& contents, const StorageId& id, std::uint32_t entry);
  std::uint32_t row_without_record(checkpoint::Contents& contents, const StorageId& id);
  std::uint32_t broken_row(checkpoint::Contents& contents, Error error);

  const archive::Zip& zip_;
  const ZipRoot& root_;
  std::uint32_t opener_;
  bool big_endian_;
  bool empty_is_usual_ = false;
  std::vector<std::string> folders_;  // with the root's prefix
  std::string ending_;
  StorageIds ids_;
  std::vector<std::uint32_t> rows_;  // by entry
  std::unordered_map<std::string, std::uint32_t> without_record_;
  std::string name_;  // room for a record's name
  std::uint64_t longer_ = 0;
  std::string first_longer_;
};

}  // namespace wick::torch
