// SPDX-License-Identifier: Apache-2.0
// Torch's values that are no tensors: sizes, devices, layouts, memory formats, and what is transparent.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "torch/rebuild_handlers.h"

namespace wick::torch {

using checkpoint::Meaning;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

template <class T>
void append(std::vector<std::byte>& out, T value) {
  std::array<std::byte, sizeof(T)> raw{};
  std::memcpy(raw.data(), &value, sizeof(T));
  if constexpr (std::endian::native == std::endian::big) std::reverse(raw.begin(), raw.end());
  out.insert(out.end(), raw.begin(), raw.end());
}

// One element as the storage held it; false when the number is none of that type.
bool append_number(const Arena& arena, Value number, DType dtype, std::vector<std::byte>& out) {
  const bool whole = number.is(Kind::Int) || number.is(Kind::Bool);
  const std::int64_t integer = number.is(Kind::Int)                              ? Arena::as_int(number)
                               : number.is(Kind::Bool) && Arena::as_bool(number) ? 1
                                                                                 : 0;
  if (!whole && !number.is(Kind::Float)) return false;
  const double real = whole ? static_cast<double>(integer) : arena.as_real(number);
  switch (dtype) {
    case DType::Float32: append(out, static_cast<float>(real)); return true;  // was a float: no digit is lost
    case DType::Float64: append(out, real); return true;
    case DType::UInt8: append(out, static_cast<std::uint8_t>(integer)); return whole && integer >= 0 && integer < 256;
    case DType::Bool: append(out, static_cast<std::uint8_t>(integer)); return whole && integer >= 0 && integer < 2;
    case DType::Int8:
      append(out, static_cast<std::int8_t>(integer));
      return whole && std::in_range<std::int8_t>(integer);
    case DType::Int16:
      append(out, static_cast<std::int16_t>(integer));
      return whole && std::in_range<std::int16_t>(integer);
    case DType::Int32:
      append(out, static_cast<std::int32_t>(integer));
      return whole && std::in_range<std::int32_t>(integer);
    case DType::Int64: append(out, integer); return whole;
    default: return false;
  }
}

}  // namespace

// torch.FloatStorage([1.0, 2.0]): how pickle.dump wrote a storage before 1.1
bool storage_from_list(Walk& walk, Value object, Arguments args) {
  const auto type = storage_class(walk.arena(), walk.arena().object(object).callable);
  const Value list = walk.at(args, 0);
  if (!type || type->untyped || !list.is(Kind::List)) return false;
  std::vector<std::byte> bytes;
  for (const Value item : walk.arena().items(list))
    if (!append_number(walk.arena(), item, type->dtype, bytes)) return false;
  checkpoint::Contents& contents = walk.contents();
  checkpoint::TensorRow row;
  row.layout = checkpoint::Layout::Storage;
  row.dtype = type->dtype;
  const std::int64_t count = static_cast<std::int64_t>(bytes.size() / storage_item_bytes(type->dtype));
  const std::int64_t one = 1;
  row.sizes = contents.dims.put(std::span(&count, 1));
  row.strides = contents.dims.put(std::span(&one, 1));
  row.storage = walk.add_owned_storage(std::move(bytes), type->dtype);
  const std::uint32_t tensor = contents.add_tensor(row);
  contents.mean(object, {Meaning::What::Storage, tensor});
  return true;
}

// (bytes,): a whole torch.save file inside the pickle
bool load_from_bytes(Walk& walk, Value object, Arguments args) {
  const Value bytes = walk.at(args, 0);
  if (!bytes.is(Kind::Bytes) && !bytes.is(Kind::ByteArray) && !bytes.is(Kind::Py2Str)) return false;
  auto root = walk.enter_nested(walk.arena().as_text(bytes));
  if (root) {
    walk.contents().mean_same(object, *root);
    return true;
  }
  walk.tell_broken_save(root.error());
  walk.mean_broken(object, std::move(root).error());
  return true;
}

// ((ints),)
bool size_value(Walk& walk, Value object, Arguments args) {
  if (args.size() > 1) return false;
  const Value inner = args.empty() ? Value() : args[0];
  if (!inner.is(Kind::Tuple) && !inner.is(Kind::List)) return false;
  walk.contents().mean_same(object, inner);
  return true;
}

// ('cuda', 1) or ('cuda:1',)
bool device_value(Walk& walk, Value object, Arguments args) {
  const Value type = walk.at(args, 0);
  const auto text = text_of(walk.arena(), type);
  if (!text) return false;
  const Value index = walk.at(args, 1);
  std::string shown(*text);
  if (index.is(Kind::Int)) shown += fmt::format(":{}", Arena::as_int(index));
  walk.contents().mean_shown(object, shown);
  return true;
}

// torch.finfo('float32') or torch.finfo(torch.float32)
bool info_value(Walk& walk, Value object, Arguments args) {
  const Value callable = walk.arena().object(object).callable;
  const auto name = text_of(walk.arena(), walk.arena().name(callable));
  const Value of = walk.at(args, 0);
  auto dtype = text_of(walk.arena(), of.is(Kind::Global) ? walk.arena().name(of) : of);
  if (!name || !dtype) return false;
  walk.contents().mean_shown(object, fmt::format("torch.{}({})", *name, *dtype));
  return true;
}

// ('torch.sparse_coo',)
bool layout_value(Walk& walk, Value object, Arguments args) {
  const auto name = text_of(walk.arena(), walk.at(args, 0));
  if (!name) return false;
  walk.contents().mean_shown(object, *name);
  return true;
}

// getattr(torch, 'channels_last'): the only way a memory format pickles. Anything else is for Python's table.
bool attribute_value(Walk& walk, Value object, Arguments args) {
  const Value owner = walk.at(args, 0);
  const auto name = text_of(walk.arena(), walk.at(args, 1));
  if (!owner.is(Kind::Global) || !name) return false;
  if (!walk.arena().is_global(owner, "torch._utils", "torch")) return false;
  walk.contents().mean_shown(object, fmt::format("torch.{}", *name));
  return true;
}

// The hooks of every tensor are one: worth the shortest way. With arguments it is for Python's table.
bool ordered_dict(Walk& walk, Value object, Arguments args) {
  if (!args.empty()) return false;
  walk.contents().mean(object, {Meaning::What::Mapping, 0});
  return true;
}

// restore_type_tag(value, 'List[str]'), build_intlist([..]): the value itself
bool first_argument(Walk& walk, Value object, Arguments args) {
  if (args.empty()) return false;
  walk.contents().mean_same(object, args[0]);
  return true;
}

}  // namespace wick::torch
