// SPDX-License-Identifier: Apache-2.0
#include "open/folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "formats/readers.h"
#include "torch/readers.h"

namespace wick::open_detail {
namespace {

namespace fs = std::filesystem;

std::vector<fs::directory_entry> entries_of(const std::string& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    entries.push_back(*it);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.path() < b.path(); });
  return entries;
}

// DeepSpeed's own names (reference 9.3): <tag>/mp_rank_00_model_states.pt, zero_pp_rank_0_mp_rank_00_optim_states.pt;
// `latest` names the tag.
bool is_deepspeed_name(const std::string& name) {
  return name.ends_with("_model_states.pt") || name.ends_with("_optim_states.pt");
}

void tell(FolderFacts& facts, FileKind kind, std::string because) {
  if (facts.kind != FileKind::Unknown) return;
  facts.kind = kind;
  facts.because = std::move(because);
}

}  // namespace

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

FolderFacts describe_folder(const std::string& path) {
  FolderFacts facts;
  if (torch::is_dcp_folder(path))
    tell(facts, FileKind::TorchDcp, ".metadata");
  else if (formats::is_shard_folder(path))
    tell(facts, FileKind::HfShards, "*.index.json");
  for (const auto& entry : entries_of(path)) {
    std::error_code failed;
    if (!entry.is_regular_file(failed)) continue;
    ++facts.files;
    facts.bytes += entry.file_size(failed);
    if (const std::string name = entry.path().filename().string(); is_deepspeed_name(name))
      tell(facts, FileKind::DeepSpeedZero, name);
  }
  return facts;
}

std::vector<std::string> walk_folder(const std::string& folder) {
  std::vector<std::string> found;
  std::vector<std::string> pending{folder};
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;  // device and inode: links may form circles
  while (!pending.empty()) {
    const std::string here = std::move(pending.back());
    pending.pop_back();
    for (const auto& entry : entries_of(here)) {
      const std::string path = entry.path().string();
      struct stat status {};
      if (::stat(path.c_str(), &status) != 0 || !seen.emplace(status.st_dev, status.st_ino).second) continue;
      if (S_ISREG(status.st_mode)) found.push_back(path);
      if (!S_ISDIR(status.st_mode)) continue;
      const FileKind kind = describe_folder(path).kind;
      if (kind == FileKind::HfShards || kind == FileKind::TorchDcp)
        found.push_back(path);
      else
        pending.push_back(path);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace wick::open_detail
