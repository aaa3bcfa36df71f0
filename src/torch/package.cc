// SPDX-License-Identifier: Apache-2.0
// torch.package archives: pickles at <package>/<resource>, storages at .data/<N>.storage, TorchScript parts below
// .data/ts_code. Format: docs/formats/torch-package.md; torch/package/package_exporter.py.
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
using checkpoint::Role;
using pickle::Value;

namespace {

constexpr std::string_view kMark = ".data/extern_modules";

// All of a package is asked for by somebody: sources, resources, texts.
bool is_package_record(std::string_view /*record*/) { return true; }

bool looks_like_pickle(const std::vector<std::byte>& bytes) {
  return bytes.size() > 2 && bytes[0] == std::byte{0x80} && bytes[1] <= std::byte{5} && bytes.back() == std::byte{'.'};
}

class Reader {
 public:
  Reader(const checkpoint::Probe& probe, ZipRoot root) : zip_(probe.zip), root_(std::move(root)), walk_(contents_) {
    contents_.name = probe.name;
    contents_.kind = FileKind::TorchPackage;
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
    for (std::uint32_t i = 0; i < zip_->size(); ++i) {
      const std::string_view name = zip_->entry(i).name;
      if (!name.starts_with(root_.prefix())) continue;
      const std::string_view record = name.substr(root_.prefix().size());
      if (!is_pickle_record(record, i)) continue;
      if (auto read = read_section(storages, i, record); !read)
        contents_.findings.push_back({"pickle", fmt::format("can not be read: {}", read.error().message()),
                                      std::string(name), read.error().offset()});
    }
    WICK_CHECK(walk_.run());
    contents_.arena.drop_duplicate_keys();
    storages.report(contents_);
    read_directory_facts(contents_, *zip_, root_, storages, is_package_record);
    if (contents_.sections.empty()) contents_.sections.push_back({"", contents_.arena.dict(), Role::Unknown});
    return std::move(contents_);
  }

 private:
  // Resources are pickles by their bytes: a package may call them as it likes.
  bool is_pickle_record(std::string_view record, std::uint32_t entry) const {
    if (record.ends_with(".pkl")) return true;
    if (record.starts_with(".data/") || record.ends_with(".py") || record.ends_with('/')) return false;
    constexpr std::uint64_t kMostLooked = std::uint64_t{16} << 20U;
    if (zip_->entry(entry).size > kMostLooked) return false;
    const auto bytes = zip_->read(entry, contents_.limits, false);
    return bytes && looks_like_pickle(*bytes);
  }

  Result<void> read_section(ZipStorages& storages, std::uint32_t entry, std::string_view record) {
    const std::size_t first = contents_.arena.object_count();
    WICK_TRY(auto read, read_zip_pickle(contents_, *zip_, entry));
    facts_.add(contents_, read);
    storages.look_in({".data/"}, false, ".storage");
    walk_.enter(first, contents_.arena.object_count(), read.persistent_ids,
                [&](Contents& contents, Value id) { return storage_of(storages, contents, id); });
    const bool constants = record.ends_with("/constants.pkl");
    contents_.sections.push_back({std::string(record), read.root, constants ? Role::Constant : Role::Unknown});
    return {};
  }

  // ("reduce_package", [id,] function, arguments) stands for an object: one whose class is the function, and whose
  // arguments are the id.
  static std::uint32_t storage_of(ZipStorages& storages, Contents& contents, Value id) {
    const Value pid = contents.arena.pid(id);
    const auto fields = pid.is(pickle::Kind::Tuple) ? contents.arena.items(pid) : std::span<const Value>();
    if (fields.size() < 3 || text_of(contents.arena, fields[0]) != "reduce_package")
      return storages.storage_of(contents, id);
    const Value function = fields[fields.size() - 2];
    const Value arguments = contents.arena.tuple(std::span(&pid, 1));
    contents.mean_same(id, contents.arena.object(pickle::Made::Reduce, function, arguments));
    return checkpoint::kNone;
  }

  std::shared_ptr<const archive::Zip> zip_;
  ZipRoot root_;
  Contents contents_;
  Walk walk_;
  PickleFacts facts_;
};

}  // namespace

bool is_package(const checkpoint::Probe& probe) { return probe.zip && ZipRoot::find(*probe.zip, kMark); }

Result<Contents> read_package(const checkpoint::Probe& probe) {
  const auto root = ZipRoot::find(*probe.zip, kMark);
  if (!root) return fail(ErrorCode::NotFound, "the archive has no record {}", kMark);
  return Reader(probe, *root).read();
}

}  // namespace wick::torch
