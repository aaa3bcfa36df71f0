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

// Reads a source with the first format that takes it. Errors begin with `name` in where().
Result<checkpoint::Contents> read_contents(io::SourcePtr source, const std::string& name, const Context& context);

// The same for a file by its path.
Result<checkpoint::Contents> read_file(const std::string& path, const Context& context);

// What a source is when no format matches: an Error whose slug is the kind ("git-lfs-pointer"), whose message says what
// the bytes are and whose next() says what to do. `named_kind` gets the FileKind.
Error name_the_stranger(const checkpoint::Probe& probe, FileKind& named_kind);

}  // namespace wick::open_detail
