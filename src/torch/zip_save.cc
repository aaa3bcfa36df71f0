// SPDX-License-Identifier: Apache-2.0
#include "torch/zip_save.h"

#include <algorithm>

#include "base/cursor.h"
#include "base/try.h"
#include "torch/record_openers.h"

namespace wick::torch {

using pickle::Value;

Result<pickle::Pickle> read_zip_pickle(checkpoint::Contents& contents, const archive::Zip& zip, std::uint32_t entry) {
  const archive::ZipEntry record = zip.entry(entry);
  std::uint64_t base = 0;
  if (record.method == 0) {
    auto offset = zip.data_offset(entry);
    if (!offset) return std::move(offset).error().inside(record.name);
    base = *offset;
  }
  auto bytes = zip.read(entry, contents.limits, false);
  if (!bytes) return std::move(bytes).error().inside(record.name);
  const auto kept = std::make_shared<const std::vector<std::byte>>(*std::move(bytes));
  auto read = pickle::read_pickle(*kept, base, contents.arena, contents.limits, kept);
  if (!read) return std::move(read).error().inside(record.name);
  const std::uint64_t used = read->end - base;
  if (used < kept->size())
    contents.findings.push_back({"trailing-bytes",
                                 fmt::format("{} bytes after the end of the pickle", kept->size() - used),
                                 std::string(record.name), read->end});
  return read;
}

bool says_big_endian(const archive::Zip& zip, const ZipRoot& root, const Limits& limits) {
  const auto entry = root.entry(zip, "byteorder");
  if (!entry || zip.entry(*entry).size > 64) return false;
  const auto bytes = zip.read(*entry, limits, false);
  return bytes && as_text(*bytes).starts_with("big");
}

void PickleFacts::add(checkpoint::Contents& contents, const pickle::Pickle& read) {
  checkpoint::ContainerFacts& facts = contents.facts;
  if (facts.pickle_protocol < 0) facts.pickle_protocol = read.protocol;
  facts.python2 = facts.python2 || read.python2;
  for (const Value global : read.globals) {
    const auto module = text_of(contents.arena, contents.arena.module(global));
    const auto name = text_of(contents.arena, contents.arena.name(global));
    if (!module || !name) continue;
    name_.assign(*module);
    name_.push_back('\n');  // in no name of a GLOBAL; STACK_GLOBAL's are told apart well enough
    name_.append(*name);
    if (known_.insert(name_).second) facts.classes.push_back(global);
  }
}

Result<OpenedSave> open_nested_zip(checkpoint::Contents& contents, const io::SourcePtr& source) {
  WICK_TRY(const auto zip, archive::Zip::open(source, contents.limits));
  const auto root = ZipRoot::find(*zip, "data.pkl");
  if (!root) return Error(ErrorCode::NotFound, "the archive has no record data.pkl");
  const auto entry = root->entry(*zip, "data.pkl");
  if (!entry) return Error(ErrorCode::NotFound, "the archive has no record data.pkl");
  OpenedSave save;
  save.first_object = contents.arena.object_count();
  WICK_TRY(auto read, read_zip_pickle(contents, *zip, *entry));
  save.end_object = contents.arena.object_count();
  save.root = read.root;
  save.persistent_ids = std::move(read.persistent_ids);
  const auto opener = static_cast<std::uint32_t>(contents.openers.size());
  contents.openers.push_back(std::make_shared<ZipRecords>(zip, contents.limits));
  struct Kept {
    std::shared_ptr<const archive::Zip> zip;
    ZipRoot root;
    ZipStorages storages;
    Kept(std::shared_ptr<const archive::Zip> z, ZipRoot r, std::uint32_t opener_index, bool big)
        : zip(std::move(z)), root(std::move(r)), storages(*zip, root, opener_index, big) {}
  };
  const auto kept = std::make_shared<Kept>(zip, *root, opener, says_big_endian(*zip, *root, contents.limits));
  kept->storages.look_in({"data/"}, false);
  save.storage_of_id = [kept](checkpoint::Contents& into, Value id) { return kept->storages.storage_of(into, id); };
  return save;
}

}  // namespace wick::torch
