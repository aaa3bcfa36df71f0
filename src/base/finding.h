// SPDX-License-Identifier: Apache-2.0
// Something odd but harmless that a reader noticed: it is told, and does not stop reading.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace wick {

struct Finding {
  std::string code;                     // kebab-case, stable: "trailing-bytes"
  std::string message;                  // lower-case fragment with its numbers
  std::string member;                   // record it is about, or empty
  std::optional<std::uint64_t> offset;  // absolute in the file, when known
};

using Findings = std::vector<Finding>;

}  // namespace wick
