// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wick/export.h"

#define WICK_VERSION_MAJOR 0
#define WICK_VERSION_MINOR 1
#define WICK_VERSION_PATCH 0

namespace wick {
// "0.1.0". Thread-safe; valid for the life of the program.
WICK_API const char* version();
}  // namespace wick
