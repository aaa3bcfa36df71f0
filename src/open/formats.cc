// SPDX-License-Identifier: Apache-2.0
#include "open/formats.h"

#include "base/try.h"
#include "formats/readers.h"
#include "open/loaded.h"
#include "torch/readers.h"

namespace wick::open_detail {
namespace {

using checkpoint::Contents;
using checkpoint::Probe;

// A member counts as a model when one of the formats (or an archive of such) takes it; text and images do not.
bool is_model(const io::SourcePtr& source, const std::string& name, const Context& context) {
  auto probe = checkpoint::probe(source, name, context);
  if (!probe) return false;
  for (const Format& format : formats())
    if (format.matches(*probe)) return true;
  return false;
}

Result<Contents> read_archive(const Probe& probe) { return formats::read_archive(probe, is_model); }

Result<Contents> read_shard_index(const Probe& probe) {
  return formats::read_shards(probe.name, probe.context, read_file);
}

bool starts_as_zip(const Probe& probe) {
  return probe.head.size() >= 2 && probe.head[0] == std::byte{'P'} && probe.head[1] == std::byte{'K'};
}

// A pickle with an archive behind it is a pickle: Python's loaders stop at STOP and never see the rest.
bool is_pickle_before_zip(const Probe& probe) { return !starts_as_zip(probe) && torch::is_pickle(probe); }

// Order: what is told by its first bytes, then zips from the most particular to the least, then what has no magic.
constexpr Format kFormats[] = {
    {"lite-interpreter flatbuffer", torch::is_mobile_flatbuffer, torch::read_mobile_flatbuffer},
    {"legacy torch stream", torch::is_legacy, torch::read_legacy},
    {"torch tar", torch::is_torch_tar, torch::read_torch_tar},
    {"safetensors", formats::is_safetensors, formats::read_safetensors},
    {"gguf", formats::is_gguf, formats::read_gguf},
    {"npy", formats::is_npy, formats::read_npy},
    {"pickle", is_pickle_before_zip, torch::read_plain_pickle},
    {"distributed checkpoint file", torch::is_distcp, torch::read_distcp},
    {"torchscript with model.json", torch::is_script_json, torch::read_script_json},
    {"torch.package", torch::is_package, torch::read_package},
    {"torch.export", torch::is_export, torch::read_export},
    {"torch zip", torch::is_torch_zip, torch::read_torch_zip},
    {"npz", formats::is_npz, formats::read_npz},
    {"shard index", formats::is_shard_index, read_shard_index},
    {"archive", formats::is_archive, read_archive},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

Result<Contents> read_file(const std::string& path, const Context& context) {
  WICK_TRY(auto source, open_file(path));
  return read_contents(std::move(source), path, context);
}

Result<Contents> read_contents(io::SourcePtr source, const std::string& name, const Context& context) {
  WICK_TRY(const Probe probe, checkpoint::probe(std::move(source), name, context));
  for (const Format& format : formats()) {
    if (!format.matches(probe)) continue;
    auto contents = format.read(probe);
    if (!contents) return std::move(contents).error().inside(name);
    return contents;
  }
  FileKind kind = FileKind::Unknown;
  return name_the_stranger(probe, kind);
}

}  // namespace wick::open_detail
