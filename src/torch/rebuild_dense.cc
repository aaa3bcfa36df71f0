// SPDX-License-Identifier: Apache-2.0
// Strided tensors: torch._utils._rebuild_tensor, _v2, _v3, the meta form, and torch.FloatTensor and the like of 0.1.
#include "torch/rebuild_handlers.h"

namespace wick::torch {

using checkpoint::kNone;
using checkpoint::TensorRow;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

std::string_view kind_word(Value value) {
  switch (value.kind()) {
    case Kind::Missing: return "missing";
    case Kind::None: return "None";
    case Kind::Bool: return "a bool";
    case Kind::Int: return "an integer";
    case Kind::BigInt: return "an integer beyond 58 bits";
    case Kind::Float: return "a float";
    case Kind::Str:
    case Kind::Py2Str:
    case Kind::Bytes:
    case Kind::ByteArray: return "text";
    case Kind::Tuple: return "a tuple";
    case Kind::List: return "a list";
    case Kind::Dict: return "a dict";
    case Kind::PersistentId: return "an unknown persistent id";
    default: return "an object";
  }
}

bool is_true(Value value) { return value.is(Kind::Bool) && Arena::as_bool(value); }

// One key under two storage classes: torch silently reads the second tensor with the first one's type.
std::optional<Error> conflict_of(const checkpoint::Contents& contents, const Walk::Found& found, bool own_dtype) {
  const checkpoint::StorageRow& storage = contents.storages[found.storage];
  if (storage.error != kNone) return std::nullopt;  // it says more
  if (own_dtype || found.untyped || storage.dtype == found.dtype) return std::nullopt;
  const auto key = text_of(contents.arena, storage.key);
  return fail(ErrorCode::Mismatch, "storage '{}' is named as {} here and as {} before: one key with two dtypes",
              key ? *key : std::string_view("?"), name_of(found.dtype),
              storage.untyped ? std::string_view("untyped bytes") : name_of(storage.dtype));
}

std::optional<Error> read_shape(Walk& walk, const Dense& dense, TensorRow& row) {
  const Value sizes = walk.resolve(dense.sizes);
  if (!walk.read_dims(sizes, walk.sizes))
    return fail(ErrorCode::Malformed, "its sizes are {}, not a tuple of integers that fit", kind_word(sizes));
  row.sizes = walk.contents().dims.put(walk.sizes);
  const Value strides = walk.resolve(dense.strides);
  if (!walk.read_dims(strides, walk.strides))
    return fail(ErrorCode::Malformed, "its strides are {}, not a tuple of integers that fit", kind_word(strides));
  row.strides = walk.contents().dims.put(walk.strides);
  const Value offset = walk.resolve(dense.offset);
  if (offset.missing()) return std::nullopt;
  if (!offset.is(Kind::Int))
    return fail(ErrorCode::Malformed, "its storage offset is {}, not an integer that fits", kind_word(offset));
  if (Arena::as_int(offset) < 0)
    return fail(ErrorCode::Malformed, "its storage offset {} is negative", Arena::as_int(offset));
  row.offset = static_cast<std::uint64_t>(Arena::as_int(offset));
  return std::nullopt;
}

void read_math_bits(const Walk& walk, Value math_bits, TensorRow& row) {
  math_bits = walk.resolve(math_bits);  // the C++ dialect tags it as Dict[str, bool]
  if (!math_bits.is(Kind::Dict)) return;
  row.conj = is_true(walk.arena().find(math_bits, "conj"));
  row.neg = is_true(walk.arena().find(math_bits, "neg"));
}

}  // namespace

std::uint32_t mean_dense(Walk& walk, Value object, const Dense& dense) {
  checkpoint::Contents& contents = walk.contents();
  TensorRow row;
  std::optional<Error> error = read_shape(walk, dense, row);
  if (dense.requires_grad.is(Kind::Bool)) {
    row.grad_known = true;
    row.requires_grad = Arena::as_bool(dense.requires_grad);
  }
  if (!dense.math_bits.missing()) read_math_bits(walk, dense.math_bits, row);
  if (const auto found = walk.take_storage(dense.storage)) {
    row.storage = found->storage;
    row.device = contents.storages[found->storage].device;
    row.dtype = dense.dtype.value_or(found->dtype);
    if (!error) error = conflict_of(contents, *found, dense.dtype.has_value());
  } else if (!error) {
    error = fail(ErrorCode::Malformed, "its storage is {}, not a storage", kind_word(walk.resolve(dense.storage)));
  }
  if (row.storage == kNone && dense.dtype) row.dtype = *dense.dtype;
  const std::uint32_t tensor = walk.mean_tensor(object, row);
  if (error) contents.set_error(tensor, *std::move(error));
  const bool empty_record =
      row.storage != kNone && contents.storages[row.storage].bytes == 0 && contents.storages[row.storage].declared != 0;
  if (empty_record && contents.error_of(row) == nullptr && !error) {
    contents.more_of(tensor).note = "record is empty, as torch writes it here";
    return tensor;
  }
  checkpoint::check_bounds(contents, tensor);
  return tensor;
}

// (storage, offset, size, stride)
bool rebuild_tensor(Walk& walk, Value object, Arguments args) {
  if (args.size() < 4) return false;
  mean_dense(walk, object, {args[0], args[1], args[2], args[3], {}, {}, {}});
  return true;
}

// (storage, offset, size, stride, requires_grad, hooks[, math bits])
bool rebuild_tensor_v2(Walk& walk, Value object, Arguments args) {
  if (args.size() < 4) return false;
  const Value grad = args.size() > 4 ? args[4] : Value();
  const Value math_bits = args.size() > 6 ? args[6] : Value();
  mean_dense(walk, object, {args[0], args[1], args[2], args[3], grad, math_bits, {}});
  return true;
}

// (untyped storage, offset, size, stride, requires_grad, hooks, dtype[, math bits])
bool rebuild_tensor_v3(Walk& walk, Value object, Arguments args) {
  if (args.size() < 7) return false;
  const auto dtype = walk.dtype_of(args[6]);
  if (!dtype) {
    walk.mean_broken(object, fail(ErrorCode::Unsupported, "its dtype is {}, none that wick knows", kind_word(args[6])));
    return true;
  }
  const Value math_bits = args.size() > 7 ? args[7] : Value();
  mean_dense(walk, object, {args[0], args[1], args[2], args[3], args[4], math_bits, dtype});
  return true;
}

// (dtype, size, stride, requires_grad): no bytes anywhere, by intent
bool rebuild_meta_tensor(Walk& walk, Value object, Arguments args) {
  if (args.size() < 4) return false;
  const auto dtype = walk.dtype_of(args[0]);
  if (!dtype) return false;
  TensorRow row;
  row.dtype = *dtype;
  row.is_meta = true;
  row.device = walk.contents().device_index("meta");
  if (args[3].is(Kind::Bool)) {
    row.grad_known = true;
    row.requires_grad = Arena::as_bool(args[3]);
  }
  std::optional<Error> error = read_shape(walk, {{}, {}, args[1], args[2], {}, {}, {}}, row);
  const std::uint32_t tensor = walk.mean_tensor(object, row);
  if (error) walk.contents().set_error(tensor, *std::move(error));
  checkpoint::check_bounds(walk.contents(), tensor);
  return true;
}

// torch.FloatTensor and the like: NEWOBJ (), then BUILD (storage, offset, size, stride). torch.Tensor also has
// (data, grad, hooks, requires_grad, volatile), which old_parameter reads.
bool legacy_tensor(Walk& walk, Value object, Arguments args) {
  const Value state = walk.resolve(walk.arena().state(object));
  if (!state.is(Kind::Tuple)) return false;
  const auto fields = walk.arena().items(state);
  if (fields.size() != 4) return old_parameter(walk, object, args);
  mean_dense(walk, object, {fields[0], fields[1], fields[2], fields[3], {}, {}, {}});
  return true;
}

}  // namespace wick::torch
