// SPDX-License-Identifier: Apache-2.0
// The values of a tensor or of a slice of it: aligned for people, nested arrays for JSON.
#pragma once

#include <span>

#include "checkpoint/contents.h"
#include "output.h"
#include "session.h"
#include "slice.h"

namespace wick::cli {

// Lines. Of more than a thousand elements the first and last three of each dimension are shown, as torch does.
Result<void> print_tensor(Output& out, const checkpoint::Contents& contents, std::uint32_t tensor,
                          std::span<const Cut> cuts);

// The slice as nested arrays; reading errors come before anything is written, or (of a file that changes) in the midst.
Result<void> write_tensor_values(JsonWriter& json, const checkpoint::Contents& contents, std::uint32_t tensor,
                                 std::span<const Cut> cuts);

}  // namespace wick::cli
