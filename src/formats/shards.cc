// SPDX-License-Identifier: Apache-2.0
// Reads a folder of model shards with its *.index.json as one checkpoint. Format: docs/formats/hf-shards.md,
// huggingface_hub's serialization and transformers' modeling_utils.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "checkpoint/graft.h"
#include "checkpoint/places.h"
#include "checkpoint/ranges.h"
#include "formats/readers.h"
#include "io/relative.h"
#include "wire/json.h"

namespace wick::formats {
namespace {

namespace fs = std::filesystem;
using checkpoint::Contents;
using checkpoint::kNone;
using pickle::Kind;
using pickle::Value;
using wire::Json;

constexpr std::string_view kIndexEnd = ".index.json";
constexpr std::size_t kMostNames = 5;  // in one message

std::string_view text_of(std::span<const std::byte> bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

bool begins_as_index(std::span<const std::byte> head) {
  const std::string_view text = text_of(head);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text[start] == '{' && text.find("\"weight_map\"") != std::string_view::npos;
}

// safetensors before bin, the usual names before others, then by name.
int rank_of(const std::string& name) {
  if (name == "model.safetensors.index.json") return 0;
  if (name.find(".safetensors.") != std::string::npos) return 1;
  if (name == "pytorch_model.bin.index.json") return 2;
  return 3;
}

// Index files of a folder, best first. A file counts when its beginning holds a weight_map.
std::vector<std::string> indexes_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (!name.ends_with(kIndexEnd)) continue;
    const auto source = open_file(it->path().string());
    if (!source) continue;
    const auto head = io::read_head(**source, 65536);
    if (head && begins_as_index(*head)) names.push_back(name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(rank_of(a), a) < std::pair(rank_of(b), b);
  });
  return names;
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
    text += (i == 0 ? "" : ", ") + escape_for_display(names[i]);
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

// One shard file with its tensors by name.
class Shard {
 public:
  Shard(Contents& into, const std::string& path, std::string file, const Context& context, OpenShard open);
  // The row in `into`, or why there is none.
  Result<std::uint32_t> tensor(const std::string& name);
  // Names that were never asked for.
  [[nodiscard]] std::vector<std::string> left() const;
  std::uint32_t take(const std::string& name);

 private:
  void note_piece(std::uint32_t tensor);

  Contents& into_;
  std::string file_;
  std::optional<Error> error_;
  Contents contents_;
  std::optional<checkpoint::Graft> graft_;
  std::map<std::string, std::uint32_t> rows_;
  std::vector<std::string> order_;
  std::set<std::string> asked_;
};

Shard::Shard(Contents& into, const std::string& path, std::string file, const Context& context, OpenShard open)
    : into_(into), file_(std::move(file)) {
  auto contents = open(path, context);
  if (!contents) {
    error_ = std::move(contents).error();
    return;
  }
  contents_ = *std::move(contents);
  const auto places = checkpoint::find_places(contents_);
  if (!places) {
    error_ = places.error();
    return;
  }
  for (const auto& place : places->rows) {
    std::string name = checkpoint::name_of(contents_, *places, place.path);
    if (rows_.emplace(name, place.tensor).second) order_.push_back(std::move(name));
  }
  for (const Finding& finding : contents_.findings) {
    into.findings.push_back(finding);
    into.findings.back().member = finding.member.empty() ? file_ : file_ + "::" + finding.member;
  }
  for (const Value value : contents_.facts.classes)
    into.facts.classes.push_back(
        into.arena.global(into.arena.text(Kind::Str, contents_.arena.as_text(contents_.arena.module(value))),
                          into.arena.text(Kind::Str, contents_.arena.as_text(contents_.arena.name(value)))));
  into.facts.persistent_ids += contents_.facts.persistent_ids;
  into.facts.persistent_ids_used += contents_.facts.persistent_ids_used;
  into.facts.pickle_protocol = std::max(into.facts.pickle_protocol, contents_.facts.pickle_protocol);
  graft_.emplace(into, contents_, file_);
}

void Shard::note_piece(std::uint32_t tensor) {
  const auto row = into_.tensors[tensor];
  checkpoint::TensorMore::ShardPiece piece;
  piece.file = file_;
  if (row.storage != kNone && into_.storages[row.storage].opener != kNone) {
    const auto& storage = into_.storages[row.storage];
    piece.member = into_.openers[storage.opener]->member(storage.entry);
  }
  piece.bytes = into_.tensor_bytes(row);
  const auto sizes = into_.sizes(row);
  piece.shape.assign(sizes.begin(), sizes.end());
  piece.start.assign(sizes.size(), 0);
  into_.more_of(tensor).pieces.push_back(std::move(piece));
}

std::uint32_t Shard::take(const std::string& name) {
  asked_.insert(name);
  const std::uint32_t tensor = graft_->tensor(rows_.at(name));
  if (const auto* more = into_.find_more(tensor); more == nullptr || more->pieces.empty()) note_piece(tensor);
  return tensor;
}

Result<std::uint32_t> Shard::tensor(const std::string& name) {
  if (error_) return Error(*error_);
  if (rows_.count(name) != 0) return take(name);
  return fail(ErrorCode::NotFound, "the index says it is in {}, which has {} tensors but not this one",
              escape_for_display(file_), rows_.size());
}

std::vector<std::string> Shard::left() const {
  std::vector<std::string> names;
  for (const std::string& name : order_)
    if (asked_.count(name) == 0) names.push_back(name);
  return names;
}

class ShardsReader {
 public:
  ShardsReader(std::string folder, const Context& context, OpenShard open)
      : folder_(std::move(folder)), context_(context), open_(open) {
    contents_.kind = FileKind::HfShards;
    contents_.limits = context.limits;
  }
  Result<Contents> read(const std::string& index_path);
  void note(std::string_view code, std::string message, std::string member = {}) {
    contents_.findings.push_back({std::string(code), std::move(message), std::move(member), std::nullopt});
  }

 private:
  Result<std::uint32_t> find_tensor(const std::string& name, const Json& file);
  Shard& shard(std::string_view file);
  void add(const std::string& name, std::uint32_t tensor);
  void add_failed(const std::string& name, Error error);
  void add_unindexed();
  void check_total(const Json& index);
  void read_facts(const Json& index);

  std::string folder_;
  Context context_;
  OpenShard open_;
  Contents contents_;
  std::map<std::string, std::unique_ptr<Shard>, std::less<>> shards_;
  std::vector<std::string> shard_order_;
  std::vector<Value> pairs_;
  std::set<std::string> names_;
  bool failures_ = false;
};

Shard& ShardsReader::shard(std::string_view file) {
  if (const auto known = shards_.find(file); known != shards_.end()) return *known->second;
  const std::string path = (fs::path(folder_) / std::string(file)).string();
  shard_order_.emplace_back(file);
  return *shards_.emplace(file, std::make_unique<Shard>(contents_, path, std::string(file), context_, open_))
              .first->second;
}

Result<std::uint32_t> ShardsReader::find_tensor(const std::string& name, const Json& file) {
  const auto shard_name = file.as_string();
  if (!shard_name) return Error(ErrorCode::Malformed, "the index names no file for it");
  // An index is no way to other files of the machine.
  if (!io::stays_inside(*shard_name))
    return fail(ErrorCode::Malformed, "the index names '{}', which is outside its folder",
                escape_for_display(*shard_name));
  return shard(*shard_name).tensor(name);
}

void ShardsReader::add(const std::string& name, std::uint32_t tensor) {
  names_.insert(name);
  pairs_.push_back(contents_.arena.text(Kind::Str, name));
  pairs_.push_back(checkpoint::tensor_leaf(contents_, tensor));
}

void ShardsReader::add_failed(const std::string& name, Error error) {
  checkpoint::TensorRow row;
  row.dtype = DType::NumpyOther;
  const std::uint32_t tensor = contents_.add_tensor(row);
  contents_.set_error(tensor, std::move(error));
  add(name, tensor);
  failures_ = true;
}

// Tensors that lie in a shard and not in the index are listed too, after the others.
void ShardsReader::add_unindexed() {
  for (const std::string& file : shard_order_) {
    Shard& shard = *shards_.find(file)->second;
    std::vector<std::string> fresh;
    for (const std::string& name : shard.left())
      if (names_.count(name) == 0) fresh.push_back(name);
    if (fresh.empty()) continue;
    for (const std::string& name : fresh) add(name, shard.take(name));
    note("not-in-index", fmt::format("{} tensors are not in the index: {}", fresh.size(), join(fresh)), file);
  }
}

void ShardsReader::check_total(const Json& index) {
  const Json* metadata = index.find("metadata");
  const Json* total = metadata != nullptr ? metadata->find("total_size") : nullptr;
  if (total == nullptr || failures_) return;
  std::uint64_t sum = 0;
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;  // a storage that two names share counts once
  for (const auto& row : contents_.tensors)
    if (row.storage == kNone || seen.emplace(row.storage, row.offset).second) sum += contents_.tensor_bytes(row);
  // Some writers give it as a float ("total_size": 1.2e9); it is compared as the number it is.
  const double declared =
      total->type == Json::Type::Float ? total->real : static_cast<double>(total->as_int().value_or(-1));
  if (declared != static_cast<double>(sum))
    note("total-size", fmt::format("the index says {} bytes, the shards hold {}", declared, sum));
}

void ShardsReader::read_facts(const Json& index) {
  const Json* metadata = index.find("metadata");
  if (metadata == nullptr) return;
  for (const auto& [key, value] : metadata->members) {
    std::string text = value.string;
    if (value.as_int()) text = std::to_string(*value.as_int());
    if (value.type == Json::Type::Float) text = fmt::format("{}", value.real);
    if (value.type == Json::Type::Bool) text = value.boolean ? "true" : "false";
    contents_.facts.metadata.emplace_back(key, std::move(text));
  }
}

Result<Contents> ShardsReader::read(const std::string& index_path) {
  WICK_TRY(contents_.source, open_file(index_path));
  WICK_TRY(const auto bytes, io::read_all(*contents_.source, context_.limits));
  auto parsed = wire::parse_json(text_of(bytes));
  if (!parsed) return std::move(parsed).error().inside(index_path);
  const Json* map = parsed->find("weight_map");
  if (map == nullptr || map->type != Json::Type::Object)
    return Error(ErrorCode::Malformed, "the index has no object 'weight_map'").inside(index_path);
  std::map<std::string_view, const Json*> last;  // of two rows for one name the last counts
  for (const auto& [name, file] : map->members) last[name] = &file;
  std::vector<std::string> twice;
  for (const auto& [name, file] : map->members) {
    if (names_.count(name) != 0) {
      twice.push_back(name);
      continue;
    }
    auto tensor = find_tensor(name, *last[name]);
    if (tensor)
      add(name, *tensor);
    else
      add_failed(name, std::move(tensor).error());
  }
  if (!twice.empty()) note("duplicate-key", fmt::format("names that the index has twice: {}", join(twice)));
  check_total(*parsed);
  add_unindexed();
  read_facts(*parsed);
  const Value root = contents_.arena.dict();
  contents_.arena.set_items(root, pairs_);
  contents_.arena.drop_duplicate_keys();
  contents_.sections.push_back({"", root, checkpoint::Role::Unknown});
  return std::move(contents_);
}

}  // namespace

bool is_shard_folder(const std::string& folder) { return !indexes_in(folder).empty(); }

bool is_shard_index(const checkpoint::Probe& probe) { return begins_as_index(probe.head); }

Result<Contents> read_shards(const std::string& folder_or_index, const Context& context, OpenShard open_shard) {
  std::error_code failed;
  const bool is_folder = fs::is_directory(folder_or_index, failed);
  const std::string folder = is_folder ? folder_or_index : fs::path(folder_or_index).parent_path().string();
  std::string index = folder_or_index;
  std::vector<std::string> indexes;
  if (is_folder) {
    indexes = indexes_in(folder);
    if (indexes.empty()) return fail(ErrorCode::NotFound, "no *.index.json with a weight_map is in the folder");
    index = (fs::path(folder) / indexes[0]).string();
  }
  ShardsReader reader(folder.empty() ? "." : folder, context, open_shard);
  if (indexes.size() > 1)
    reader.note("several-indexes", fmt::format("{} was read; also there: {}", escape_for_display(indexes[0]),
                                               join(std::vector<std::string>(indexes.begin() + 1, indexes.end()))));
  WICK_TRY(Contents contents, reader.read(index));
  contents.name = folder_or_index;
  return contents;
}

}  // namespace wick::formats
