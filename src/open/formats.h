// SPDX-License-Identifier: Apache-2.0
// The one ordered list of formats. The order is the answer to ambiguity; nothing registers itself.
#pragma once

#include <span>

#include "checkpoint/contents.h"
#include "checkpoint/probe.h"

namespace wick::open_detail {

struct Format {
  std::string_view name;                      // for error chains: "torch zip"
  bool (*matches)(const checkpoint::Probe&);  // looks, never fails
  Result<checkpoint::Contents> (*read)(const checkpoint::Probe&);
};

std::span<const Format> formats();

// What a source is when no format matches: an Error whose slug is the kind ("git-lfs-pointer"), whose message says what
// the bytes are and whose next() says what to do. `named_kind` gets the FileKind.
Error name_the_stranger(const checkpoint::Probe& probe, FileKind& named_kind);

}  // namespace wick::open_detail
