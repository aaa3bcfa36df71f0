// SPDX-License-Identifier: Apache-2.0
// Formats that are not PyTorch's own -> Contents. Each pair: does it look like one, and read it. docs/formats/ has a
// page each.
#pragma once

#include <string>

#include "checkpoint/contents.h"
#include "checkpoint/probe.h"

namespace wick::formats {

bool is_safetensors(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_safetensors(const checkpoint::Probe& probe);

bool is_gguf(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_gguf(const checkpoint::Probe& probe);

bool is_npy(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_npy(const checkpoint::Probe& probe);

bool is_npz(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_npz(const checkpoint::Probe& probe);

// A folder with *.index.json (or that file itself): the shards as one checkpoint. `open_shard` reads one shard file, so
// that shards may be of any format the caller knows.
using OpenShard = Result<checkpoint::Contents> (*)(const std::string& path, const Context& context);
bool is_shard_folder(const std::string& folder);
bool is_shard_index(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_shards(const std::string& folder_or_index, const Context& context,
                                         OpenShard open_shard);

// Compressed wrappers, tars and zips that hold other files: kind Archive, members listed, model_members told by their
// first bytes. `is_model` says whether a member's bytes are a model file.
using IsModel = bool (*)(const io::SourcePtr& source, const std::string& name, const Context& context);
bool is_archive(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_archive(const checkpoint::Probe& probe, IsModel is_model);

}  // namespace wick::formats
