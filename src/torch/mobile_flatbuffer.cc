// SPDX-License-Identifier: Apache-2.0
// Reads the lite interpreter's flatbuffer (PTMF) into the tree its zip form would give. Format:
// docs/formats/torch-mobile-flatbuffer.md, torch csrc/jit/mobile/flatbuffer_loader.cpp.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/cursor.h"
#include "base/text.h"
#include "checkpoint/places.h"
#include "checkpoint/ranges.h"
#include "tensor/dtype.h"
#include "torch/meaning.h"
#include "torch/mobile_flatbuffer_format.h"
#include "torch/readers.h"
#include "wire/flatbuffer.h"

namespace wick::torch {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using pickle::Arena;
using pickle::Kind;
using pickle::Made;
using pickle::Value;
using wire::FlatTable;
using wire::FlatVector;

constexpr std::array<std::string_view, 5> kSchemes{"per_tensor_affine", "per_channel_affine", "per_tensor_symmetric",
                                                   "per_channel_symmetric", "per_channel_affine_float_qparams"};
constexpr std::size_t kSmallRecord = 65536;  // of extra files kept as text

class MobileReader {
 public:
  MobileReader(Contents& contents, std::span<const std::byte> bytes)
      : contents_(contents), bytes_(bytes), budget_(4 * bytes.size() + 1024) {}
  Result<void> read();

 private:
  Result<void> read_storages(const FlatTable& module);
  Result<void> read_object_types(const FlatTable& module);
  Result<void> read_values(const FlatTable& module);
  Result<void> read_texts(const FlatTable& module);
  Result<void> read_sections(const FlatTable& module);
  void add_unreached();

  Result<Value> read_value(const FlatTable& row);
  Result<Value> read_list(const FlatTable& list, bool tuple);
  Result<Value> read_dict(const FlatTable& dict);
  Result<Value> read_object(const FlatTable& object);
  Result<Value> read_enum(const FlatTable& value);
  Result<Value> read_text(const FlatTable& table);
  Result<Value> read_scalar(const FlatTable& row, ptmf::Tag tag);
  Result<Value> read_function(const FlatTable& function);
  template <class T, class Make>
  Result<Value> read_numbers(const FlatTable& list, Make make);
  Result<Value> read_tensor(const FlatTable& metadata);
  Result<std::uint32_t> tensor_row(const FlatTable& metadata);
  Result<void> read_quantizer(const FlatTable& metadata, std::uint32_t tensor);

  Result<void> spend(std::uint64_t elements);
  Result<Value> known(std::uint32_t index) const;
  Result<std::vector<Value>> known_list(const FlatTable& table, std::uint16_t slot);
  Result<std::vector<std::int64_t>> dims(const FlatTable& metadata, std::uint16_t slot);
  Value global(std::string_view qualified);

  struct ObjectType {
    Value global;
    std::uint8_t kind = 0;
    std::vector<Value> attributes;
  };

  Contents& contents_;
  std::span<const std::byte> bytes_;
  std::uint64_t budget_;  // elements that may still be made
  std::vector<Value> values_;
  std::vector<ObjectType> types_;
  std::vector<std::uint32_t> top_tensors_;  // rows that values name themselves, not scales of quantizers
};

// Every element has bytes of its own in a file that torch wrote. Offsets can lead to one long vector a million times:
// what comes out is bounded by the bytes that justify it.
Result<void> MobileReader::spend(std::uint64_t elements) {
  if (elements > budget_)
    return fail(ErrorCode::Malformed, "its tables are named over and over: more elements than {} bytes can hold",
                bytes_.size());
  budget_ -= elements;
  return {};
}

Result<Value> MobileReader::known(std::uint32_t index) const {
  // The loader makes one pass, so a value can name only earlier ones; that also rules out cycles.
  if (index < values_.size()) return values_[index];
  return fail(ErrorCode::Malformed, "value {} names value {}, only earlier ones can be named", values_.size(), index);
}

Result<std::vector<Value>> MobileReader::known_list(const FlatTable& table, std::uint16_t slot) {
  std::vector<Value> found;
  WICK_TRY(const auto indices, table.vector(slot, 4));
  if (!indices) return found;
  WICK_CHECK(spend(indices->count));
  found.reserve(indices->count);
  for (std::uint32_t i = 0; i < indices->count; ++i) {
    WICK_TRY(const Value value, known(indices->at<std::uint32_t>(i)));
    found.push_back(value);
  }
  return found;
}

Value MobileReader::global(std::string_view qualified) {
  const std::size_t dot = qualified.rfind('.');
  const std::string_view module = dot == std::string_view::npos ? std::string_view() : qualified.substr(0, dot);
  const std::string_view name = dot == std::string_view::npos ? qualified : qualified.substr(dot + 1);
  return contents_.arena.global(contents_.arena.text(Kind::Str, module), contents_.arena.text(Kind::Str, name));
}

Result<void> MobileReader::read_storages(const FlatTable& module) {
  auto opener = std::make_shared<checkpoint::RangeOpener>(contents_.source);
  contents_.openers.push_back(opener);
  WICK_TRY(const auto storages, module.vector(ptmf::module::kStorages, 4));
  const std::uint32_t count = storages ? storages->count : 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    WICK_TRY(const FlatTable storage, FlatTable::table_of(bytes_, *storages, i));
    WICK_TRY(const auto data, storage.vector(ptmf::kFirst, 1));
    const std::uint64_t length = data ? data->count : 0;
    const std::uint32_t row =
        checkpoint::add_storage(contents_, 0, opener->add(data ? data->position : 0, length), length, DType::UInt8);
    contents_.storages[row].key = contents_.arena.integer(i);
    contents_.storages[row].untyped = true;
  }
  WICK_TRY(const std::int32_t declared, module.scalar<std::int32_t>(ptmf::module::kStorageCount, 0));
  if (declared >= 0 && static_cast<std::uint32_t>(declared) != count)
    contents_.findings.push_back(
        {"storage-count", fmt::format("{} storages are declared, {} are there", declared, count), {}, std::nullopt});
  return {};
}

Result<void> MobileReader::read_object_types(const FlatTable& module) {
  WICK_TRY(const auto rows, module.vector(ptmf::module::kObjectTypes, 4));
  for (std::uint32_t i = 0; rows && i < rows->count; ++i) {
    WICK_TRY(const FlatTable row, FlatTable::table_of(bytes_, *rows, i));
    ObjectType type;
    WICK_TRY(const auto name, row.string(ptmf::object_type::kName));
    type.global = global(name.value_or(""));
    contents_.facts.classes.push_back(type.global);
    WICK_TRY(type.kind, row.scalar<std::uint8_t>(ptmf::object_type::kKind, 0));
    WICK_TRY(const auto names, row.vector(ptmf::object_type::kAttributeNames, 4));
    for (std::uint32_t n = 0; names && n < names->count; ++n) {
      WICK_TRY(const std::string_view attribute, FlatTable::string_of(bytes_, *names, n));
      WICK_CHECK(spend(attribute.size() + 1));
      type.attributes.push_back(contents_.arena.text(Kind::Str, attribute));
    }
    types_.push_back(std::move(type));
  }
  return {};
}

Result<std::vector<std::int64_t>> MobileReader::dims(const FlatTable& metadata, std::uint16_t slot) {
  std::vector<std::int64_t> numbers;
  WICK_TRY(const auto vector, metadata.vector(slot, 4));
  if (vector) WICK_CHECK(spend(vector->count));
  for (std::uint32_t i = 0; vector && i < vector->count; ++i) numbers.push_back(vector->at<std::int32_t>(i));
  return numbers;
}

Result<std::uint32_t> MobileReader::tensor_row(const FlatTable& metadata) {
  checkpoint::TensorRow row;
  WICK_TRY(const std::uint32_t storage, metadata.scalar<std::uint32_t>(ptmf::tensor::kStorage, 0));
  WICK_TRY(const std::int8_t code, metadata.scalar<std::int8_t>(ptmf::tensor::kScalarType, 0));
  WICK_TRY(const std::int32_t offset, metadata.scalar<std::int32_t>(ptmf::tensor::kOffset, 0));
  WICK_TRY(const std::uint8_t grad, metadata.scalar<std::uint8_t>(ptmf::tensor::kRequiresGrad, 0));
  WICK_TRY(const auto sizes, dims(metadata, ptmf::tensor::kSizes));
  WICK_TRY(const auto strides, dims(metadata, ptmf::tensor::kStrides));
  const auto dtype = wick::tensor::find_by_scalar_type(code);
  row.dtype = dtype.value_or(DType::NumpyOther);
  row.sizes = contents_.dims.put(sizes);
  row.strides = contents_.dims.put(strides);
  row.requires_grad = grad != 0;
  row.grad_known = true;
  row.offset = offset < 0 ? 0 : static_cast<std::uint64_t>(offset);
  if (storage < contents_.storages.size()) row.storage = storage;
  const std::uint32_t tensor = contents_.add_tensor(row);
  const auto at = [&](Error error) { contents_.set_error(tensor, std::move(error).at(metadata.position())); };
  if (!dtype) {
    contents_.more_of(tensor).numpy_type = fmt::format("scalar type {}", code);
    at(fail(ErrorCode::Unsupported, "scalar type {} is none that wick knows", code));
  }
  if (offset < 0) at(fail(ErrorCode::Malformed, "storage offset {} is negative", offset));
  if (row.storage == kNone)
    at(fail(ErrorCode::Malformed, "storage {} is named, the file has {}", storage, contents_.storages.size()));
  WICK_CHECK(read_quantizer(metadata, tensor));
  if (dtype && contents_.error_of(contents_.tensors[tensor]) == nullptr) checkpoint::check_bounds(contents_, tensor);
  return tensor;
}

Result<void> MobileReader::read_quantizer(const FlatTable& metadata, std::uint32_t tensor) {
  WICK_TRY(const auto schema, metadata.table(ptmf::tensor::kQuantized));
  if (!schema) return {};
  WICK_TRY(const std::int8_t scheme, schema->scalar<std::int8_t>(ptmf::quantized::kScheme, 0));
  WICK_TRY(const double scale, schema->scalar<double>(ptmf::quantized::kScale, 0));
  WICK_TRY(const std::int32_t zero_point, schema->scalar<std::int32_t>(ptmf::quantized::kZeroPoint, 0));
  WICK_TRY(const std::int32_t axis, schema->scalar<std::int32_t>(ptmf::quantized::kAxis, 0));
  WICK_TRY(const auto scales, schema->table(ptmf::quantized::kScales));
  WICK_TRY(const auto zero_points, schema->table(ptmf::quantized::kZeroPoints));
  // Scales have no quantizer of their own; one that claims to would nest without end.
  for (const auto* part : {&scales, &zero_points}) {
    if (!*part) continue;
    WICK_TRY(const auto nested, (*part)->table(ptmf::tensor::kQuantized));
    if (nested) return fail_at(ErrorCode::Malformed, (*part)->position(), "the scales of a tensor are quantized");
  }
  std::uint32_t scales_row = kNone;
  std::uint32_t zero_points_row = kNone;
  if (scales) {
    WICK_TRY(scales_row, tensor_row(*scales));
  }
  if (zero_points) {
    WICK_TRY(zero_points_row, tensor_row(*zero_points));
  }
  if (scheme < 0 || static_cast<std::size_t>(scheme) >= kSchemes.size()) {
    contents_.set_error(tensor, fail_at(ErrorCode::Malformed, schema->position(), "qscheme {} is none", scheme));
    return {};
  }
  auto& more = contents_.more_of(tensor);
  more.scheme = kSchemes[static_cast<std::size_t>(scheme)];
  more.scale = scale;
  more.zero_point = zero_point;
  more.axis = axis;
  more.scales = scales_row;
  more.zero_points = zero_points_row;
  return {};
}

Result<Value> MobileReader::read_tensor(const FlatTable& metadata) {
  WICK_TRY(const std::uint32_t tensor, tensor_row(metadata));
  top_tensors_.push_back(tensor);
  return checkpoint::tensor_leaf(contents_, tensor);
}

Result<Value> MobileReader::read_list(const FlatTable& list, bool tuple) {
  WICK_TRY(const auto items, known_list(list, ptmf::kFirst));
  if (tuple) return contents_.arena.tuple(items);
  const Value value = contents_.arena.list();
  contents_.arena.append(value, items);
  return value;
}

Result<Value> MobileReader::read_dict(const FlatTable& dict) {
  WICK_TRY(const auto keys, known_list(dict, ptmf::kFirst));
  WICK_TRY(const auto values, known_list(dict, ptmf::kSecond));
  if (keys.size() != values.size())
    return fail_at(ErrorCode::Malformed, dict.position(), "a dict has {} keys and {} values", keys.size(),
                   values.size());
  std::vector<Value> pairs;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    pairs.push_back(keys[i]);
    pairs.push_back(values[i]);
  }
  const Value value = contents_.arena.dict();
  contents_.arena.set_items(value, pairs);
  return value;
}

Result<Value> MobileReader::read_object(const FlatTable& object) {
  WICK_TRY(const std::uint32_t type_index, object.scalar<std::uint32_t>(ptmf::object::kType, 0));
  WICK_TRY(const std::uint32_t state_index, object.scalar<std::uint32_t>(ptmf::object::kState, 0));
  WICK_TRY(const auto attributes, known_list(object, ptmf::object::kAttributes));
  if (type_index >= types_.size())
    return fail_at(ErrorCode::Malformed, object.position(), "object type {} is named, there are {}", type_index,
                   types_.size());
  const ObjectType& type = types_[type_index];
  auto& arena = contents_.arena;
  const Value value = arena.object(Made::NewObj, type.global, arena.tuple({}));
  if (type.kind != ptmf::object_type::kClassWithFields) {
    WICK_TRY(const Value state, known(state_index));
    arena.add_state(value, state);
    return value;
  }
  if (attributes.size() != type.attributes.size())
    return fail_at(ErrorCode::Malformed, object.position(), "an object has {} attributes, its type names {}",
                   attributes.size(), type.attributes.size());
  std::vector<Value> pairs;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    pairs.push_back(type.attributes[i]);
    pairs.push_back(attributes[i]);
  }
  const Value state = arena.dict();
  arena.set_items(state, pairs);
  arena.add_state(value, state);
  return value;
}

Result<Value> MobileReader::read_enum(const FlatTable& value) {
  WICK_TRY(const auto name, value.string(ptmf::kFirst));
  WICK_TRY(const std::uint32_t index, value.scalar<std::uint32_t>(ptmf::kSecond, 0));
  WICK_TRY(const Value inner, known(index));
  return contents_.arena.object(Made::Reduce, global(name.value_or("")), inner);
}

Result<Value> MobileReader::read_text(const FlatTable& table) {
  WICK_TRY(const auto text, table.string(ptmf::kFirst));
  WICK_CHECK(spend(text ? text->size() : 0));
  return contents_.arena.text(Kind::Str, text.value_or(""));
}

template <class T, class Make>
Result<Value> MobileReader::read_numbers(const FlatTable& list, Make make) {
  WICK_TRY(const auto numbers, list.vector(ptmf::kFirst, sizeof(T)));
  std::vector<Value> items;
  if (numbers) WICK_CHECK(spend(numbers->count));
  for (std::uint32_t i = 0; numbers && i < numbers->count; ++i) items.push_back(make(numbers->at<T>(i)));
  const Value value = contents_.arena.list();
  contents_.arena.append(value, items);
  return value;
}

// The constants of a function are all of it that holds values; its code is for the issues that run programs.
Result<Value> MobileReader::read_function(const FlatTable& function) {
  WICK_TRY(const auto name, function.string(ptmf::function::kName));
  // A function's constants may follow it in the file, so they are not looked up here: tensors among them are found as
  // values of their own (add_unreached).
  return global(name.value_or(""));
}

// Int, Bool, Double and ComplexDouble are bare structs behind the union's offset, without a vtable.
Result<Value> MobileReader::read_scalar(const FlatTable& row, ptmf::Tag tag) {
  const std::uint32_t size = tag == ptmf::Tag::Bool ? 1 : tag == ptmf::Tag::ComplexDouble ? 16 : 8;
  WICK_TRY(const auto bytes, row.structure(ptmf::kSecond, size));
  if (!bytes) return fail_at(ErrorCode::Malformed, row.position(), "a number without its bytes");
  auto& arena = contents_.arena;
  switch (tag) {
    case ptmf::Tag::Int: return arena.integer(load_le<std::int64_t>(bytes->data()));
    case ptmf::Tag::Bool: return Arena::boolean(load_le<std::uint8_t>(bytes->data()) != 0);
    case ptmf::Tag::Double: return arena.real(load_le<double>(bytes->data()));
    default: break;
  }
  const std::array<Value, 2> parts{arena.real(load_le<double>(bytes->data())),
                                   arena.real(load_le<double>(bytes->data() + 8))};
  const Value complex = arena.global(arena.text(Kind::Str, "builtins"), arena.text(Kind::Str, "complex"));
  return arena.object(Made::Reduce, complex, arena.tuple(parts));
}

Result<Value> MobileReader::read_value(const FlatTable& row) {
  WICK_TRY(const std::uint8_t code, row.scalar<std::uint8_t>(ptmf::kFirst, 0));
  const auto tag = static_cast<ptmf::Tag>(code);
  if (tag == ptmf::Tag::None) return Arena::none();
  if (code > static_cast<std::uint8_t>(ptmf::Tag::Function))
    return fail_at(ErrorCode::Malformed, row.position(), "value type {} is none (0 to 16)", code);
  if (code <= static_cast<std::uint8_t>(ptmf::Tag::ComplexDouble)) return read_scalar(row, tag);
  WICK_TRY(const auto table, row.table(ptmf::kSecond));
  if (!table) return fail_at(ErrorCode::Malformed, row.position(), "value type {} without a value", code);
  auto& arena = contents_.arena;
  switch (tag) {
    case ptmf::Tag::Tensor: return read_tensor(*table);
    case ptmf::Tag::String:
    case ptmf::Tag::Device: return read_text(*table);
    case ptmf::Tag::List: return read_list(*table, false);
    case ptmf::Tag::Tuple: return read_list(*table, true);
    case ptmf::Tag::Dict: return read_dict(*table);
    case ptmf::Tag::Object: return read_object(*table);
    case ptmf::Tag::IntList:
      return read_numbers<std::int64_t>(*table, [&](std::int64_t n) { return arena.integer(n); });
    case ptmf::Tag::DoubleList: return read_numbers<double>(*table, [&](double n) { return arena.real(n); });
    case ptmf::Tag::BoolList:
      return read_numbers<std::uint8_t>(*table, [](std::uint8_t n) { return Arena::boolean(n != 0); });
    case ptmf::Tag::Enum: return read_enum(*table);
    default: return read_function(*table);
  }
}

Result<void> MobileReader::read_values(const FlatTable& module) {
  WICK_TRY(const auto rows, module.vector(ptmf::module::kValues, 4));
  if (!rows) return Error(ErrorCode::Malformed, "the module has no values");
  values_.reserve(rows->count);
  for (std::uint32_t i = 0; i < rows->count; ++i) {
    WICK_TRY(const FlatTable row, FlatTable::table_of(bytes_, *rows, i));
    auto value = read_value(row);
    if (!value) return std::move(value).error().inside(fmt::format("value {}", i));
    values_.push_back(*value);
  }
  return {};
}

// Extra files and sources are text beside the module.
Result<void> MobileReader::read_texts(const FlatTable& module) {
  for (const std::uint16_t slot : {ptmf::module::kExtraFiles, ptmf::module::kSources}) {
    WICK_TRY(const auto rows, module.vector(slot, 4));
    for (std::uint32_t i = 0; rows && i < rows->count; ++i) {
      WICK_TRY(const FlatTable row, FlatTable::table_of(bytes_, *rows, i));
      WICK_TRY(const auto name, row.string(ptmf::kFirst));
      WICK_TRY(const auto content, row.string(ptmf::kSecond));
      WICK_CHECK(spend(content ? content->size() : 0));
      if (!name) continue;
      if (slot == ptmf::module::kSources) {
        contents_.sources.emplace(*name, content.value_or(""));
      } else {
        contents_.facts.extra_members.emplace_back(*name);
        if (content && content->size() <= kSmallRecord) contents_.facts.records.emplace(*name, *content);
      }
    }
  }
  return {};
}

Result<void> MobileReader::read_sections(const FlatTable& module) {
  WICK_TRY(const std::uint32_t state, module.scalar<std::uint32_t>(ptmf::module::kStateObject, 0));
  WICK_TRY(const Value root, known(state));
  contents_.sections.push_back({"", root, checkpoint::Role::Unknown});
  WICK_TRY(const auto constants, known_list(module, ptmf::module::kConstants));
  if (!constants.empty())
    contents_.sections.push_back({"constants", contents_.arena.tuple(constants), checkpoint::Role::Constant});
  return {};
}

// Tensors that neither the state nor the constants of the sources lead to: constants of the bytecode.
void MobileReader::add_unreached() {
  const auto places = checkpoint::find_places(contents_);
  if (!places) return;  // the caller's own walk meets the same limit and says so
  std::vector<bool> reached(contents_.tensors.size());
  for (const auto& place : places->rows) reached[place.tensor] = true;
  std::vector<Value> left;
  for (const std::uint32_t tensor : top_tensors_)
    if (!reached[tensor]) left.push_back(Arena::leaf(tensor));
  if (left.empty()) return;
  contents_.sections.push_back({"bytecode", contents_.arena.tuple(left), checkpoint::Role::Constant});
}

Result<void> MobileReader::read() {
  WICK_TRY(const FlatTable module, wire::FlatBuffer(bytes_).root());
  WICK_TRY(const std::uint32_t version, module.scalar<std::uint32_t>(ptmf::module::kBytecodeVersion, 0));
  contents_.facts.format_version = std::to_string(version);
  WICK_TRY(const std::uint32_t operators, module.scalar<std::uint32_t>(ptmf::module::kOperatorVersion, 0));
  contents_.facts.records.emplace("operator_version", std::to_string(operators));
  contents_.facts.alignment = 16;
  WICK_CHECK(read_storages(module));
  WICK_CHECK(read_object_types(module));
  WICK_CHECK(read_values(module));
  WICK_CHECK(read_texts(module));
  WICK_CHECK(read_sections(module));
  WICK_CHECK(give_meaning(contents_, 0, {}, [](Contents&, Value) { return kNone; }));
  contents_.arena.drop_duplicate_keys();
  add_unreached();
  return {};
}

}  // namespace

bool is_mobile_flatbuffer(const checkpoint::Probe& probe) {
  Cursor cursor(probe.head);
  if (!cursor.skip(4, "root offset")) return false;
  const auto identifier = cursor.read_text(4, "identifier");
  return identifier && *identifier == ptmf::kIdentifier;
}

// The tables lie anywhere between the storages, so the whole file is read (by pread: a file that shrinks is an error).
Result<Contents> read_mobile_flatbuffer(const checkpoint::Probe& probe) {
  Contents contents;
  contents.name = probe.name;
  contents.kind = FileKind::TorchMobileFlatbuffer;
  contents.source = probe.source;
  contents.limits = probe.context.limits;
  WICK_TRY(const auto bytes, io::read_all(*probe.source, probe.context.limits));
  MobileReader reader(contents, bytes);
  WICK_CHECK(reader.read());
  return contents;
}

}  // namespace wick::torch
