// SPDX-License-Identifier: Apache-2.0
// weight[0:2, :6]: Python's slice rules over the sizes of a tensor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/error.h"

namespace wick::cli {

// What one dimension of a tensor becomes.
struct Cut {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
  bool kept = true;  // false: an index took the dimension away
};

// "0:2, :6" over `sizes`: integers, start:stop:step (any part may be missing or negative), one "...". Dimensions that
// are not named stay whole. NotFound for an index outside, usage error for what is no slice.
Result<std::vector<Cut>> parse_slice(std::string_view text, std::span<const std::int64_t> sizes);

// The whole of it.
std::vector<Cut> whole(std::span<const std::int64_t> sizes);

// The sizes that are left.
std::vector<std::int64_t> sizes_of(std::span<const Cut> cuts);

// "fc.weight[0, :]" -> "fc.weight" and "0, :"; nothing when it does not end in brackets.
bool split_slice(std::string_view text, std::string_view& name, std::string_view& slice);

}  // namespace wick::cli
