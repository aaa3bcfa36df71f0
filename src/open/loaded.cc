// SPDX-License-Identifier: Apache-2.0
#include "open/loaded.h"

#include <sys/stat.h>

#include "base/text.h"
#include "base/try.h"
#include "formats/readers.h"
#include "open/folder.h"
#include "open/formats.h"
#include "open/locate.h"
#include "torch/readers.h"
#include "torch/state_dict.h"

namespace wick::open_detail {
namespace {

using checkpoint::Contents;

Result<LoadedPtr> finish(Contents contents) {
  auto loaded = std::make_shared<Loaded>();
  loaded->contents = std::move(contents);
  torch::prepare_modules(loaded->contents);
  auto all = checkpoint::find_places(loaded->contents);
  if (!all) return std::move(all).error().inside(loaded->contents.name);
  loaded->all = *std::move(all);
  loaded->automatic = torch::find_auto_root(loaded->contents, loaded->all);
  if (loaded->contents.kind == FileKind::TorchScript) torch::refine_roles(loaded->automatic, loaded->all);
  return LoadedPtr(std::move(loaded));
}

Result<Contents> read_folder(const std::string& path, const Context& context) {
  const FolderFacts facts = describe_folder(path);
  if (facts.kind == FileKind::TorchDcp) return torch::read_dcp_folder(path, context, read_file);
  if (facts.kind == FileKind::HfShards) return formats::read_shards(path, context, read_file);
  if (facts.kind == FileKind::DeepSpeedZero)
    return fail(ErrorCode::Unsupported,
                "a DeepSpeed ZeRO folder ({} says so): its tensors are spread over the ranks' files",
                escape_for_display(facts.because))
        .called("deepspeed-zero")
        .advise("look at one of its files");
  return fail(ErrorCode::Unsupported,
              "a folder of {} files ({}) that is no checkpoint by itself: no *.index.json, no .metadata", facts.files,
              human_bytes(facts.bytes))
      .called("folder")
      .advise("name a file in it, or: wick info " + path + "/*");
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

// The longest prefix that exists as a file; the rest without its "::".
std::pair<std::string, std::string> split_input(const std::string& input) {
  if (exists(input)) return {input, {}};
  for (std::size_t at = input.rfind("::"); at != std::string::npos && at > 0; at = input.rfind("::", at - 1))
    if (exists(input.substr(0, at))) return {input.substr(0, at), input.substr(at + 2)};
  return {input, {}};
}

Result<LoadedPtr> load_path(const std::string& path, const Context& context) {
  if (is_folder(path)) {
    auto contents = read_folder(path, context);
    if (!contents) return std::move(contents).error().inside(path);
    return finish(*std::move(contents));
  }
  WICK_TRY(auto source, open_file(path));
  return load(std::move(source), path, context);
}

// The longest member name that `rest` begins with; "" when none does.
std::string member_prefix(const Contents& contents, const std::string& rest) {
  if (!contents.members) return {};
  std::string candidate = rest;
  while (true) {
    if (contents.members->has(candidate)) return candidate;
    const std::size_t at = candidate.rfind("::");
    if (at == std::string::npos) return {};
    candidate.resize(at);
  }
}

}  // namespace

Result<LoadedPtr> load(io::SourcePtr source, std::string name, const Context& context) {
  WICK_TRY(auto contents, read_contents(std::move(source), name, context));
  contents.name = std::move(name);
  return finish(std::move(contents));
}

Result<LoadedPtr> load_member(const Loaded& archive, std::string_view member, const Context& context) {
  const std::string name = archive.contents.name + "::" + std::string(member);
  if (!archive.contents.members)
    return fail(ErrorCode::NotFound, "{} holds no members", title_of(archive.contents.kind))
        .inside(archive.contents.name);
  if (context.nesting >= context.limits.max_nesting)
    return fail(ErrorCode::Limit, "archives are nested deeper than {} levels (--max-nesting)",
                context.limits.max_nesting)
        .inside(name);
  Context inner = context;
  ++inner.nesting;
  auto source = archive.contents.members->open(member, context.limits);
  if (!source) return std::move(source).error().inside(name);
  return load(*std::move(source), name, inner);
}

Result<LoadedPtr> load_input(const std::string& input, const Context& context, std::string* rest) {
  auto [path, left] = split_input(input);
  WICK_TRY(LoadedPtr loaded, load_path(path, context));
  Context inner = context;
  while (!left.empty()) {
    const std::string member = member_prefix(loaded->contents, left);
    if (member.empty()) break;
    auto entered = load_member(*loaded, member, inner);
    if (!entered) {
      if (rest != nullptr && left == member) break;  // a record that is no model: the caller may show its bytes
      return entered;
    }
    loaded = *std::move(entered);
    ++inner.nesting;
    left = left.size() > member.size() ? left.substr(member.size() + 2) : std::string();
  }
  if (rest != nullptr)
    *rest = left;
  else if (!left.empty())
    return fail(ErrorCode::NotFound, "there is no member {}", python_quote(left)).inside(loaded->contents.name);
  return loaded;
}

Result<checkpoint::Places> places_under(const Loaded& loaded, std::string_view path) {
  if (path == "auto") return loaded.automatic.places;
  if (path == "." || path.empty()) return loaded.all;
  WICK_TRY(const Located there, locate_in(loaded.contents, path));
  return checkpoint::find_places_under(loaded.contents, there.value, there.section);
}

}  // namespace wick::open_detail
