// SPDX-License-Identifier: Apache-2.0
#include "torch/nested_save.h"

#include <algorithm>

#include "base/cursor.h"
#include "base/try.h"
#include "torch/legacy_stream.h"
#include "torch/readers.h"
#include "torch/rebuild.h"
#include "torch/zip_save.h"

namespace wick::torch {

namespace {

constexpr std::string_view kZipMagic = "PK\x03\x04";
constexpr std::size_t kHead = 64;

Result<OpenedSave> open_stream(checkpoint::Contents& contents, StreamBytes& stream, std::span<const std::byte> head) {
  if (begins_as_legacy(head)) {
    WICK_TRY(auto legacy, open_legacy(contents, stream));
    return std::move(legacy.save);
  }
  return Error(ErrorCode::Unsupported, "these bytes are no torch.save file: neither a zip nor a legacy stream");
}

}  // namespace

Result<OpenedSave> open_nested_bytes(checkpoint::Contents& contents, std::string_view bytes) {
  const auto span = as_bytes_of(bytes);
  if (bytes.starts_with(kZipMagic)) {
    // A zip's storages are read through its source, which must own its bytes: they outlive the arena.
    WICK_CHECK(check_memory(contents.limits, span.size(), "an archive inside a pickle"));
    return open_nested_zip(contents, from_memory({span.begin(), span.end()}, contents.name));
  }
  const auto stream = stream_of(span);
  return open_stream(contents, *stream, span.first(std::min(kHead, span.size())));
}

Result<OpenedSave> open_nested_source(checkpoint::Contents& contents, const io::SourcePtr& source) {
  WICK_TRY(const auto head, io::read_head(*source, kHead));
  if (as_text(head).starts_with(kZipMagic)) return open_nested_zip(contents, source);
  const auto stream = stream_of(source);
  return open_stream(contents, *stream, head);
}

Result<pickle::Value> read_nested_save(checkpoint::Contents& contents, const io::SourcePtr& source) {
  WICK_TRY(const OpenedSave save, open_nested_source(contents, source));
  Walk walk(contents);
  walk.enter(save.first_object, save.end_object, save.persistent_ids, save.storage_of_id);
  WICK_CHECK(walk.run());
  return save.root;
}

}  // namespace wick::torch
