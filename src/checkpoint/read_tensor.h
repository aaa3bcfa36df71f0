// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor row: opened storage, strides followed, conj and neg resolved, bytes swapped to
// little-endian.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/contents.h"

namespace wick::checkpoint {

// The storage behind a row, swapped to little-endian when the file is big-endian. Fails with the tensor's error when it
// has one.
Result<tensor::StoragePtr> open_storage(const Contents& contents, std::uint32_t tensor);

// All elements in C order, little-endian, packed (sub-byte types over the packed bytes). Limit above limits.max_memory.
// Unsupported, by name, for layouts without elements of their own (sparse, nested): read their parts.
Result<std::vector<std::byte>> read_elements(const Contents& contents, std::uint32_t tensor);

// The same in chunks of at most a MiB or so, for digests: `take` is called in order and may stop with an error.
Result<void> stream_elements(const Contents& contents, std::uint32_t tensor,
                             const std::function<Result<void>(std::span<const std::byte>)>& take);

// A contiguous, unswapped, plain tensor's bytes without a copy, or the reason why not.
Result<ByteView> view_elements(const Contents& contents, std::uint32_t tensor);

}  // namespace wick::checkpoint
