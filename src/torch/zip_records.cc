// SPDX-License-Identifier: Apache-2.0
#include "torch/zip_records.h"

#include "base/text.h"

namespace wick::torch {

using checkpoint::kNone;
using checkpoint::StorageRow;
using pickle::Value;

namespace {

// "a/b/data.pkl" -> "a/b/" for data.pkl; nothing when the name ends otherwise.
std::optional<std::string_view> prefix_of(std::string_view name, std::string_view record) {
  if (name.size() < record.size()) return std::nullopt;
  const std::string_view end = name.substr(name.size() - record.size());
  if (end != record && !equals_ignoring_case(end, record)) return std::nullopt;
  const std::string_view prefix = name.substr(0, name.size() - record.size());
  if (!prefix.empty() && prefix.back() != '/') return std::nullopt;
  return prefix;
}

}  // namespace

std::optional<ZipRoot> ZipRoot::find(const archive::Zip& zip, std::string_view record) {
  if (zip.size() == 0) return std::nullopt;
  ZipRoot root;
  const std::string_view first = zip.entry(0).name;
  const std::size_t slash = first.find('/');
  if (slash != std::string_view::npos) {
    root.prefix_ = std::string(first.substr(0, slash + 1));
    if (zip.find(root.prefix_ + std::string(record))) return root;
  }
  for (std::size_t i = 0; i < zip.size(); ++i) {
    const auto prefix = prefix_of(zip.entry(i).name, record);
    if (!prefix) continue;
    root.prefix_ = std::string(*prefix);
    root.ignore_case_ = zip.entry(i).name.substr(prefix->size()) != record;
    return root;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> ZipRoot::entry(const archive::Zip& zip, std::string_view record) const {
  std::string name = prefix_;
  name += record;
  if (const auto found = zip.find(name)) return found;
  return ignore_case_ ? zip.find_ignoring_case(name) : std::nullopt;
}

ZipStorages::ZipStorages(const archive::Zip& zip, const ZipRoot& root, std::uint32_t opener, bool big_endian)
    : zip_(zip), root_(root), opener_(opener), big_endian_(big_endian), rows_(zip.size(), kNone) {}

void ZipStorages::look_in(std::vector<std::string> folders, bool empty_is_usual, std::string_view ending) {
  ending_ = ending;
  folders_ = std::move(folders);
  for (std::string& folder : folders_) folder.insert(0, root_.prefix());
  empty_is_usual_ = empty_is_usual;
}

std::optional<std::uint32_t> ZipStorages::find_record(std::string_view key) {
  const bool has_ending = key.ends_with(ending_);  // true for the usual empty one
  for (const std::string& folder : folders_) {
    name_.assign(folder);
    name_.append(key);
    if (!has_ending) name_.append(ending_);
    if (const auto entry = zip_.find(name_)) return entry;
  }
  if (key.ends_with(".storage")) {
    for (const std::string_view folder : {"constants/", ".data/"}) {
      name_.assign(root_.prefix());
      name_.append(folder);
      name_.append(key);
      if (const auto entry = zip_.find(name_)) return entry;
    }
  }
  for (const std::string& folder : folders_) {  // torch looks names up without regard to case
    name_.assign(folder);
    name_.append(key);
    if (const auto entry = zip_.find_ignoring_case(name_)) return entry;
  }
  return std::nullopt;
}

std::uint32_t ZipStorages::broken_row(checkpoint::Contents& contents, Error error) {
  StorageRow row;
  row.error = static_cast<std::uint32_t>(contents.errors.size());
  contents.errors.push_back(std::move(error));
  contents.storages.push_back(row);
  return static_cast<std::uint32_t>(contents.storages.size() - 1);
}

std::uint32_t ZipStorages::storage_of(checkpoint::Contents& contents, Value persistent_id) {
  auto read = ids_.read(contents, persistent_id);
  if (!read) return broken_row(contents, std::move(read).error());
  if (!*read) return kNone;
  const StorageId& id = **read;
  const auto entry = find_record(id.key_text);
  if (!entry) return row_without_record(contents, id);
  if (rows_[*entry] == kNone) rows_[*entry] = row_of_record(contents, id, *entry);
  return rows_[*entry];
}

namespace {

StorageRow row_for(const StorageId& id) {
  StorageRow row;
  row.key = id.key;
  row.declared = id.declared;
  row.device = id.device;
  row.dtype = id.type.dtype;
  row.untyped = id.type.untyped;
  return row;
}

}  // namespace

std::uint32_t ZipStorages::row_of_record(checkpoint::Contents& contents, const StorageId& id, std::uint32_t entry) {
  const archive::ZipEntry record = zip_.entry(entry);
  StorageRow row = row_for(id);
  row.bytes = record.size;
  row.opener = opener_;
  row.entry = entry;
  row.swapped = big_endian_;
  if (record.method != 0) ++contents.facts.compressed_storages;
  if (record.size < row.declared && !(record.size == 0 && empty_is_usual_)) {
    row.error = static_cast<std::uint32_t>(contents.errors.size());
    contents.errors.push_back(fail(ErrorCode::Truncated, "storage '{}': record {} holds {} bytes, {} are declared",
                                   id.key_text, record.name, record.size, row.declared)
                                  .inside(record.name));
  } else if (record.size > row.declared && longer_++ == 0) {
    first_longer_ =
        fmt::format("record {} holds {} bytes, its storage declares {}", record.name, record.size, row.declared);
  }
  contents.storages.push_back(row);
  return static_cast<std::uint32_t>(contents.storages.size() - 1);
}

std::uint32_t ZipStorages::row_without_record(checkpoint::Contents& contents, const StorageId& id) {
  auto [known, is_new] = without_record_.try_emplace(folders_.front() + std::string(id.key_text), kNone);
  if (!is_new) return known->second;
  StorageRow row = row_for(id);
  row.opener = opener_;
  row.entry = kNone;  // an empty storage needs no record: TorchScript reads none
  if (row.declared != 0) {
    row.error = static_cast<std::uint32_t>(contents.errors.size());
    contents.errors.push_back(fail(ErrorCode::NotFound, "storage '{}': there is no record {}{} ({} bytes are declared)",
                                   id.key_text, folders_.front(), id.key_text, row.declared));
  }
  contents.storages.push_back(row);
  known->second = static_cast<std::uint32_t>(contents.storages.size() - 1);
  return known->second;
}

void ZipStorages::report(checkpoint::Contents& contents) const {
  if (longer_ == 0) return;
  std::string text = first_longer_;
  if (longer_ > 1) text += fmt::format("; so do {} more", longer_ - 1);
  contents.findings.push_back({"storage-longer", std::move(text), {}, {}});
}

}  // namespace wick::torch
