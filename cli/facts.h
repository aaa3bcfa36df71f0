// SPDX-License-Identifier: Apache-2.0
// Counts over one open file: what `info` says in numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "open/loaded.h"

namespace wick::cli {

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;  // in order of first appearance

struct Facts {
  std::uint64_t bytes = 0;  // of the file, or of the files of a folder
  std::string mime;
  std::string_view holds;            // as docs/json.md lists them
  std::uint64_t tensors = 0;         // names, arrays left out
  std::uint64_t arrays = 0;          // numpy arrays
  std::uint64_t model_tensors = 0;   // names under the auto root
  std::uint64_t model_bytes = 0;     // each storage range once
  std::uint64_t parameters = 0;      // elements under the auto root, each storage range once
  std::uint64_t parameters_all = 0;  // the same, every name counted
  std::uint64_t optimizer_tensors = 0;
  std::uint64_t optimizer_bytes = 0;
  std::uint64_t tensor_bytes = 0;  // of all tensors, each storage range once
  std::uint64_t storages = 0;
  std::uint64_t storage_bytes = 0;
  std::uint64_t bad_tensors = 0;
  std::string first_error;
  Counts dtypes;        // of all tensors
  Counts model_dtypes;  // under the auto root
  Counts devices;       // tag -> tensors
};
Facts count_facts(const open_detail::Loaded& loaded, const std::string& name);

}  // namespace wick::cli
