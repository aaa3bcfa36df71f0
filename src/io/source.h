// SPDX-License-Identifier: Apache-2.0
// Sources made from other sources. The public face (ByteSource, open_file, map_file, from_memory) is
// include/wick/source.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wick/limits.h"
#include "wick/source.h"

namespace wick::io {

using SourcePtr = std::shared_ptr<const ByteSource>;

// Bytes [offset, offset+length) of `source`, which it keeps alive. Truncated when the range is not inside.
Result<SourcePtr> slice(SourcePtr source, std::uint64_t offset, std::uint64_t length, std::string name);

// All bytes (or a range) in memory; Limit above limits.max_memory, checked before anything is allocated.
Result<std::vector<std::byte>> read_all(const ByteSource& source, const Limits& limits);
Result<std::vector<std::byte>> read_range(const ByteSource& source, std::uint64_t offset, std::uint64_t length,
                                          const Limits& limits);

// The first min(count, size) bytes.
Result<std::vector<std::byte>> read_head(const ByteSource& source, std::size_t count);

// Answers like `source` but hands out at most one byte a system call would: for tests that all sources give equal
// results.
SourcePtr one_byte_at_a_time(SourcePtr source);

}  // namespace wick::io
