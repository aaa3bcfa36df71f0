// SPDX-License-Identifier: Apache-2.0
// A lone .distcp file: torch.save archives one after the other, their names in a .metadata that is not here.
// Format: docs/formats/torch-dcp.md.
#include <algorithm>

#include "base/cursor.h"
#include "base/try.h"
#include "torch/readers.h"

namespace wick::torch {

using checkpoint::Contents;
using pickle::Value;

namespace {

constexpr std::string_view kZipMagic = "PK\x03\x04";

struct Item {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

// Each archive's end record tells how far it reaches back; what lies before is the next one.
Result<std::vector<Item>> find_items(const checkpoint::Probe& probe) {
  std::vector<Item> items;
  const Limits& limits = probe.context.limits;
  std::uint64_t end = probe.source->size();
  std::uint64_t begin = probe.zip->bytes_before();
  while (true) {
    items.push_back({begin, end - begin});
    if (items.size() > limits.max_members)
      return fail(ErrorCode::Limit, "more than {} archives one after the other (--max-members)", limits.max_members);
    if (begin == 0) break;
    end = begin;
    WICK_TRY(auto rest, io::slice(probe.source, 0, end, probe.name));
    WICK_TRY(const auto zip, archive::Zip::open(std::move(rest), limits));
    if (zip->bytes_before() >= end || zip->bytes_after() != 0)
      return fail_at(ErrorCode::Malformed, end, "the bytes before this archive are none");
    begin = zip->bytes_before();
  }
  std::reverse(items.begin(), items.end());
  return items;
}

}  // namespace

bool is_distcp(const checkpoint::Probe& probe) {
  if (!probe.zip || probe.zip->bytes_before() == 0 || !as_text(probe.head).starts_with(kZipMagic)) return false;
  for (std::size_t i = 0; i < probe.zip->size(); ++i)
    if (probe.zip->entry(i).name.ends_with("/data.pkl")) return true;
  return false;
}

Result<Contents> read_distcp(const checkpoint::Probe& probe) {
  Contents contents;
  contents.name = probe.name;
  contents.kind = FileKind::TorchDistcp;
  contents.source = probe.source;
  contents.limits = probe.context.limits;
  WICK_TRY(const auto items, find_items(probe));
  std::vector<Value> roots;
  for (const Item& item : items) {
    WICK_TRY(auto slice, io::slice(probe.source, item.begin, item.length, probe.name));
    auto root = read_nested_save(contents, slice);
    if (!root) return std::move(root).error().inside(fmt::format("archive {} at {}", roots.size(), item.begin));
    roots.push_back(*root);
  }
  contents.sections.push_back({"", contents.arena.tuple(roots), checkpoint::Role::Unknown});
  contents.arena.drop_duplicate_keys();
  return contents;
}

}  // namespace wick::torch
