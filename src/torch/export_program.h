// SPDX-License-Identifier: Apache-2.0
// What the JSON of an exported program says about the file as a whole; the graph is passed over unread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "wick/error.h"

namespace wick::torch {

struct ExportedProgram {
  std::string torch_version;                 // "2.13.0+cpu"; empty when it is not said
  std::optional<std::int64_t> schema_major;  // of schema_version
  std::optional<std::int64_t> schema_minor;
  std::set<std::string, std::less<>> non_persistent;  // names of buffers that no state_dict holds
};

// Malformed with the offset within `text`.
Result<ExportedProgram> read_exported_program(std::string_view text);

}  // namespace wick::torch
