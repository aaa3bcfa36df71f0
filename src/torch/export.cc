// SPDX-License-Identifier: Apache-2.0
// Reads torch.export programs: the zip of torch 2.1 to 2.6, the PT2 archive of 2.7 and later, AOTInductor packages.
// Format: docs/formats/pt2.md, torch/export/pt2_archive/_package.py.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "archive/zip_head.h"
#include "base/checked.h"
#include "base/text.h"
#include "checkpoint/zip_members.h"
#include "pickle/machine.h"
#include "torch/export_program.h"
#include "torch/export_tensor.h"
#include "torch/meaning.h"
#include "torch/readers.h"
#include "wire/json.h"

namespace wick::torch {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Role;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;
using wire::Json;

constexpr std::string_view kFormatRecord = "archive_format";
constexpr std::string_view kOldProgram = "serialized_exported_program.json";
constexpr std::uint64_t kSmallRecord = 4096;
constexpr std::string_view kWeights = "data/weights/";
constexpr std::string_view kConstants = "data/constants/";
constexpr std::string_view kSampleInputs = "data/sample_inputs/";
constexpr std::string_view kModels = "models/";

// The folder all records lie in, with its slash: "model/"; "" when there is none.
std::string_view root_of(const archive::Zip& zip) {
  if (zip.size() == 0) return {};
  const std::string_view first = zip.entry(0).name;
  const std::size_t slash = first.find('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view root = first.substr(0, slash + 1);
  const std::size_t last = zip.size() - 1;
  return zip.entry(last).name.starts_with(root) ? root : std::string_view();
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

bool is_pt2(const archive::Zip& zip) {
  const auto format = zip.find(std::string(root_of(zip)) + std::string(kFormatRecord));
  if (!format) return false;
  const auto head = archive::read_entry_head(zip, *format, 16);
  return head && text_of(*head).starts_with("pt2");
}

class ExportReader {
 public:
  explicit ExportReader(const checkpoint::Probe& probe)
      : zip_(probe.zip),
        root_(root_of(*probe.zip)),
        opener_(std::make_shared<checkpoint::ZipPartOpener>(probe.zip, probe.context.limits)) {
    contents_.name = probe.name;
    contents_.kind = FileKind::TorchExport;
    contents_.source = probe.source;
    contents_.limits = probe.context.limits;
  }

  Result<Contents> read();

 private:
  // One group of tensors: the weights or the constants of every model.
  struct Group {
    std::string_view folder;
    std::vector<std::pair<std::string, std::vector<Value>>> models;  // model name -> pairs of its dict
  };

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const {
    return zip_->find(root_ + std::string(name));
  }
  [[nodiscard]] std::vector<std::string> names_in(std::string_view folder) const;
  void read_container();
  Result<void> read_archive();
  Result<void> read_old();
  Result<void> read_programs();
  void read_program(std::uint32_t index, std::string_view record);
  Result<Group> read_group(std::string_view folder);
  Result<void> read_config(Group& group, std::string_view model, std::uint32_t index);
  void read_legacy_dict(Group& group, std::string_view model, std::string_view record);
  Value exported(std::string_view folder, std::string_view fqn, const Json& entry);
  Value raw_tensor(const std::string& record, const Json* meta);
  std::uint32_t storage_of(const std::string& record);
  Result<Value> pickled(const std::string& record);
  Value failed(const Error& error, std::string_view place);
  Result<Value> nested(std::string_view record);
  void add_section(std::string record, Value root, Role role) {
    contents_.sections.push_back({std::move(record), root, role});
  }
  Value dict_of(Group& group);
  void read_samples();
  void read_unnamed_weights();
  void mark_roles(const Group& group, bool weights);

  Contents contents_;
  std::shared_ptr<const archive::Zip> zip_;
  std::string root_;
  std::shared_ptr<checkpoint::ZipPartOpener> opener_;
  std::map<std::string, std::uint32_t> storages_;  // record -> storage row
  std::map<std::string, Value> pickles_;           // record -> its root, once for all that name it
  std::set<std::string> used_;                     // records that were asked for
  std::map<std::string, ExportedProgram, std::less<>> programs_;
};

std::vector<std::string> ExportReader::names_in(std::string_view folder) const {
  const std::string prefix = root_ + std::string(folder);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < zip_->size(); ++i) {
    const archive::ZipEntry entry = zip_->entry(i);
    if (!entry.is_folder && entry.name.starts_with(prefix)) names.emplace_back(entry.name.substr(root_.size()));
  }
  return names;
}

void ExportReader::read_container() {
  auto& facts = contents_.facts;
  if (!root_.empty()) facts.root_folder = root_.substr(0, root_.size() - 1);
  for (std::size_t i = 0; i < zip_->size(); ++i) {
    const archive::ZipEntry entry = zip_->entry(i);
    if (entry.method != 0) ++facts.compressed;
    if (entry.crc != 0) ++facts.crc_present;
    if (entry.crc == 0 && entry.size != 0) ++facts.crc_omitted;
  }
  for (const std::string_view name :
       {kFormatRecord, std::string_view("archive_version"), std::string_view("version"),
        std::string_view(".data/version"), std::string_view("byteorder"), std::string_view(".data/serialization_id")}) {
    const auto index = find(name);
    if (!index || zip_->entry(*index).size > kSmallRecord) continue;
    used_.insert(std::string(name));
    if (const auto bytes = zip_->read(*index, contents_.limits)) facts.records.emplace(name, text_of(*bytes));
  }
  const auto order = facts.records.find("byteorder");
  if (order != facts.records.end() && order->second == "big") facts.byteorder = "big";
  contents_.findings.insert(contents_.findings.end(), zip_->findings().begin(), zip_->findings().end());
  contents_.members = checkpoint::zip_member_list(zip_);
  contents_.openers.push_back(opener_);
}

// ---- values ----

Value ExportReader::failed(const Error& error, std::string_view place) {
  checkpoint::TensorRow row;
  row.dtype = DType::NumpyOther;
  const std::uint32_t tensor = contents_.add_tensor(row);
  contents_.set_error(tensor, Error(error).inside(place));
  const Value leaf = Arena::leaf(tensor);
  contents_.mean(leaf, {checkpoint::Meaning::What::Tensor, tensor});
  return leaf;
}

Result<Value> ExportReader::nested(std::string_view record) {
  const auto index = find(record);
  if (!index) return fail(ErrorCode::NotFound, "the archive has no record '{}'", escape_for_display(record));
  used_.insert(std::string(record));
  WICK_TRY(const auto source, zip_->open_entry(*index, contents_.limits));
  return read_nested_save(contents_, source);
}

// Records of use_pickle: a torch.save archive, or (opaque_obj_…) a bare pickle. The name decides, as in torch.
Result<Value> ExportReader::pickled(const std::string& record) {
  if (const auto known = pickles_.find(record); known != pickles_.end()) return known->second;
  Value root;
  if (record.find("/opaque_obj_") == std::string::npos) {
    WICK_TRY(root, nested(record));
  } else {
    const auto index = find(record);
    if (!index) return fail(ErrorCode::NotFound, "the archive has no record '{}'", escape_for_display(record));
    used_.insert(record);
    WICK_TRY(auto bytes, zip_->read(*index, contents_.limits));
    const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    const std::size_t first = contents_.arena.object_count();
    WICK_TRY(const auto pickle, pickle::read_pickle(*owner, 0, contents_.arena, contents_.limits, owner));
    WICK_CHECK(give_meaning(contents_, first, pickle.persistent_ids, [](Contents&, Value) { return kNone; }));
    contents_.facts.classes.insert(contents_.facts.classes.end(), pickle.globals.begin(), pickle.globals.end());
    root = pickle.root;
  }
  pickles_.emplace(record, root);
  return root;
}

std::uint32_t ExportReader::storage_of(const std::string& record) {
  if (const auto known = storages_.find(record); known != storages_.end()) return known->second;
  checkpoint::StorageRow row;
  row.key = contents_.arena.text(Kind::Str, record.substr(record.rfind('/') + 1));
  row.untyped = true;
  if (const auto index = find(record)) {
    row.bytes = zip_->entry(*index).size;
    row.declared = row.bytes;
    row.opener = 0;
    row.entry = opener_->add(*index, 0, row.bytes);
    if (zip_->entry(*index).method != 0) ++contents_.facts.compressed_storages;
    used_.insert(record);
  } else {
    contents_.errors.push_back(fail(ErrorCode::NotFound, "the archive has no record '{}'", escape_for_display(record)));
    row.error = static_cast<std::uint32_t>(contents_.errors.size() - 1);
  }
  contents_.storages.push_back(row);
  const auto storage = static_cast<std::uint32_t>(contents_.storages.size() - 1);
  storages_.emplace(record, storage);
  return storage;
}

Value ExportReader::raw_tensor(const std::string& record, const Json* meta) {
  if (meta == nullptr || meta->type != Json::Type::Object)
    return failed(Error(ErrorCode::Malformed, "the config has no tensor_meta for it"), record);
  const std::uint32_t storage = storage_of(record);
  const std::uint32_t tensor = add_exported_tensor(contents_, *meta, storage);
  auto& row = contents_.storages[storage];
  const DType dtype = contents_.tensors[tensor].dtype;
  if (row.dtype == DType::UInt8 && dtype != DType::NumpyOther) row.dtype = dtype;
  // Raw records are little-endian on every machine (docs/formats/pt2.md); `byteorder` tells of the pickled ones.
  if (row.bytes == 0 && row.error == kNone && contents_.tensor_bytes(contents_.tensors[tensor]) != 0)
    contents_.more_of(tensor).note = "its record is empty: torch.export writes that for a tensor without values";
  const Value leaf = Arena::leaf(tensor);
  contents_.mean(leaf, {checkpoint::Meaning::What::Tensor, tensor});
  return leaf;
}

Value ExportReader::exported(std::string_view folder, std::string_view fqn, const Json& entry) {
  const Json* path = entry.find("path_name");
  const auto name = path != nullptr ? path->as_string() : std::nullopt;
  if (!name) return failed(Error(ErrorCode::Malformed, "the config names no record for it"), fqn);
  const std::string record = std::string(folder) + std::string(*name);
  const Json* use_pickle = entry.find("use_pickle");
  if (use_pickle == nullptr || !use_pickle->boolean) {
    const Value leaf = raw_tensor(record, entry.find("tensor_meta"));
    const Json* is_param = entry.find("is_param");
    auto& row = contents_.tensors[leaf.index()];
    row.is_parameter = is_param != nullptr && is_param->boolean;
    row.is_buffer = folder == kWeights && !row.is_parameter;
    return leaf;
  }
  auto value = pickled(record);
  return value ? *value : failed(value.error(), record);
}

// ---- PT2 archive ----

// A program that can not be parsed is told of and its weights are listed all the same.
void ExportReader::read_program(std::uint32_t index, std::string_view record) {
  const auto bytes = zip_->read(index, contents_.limits);
  auto program = bytes ? read_exported_program(text_of(*bytes)) : Result<ExportedProgram>(bytes.error());
  used_.insert(std::string(record));
  if (!program) {
    contents_.findings.push_back(
        {"unreadable-program", program.error().message(), std::string(record), program.error().offset()});
    return;
  }
  auto& records = contents_.facts.records;
  if (!program->torch_version.empty()) records.emplace("torch_version", program->torch_version);
  if (program->schema_major)
    records.emplace("schema_version", fmt::format("{}.{}", *program->schema_major, program->schema_minor.value_or(0)));
  std::string_view name = record;
  if (name.starts_with(kModels)) name.remove_prefix(kModels.size());
  if (name.ends_with(".json")) name.remove_suffix(5);
  programs_.emplace(name, *std::move(program));
}

Result<void> ExportReader::read_programs() {
  for (const std::string& record : names_in(kModels))
    if (record.ends_with(".json")) read_program(*find(record), record);
  return {};
}

Result<void> ExportReader::read_config(Group& group, std::string_view model, std::uint32_t index) {
  WICK_TRY(const auto bytes, zip_->read(index, contents_.limits));
  WICK_TRY(const Json document, wire::parse_json(text_of(bytes)));
  const Json* config = document.find("config");
  if (config == nullptr || config->type != Json::Type::Object)
    return Error(ErrorCode::Malformed, "the config has no object 'config'");
  std::vector<Value> pairs;
  for (const auto& [fqn, entry] : config->members) {
    pairs.push_back(contents_.arena.text(Kind::Str, fqn));
    pairs.push_back(exported(group.folder, fqn, entry));
  }
  group.models.emplace_back(std::string(model), std::move(pairs));
  return {};
}

// torch 2.7 and 2.8 could write a whole dict with torch.save: data/weights/<model>.pt.
void ExportReader::read_legacy_dict(Group& group, std::string_view model, std::string_view record) {
  auto value = nested(record);
  const Value root = value ? contents_.resolve(*value) : failed(value.error(), record);
  std::vector<Value> pairs;
  const auto there = contents_.arena.pairs(root);
  if (value && (root.is(Kind::Dict) || root.is(Kind::Object)))
    pairs.assign(there.begin(), there.end());
  else
    pairs = {contents_.arena.text(Kind::Str, record), root};
  group.models.emplace_back(std::string(model), std::move(pairs));
}

Result<ExportReader::Group> ExportReader::read_group(std::string_view folder) {
  // The second and third are the names of torch 2.7 to 2.9.
  constexpr std::array<std::string_view, 4> kConfigEnds{"_weights_config.json", "_constants_config.json",
                                                        "_model_param_config.json", "_model_constants_config.json"};
  Group group{folder, {}};
  for (const std::string& record : names_in(folder)) {
    const std::string_view file = std::string_view(record).substr(folder.size());
    const auto end = std::find_if(kConfigEnds.rbegin(), kConfigEnds.rend(),
                                  [&](std::string_view candidate) { return file.ends_with(candidate); });
    if (end != kConfigEnds.rend()) {
      used_.insert(record);
      auto read = read_config(group, file.substr(0, file.size() - end->size()), *find(record));
      if (!read) return std::move(read).error().inside(record);
    } else if (file.ends_with(".pt") && used_.count(record) == 0) {
      read_legacy_dict(group, file.substr(0, file.size() - 3), record);
    }
  }
  return group;
}

// Buffers that the program calls non-persistent lie among the constants.
void ExportReader::mark_roles(const Group& group, bool weights) {
  for (const auto& [model, pairs] : group.models) {
    const auto program = programs_.find(model);
    if (weights || program == programs_.end()) continue;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (!pairs[i + 1].is(Kind::Leaf)) continue;
      const bool buffer = program->second.non_persistent.count(contents_.arena.as_text(pairs[i])) != 0;
      contents_.tensors[pairs[i + 1].index()].is_buffer = buffer;
    }
  }
}

// One model's dict is the root itself; several lie under their names.
Value ExportReader::dict_of(Group& group) {
  const auto make = [&](const std::vector<Value>& pairs) {
    const Value dict = contents_.arena.dict();
    contents_.arena.set_items(dict, pairs);
    return dict;
  };
  if (group.models.size() == 1) return make(group.models[0].second);
  std::vector<Value> models;
  for (const auto& [name, pairs] : group.models) {
    models.push_back(contents_.arena.text(Kind::Str, name));
    models.push_back(make(pairs));
  }
  return make(models);
}

void ExportReader::read_samples() {
  const auto records = names_in(kSampleInputs);
  std::vector<Value> pairs;
  for (const std::string& record : records) {
    auto value = nested(record);
    std::string_view name = std::string_view(record).substr(kSampleInputs.size());
    if (name.ends_with(".pt")) name.remove_suffix(3);
    pairs.push_back(contents_.arena.text(Kind::Str, name));
    pairs.push_back(value ? *value : failed(value.error(), record));
  }
  if (pairs.empty()) return;
  if (pairs.size() == 2) return add_section("sample_inputs", pairs[1], Role::Attribute);
  const Value dict = contents_.arena.dict();
  contents_.arena.set_items(dict, pairs);
  add_section("sample_inputs", dict, Role::Attribute);
}

// AOTInductor packages may keep weights apart as torch.save files that no config of ours names.
void ExportReader::read_unnamed_weights() {
  std::vector<Value> pairs;
  for (const std::string& record : names_in(kWeights)) {
    if (used_.count(record) != 0 || record.ends_with(".json")) continue;
    const auto head = archive::read_entry_head(*zip_, *find(record), 4);
    if (!head || !text_of(*head).starts_with("PK")) continue;
    auto value = nested(record);
    pairs.push_back(contents_.arena.text(Kind::Str, std::string_view(record).substr(kWeights.size())));
    pairs.push_back(value ? *value : failed(value.error(), record));
  }
  if (pairs.empty()) return;
  const Value dict = contents_.arena.dict();
  contents_.arena.set_items(dict, pairs);
  add_section("data/weights", dict, Role::Unknown);
}

Result<void> ExportReader::read_archive() {
  const auto version = contents_.facts.records.find("archive_version");
  contents_.facts.format_version = version != contents_.facts.records.end() ? version->second : "";
  WICK_CHECK(read_programs());
  WICK_TRY(Group weights, read_group(kWeights));
  WICK_TRY(Group constants, read_group(kConstants));
  mark_roles(weights, true);
  mark_roles(constants, false);
  add_section("", dict_of(weights), Role::Unknown);
  if (!constants.models.empty()) add_section("constants", dict_of(constants), Role::Constant);
  read_samples();
  read_unnamed_weights();
  return {};
}

// ---- the zip of 2.1 to 2.6 ----

Result<void> ExportReader::read_old() {
  const auto version = contents_.facts.records.find("version");
  contents_.facts.format_version = version != contents_.facts.records.end() ? version->second : "";
  if (const auto program = find(kOldProgram)) read_program(*program, kOldProgram);
  constexpr std::array<std::array<std::string_view, 2>, 3> kParts{{{"serialized_state_dict", ""},
                                                                   {"serialized_constants", "constants"},
                                                                   {"serialized_example_inputs", "sample_inputs"}}};
  for (const auto& [stem, section] : kParts) {
    const bool main = section.empty();
    std::string record = std::string(stem) + ".pt";
    if (!find(record)) record = std::string(stem) + ".json";  // 2.1 named the same bytes so
    if (!find(record)) {
      if (main) add_section("", contents_.arena.dict(), Role::Unknown);
      continue;
    }
    used_.insert(record);
    // An absent part is an empty record.
    if (zip_->entry(*find(record)).size == 0) {
      if (main) add_section("", contents_.arena.dict(), Role::Unknown);
      continue;
    }
    auto value = nested(record);
    const Role role = main ? Role::Unknown : section == "constants" ? Role::Constant : Role::Attribute;
    add_section(std::string(section), value ? *value : failed(value.error(), record), role);
  }
  return {};
}

Result<Contents> ExportReader::read() {
  read_container();
  if (is_pt2(*zip_))
    WICK_CHECK(read_archive());
  else
    WICK_CHECK(read_old());
  for (std::size_t i = 0; i < zip_->size(); ++i) {
    const archive::ZipEntry entry = zip_->entry(i);
    const std::string_view name = entry.name.substr(std::min(root_.size(), entry.name.size()));
    if (!entry.is_folder && used_.count(std::string(name)) == 0) contents_.facts.extra_members.emplace_back(name);
  }
  contents_.arena.drop_duplicate_keys();
  return std::move(contents_);
}

}  // namespace

bool is_export(const checkpoint::Probe& probe) {
  if (probe.zip == nullptr) return false;
  return probe.zip->find(kOldProgram).has_value() || is_pt2(*probe.zip);
}

Result<Contents> read_export(const checkpoint::Probe& probe) { return ExportReader(probe).read(); }

}  // namespace wick::torch
