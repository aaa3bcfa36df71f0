// SPDX-License-Identifier: Apache-2.0
#include "wick/version.h"

#define WICK_TEXT_(x) #x
#define WICK_TEXT(x) WICK_TEXT_(x)

namespace wick {
const char* version() {
  return WICK_TEXT(WICK_VERSION_MAJOR) "." WICK_TEXT(WICK_VERSION_MINOR) "." WICK_TEXT(WICK_VERSION_PATCH);
}
}  // namespace wick
