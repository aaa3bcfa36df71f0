// SPDX-License-Identifier: Apache-2.0
// What every reader is handed beside the bytes: budgets. Progress, cancellation and an executor join it when a command
// needs them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/format.h"
#include "wick/limits.h"

namespace wick {

struct Context {
  Limits limits;
  std::uint32_t nesting = 0;  // archives already entered on the way to this source
};

// Refuses to hold `bytes` more for `what` when that exceeds --max-memory.
inline Result<void> check_memory(const Limits& limits, std::uint64_t bytes, std::string_view what) {
  if (bytes <= limits.max_memory) return {};
  return fail(ErrorCode::Limit, "{} needs {} bytes of memory, {} are allowed (--max-memory)", what, bytes,
              limits.max_memory);
}

}  // namespace wick
