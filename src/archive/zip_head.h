// SPDX-License-Identifier: Apache-2.0
// The first bytes of a zip entry without inflating the rest: enough to tell what it is or to read its header.
#pragma once

#include <cstddef>
#include <vector>

#include "archive/zip.h"

namespace wick::archive {

// The first min(count, size) bytes of the entry. Same errors as Zip::read; the CRC can not be checked.
Result<std::vector<std::byte>> read_entry_head(const Zip& zip, std::size_t index, std::size_t count);

}  // namespace wick::archive
