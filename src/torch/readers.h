// SPDX-License-Identifier: Apache-2.0
// PyTorch's own containers -> Contents. Each pair: does it look like one, and read it. Kinds as in json.md; formats in
// docs/formats/.
#pragma once

#include <string>

#include "checkpoint/contents.h"
#include "checkpoint/probe.h"

namespace wick::torch {

// zip: torch.save, TorchScript, mobile bytecode, libtorch archives, saved parameters (told apart by their records).
bool is_torch_zip(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_torch_zip(const checkpoint::Probe& probe);

// TorchScript of 1.0 to 1.2 with model.json.
bool is_script_json(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_script_json(const checkpoint::Probe& probe);

// torch.package.
bool is_package(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_package(const checkpoint::Probe& probe);

// torch.export: the old zip and the PT2 archive.
bool is_export(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_export(const checkpoint::Probe& probe);

// Lite interpreter flatbuffer (PTMF at byte 4).
bool is_mobile_flatbuffer(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_mobile_flatbuffer(const checkpoint::Probe& probe);

// Legacy stream of torch.save.
bool is_legacy(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_legacy(const checkpoint::Probe& probe);

// Tar of 0.1.
bool is_torch_tar(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_torch_tar(const checkpoint::Probe& probe);

// A lone .distcp: torch.save archives one after the other.
bool is_distcp(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_distcp(const checkpoint::Probe& probe);

// Any other pickle, or several in a row; torch storages inside as _load_from_bytes.
bool is_pickle(const checkpoint::Probe& probe);
Result<checkpoint::Contents> read_plain_pickle(const checkpoint::Probe& probe);

// A torch.distributed.checkpoint folder as one checkpoint (.metadata with .distcp files, or safetensors-backed).
// `open_file` reads one file of the folder that is no torch.save archive (safetensors).
using OpenFile = Result<checkpoint::Contents> (*)(const std::string& path, const Context& context);
bool is_dcp_folder(const std::string& folder);
Result<checkpoint::Contents> read_dcp_folder(const std::string& folder, const Context& context, OpenFile open_file);

// A whole torch.save stream or archive that lies inside another file (bytes of _load_from_bytes, records of .pt2 and
// .distcp): its pickles and tensors are added to `contents`, its root is returned.
Result<pickle::Value> read_nested_save(checkpoint::Contents& contents, const io::SourcePtr& source);

}  // namespace wick::torch
