// SPDX-License-Identifier: Apache-2.0
// Probe: what the list of formats looks at to tell what a source is. The first bytes are read once; the zip directory
// only when the first bytes (or the last) say zip, and once for all formats.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/zip.h"
#include "base/context.h"
#include "io/source.h"

namespace wick::checkpoint {

struct Probe {
  io::SourcePtr source;
  std::string name;  // as the user named it
  Context context;
  std::vector<std::byte> head;              // first 4096 bytes, or fewer
  std::shared_ptr<const archive::Zip> zip;  // nullptr when it is no zip that can be opened
  std::optional<Error> zip_error;           // why not, when the bytes say it should be one
};

// Reads the head and, when it looks like zip, the directory. Fails only when the source itself can not be read.
Result<Probe> probe(io::SourcePtr source, std::string name, const Context& context);

}  // namespace wick::checkpoint
