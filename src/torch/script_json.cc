// SPDX-License-Identifier: Apache-2.0
// Reads TorchScript archives of torch 1.0 to 1.2: model.json (a ModelDef in proto3 JSON), raw tensors, attributes.pkl.
// Format: docs/formats/torchscript-json.md, torch csrc/jit/serialization/import_legacy.cpp.
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "checkpoint/zip_members.h"
#include "pickle/machine.h"
#include "torch/meaning.h"
#include "torch/readers.h"
#include "wire/json.h"

namespace wick::torch {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;
using wire::Json;

constexpr std::string_view kModel = "model.json";

// caffe2.proto TensorProto.DataType, by name and number; what quantized tensors of that type hold.
struct DataType {
  std::string_view name;
  int number;
  DType dtype;
  DType quantized;
};
constexpr std::array<DataType, 11> kDataTypes{{{"FLOAT", 1, DType::Float32, DType::Float32},
                                               {"INT32", 2, DType::Int32, DType::QInt32},
                                               {"BYTE", 3, DType::UInt8, DType::QUInt8},
                                               {"BOOL", 5, DType::Bool, DType::Bool},
                                               {"UINT8", 6, DType::UInt8, DType::QUInt8},
                                               {"INT8", 7, DType::Int8, DType::QInt8},
                                               {"UINT16", 8, DType::UInt16, DType::UInt16},
                                               {"INT16", 9, DType::Int16, DType::Int16},
                                               {"INT64", 10, DType::Int64, DType::Int64},
                                               {"FLOAT16", 12, DType::Float16, DType::Float16},
                                               {"DOUBLE", 13, DType::Float64, DType::Float64}}};

// A number of proto3 JSON: 64-bit ones are written as text, absent ones are 0.
std::optional<std::int64_t> number_of(const Json* value) {
  if (value == nullptr) return 0;
  if (value->as_int()) return value->as_int();
  const auto text = value->as_string();
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

std::string_view text_at(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr ? value->as_string().value_or("") : std::string_view();
}

bool flag_at(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->boolean;
}

// An absent list is an empty one.
std::span<const Json> list_at(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr ? std::span<const Json>(value->items) : std::span<const Json>();
}

Result<std::vector<std::int64_t>> numbers_at(const Json& object, std::string_view key) {
  std::vector<std::int64_t> numbers;
  for (const Json& item : list_at(object, key)) {
    const auto number = number_of(&item);
    if (!number) return fail(ErrorCode::Malformed, "{} hold something that is no number", key);
    numbers.push_back(*number);
  }
  return numbers;
}

// "test_model/" of "test_model/model.json", or "".
std::string root_of(const archive::Zip& zip) {
  if (zip.size() == 0) return {};
  const std::string_view first = zip.entry(0).name;
  return std::string(first.substr(0, first.find('/') == std::string_view::npos ? 0 : first.find('/') + 1));
}

class ScriptJsonReader {
 public:
  explicit ScriptJsonReader(const checkpoint::Probe& probe)
      : zip_(probe.zip),
        root_(root_of(*probe.zip)),
        opener_(std::make_shared<checkpoint::ZipPartOpener>(probe.zip, probe.context.limits)) {
    contents_.name = probe.name;
    contents_.kind = FileKind::TorchScriptJson;
    contents_.source = probe.source;
    contents_.limits = probe.context.limits;
  }
  Result<Contents> read();

 private:
  void read_container();
  void read_tensor(const Json& def);
  Result<void> fill_tensor(const Json& def, checkpoint::TensorRow& row);
  std::uint32_t storage_of(std::string_view record);
  Result<void> read_attributes();
  Value build_modules(const Json& main);
  Value new_module(const Json& def);
  void fill_module(const Json& def, Value module, std::vector<std::pair<const Json*, Value>>& pending);
  Value tensor_at(const Json* id, std::string_view name);
  Value attribute_at(const Json& def);
  void note(std::string_view code, std::string message) {
    contents_.findings.push_back({std::string(code), std::move(message), std::string(kModel), std::nullopt});
  }

  Contents contents_;
  std::shared_ptr<const archive::Zip> zip_;
  std::string root_;
  std::shared_ptr<checkpoint::ZipPartOpener> opener_;
  std::map<std::string, std::uint32_t, std::less<>> storages_;
  std::vector<Value> attributes_;
  std::vector<bool> used_;  // tensors that a module or an attribute names
};

void ScriptJsonReader::read_container() {
  auto& facts = contents_.facts;
  if (!root_.empty()) facts.root_folder = root_.substr(0, root_.size() - 1);
  for (std::size_t i = 0; i < zip_->size(); ++i) {
    const archive::ZipEntry entry = zip_->entry(i);
    if (entry.method != 0) ++facts.compressed;
    if (entry.crc != 0) ++facts.crc_present;
    if (entry.crc == 0 && entry.size != 0) ++facts.crc_omitted;
  }
  contents_.findings.insert(contents_.findings.end(), zip_->findings().begin(), zip_->findings().end());
  contents_.members = checkpoint::zip_member_list(zip_);
  contents_.openers.push_back(opener_);
}

std::uint32_t ScriptJsonReader::storage_of(std::string_view record) {
  if (const auto known = storages_.find(record); known != storages_.end()) return known->second;
  checkpoint::StorageRow row;
  row.key = contents_.arena.text(Kind::Str, record);
  row.untyped = true;
  if (const auto index = zip_->find(root_ + std::string(record))) {
    row.bytes = zip_->entry(*index).size;
    row.declared = row.bytes;
    row.opener = 0;
    row.entry = opener_->add(*index, 0, row.bytes);
    if (zip_->entry(*index).method != 0) ++contents_.facts.compressed_storages;
  } else {
    contents_.errors.push_back(fail(ErrorCode::NotFound, "the archive has no record '{}'", escape_for_display(record)));
    row.error = static_cast<std::uint32_t>(contents_.errors.size() - 1);
  }
  contents_.storages.push_back(row);
  const auto storage = static_cast<std::uint32_t>(contents_.storages.size() - 1);
  storages_.emplace(record, storage);
  return storage;
}

Result<void> ScriptJsonReader::fill_tensor(const Json& def, checkpoint::TensorRow& row) {
  WICK_TRY(const auto sizes, numbers_at(def, "dims"));
  row.sizes = contents_.dims.put(sizes);
  WICK_TRY(const auto strides, numbers_at(def, "strides"));
  row.strides = contents_.dims.put(strides);
  row.requires_grad = flag_at(def, "requiresGrad");
  row.grad_known = true;
  if (const auto device = text_at(def, "device"); !device.empty()) row.device = contents_.device_index(device);
  const Json* data = def.find("data");
  if (data == nullptr) return Error(ErrorCode::Malformed, "the tensor names no record");
  row.storage = storage_of(text_at(*data, "key"));
  const auto offset = number_of(def.find("offset"));
  if (!offset || *offset < 0) return Error(ErrorCode::Malformed, "the offset is no natural number");
  row.offset = static_cast<std::uint64_t>(*offset);
  const Json* type = def.find("dataType");
  const auto name = type != nullptr ? type->as_string() : std::nullopt;
  const auto number = name ? std::nullopt : number_of(type);
  for (const DataType& known : kDataTypes)
    if (known.name == name.value_or("") || known.number == number.value_or(-1))
      row.dtype = flag_at(def, "isQuantized") ? known.quantized : known.dtype;
  if (row.dtype == DType::NumpyOther)
    return fail(ErrorCode::Unsupported, "data type '{}' is none that wick knows",
                name ? escape_for_display(*name) : std::to_string(number.value_or(0)));
  return {};
}

void ScriptJsonReader::read_tensor(const Json& def) {
  checkpoint::TensorRow row;
  row.dtype = DType::NumpyOther;
  auto filled = fill_tensor(def, row);
  const std::uint32_t tensor = contents_.add_tensor(row);
  if (row.storage != kNone && contents_.storages[row.storage].dtype == DType::UInt8 && row.dtype != DType::NumpyOther)
    contents_.storages[row.storage].dtype = row.dtype;
  if (flag_at(def, "isQuantized")) {
    auto& more = contents_.more_of(tensor);
    more.scheme = "per_tensor_affine";
    const Json* scale = def.find("scale");
    more.scale = scale != nullptr ? scale->real : 0;
    more.zero_point = number_of(def.find("zeroPoint")).value_or(0);
  }
  contents_.mean(Arena::leaf(tensor), {checkpoint::Meaning::What::Tensor, tensor});
  if (!filled)
    contents_.set_error(tensor, std::move(filled).error());
  else
    checkpoint::check_bounds(contents_, tensor);
}

// attributes.pkl: a list (protoVersion 2) or a tuple of values; tensors in it name the tensor table.
Result<void> ScriptJsonReader::read_attributes() {
  const auto index = zip_->find(root_ + "attributes.pkl");
  if (!index) return {};
  WICK_TRY(auto bytes, zip_->read(*index, contents_.limits));
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  auto& arena = contents_.arena;
  WICK_TRY(const auto pickle, pickle::read_pickle(*owner, 0, arena, contents_.limits, owner));
  contents_.facts.pickle_protocol = pickle.protocol;
  contents_.facts.classes.insert(contents_.facts.classes.end(), pickle.globals.begin(), pickle.globals.end());
  WICK_CHECK(give_meaning(contents_, 0, pickle.persistent_ids, [](Contents&, Value) { return kNone; }));
  for (std::size_t i = 0; i < arena.object_count(); ++i) {
    const Value value = Arena::object_at(i);
    const auto& object = arena.object(value);
    if (!arena.is_global(object.callable, "torch.jit._pickle", "build_tensor_from_id")) continue;
    const auto arguments =
        object.args.is(Kind::Tuple) ? arena.items(object.args) : std::span<const Value>(&object.args, 1);
    if (arguments.size() != 1 || !arguments[0].is(Kind::Int)) continue;
    const std::int64_t id = Arena::as_int(arguments[0]);
    if (id < 0 || static_cast<std::uint64_t>(id) >= contents_.tensors.size()) {
      note("bad-tensor-id", fmt::format("an attribute names tensor {}, there are {}", id, contents_.tensors.size()));
      continue;
    }
    used_[static_cast<std::size_t>(id)] = true;
    contents_.mean(value, {checkpoint::Meaning::What::Tensor, static_cast<std::uint32_t>(id)});
  }
  const auto items = arena.items(pickle.root);
  attributes_.assign(items.begin(), items.end());
  return {};
}

Value ScriptJsonReader::tensor_at(const Json* id, std::string_view name) {
  const auto number = number_of(id);
  if (number && *number >= 0 && static_cast<std::uint64_t>(*number) < used_.size()) {
    used_[static_cast<std::size_t>(*number)] = true;
    return Arena::leaf(static_cast<std::uint64_t>(*number));
  }
  checkpoint::TensorRow row;
  row.dtype = DType::NumpyOther;
  const std::uint32_t tensor = contents_.add_tensor(row);
  contents_.set_error(tensor, fail(ErrorCode::Malformed, "'{}' names tensor {}, there are {}", escape_for_display(name),
                                   number.value_or(-1), used_.size()));
  contents_.mean(Arena::leaf(tensor), {checkpoint::Meaning::What::Tensor, tensor});
  return Arena::leaf(tensor);
}

Value ScriptJsonReader::attribute_at(const Json& def) {
  const auto id = number_of(def.find("id"));
  if (id && *id >= 0 && static_cast<std::uint64_t>(*id) < attributes_.size())
    return attributes_[static_cast<std::size_t>(*id)];
  note("bad-attribute-id", fmt::format("attribute '{}' has the id {}, there are {}",
                                       escape_for_display(text_at(def, "name")), id.value_or(-1), attributes_.size()));
  return {};
}

Value ScriptJsonReader::new_module(const Json& def) {
  auto& arena = contents_.arena;
  const Value global = arena.global(arena.text(Kind::Str, "__torch__"), arena.text(Kind::Str, text_at(def, "name")));
  contents_.facts.classes.push_back(global);
  return arena.object(pickle::Made::NewObj, global, arena.tuple({}));
}

void ScriptJsonReader::fill_module(const Json& def, Value module, std::vector<std::pair<const Json*, Value>>& pending) {
  auto& arena = contents_.arena;
  std::vector<Value> pairs;
  const auto add = [&](std::string_view name, Value value) {
    if (value.missing()) return;
    pairs.push_back(arena.text(Kind::Str, name));
    pairs.push_back(value);
  };
  for (const Json& parameter : list_at(def, "parameters")) {
    const Value leaf = tensor_at(parameter.find("tensorId"), text_at(parameter, "name"));
    auto& row = contents_.tensors[leaf.index()];
    (flag_at(parameter, "isBuffer") ? row.is_buffer : row.is_parameter) = true;
    add(text_at(parameter, "name"), leaf);
  }
  for (const Json& attribute : list_at(def, "attributes")) add(text_at(attribute, "name"), attribute_at(attribute));
  for (const Json& submodule : list_at(def, "submodules")) {
    const Value child = new_module(submodule);
    add(text_at(submodule, "name"), child);
    pending.emplace_back(&submodule, child);
  }
  // A module with __getstate__ keeps its state in one attribute; it stands beside the rest.
  const auto state_id = number_of(def.find("getStateAttributeId"));
  if (def.find("getStateAttributeId") != nullptr && state_id && *state_id >= 0 &&
      static_cast<std::uint64_t>(*state_id) < attributes_.size())
    add("__getstate__", attributes_[static_cast<std::size_t>(*state_id)]);
  const Value state = arena.dict();
  arena.set_items(state, pairs);
  arena.add_state(module, state);
}

Value ScriptJsonReader::build_modules(const Json& main) {
  const Value root = new_module(main);
  std::vector<std::pair<const Json*, Value>> pending{{&main, root}};
  while (!pending.empty()) {
    const auto [def, module] = pending.back();
    pending.pop_back();
    fill_module(*def, module, pending);
  }
  return root;
}

Result<Contents> ScriptJsonReader::read() {
  read_container();
  const auto index = zip_->find(root_ + std::string(kModel));
  if (!index) return fail(ErrorCode::NotFound, "the archive has no record '{}'", kModel);
  WICK_TRY(const auto bytes, zip_->read(*index, contents_.limits));
  auto parsed = wire::parse_json({static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()});
  if (!parsed) return std::move(parsed).error().inside(kModel);
  const Json& model = *parsed;
  const auto version = number_of(model.find("protoVersion"));
  contents_.facts.format_version = std::to_string(version.value_or(0));
  contents_.facts.records.emplace("producerName", text_at(model, "producerName"));
  contents_.facts.records.emplace("producerVersion", text_at(model, "producerVersion"));
  for (const Json& def : list_at(model, "tensors")) read_tensor(def);
  used_.resize(contents_.tensors.size());
  WICK_CHECK(read_attributes());
  const Json* main = model.find("mainModule");
  if (main == nullptr || main->type != Json::Type::Object)
    return Error(ErrorCode::Malformed, "model.json has no object 'mainModule'").inside(kModel);
  contents_.sections.push_back({"", build_modules(*main), checkpoint::Role::Unknown});
  // What no module names are the constants of its code (CONSTANTS.cN is tensor N of the table).
  std::vector<Value> constants;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) continue;
    constants.push_back(contents_.arena.text(Kind::Str, fmt::format("c{}", i)));
    constants.push_back(Arena::leaf(i));
  }
  if (!constants.empty()) {
    const Value dict = contents_.arena.dict();
    contents_.arena.set_items(dict, constants);
    contents_.sections.push_back({"constants", dict, checkpoint::Role::Constant});
  }
  contents_.arena.drop_duplicate_keys();
  return std::move(contents_);
}

}  // namespace

bool is_script_json(const checkpoint::Probe& probe) {
  if (probe.zip == nullptr) return false;
  const std::string root = root_of(*probe.zip);
  return probe.zip->find(root + std::string(kModel)).has_value() && probe.zip->find(root + "version").has_value();
}

Result<Contents> read_script_json(const checkpoint::Probe& probe) { return ScriptJsonReader(probe).read(); }

}  // namespace wick::torch
