// SPDX-License-Identifier: Apache-2.0
// What a file is, told by its bytes and never by its name. The table is kinds.def.
#pragma once

#include <cstdint>
#include <string_view>

#include "wick/export.h"

namespace wick {

enum class FileKind : std::uint8_t {
#define WICK_KIND(enumerator, name, title, readable) enumerator,
#include "wick/kinds.def"
#undef WICK_KIND
};

// "torch-zip". Thread-safe.
WICK_API std::string_view name_of(FileKind kind);
// "PyTorch checkpoint (zip)".
WICK_API std::string_view title_of(FileKind kind);
// False for the kinds that are only named.
WICK_API bool can_open(FileKind kind);

}  // namespace wick
