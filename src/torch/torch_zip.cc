// SPDX-License-Identifier: Apache-2.0
// Zip archives with a data.pkl: torch.save, TorchScript, lite-interpreter bytecode, libtorch's torch::save, saved
// parameters. Formats: docs/formats/torch-zip.md, docs/formats/torchscript.md.
#include <algorithm>

#include "base/cursor.h"
#include "base/try.h"
#include "checkpoint/zip_members.h"
#include "torch/readers.h"
#include "torch/rebuild.h"
#include "torch/record_openers.h"
#include "torch/zip_facts.h"
#include "torch/zip_save.h"

namespace wick::torch {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Probe;
using checkpoint::Role;
using pickle::Kind;
using pickle::Value;

namespace {

// Tables for debuggers: no tensors, and often longer than all the rest.
constexpr std::string_view kDebugPickles[] = {"mobile_debug_handles.pkl", "mobile_debug.pkl",
                                              "callstack_debug_map.pkl"};

bool is_debug_pickle(std::string_view record) {
  return std::find(std::begin(kDebugPickles), std::end(kDebugPickles), record) != std::end(kDebugPickles);
}

bool is_small_record(std::string_view record) {
  return record == "version" || record == "byteorder" || record == ".format_version" ||
         record == ".storage_alignment" || record == ".data/version" || record == ".data/serialization_id";
}
bool is_save_record(std::string_view record) { return record == "data.pkl" || is_small_record(record); }
bool is_script_record(std::string_view record) {
  if (is_small_record(record)) return true;
  return record.ends_with(".pkl") || record.ends_with(".debug_pkl") || record.starts_with("code/");
}

class Reader {
 public:
  Reader(const Probe& probe, ZipRoot root) : zip_(probe.zip), root_(std::move(root)), walk_(contents_) {
    contents_.name = probe.name;
    contents_.source = probe.source;
    contents_.limits = probe.context.limits;
    contents_.members = checkpoint::zip_member_list(zip_);
    contents_.findings = zip_->findings();
    contents_.facts.root_folder = root_.folder();
  }

  Result<Contents> read() {
    read_text_records(contents_, *zip_, root_);
    contents_.openers.push_back(std::make_shared<ZipRecords>(zip_, contents_.limits));
    ZipStorages storages(*zip_, root_, 0, contents_.facts.byteorder == "big");
    is_mobile_ = root_.entry(*zip_, "bytecode.pkl").has_value();
    is_script_ = is_mobile_ || root_.entry(*zip_, "constants.pkl").has_value();
    WICK_TRY(const auto main, root_entry("data.pkl"));
    WICK_CHECK(read_section(storages, main, ""));
    if (is_script_) read_other_sections(storages, main);
    WICK_CHECK(walk_.run());
    contents_.arena.drop_duplicate_keys();
    storages.report(contents_);
    if (is_script_) read_sources();
    contents_.kind = tell_kind();
    read_directory_facts(contents_, *zip_, root_, storages, is_script_ ? is_script_record : is_save_record);
    return std::move(contents_);
  }

 private:
  Result<std::uint32_t> root_entry(std::string_view record) {
    if (const auto entry = root_.entry(*zip_, record)) return *entry;
    return fail(ErrorCode::NotFound, "the archive has no record {}{}", root_.prefix(), record);
  }

  // Reads one pickle; `record` is its name below the root, "" for data.pkl.
  Result<void> read_section(ZipStorages& storages, std::uint32_t entry, std::string_view record) {
    const std::size_t first = contents_.arena.object_count();
    WICK_TRY(auto read, read_zip_pickle(contents_, *zip_, entry));
    facts_.add(contents_, read);
    look_in(storages, record);
    walk_.enter(first, contents_.arena.object_count(), read.persistent_ids,
                [&](Contents& contents, Value id) { return storages.storage_of(contents, id); });
    const bool constants = record == "constants.pkl" || record == "bytecode.pkl";
    contents_.sections.push_back({std::string(record), read.root, constants ? Role::Constant : Role::Unknown});
    return {};
  }

  // X.pkl keeps its storages in X/; keys that end in .storage lie with the constants, whichever pickle names them.
  void look_in(ZipStorages& storages, std::string_view record) const {
    if (record.empty()) {
      storages.look_in({"data/"}, false);
      return;
    }
    std::string folder(record.substr(0, record.size() - std::string_view(".pkl").size()));
    folder += '/';
    // The inputs of a trace: torch writes their records empty, and says so nowhere.
    storages.look_in({std::move(folder)}, record == "traced_inputs.pkl");
  }

  // A pickle beside data.pkl that can not be read does not spoil the file.
  void read_other_sections(ZipStorages& storages, std::uint32_t main) {
    for (std::uint32_t i = 0; i < zip_->size(); ++i) {
      const std::string_view name = zip_->entry(i).name;
      if (i == main || !name.starts_with(root_.prefix()) || !name.ends_with(".pkl")) continue;
      const std::string_view record = name.substr(root_.prefix().size());
      if (is_debug_pickle(record)) continue;
      if (auto read = read_section(storages, i, record); !read)
        contents_.findings.push_back({"pickle", fmt::format("can not be read: {}", read.error().message()),
                                      std::string(name), read.error().offset()});
    }
  }

  // TorchScript source: which attribute is a parameter, which a buffer, stands only there.
  void read_sources() {
    constexpr std::uint64_t kMostSource = std::uint64_t{64} << 20U;
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < zip_->size(); ++i) {
      const archive::ZipEntry entry = zip_->entry(i);
      if (!entry.name.starts_with(root_.prefix())) continue;
      const std::string_view record = entry.name.substr(root_.prefix().size());
      if (!record.starts_with("code/") || !record.ends_with(".py")) continue;
      total += std::min(entry.size, kMostSource);
      if (total > kMostSource) return;
      if (const auto bytes = zip_->read(i, contents_.limits, false)) contents_.sources.emplace(record, as_text(*bytes));
    }
  }

  [[nodiscard]] FileKind tell_kind() const {
    if (is_mobile_) return FileKind::TorchMobile;
    const Value root = contents_.sections.front().root;
    if (!root.is(Kind::Object)) return is_script_ ? FileKind::TorchScript : FileKind::TorchZip;
    const Value callable = contents_.arena.object(root).callable;
    if (!is_script_)  // mobile training saves a tagged Dict[str, Tensor] and nothing else
      return contents_.arena.is_global(callable, "torch.jit._pickle", "restore_type_tag") ? FileKind::TorchSavedParams
                                                                                          : FileKind::TorchZip;
    const bool no_code = std::none_of(contents_.sources.begin(), contents_.sources.end(), [](const auto& source) {
      return source.second.find("def ") != std::string::npos;
    });
    // libtorch's OutputArchive writes a class without a method, called Module.
    return no_code && contents_.arena.is_global(callable, "__torch__", "Module") ? FileKind::LibTorch
                                                                                 : FileKind::TorchScript;
  }

  std::shared_ptr<const archive::Zip> zip_;
  ZipRoot root_;
  Contents contents_;
  Walk walk_;
  PickleFacts facts_;
  bool is_mobile_ = false;
  bool is_script_ = false;
};

// data.pkl alone says little: anybody may call a file so. Its neighbours say the rest.
bool has_torch_neighbours(const archive::Zip& zip, const ZipRoot& root) {
  if (zip.size() == 1) return true;  // nothing else that it could be
  for (const std::string_view record : {"version", ".data/version", "constants.pkl", "byteorder", "data/0"})
    if (root.entry(zip, record)) return true;
  return false;
}

}  // namespace

bool is_torch_zip(const Probe& probe) {
  if (!probe.zip) return false;
  const auto root = ZipRoot::find(*probe.zip, "data.pkl");
  return root && has_torch_neighbours(*probe.zip, *root);
}

Result<Contents> read_torch_zip(const Probe& probe) {
  const auto root = ZipRoot::find(*probe.zip, "data.pkl");
  if (!root) return Error(ErrorCode::NotFound, "the archive has no record data.pkl");
  return Reader(probe, *root).read();
}

}  // namespace wick::torch
