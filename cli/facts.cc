// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/cursor.h"
#include "io/source.h"
#include "listing.h"
#include "open/folder.h"
#include "open/locate.h"

namespace wick::cli {
namespace {

using checkpoint::Contents;
using checkpoint::Meaning;
using checkpoint::Places;
using checkpoint::TensorRow;
using pickle::Kind;

class Counter {
 public:
  void add(const std::string& key) {
    const auto [at, fresh] = index_.try_emplace(key, counts_.size());
    if (fresh) counts_.emplace_back(key, 0);
    ++counts_[at->second].second;
  }
  Counts take() { return std::move(counts_); }

 private:
  Counts counts_;
  std::unordered_map<std::string, std::size_t> index_;
};

// Two rows that show the same elements of one storage count once.
struct RangeHash {
  std::size_t operator()(const std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t>& range) const {
    const auto [storage, offset, sizes, strides] = range;
    return static_cast<std::size_t>(
        ((storage * 0x9E3779B97F4A7C15U + offset) * 0x9E3779B97F4A7C15U + sizes) * 0x9E3779B97F4A7C15U + strides);
  }
};

class DistinctRanges {
 public:
  // True the first time. A tensor without a storage of its own (sparse, meta) is told by its row.
  bool insert(std::uint32_t index, const TensorRow& row) {
    if (row.storage == checkpoint::kNone) return rows_.insert(index).second;
    return ranges_.insert({row.storage, row.offset, row.sizes, row.strides}).second;
  }

 private:
  std::unordered_set<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t>, RangeHash> ranges_;
  std::unordered_set<std::uint32_t> rows_;
};

void count_all(const Contents& contents, const Places& places, Facts& facts) {
  Counter dtypes;
  Counter devices;
  DistinctRanges distinct;
  for (const auto& place : places.rows) {
    const TensorRow& row = contents.tensors[place.tensor];
    if (row.is_array) {
      ++facts.arrays;
      continue;
    }
    ++facts.tensors;
    dtypes.add(dtype_text(contents, row));
    devices.add(contents.devices[row.device]);
    const bool fresh = distinct.insert(place.tensor, row);
    if (fresh) facts.tensor_bytes += contents.tensor_bytes(row);
    if (place.role == checkpoint::Role::Optimizer) {
      ++facts.optimizer_tensors;
      if (fresh) facts.optimizer_bytes += contents.tensor_bytes(row);
    }
    if (const Error* error = contents.error_of(row)) {
      if (facts.bad_tensors++ == 0)
        facts.first_error = checkpoint::name_of(contents, places, place.path) + ": " + error->message();
    }
  }
  facts.dtypes = dtypes.take();
  facts.devices = devices.take();
}

void count_model(const Contents& contents, const Places& places, Facts& facts) {
  Counter dtypes;
  DistinctRanges distinct;
  for (const auto& place : places.rows) {
    const TensorRow& row = contents.tensors[place.tensor];
    if (row.is_array) continue;
    ++facts.model_tensors;
    dtypes.add(dtype_text(contents, row));
    const std::uint64_t elements = contents.numel(row).value_or(0);
    facts.parameters_all += elements;
    if (!distinct.insert(place.tensor, row)) continue;
    facts.parameters += elements;
    facts.model_bytes += contents.tensor_bytes(row);
  }
  facts.model_dtypes = dtypes.take();
}

bool is_program(FileKind kind) {
  constexpr FileKind kPrograms[] = {FileKind::TorchScript,           FileKind::TorchScriptJson, FileKind::TorchMobile,
                                    FileKind::TorchMobileFlatbuffer, FileKind::TorchExport,     FileKind::TorchPackage};
  return std::find(std::begin(kPrograms), std::end(kPrograms), kind) != std::end(kPrograms);
}

// All values of a dict are tensors, but for bookkeeping such as a count.
bool is_flat_dict(const Contents& contents, pickle::Value root) {
  std::size_t tensors = 0;
  std::size_t others = 0;
  for (const auto& child : checkpoint::children(contents, root)) {
    const auto what = contents.meaning(contents.resolve(child.value)).what;
    const bool tensor = what == Meaning::What::Tensor || what == Meaning::What::Array || what == Meaning::What::Storage;
    if (child.kind == checkpoint::StepKind::Key) ++(tensor ? tensors : others);
  }
  return tensors > 0 && others == 0;
}

std::string_view find_holds(const open_detail::Loaded& loaded, const Facts& facts) {
  const Contents& contents = loaded.contents;
  const FileKind kind = contents.kind;
  if (kind == FileKind::HfShards || kind == FileKind::TorchDcp || kind == FileKind::DeepSpeedZero) return "folder";
  if (is_program(kind)) return "program";
  if (contents.sections.empty()) return "objects";
  const pickle::Value root = contents.resolve(contents.sections.front().root);
  const auto what = contents.meaning(root).what;
  if (what == Meaning::What::Tensor || what == Meaning::What::Array || what == Meaning::What::Storage) return "tensor";
  if (facts.tensors + facts.arrays == 0) return "objects";
  if (what == Meaning::What::Module || (loaded.automatic.is_module && loaded.automatic.path == ".")) return "module";
  if (root.is(Kind::Dict) && !contents.arena.find(root, "param_groups").missing() &&
      !contents.arena.find(root, "state").missing())
    return "optimizer";
  return is_flat_dict(contents, root) ? "state-dict" : "checkpoint";
}

// By the first bytes, as file(1) names them.
std::string find_mime(const Contents& contents, bool folder) {
  if (folder || contents.source == nullptr) return "inode/directory";
  constexpr std::pair<std::string_view, std::string_view> kMagics[] = {
      {"PK", "application/zip"},
      {"\x1f\x8b", "application/gzip"},
      {"\xfd"
       "7zXZ",
       "application/x-xz"},
      {"BZh", "application/x-bzip2"},
      {"\x28\xb5\x2f\xfd", "application/zstd"},
      {"7z\xbc\xaf", "application/x-7z-compressed"},
  };
  if (contents.kind == FileKind::TorchTar) return "application/x-tar";
  const auto head = io::read_head(*contents.source, 8);
  if (!head) return "application/octet-stream";
  for (const auto& [magic, mime] : kMagics)
    if (as_text(*head).starts_with(magic)) return std::string(mime);
  return "application/octet-stream";
}

}  // namespace

Facts count_facts(const open_detail::Loaded& loaded, const std::string& name) {
  const Contents& contents = loaded.contents;
  Facts facts;
  const bool folder = open_detail::is_folder(name);
  if (folder)
    facts.bytes = open_detail::describe_folder(name).bytes;
  else if (contents.source != nullptr)
    facts.bytes = contents.source->size();
  facts.mime = find_mime(contents, folder);
  count_all(contents, loaded.all, facts);
  count_model(contents, loaded.automatic.places, facts);
  facts.storages = contents.storages.size();
  for (const auto& storage : contents.storages) facts.storage_bytes += storage.bytes;
  facts.holds = find_holds(loaded, facts);
  return facts;
}

}  // namespace wick::cli
