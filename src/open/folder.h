// SPDX-License-Identifier: Apache-2.0
// What a folder is: one checkpoint in several files, or just files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wick/kind.h"

namespace wick::open_detail {

struct FolderFacts {
  FileKind kind = FileKind::Unknown;  // HfShards, TorchDcp, DeepSpeedZero; Unknown: a plain folder
  std::uint64_t files = 0;            // regular files directly in it
  std::uint64_t bytes = 0;
  std::string because;  // the file that tells: "pytorch_model.bin.index.json"
};

bool is_folder(const std::string& path);
// Looks at names only. A folder that can not be listed gives Unknown with 0 files.
FolderFacts describe_folder(const std::string& path);

// Regular files under `folder`, sorted by path; links to regular files are followed, each inode once, as hub snapshots
// are all links. Folders that are one checkpoint are given as themselves.
std::vector<std::string> walk_folder(const std::string& folder);

}  // namespace wick::open_detail
