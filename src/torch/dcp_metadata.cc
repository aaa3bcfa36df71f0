// SPDX-License-Identifier: Apache-2.0
#include "torch/dcp_metadata.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"

namespace wick::torch {
namespace {

using pickle::Arena;
using pickle::Kind;
using pickle::Value;

class MetadataParser {
 public:
  explicit MetadataParser(const Arena& arena) : arena_(arena) {}
  Result<DcpMetadata> parse(Value root);

 private:
  // A field of an object whose state is a dict; Missing when there is none.
  [[nodiscard]] Value field(Value object, std::string_view name) const;
  [[nodiscard]] std::string text(Value value) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> sizes(Value value) const;
  [[nodiscard]] std::string_view class_of(Value object) const;
  Result<void> fill_tensor(DcpEntry& entry, Value storage) const;
  void fill_properties(DcpEntry& entry, Value properties) const;
  Result<DcpChunk> chunk(Value value) const;
  Result<DcpPlace> place(Value info) const;

  const Arena& arena_;
};

Value MetadataParser::field(Value object, std::string_view name) const {
  if (!object.is(Kind::Object)) return {};
  const Value state = arena_.state(object);
  return state.is(Kind::Dict) ? arena_.find(state, name) : Value{};
}

std::string MetadataParser::text(Value value) const {
  return value.is(Kind::Str) || value.is(Kind::Py2Str) ? std::string(arena_.as_text(value)) : std::string();
}

std::string_view MetadataParser::class_of(Value object) const {
  if (!object.is(Kind::Object)) return {};
  const Value callable = arena_.object(object).callable;
  return callable.is(Kind::Global) ? arena_.as_text(arena_.name(callable)) : std::string_view();
}

// torch.Size((2, 3)), or a plain tuple or list.
Result<std::vector<std::int64_t>> MetadataParser::sizes(Value value) const {
  if (class_of(value) == "Size") {
    const auto arguments = arena_.items(arena_.object(value).args);
    value = arguments.empty() ? Value{} : arguments[0];
  }
  if (!value.is(Kind::Tuple) && !value.is(Kind::List)) return Error(ErrorCode::Malformed, "sizes are no torch.Size");
  std::vector<std::int64_t> numbers;
  for (const Value item : arena_.items(value)) {
    if (!item.is(Kind::Int) || Arena::as_int(item) < 0)
      return Error(ErrorCode::Malformed, "sizes hold something that is no natural number");
    numbers.push_back(Arena::as_int(item));
  }
  return numbers;
}

// (dtype, layout, requires_grad, memory format, pin_memory) as a tuple, or the same by name in older releases.
void MetadataParser::fill_properties(DcpEntry& entry, Value properties) const {
  Value dtype = field(properties, "dtype");
  Value grad = field(properties, "requires_grad");
  if (properties.is(Kind::Object)) {
    const Value state = arena_.state(properties);
    const auto items = state.is(Kind::Tuple) ? arena_.items(state) : std::span<const Value>();
    if (items.size() >= 3) {
      dtype = items[0];
      grad = items[2];
    }
  }
  if (dtype.is(Kind::Global)) entry.dtype = find_dtype(text(arena_.name(dtype)));
  entry.requires_grad = grad.is(Kind::Bool) && Arena::as_bool(grad);
}

Result<DcpChunk> MetadataParser::chunk(Value value) const {
  DcpChunk chunk;
  WICK_TRY(chunk.start, sizes(field(value, "offsets")));
  WICK_TRY(chunk.shape, sizes(field(value, "sizes")));
  if (chunk.start.size() != chunk.shape.size())
    return fail(ErrorCode::Malformed, "a chunk has {} offsets and {} sizes", chunk.start.size(), chunk.shape.size());
  return chunk;
}

Result<void> MetadataParser::fill_tensor(DcpEntry& entry, Value storage) const {
  fill_properties(entry, field(storage, "properties"));
  WICK_TRY(entry.size, sizes(field(storage, "size")));
  const Value chunks = field(storage, "chunks");
  if (!chunks.is(Kind::List) && !chunks.is(Kind::Tuple)) return Error(ErrorCode::Malformed, "its chunks are no list");
  for (const Value value : arena_.items(chunks)) {
    WICK_TRY(DcpChunk next, chunk(value));
    if (next.start.size() != entry.size.size())
      return fail(ErrorCode::Malformed, "a chunk has {} dimensions, its tensor {}", next.start.size(),
                  entry.size.size());
    entry.chunks.push_back(std::move(next));
  }
  if (!entry.dtype) return Error(ErrorCode::Unsupported, "its dtype is none that wick knows");
  return {};
}

Result<DcpPlace> MetadataParser::place(Value info) const {
  DcpPlace place;
  place.file = text(field(info, "relative_path"));
  const Value offset = field(info, "offset");
  const Value length = field(info, "length");
  if (place.file.empty() || !offset.is(Kind::Int) || !length.is(Kind::Int) || Arena::as_int(offset) < 0 ||
      Arena::as_int(length) < 0)
    return Error(ErrorCode::Malformed, "a place has no file, offset and length");
  place.offset = static_cast<std::uint64_t>(Arena::as_int(offset));
  place.length = static_cast<std::uint64_t>(Arena::as_int(length));
  const Value transforms = field(info, "transform_descriptors");
  if (transforms.is(Kind::List) || transforms.is(Kind::Tuple))
    for (const Value transform : arena_.items(transforms)) place.transforms.push_back(text(transform));
  return place;
}

Result<DcpMetadata> MetadataParser::parse(Value root) {
  const Value described = field(root, "state_dict_metadata");
  const Value stored = field(root, "storage_data");
  const Value planned = field(root, "planner_data");
  if (!described.is(Kind::Dict) || !stored.is(Kind::Dict))
    return Error(ErrorCode::Malformed, ".metadata is no Metadata object with state_dict_metadata and storage_data");
  DcpMetadata metadata;
  metadata.version = text(field(root, "version"));
  std::map<std::string_view, Value> paths;
  const auto planned_pairs = planned.is(Kind::Dict) ? arena_.pairs(planned) : std::span<const Value>();
  for (std::size_t i = 0; i + 1 < planned_pairs.size(); i += 2)
    if (planned_pairs[i].is(Kind::Str)) paths[arena_.as_text(planned_pairs[i])] = planned_pairs[i + 1];
  const auto pairs = arena_.pairs(described);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    DcpEntry entry;
    entry.fqn = text(pairs[i]);
    if (const auto path = paths.find(entry.fqn); path != paths.end() && path->second.is(Kind::Tuple))
      entry.path = path->second;
    entry.is_tensor = class_of(pairs[i + 1]) == "TensorStorageMetadata";
    if (entry.is_tensor)
      if (auto filled = fill_tensor(entry, pairs[i + 1]); !filled) entry.error = std::move(filled).error();
    metadata.entries.push_back(std::move(entry));
  }
  const auto places = arena_.pairs(stored);
  for (std::size_t i = 0; i + 1 < places.size(); i += 2) {
    const Value offset = field(places[i], "offset");
    const std::string fqn = text(field(places[i], "fqn"));
    WICK_TRY(DcpPlace where, place(places[i + 1]));
    if (offset.missing() || offset.is(Kind::None)) {
      metadata.places.insert_or_assign(place_key(fqn, nullptr), std::move(where));
      continue;
    }
    WICK_TRY(const auto start, sizes(offset));
    metadata.places.insert_or_assign(place_key(fqn, &start), std::move(where));
  }
  return metadata;
}

}  // namespace

std::string place_key(const std::string& fqn, const std::vector<std::int64_t>* start) {
  if (start == nullptr) return fqn;
  std::string key = fqn;
  key.push_back('\0');  // no fqn that Python wrote as a key ends so
  for (const std::int64_t number : *start) key += fmt::format("{},", number);
  return key;
}

Result<DcpMetadata> parse_dcp_metadata(const Arena& arena, Value root) { return MetadataParser(arena).parse(root); }

}  // namespace wick::torch
