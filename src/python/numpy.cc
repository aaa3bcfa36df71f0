// SPDX-License-Identifier: Apache-2.0
// numpy's arrays, scalars, dtypes and masked arrays. Forms: numpy's array_reduce, gentype_reduce and MaskedArray's
// __reduce__ of 1.x and 2.x; docs/formats/pickle.md.
#include <memory>
#include <vector>

#include "base/format.h"
#include "base/text.h"
#include "python/array_storage.h"
#include "python/handlers.h"
#include "python/names.h"
#include "python/numpy_dtype.h"
#include "python/repr.h"

namespace wick::python {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;

namespace {

constexpr std::size_t kMaxDimensions = 64;  // numpy 2's own limit
constexpr std::size_t kMaxNestedItems = std::size_t{1} << 26;

using Sizes = std::vector<std::int64_t>;

std::optional<Sizes> read_shape(const Contents& contents, Value shape) {
  if (!shape.is(Kind::Tuple) || contents.arena.items(shape).size() > kMaxDimensions) return std::nullopt;
  Sizes sizes;
  for (const Value size : contents.arena.items(shape)) {
    const auto number = int_of(contents, size);
    if (!number) return std::nullopt;
    sizes.push_back(*number);
  }
  return sizes;
}

// Strides in elements. Overflow and negative sizes are check_bounds' to tell, so this only must not trap.
Sizes strides_of(const Sizes& sizes, bool fortran) {
  Sizes strides(sizes.size());
  std::uint64_t step = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t at = fortran ? i : sizes.size() - 1 - i;
    strides[at] = static_cast<std::int64_t>(step & 0x7FFFFFFFFFFFFFFFU);
    step *= static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[at], 1));
  }
  return strides;
}

struct Raw {
  std::string_view bytes;
  bool present = false;  // false: the bytes are not in the file
};

// The row of an array; its storage is the bytes themselves.
std::uint32_t add_array(Contents& contents, const NumpyType& type, const Sizes& sizes, bool fortran, Raw raw) {
  checkpoint::StorageRow storage;
  storage.bytes = storage.declared = raw.bytes.size();
  storage.dtype = type.dtype == DType::NumpyOther ? DType::UInt8 : type.dtype;
  storage.swapped = type.big_endian && facts_of(type.dtype).component > 1;
  if (raw.present) {
    storage.opener = static_cast<std::uint32_t>(contents.openers.size());
    contents.openers.push_back(std::make_shared<ArenaStorageOpener>(raw.bytes, contents.arena.owner()));
  }
  checkpoint::TensorRow row;
  row.dtype = type.dtype;
  row.is_array = true;
  row.storage = static_cast<std::uint32_t>(contents.storages.size());
  row.sizes = contents.dims.put(sizes);
  row.strides = contents.dims.put(strides_of(sizes, fortran));
  contents.storages.push_back(storage);
  const std::uint32_t tensor = contents.add_tensor(row);
  if (type.dtype == DType::NumpyOther) {
    auto& more = contents.more_of(tensor);
    more.numpy_type = type.spelling;
    more.item_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(type.item_bytes, 0xFFFFFFFFU));
  }
  if (raw.present)
    checkpoint::check_bounds(contents, tensor);
  else
    contents.set_error(tensor,
                       fail(ErrorCode::NotFound, "the array's bytes were written out of band, to another file"));
  return tensor;
}

// Items in C order, as numpy lists them whatever the array's own order, become lists in lists.
Value nest(Contents& contents, const Sizes& sizes, std::vector<Value> level) {
  for (std::size_t at = sizes.size(); at-- > 1;) {
    const auto width = static_cast<std::size_t>(sizes[at]);
    std::vector<Value> above;
    const std::size_t count = width == 0 ? 0 : level.size() / width;
    for (std::size_t i = 0; i < count; ++i) {
      const Value list = contents.arena.list();
      contents.arena.append(list, std::span(level).subspan(i * width, width));
      above.push_back(list);
    }
    level = std::move(above);
  }
  const Value list = contents.arena.list();
  contents.arena.append(list, level);
  return list;
}

// An array of objects (or of numpy 2's strings) is its items: they are values, not bytes.
bool mean_items(Contents& contents, Value object, const Sizes& sizes, Value list) {
  const auto items = contents.arena.items(list);
  std::uint64_t count = 1;
  for (const std::int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) return false;
  if (count != items.size() || items.size() > kMaxNestedItems) return false;
  if (sizes.size() > 1 && !contents.arena.may_copy((items.size() + 8) * sizes.size() * sizeof(Value))) return false;
  if (sizes.empty()) {
    contents.mean_same(object, items[0]);
    return true;
  }
  contents.mean_same(object, sizes.size() == 1 ? list : nest(contents, sizes, {items.begin(), items.end()}));
  return true;
}

// A row that says why: an array is never left out.
bool mean_broken(Contents& contents, Value object, std::string_view why) {
  checkpoint::TensorRow row;
  row.dtype = DType::NumpyOther;
  row.is_array = true;
  row.sizes = row.strides = contents.dims.put({});
  const std::uint32_t tensor = contents.add_tensor(row);
  contents.set_error(tensor, fail(ErrorCode::Malformed, "the numpy array can not be rebuilt: {}", why));
  contents.mean(object, {Meaning::What::Array, tensor});
  return true;
}

// (version, shape, dtype, is fortran, raw): the state BUILD gives an array. Before version 1 the version is not there.
struct ArrayState {
  Value shape, dtype, fortran, raw;
};
std::optional<ArrayState> state_of(const Contents& contents, Value object) {
  const Value state = contents.arena.state(object);
  if (!state.is(Kind::Tuple)) return std::nullopt;
  const auto items = contents.arena.items(state);
  if (items.size() == 5 || items.size() == 7) return ArrayState{items[1], items[2], items[3], items[4]};
  if (items.size() == 4) return ArrayState{items[0], items[1], items[2], items[3]};
  return std::nullopt;
}

// Class of the array when it is none of numpy's own two.
void note_subclass(Contents& contents, Arguments args, std::uint32_t tensor) {
  if (args.empty() || !args[0].is(Kind::Global)) return;
  const std::string name = class_name(contents, args[0]);
  if (name != "numpy.ndarray" && name != "numpy.ma.core.MaskedArray" && name != "numpy.ma.MaskedArray")
    contents.more_of(tensor).subclass = name;
}

Raw raw_of(const Contents& contents, Value value) {
  const auto bytes = bytes_of(contents, value);
  return bytes ? Raw{*bytes, true} : Raw{{}, !contents.resolve(value).is(Kind::Buffer)};
}

}  // namespace

bool numpy_dtype(Contents& contents, Value object, Arguments) {
  const auto type = read_dtype(contents, object);
  if (!type) return false;
  contents.mean_shown(object, dtype_text(*type));
  return true;
}

bool numpy_array(Contents& contents, Value object, Arguments args) {
  const auto state = state_of(contents, object);
  if (!state) return mean_broken(contents, object, "it has no state");
  const auto sizes = read_shape(contents, state->shape);
  const auto type = read_dtype(contents, state->dtype);
  if (!sizes) return mean_broken(contents, object, "its shape is no tuple of integers");
  if (!type) return mean_broken(contents, object, "its dtype is none that numpy writes");
  const bool fortran = int_of(contents, state->fortran).value_or(0) != 0;
  give_meaning_to_bytes(contents, state->raw);
  const Value raw = contents.resolve(state->raw);
  if (raw.is(Kind::List)) {
    if (mean_items(contents, object, *sizes, raw)) return true;
    return mean_broken(contents, object, "its shape and the number of its objects differ");
  }
  if (!bytes_of(contents, raw) && !raw.is(Kind::Buffer))
    return mean_broken(contents, object, "its elements are no bytes");
  const std::uint32_t tensor = add_array(contents, *type, *sizes, fortran, raw_of(contents, raw));
  note_subclass(contents, args, tensor);
  contents.mean(object, {Meaning::What::Array, tensor});
  return true;
}

// _frombuffer(buffer, dtype, shape, order): protocol 5, the buffer in the pickle or out of band.
bool numpy_from_buffer(Contents& contents, Value object, Arguments args) {
  if (args.size() < 4) return mean_broken(contents, object, "it needs a buffer, a dtype, a shape and an order");
  const auto type = read_dtype(contents, args[1]);
  const auto sizes = read_shape(contents, args[2]);
  const auto order = text_of(contents, args[3]);
  if (!type || !sizes || !order)
    return mean_broken(contents, object, "its dtype, shape or order is none that numpy writes");
  if (!bytes_of(contents, args[0]) && !contents.resolve(args[0]).is(Kind::Buffer))
    return mean_broken(contents, object, "its elements are no bytes");
  const std::uint32_t tensor = add_array(contents, *type, *sizes, *order == "F", raw_of(contents, args[0]));
  contents.mean(object, {Meaning::What::Array, tensor});
  return true;
}

// _mareconstruct(MaskedArray, ndarray, (0,), 'b') with (1, shape, dtype, is fortran, data, mask, fill value).
bool numpy_masked_array(Contents& contents, Value object, Arguments args) {
  if (!numpy_array(contents, object, args)) return false;
  const Meaning meaning = contents.meaning(object);
  const Value state = contents.arena.state(object);
  if (meaning.what != Meaning::What::Array || !state.is(Kind::Tuple) || contents.arena.items(state).size() < 6)
    return true;
  give_meaning_to_bytes(contents, contents.arena.items(state)[5]);
  const auto mask = bytes_of(contents, contents.arena.items(state)[5]);
  const auto sizes = read_shape(contents, contents.arena.items(state)[1]);
  if (!mask || !sizes || contents.error_of(contents.tensors[meaning.index]) != nullptr) return true;
  NumpyType boolean;
  boolean.kind = 'b';
  boolean.item_bytes = 1;
  boolean.dtype = DType::Bool;
  const bool fortran = int_of(contents, contents.arena.items(state)[3]).value_or(0) != 0;
  const std::uint32_t part = add_array(contents, boolean, *sizes, fortran, {*mask, true});
  auto& more = contents.more_of(meaning.index);
  more.parts.emplace_back("mask", part);
  more.note = "masked: where the part `mask` is true the elements count as absent";
  return true;
}

bool numpy_scalar(Contents& contents, Value object, Arguments args) {
  if (args.empty() || args.size() > 2) return false;
  const auto type = read_dtype(contents, args[0]);
  if (!type) return false;
  if (type->kind == 'O' && args.size() == 2) {
    contents.mean_same(object, args[1]);
    return true;
  }
  // An empty string or void has no bytes at all.
  const auto bytes = args.size() == 2 ? bytes_of(contents, args[1]) : std::optional<std::string_view>("");
  if (!bytes || !contents.arena.may_copy(bytes->size())) return false;
  std::string shown;
  const Value value = read_element(contents.arena, *type, *bytes, shown);
  if (!shown.empty()) {
    contents.mean_shown(object, shown);
    return true;
  }
  if (value.missing()) return false;
  contents.mean_same(object, value);
  return true;
}

}  // namespace wick::python
