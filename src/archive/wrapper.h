// SPDX-License-Identifier: Apache-2.0
// Whole-file compression: gzip, zlib, xz, lzma, bzip2, zstd (streams of one file) and 7z (several members, through
// libarchive).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "io/source.h"

namespace wick::archive {

enum class Wrapper : std::uint8_t { Gzip, Zlib, Xz, Lzma, Bzip2, Zstd };

// By the first bytes. Zlib and Lzma have no magic worth the name: they are told only when the header is consistent.
std::optional<Wrapper> detect_wrapper(std::span<const std::byte> head);
// "gzip", "xz" ...
std::string_view name_of(Wrapper wrapper);

// All bytes inside, as a source in memory named `name`. Concatenated members are joined (gzip, xz, bzip2, zstd). Limit
// by max_memory and max_ratio; Truncated and Malformed with the offset in the compressed file; Unsupported when wick
// was built without that library.
Result<io::SourcePtr> unwrap(const io::SourcePtr& source, Wrapper wrapper, const Limits& limits, std::string name);

struct SevenZipEntry {
  std::string name;
  std::uint64_t size = 0;
};
bool looks_like_7z(std::span<const std::byte> head);
Result<std::vector<SevenZipEntry>> list_7z(const io::SourcePtr& source, const Limits& limits);
Result<io::SourcePtr> open_7z_entry(const io::SourcePtr& source, std::string_view entry, const Limits& limits);

}  // namespace wick::archive
