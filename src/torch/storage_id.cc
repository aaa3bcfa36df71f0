// SPDX-License-Identifier: Apache-2.0
#include "torch/storage_id.h"

#include "base/checked.h"
#include "checkpoint/key_text.h"
#include "tensor/dtype.h"

namespace wick::torch {

using pickle::Kind;
using pickle::Value;

std::uint64_t storage_item_bytes(DType dtype) {
  const std::uint32_t bits = facts_of(dtype).bits;
  return bits <= 8 ? 1 : bits / 8;
}

std::optional<std::string_view> text_of(const pickle::Arena& arena, Value value) {
  switch (value.kind()) {
    case Kind::Str:
    case Kind::Py2Str:
    case Kind::Bytes:
    case Kind::ByteArray: return arena.as_text(value);
    default: return std::nullopt;
  }
}

std::optional<StorageClass> storage_class(const pickle::Arena& arena, Value global) {
  if (!global.is(Kind::Global)) return std::nullopt;
  const auto name = text_of(arena, arena.name(global));
  if (!name) return std::nullopt;
  // torch matches the class by its name alone; 1.10 to 1.12 wrote _UntypedStorage.
  if (*name == "UntypedStorage" || *name == "_UntypedStorage") return StorageClass{DType::UInt8, true};
  if (const auto dtype = tensor::find_by_storage_class(*name)) return StorageClass{*dtype, false};
  return std::nullopt;
}

std::optional<StorageClass> StorageIds::class_of(const pickle::Arena& arena, Value global) {
  if (global == last_class_) return last_type_;
  auto [known, is_new] = classes_.try_emplace(global);
  if (is_new) known->second = storage_class(arena, global);
  last_class_ = global;
  last_type_ = known->second;
  return last_type_;
}

std::optional<StorageClass> StorageIds::read_class(const pickle::Arena& arena, Value persistent_id) {
  const Value pid = arena.pid(persistent_id);
  if (!pid.is(Kind::Tuple)) return std::nullopt;
  const auto fields = arena.items(pid);
  if (fields.size() < 2) return std::nullopt;
  return class_of(arena, fields[1]);
}

Result<std::string_view> StorageIds::key_text(const pickle::Arena& arena, Value key) {
  if (const auto text = text_of(arena, key)) return *text;
  if (key.is(Kind::Int))
    return std::string_view(spelled_keys_.emplace_back(std::to_string(pickle::Arena::as_int(key))));
  return Error(ErrorCode::Malformed, "the key of a storage is neither text nor a number");
}

std::uint32_t StorageIds::device_of(checkpoint::Contents& contents, Value location) {
  if (location == last_location_) return last_device_;
  const auto text = text_of(contents.arena, location);
  if (!text) return 0;
  last_location_ = location;
  last_device_ = contents.device_index(*text);
  return last_device_;
}

namespace {

Result<std::uint64_t> read_count(Value value, std::string_view key, std::string_view what) {
  if (!value.is(Kind::Int)) return fail(ErrorCode::Malformed, "storage '{}': its {} is no number", key, what);
  const std::int64_t count = pickle::Arena::as_int(value);
  if (count < 0) return fail(ErrorCode::Malformed, "storage '{}': its {} {} is negative", key, what, count);
  return static_cast<std::uint64_t>(count);
}

}  // namespace

Result<std::optional<StorageId>> StorageIds::read(checkpoint::Contents& contents, Value persistent_id) {
  const pickle::Arena& arena = contents.arena;
  const Value pid = arena.pid(persistent_id);
  if (!pid.is(Kind::Tuple)) return std::optional<StorageId>();
  const auto fields = arena.items(pid);
  if (fields.empty() || text_of(arena, fields[0]) != "storage") return std::optional<StorageId>();
  if (fields.size() < 5)
    return fail(ErrorCode::Malformed, "a storage's persistent id has {} fields, 5 or 6 are expected", fields.size());
  StorageId id;
  id.key = fields[2];
  WICK_TRY(id.key_text, key_text(arena, fields[2]));
  const auto type = class_of(arena, fields[1]);
  if (!type)
    return fail(ErrorCode::Unsupported, "storage '{}': its class {} is none of torch's storages", id.key_text,
                checkpoint::key_repr(arena, fields[1]));
  id.type = *type;
  id.device = device_of(contents, fields[3]);
  WICK_TRY(id.numel, read_count(fields[4], id.key_text, "number of elements"));
  WICK_TRY(id.declared, checked_mul(id.numel, id.type.untyped ? 1 : storage_item_bytes(id.type.dtype), "storage size"));
  if (fields.size() < 6 || !fields[5].is(Kind::Tuple)) return std::optional<StorageId>(id);
  const auto view = arena.items(fields[5]);
  if (view.size() != 3)
    return fail(ErrorCode::Malformed, "storage '{}': its view has {} fields, 3 are expected", id.key_text, view.size());
  id.is_view = true;
  id.view_key = view[0];
  WICK_TRY(id.view_key_text, key_text(arena, view[0]));
  WICK_TRY(id.view_offset, read_count(view[1], id.view_key_text, "view offset"));
  WICK_TRY(id.view_numel, read_count(view[2], id.view_key_text, "view size"));
  return std::optional<StorageId>(id);
}

}  // namespace wick::torch
