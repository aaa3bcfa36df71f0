// SPDX-License-Identifier: Apache-2.0
// Files that are a legacy stream of torch.save, of 0.1 to today. Format: docs/formats/torch-legacy.md.
#include "base/try.h"
#include "torch/legacy_stream.h"
#include "torch/readers.h"
#include "torch/rebuild.h"
#include "torch/zip_save.h"

namespace wick::torch {

bool is_legacy(const checkpoint::Probe& probe) { return begins_as_legacy(probe.head); }

Result<checkpoint::Contents> read_legacy(const checkpoint::Probe& probe) {
  checkpoint::Contents contents;
  contents.name = probe.name;
  contents.kind = FileKind::TorchLegacy;
  contents.source = probe.source;
  contents.limits = probe.context.limits;
  const auto stream = stream_of(probe.source);
  WICK_TRY(LegacySave legacy, open_legacy(contents, *stream));
  PickleFacts().add(contents, legacy.object);
  contents.facts.format_version = "1001";
  if (legacy.big_endian) contents.facts.byteorder = "big";
  contents.sections.push_back({"", legacy.save.root, checkpoint::Role::Unknown});
  Walk walk(contents);
  walk.enter(legacy.save.first_object, legacy.save.end_object, legacy.save.persistent_ids, legacy.save.storage_of_id);
  WICK_CHECK(walk.run());
  contents.arena.drop_duplicate_keys();
  const std::uint64_t size = probe.source->size();
  if (legacy.end < size)
    contents.findings.push_back(
        {"trailing-bytes",
         fmt::format("{} bytes after the last storage: torch.load would take them as another save", size - legacy.end),
         {},
         legacy.end});
  return contents;
}

}  // namespace wick::torch
