// SPDX-License-Identifier: Apache-2.0
// A whole torch.save file that lies inside another: bytes in a pickle (_load_from_bytes), records of .distcp and .pt2.
#pragma once

#include <string_view>
#include <vector>

#include "checkpoint/contents.h"
#include "torch/meaning.h"

namespace wick::torch {

// A save whose pickles are read into the arena and whose objects still want their meaning.
struct OpenedSave {
  pickle::Value root;
  std::size_t first_object = 0;
  std::size_t end_object = 0;
  std::vector<pickle::Value> persistent_ids;
  StorageOfId storage_of_id;
};

// `bytes` must live as long as the arena of `contents`.
Result<OpenedSave> open_nested_bytes(checkpoint::Contents& contents, std::string_view bytes);
// Bytes of a source, which the opened storages keep alive.
Result<OpenedSave> open_nested_source(checkpoint::Contents& contents, const io::SourcePtr& source);

}  // namespace wick::torch
