// SPDX-License-Identifier: Apache-2.0
// Finds the end of a zip archive and, through it, the central directory. Format: docs/formats/zip.md,
// APPNOTE 4.3.14-16.
#pragma once

#include <cstdint>
#include <string>

#include "base/finding.h"
#include "io/source.h"

namespace wick::archive {

// What the end records say, zip64 resolved. Offsets are absolute in the source and lie within it.
struct ZipEnd {
  std::uint64_t directory = 0;
  std::uint64_t directory_bytes = 0;
  std::uint64_t count = 0;        // entries, as declared
  bool count_may_wrap = false;    // it was written in 16 bits
  std::uint64_t base = 0;         // where the archive begins: to be added to every offset it names
  std::uint64_t record = 0;       // of the end record
  std::uint64_t archive_end = 0;  // after its comment
  std::string comment;
  Findings findings;
};

// Scans back from the end of the source. Truncated when no end record is there, Malformed when it contradicts itself,
// Unsupported for one volume of several.
Result<ZipEnd> find_zip_end(const ByteSource& source);

}  // namespace wick::archive
