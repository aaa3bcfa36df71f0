// SPDX-License-Identifier: Apache-2.0
// Tar archives (ustar, PAX, GNU long names) as hostile input. Format: docs/formats/tar.md, POSIX.1-2017 pax.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/finding.h"
#include "io/source.h"

namespace wick::archive {

struct TarEntry {
  std::string name;
  char type = '0';           // '0' file, '5' folder, '1'/'2' links ...
  std::uint64_t offset = 0;  // of the data in the source
  std::uint64_t size = 0;
};

struct Tar {
  io::SourcePtr source;
  std::vector<TarEntry> entries;
  Findings findings;  // a missing end mark, bytes after it, unknown types
};

// True when block 0 is a tar header: its checksum holds (old tars have no "ustar" magic).
bool looks_like_tar(std::span<const std::byte> head);
// Reads every header. Truncated when an entry's bytes are not all there.
Result<Tar> read_tar(io::SourcePtr source, const Limits& limits);
// A member as a source of its own, named "<source name>::<entry name>". Keeps the tar's source alive.
Result<io::SourcePtr> open_entry(const Tar& tar, std::size_t index);

}  // namespace wick::archive
