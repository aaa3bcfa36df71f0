// SPDX-License-Identifier: Apache-2.0
// What a person should know unasked, each with its numbers and one next step.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "base/format.h"
#include "base/text.h"
#include "check/describe.h"
#include "check/entries.h"
#include "python/repr.h"

namespace wick::check {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using pickle::Kind;
using pickle::Value;

using Hints = std::vector<Hint>;

template <class... Args>
std::string text(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

std::string count_of(std::uint64_t count, std::string_view thing) {
  return with_commas(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

// ---- names ----

void look_at_prefixes(const open_detail::Loaded& loaded, Hints& hints) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kPrefixes{{
      {"module.", "torch.nn.DataParallel or DistributedDataParallel wrapped the model"},
      {"_orig_mod.", "torch.compile wrapped the model"},
      {"_forward_module.", "Lightning Fabric wrapped the model"},
      {"_fsdp_wrapped_module.", "FSDP wrapped the model"},
      {"model.", "the model is an attribute of what was saved"},
  }};
  const auto& places = loaded.automatic.places;
  if (places.rows.size() < 2) return;
  std::array<std::uint64_t, kPrefixes.size()> counts{};
  for (const checkpoint::Place& row : places.rows) {
    const std::string name = checkpoint::name_of(loaded.contents, places, row.path);
    for (std::size_t i = 0; i < kPrefixes.size(); ++i)
      if (name.starts_with(kPrefixes[i].first)) ++counts[i];
  }
  for (std::size_t i = 0; i < kPrefixes.size(); ++i) {
    if (counts[i] != places.rows.size()) continue;
    const auto& [prefix, why] = kPrefixes[i];
    std::string code(prefix.substr(0, prefix.size() - 1));
    code.erase(0, code.find_first_not_of('_'));
    std::replace(code.begin(), code.end(), '_', '-');
    hints.push_back(
        {code + "-prefix", text("all {} names start with {}: {}", places.rows.size(), python_quote(prefix), why),
         text("in Python: {{k.removeprefix({}): v for k, v in state_dict.items()}}", python_quote(prefix))});
  }
}

void look_at_other_names(const open_detail::Loaded& loaded, Hints& hints) {
  for (const std::string& why : loaded.automatic.names_may_differ)
    hints.push_back({"names-may-differ", "torch's state_dict() may name tensors otherwise: " + why,
                     "compare with list(model.state_dict()) in Python"});
}

// ---- bytes ----

struct Use {
  std::uint64_t bytes = 0;
};

// What is used of each storage: at most the sum of the bytes of its tensors.
std::unordered_map<std::uint32_t, Use> uses_of(const Contents& contents) {
  std::unordered_map<std::uint32_t, Use> uses;
  for (const checkpoint::TensorRow& row : contents.tensors) {
    if (row.storage == kNone || contents.error_of(row) != nullptr) continue;
    const std::uint64_t bytes = contents.tensor_bytes(row);
    if (row.layout == checkpoint::Layout::Storage) {
      uses[row.storage].bytes = contents.storages[row.storage].bytes;
      continue;
    }
    Use& use = uses[row.storage];
    use.bytes += std::min(bytes, ~std::uint64_t{0} - use.bytes);
  }
  return uses;
}

void look_at_views(const open_detail::Loaded& loaded, Hints& hints) {
  const Contents& contents = loaded.contents;
  std::uint64_t stored = 0;
  std::uint64_t used = 0;
  std::uint64_t storages = 0;
  std::uint64_t all = 0;
  for (const auto& [index, use] : uses_of(contents)) {
    const std::uint64_t size = contents.storages[index].bytes;
    all += size;
    if (use.bytes >= size) continue;
    stored += size;
    used += use.bytes;
    ++storages;
  }
  constexpr std::uint64_t kWorthSaying = 1024;
  if (stored - used < kWorthSaying || (stored - used) < all / 10) return;
  hints.push_back({"views-keep-big-storages",
                   text("{} hold {} of which tensors use {}: they were saved as views of bigger tensors",
                        count_of(storages, "storage"), human_bytes(stored), human_bytes(used)),
                   "in Python: save tensor.clone() instead of the view"});
}

void look_at_optimizer(const open_detail::Loaded& loaded, Hints& hints) {
  const Contents& contents = loaded.contents;
  std::uint64_t all = 0;
  std::uint64_t optimizer = 0;
  for (const checkpoint::Place& row : loaded.all.rows) {
    const checkpoint::TensorRow& tensor = contents.tensors[row.tensor];
    if (tensor.is_array) continue;
    const std::uint64_t bytes = contents.tensor_bytes(tensor);
    all += bytes;
    if (row.role == checkpoint::Role::Optimizer) optimizer += bytes;
  }
  if (all == 0 || optimizer > all) return;
  const auto percent = static_cast<int>(100.0 * static_cast<double>(optimizer) / static_cast<double>(all) + 0.5);
  constexpr int kWorthSaying = 30;
  if (percent < kWorthSaying) return;
  const std::string& root = loaded.automatic.path;
  hints.push_back(
      {"optimizer-share", text("{} % of the bytes are optimizer state ({})", percent, human_bytes(optimizer)),
       root == "." ? std::string()
                   : text("in Python: torch.save(checkpoint[{}], ...) keeps the weights alone", python_quote(root))});
}

void look_at_container(const Contents& contents, Hints& hints) {
  const auto& facts = contents.facts;
  if (facts.compressed_storages != 0)
    hints.push_back(
        {"deflated-storages",
         text("{} deflated: torch.load(mmap=True) fails on it",
              count_of(facts.compressed_storages, "storage") + (facts.compressed_storages == 1 ? " is" : " are")),
         "in Python: torch.save(torch.load(path, weights_only=True), path)"});
  if (facts.crc_omitted != 0)
    hints.push_back({"crc-omitted",
                     text("{} no CRC: damage in it would go unnoticed",
                          count_of(facts.crc_omitted, "record") + (facts.crc_omitted == 1 ? " has" : " have")),
                     "keep a sha256 of the file"});
  if (facts.byteorder == "big")
    hints.push_back({"big-endian", "storages are big-endian: torch before 2.1 reads wrong numbers", ""});
  if (!facts.extra_members.empty())
    hints.push_back(
        {"extra-members",
         text("{} that no reader of the format asks for, e.g. {}", count_of(facts.extra_members.size(), "record"),
              python_quote(to_valid_utf8(facts.extra_members.front()))),
         "wick ls --members shows them"});
  if (facts.python2)
    hints.push_back({"python2", "Python 2 wrote it: its strings are bytes of an unnamed encoding",
                     "in Python: torch.load(path, encoding=\"latin1\") where utf-8 fails"});
  if (facts.persistent_ids > facts.persistent_ids_used)
    hints.push_back({"unused-storages",
                     text("{} of {} storage ids in the pickle belong to no tensor that is listed",
                          facts.persistent_ids - facts.persistent_ids_used, facts.persistent_ids),
                     ""});
}

// ---- tensors ----

void look_at_devices(const Contents& contents, Hints& hints) {
  std::map<std::string, std::uint64_t> tags;
  for (const checkpoint::TensorRow& row : contents.tensors) {
    const std::string& tag = contents.devices[row.device];
    if (!row.is_array && tag != "cpu" && tag != "meta" && !tag.empty()) ++tags[tag];
  }
  if (tags.empty()) return;
  std::uint64_t tensors = 0;
  std::string names;
  constexpr std::size_t kMost = 4;
  std::size_t shown = 0;
  for (const auto& [tag, count] : tags) {
    tensors += count;
    if (shown++ < kMost) names += (names.empty() ? "" : ", ") + tag;
  }
  if (shown > kMost) names += ", ...";
  hints.push_back(
      {"device-tags",
       text("{} tagged {}", count_of(tensors, "tensor") + (tensors == 1 ? " is" : " are"), to_valid_utf8(names)),
       "in Python: torch.load(path, map_location=\"cpu\")"});
}

void look_at_dtypes(const open_detail::Loaded& loaded, Hints& hints) {
  std::map<DType, std::uint64_t> counts;
  for (const checkpoint::Place& row : loaded.automatic.places.rows) {
    const checkpoint::TensorRow& tensor = loaded.contents.tensors[row.tensor];
    if (!tensor.is_array) ++counts[tensor.dtype];
  }
  std::uint64_t floats = 0;
  for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16}) floats += counts[dtype];
  const std::uint64_t doubles = counts[DType::Float64];
  if (doubles != 0 && doubles < floats)
    hints.push_back({"stray-float64",
                     text("{} float64 among {} of 32 bits or less", count_of(doubles, "tensor"), with_commas(floats)),
                     "wick ls --where 'dtype=float64' shows them"});
  if (counts[DType::Float16] != 0 && counts[DType::BFloat16] != 0)
    hints.push_back({"mixed-half",
                     text("{} float16 and {} bfloat16 side by side", counts[DType::Float16], counts[DType::BFloat16]),
                     "wick ls --where 'dtype=float16' shows them"});
}

void look_at_damage(const open_detail::Loaded& loaded, Hints& hints) {
  std::uint64_t bad = 0;
  std::uint64_t meta = 0;
  std::string first;
  for (const checkpoint::Place& row : loaded.all.rows) {
    const checkpoint::TensorRow& tensor = loaded.contents.tensors[row.tensor];
    if (tensor.is_meta) ++meta;
    if (loaded.contents.error_of(tensor) == nullptr) continue;
    if (bad++ == 0) first = checkpoint::name_of(loaded.contents, loaded.all, row.path);
  }
  if (bad != 0)
    hints.push_back(
        {"unreadable-tensors",
         text("{} can not be read, the first is {}", count_of(bad, "tensor"), python_quote(to_valid_utf8(first))),
         "wick ls shows why; the others are whole"});
  if (meta != 0)
    hints.push_back(
        {"meta-tensors", text("{} on the meta device: shapes without bytes", count_of(meta, "tensor")), ""});
}

// ---- classes ----

constexpr auto kAllowed = std::to_array<std::string_view>({
#define WICK_ALLOWED(name) name,
#include "check/weights_only.def"
#undef WICK_ALLOWED
});

// Storages are taken by their class name, legacy ones in any spelling.
bool is_allowed(std::string_view module, const std::string& name) {
  if ((module == "torch" || module == "torch.cuda" || module == "torch.storage") && name.ends_with("Storage"))
    return true;
  return std::binary_search(kAllowed.begin(), kAllowed.end(), name);
}

void look_at_classes(const open_detail::Loaded& loaded, Hints& hints) {
  const Contents& contents = loaded.contents;
  const bool loads = contents.kind == FileKind::TorchZip || contents.kind == FileKind::TorchLegacy ||
                     contents.kind == FileKind::TorchTar || contents.kind == FileKind::TorchDistcp;
  if (!loads) return;
  std::vector<std::string> refused;
  std::set<std::string> foreign;
  for (const Value global : contents.facts.classes) {
    if (!global.is(Kind::Global)) continue;
    const std::string name = python::class_name(contents, global);
    const std::string module = name.substr(0, name.rfind('.'));
    if (is_allowed(module, name)) continue;
    if (std::find(refused.begin(), refused.end(), name) == refused.end()) refused.push_back(name);
    const std::string top = module.substr(0, module.find('.'));
    constexpr std::array<std::string_view, 14> kHome{"torch",   "numpy",    "collections", "builtins", "datetime",
                                                     "pathlib", "argparse", "functools",   "decimal",  "fractions",
                                                     "uuid",    "copyreg",  "_codecs",     "types"};
    if (std::find(kHome.begin(), kHome.end(), top) == kHome.end()) foreign.insert(top);
  }
  if (refused.empty()) return;
  std::string names;
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < refused.size() && i < kMost; ++i) names += (i == 0 ? "" : ", ") + refused[i];
  if (refused.size() > kMost) names += ", ...";
  hints.push_back(
      {"weights-only-refuses",
       text("torch.load(weights_only=True) refuses {}: {}", count_of(refused.size(), "name"), to_valid_utf8(names)),
       "in Python, for a file you trust: torch.serialization.add_safe_globals([...])"});
  if (foreign.empty()) return;
  std::string packages;
  for (const std::string& package : foreign) packages += (packages.empty() ? "" : ", ") + package;
  hints.push_back({"foreign-classes", text("torch.load(weights_only=False) would import {}", to_valid_utf8(packages)),
                   "wick reads it without them; wick tree shows the objects"});
}

}  // namespace

std::vector<Hint> find_hints(const open_detail::Loaded& loaded) {
  Hints hints;
  look_at_damage(loaded, hints);
  look_at_optimizer(loaded, hints);
  look_at_views(loaded, hints);
  look_at_prefixes(loaded, hints);
  look_at_other_names(loaded, hints);
  look_at_classes(loaded, hints);
  look_at_container(loaded.contents, hints);
  look_at_devices(loaded.contents, hints);
  look_at_dtypes(loaded, hints);
  return hints;
}

}  // namespace wick::check
