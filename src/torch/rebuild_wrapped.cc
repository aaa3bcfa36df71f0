// SPDX-License-Identifier: Apache-2.0
// Tensors around tensors: parameters, buffers, subclasses with state, wrapper subclasses (DTensor ...), tensors of
// devices, and the Variables of 0.1 to 0.3. Forms: docs/formats/tensors.md.
#include "torch/rebuild_handlers.h"

namespace wick::torch {

using checkpoint::kNone;
using checkpoint::Layout;
using checkpoint::TensorMore;
using checkpoint::TensorRow;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

bool is_tuple(Value value, std::size_t count, const Arena& arena) {
  return value.is(Kind::Tuple) && arena.items(value).size() == count;
}

void set_grad(TensorRow& row, Value grad) {
  if (!grad.is(Kind::Bool)) return;
  row.grad_known = true;
  row.requires_grad = Arena::as_bool(grad);
}

std::string class_text(const Walk& walk, Value global) {
  if (!global.is(Kind::Global)) return {};
  const auto module = text_of(walk.arena(), walk.arena().module(global));
  const auto name = text_of(walk.arena(), walk.arena().name(global));
  if (!module || !name) return {};
  return fmt::format("{}.{}", *module, *name);
}

// Python attributes that a tensor carried: state is None, a dict, or (dict or None, slots).
Value attributes_of(const Walk& walk, Value state) {
  state = walk.resolve(state);
  if (state.is(Kind::Dict)) return state;
  if (is_tuple(state, 2, walk.arena())) {
    for (const Value part : walk.arena().items(state))
      if (walk.resolve(part).is(Kind::Dict)) return walk.resolve(part);
  }
  return {};
}

void read_attributes(Walk& walk, std::uint32_t tensor, Value state) {
  const Value attributes = attributes_of(walk, state);
  if (attributes.missing()) return;
  const Value is_buffer = walk.arena().find(attributes, "_is_buffer");
  if (is_buffer.is(Kind::Bool) && Arena::as_bool(is_buffer)) walk.contents().tensors[tensor].is_buffer = true;
  walk.keep_state(tensor, attributes);
}

// The tensors that a subclass keeps as its attributes are its parts.
void add_parts(Walk& walk, std::uint32_t tensor, Value state) {
  const Value attributes = attributes_of(walk, state);
  if (attributes.missing()) return;
  const auto pairs = walk.arena().pairs(attributes);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::uint32_t part = walk.tensor_of(pairs[i + 1]);
    const auto name = text_of(walk.arena(), pairs[i]);
    if (part != kNone && name) walk.contents().more_of(tensor).parts.emplace_back(*name, part);
  }
}

void set_class(Walk& walk, std::uint32_t tensor, Value type) {
  const std::string name = class_text(walk, type);
  TensorRow& row = walk.contents().tensors[tensor];
  if (name == "torch.nn.parameter.Parameter") {
    row.is_parameter = true;
  } else if (name == "torch.nn.parameter.Buffer") {
    row.is_buffer = true;
  } else if (!name.empty() && name != "torch.Tensor" && name != "torch._tensor.Tensor") {
    walk.contents().more_of(tensor).subclass = name;
  }
}

}  // namespace

// (tensor, requires_grad, hooks[, state])
bool rebuild_parameter(Walk& walk, Value object, Arguments args) {
  const std::uint32_t inner = args.empty() ? kNone : walk.tensor_of(args[0]);
  if (inner == kNone) return false;
  const Value grad = walk.at(args, 1);
  const Value state = walk.at(args, 3);
  const std::uint32_t tensor = walk.mean_copy(object, inner);
  walk.contents().tensors[tensor].is_parameter = true;
  set_grad(walk.contents().tensors[tensor], grad);
  if (!state.missing()) read_attributes(walk, tensor, state);
  return true;
}

// (function, type, arguments, state): what the function makes, seen as `type`, with `state` as its attributes
bool rebuild_from_type(Walk& walk, Value object, Arguments args) {
  const Value function = walk.at(args, 0);
  const Value inner_args = walk.at(args, 2);
  if (!function.is(Kind::Global) || !inner_args.is(Kind::Tuple)) return false;
  const Value type = walk.at(args, 1);
  const Value state = walk.at(args, 3);
  const auto module = text_of(walk.arena(), walk.arena().module(function));
  const auto name = text_of(walk.arena(), walk.arena().name(function));
  if (!module || !name) return false;
  const Handler handler = find_handler(*module, *name);
  if (handler == nullptr || handler == rebuild_from_type) return false;  // one level, as torch writes it
  if (!handler(walk, object, walk.arena().items(inner_args))) return false;
  const std::uint32_t tensor = walk.tensor_of(object);
  if (tensor == kNone) return true;
  set_class(walk, tensor, type);
  if (walk.contents().tensors[tensor].layout == Layout::Wrapper) add_parts(walk, tensor, state);
  if (walk.contents().tensors[tensor].layout != Layout::Jagged) read_attributes(walk, tensor, state);
  return true;
}

// (class, dtype, size, stride, offset, layout, device, requires_grad): the tensor's bytes are those of its parts
bool rebuild_wrapper_subclass(Walk& walk, Value object, Arguments args) {
  if (args.size() < 8) return false;
  const auto dtype = walk.dtype_of(args[1]);
  if (!dtype || !walk.read_dims(args[2], walk.sizes)) return false;
  checkpoint::Contents& contents = walk.contents();
  TensorRow row;
  row.layout = Layout::Wrapper;
  row.dtype = *dtype;
  row.sizes = contents.dims.put(walk.sizes);
  if (walk.read_dims(args[3], walk.strides)) row.strides = contents.dims.put(walk.strides);
  set_grad(row, walk.at(args, 7));
  const Value device = walk.at(args, 6);
  const std::string text = walk.device_text(device);
  if (!text.empty()) row.device = contents.device_index(text);
  const Value type = args[0];
  const std::uint32_t tensor = walk.mean_tensor(object, row);
  contents.more_of(tensor).subclass = class_text(walk, type);
  return true;
}

// (array or cpu tensor, dtype, device, requires_grad)
bool rebuild_device_tensor(Walk& walk, Value object, Arguments args) {
  const std::uint32_t inner = args.empty() ? kNone : walk.tensor_of(args[0]);
  if (inner == kNone) return false;
  const auto dtype = walk.dtype_of(walk.at(args, 1));
  const std::string device = walk.device_text(walk.at(args, 2));
  const Value grad = walk.at(args, 3);
  const std::uint32_t tensor = walk.mean_copy(object, inner);
  checkpoint::Contents& contents = walk.contents();
  TensorRow& row = contents.tensors[tensor];
  row.is_array = false;
  set_grad(row, grad);
  if (!device.empty()) row.device = contents.device_index(device);
  if (dtype && *dtype != row.dtype)  // numpy has no bfloat16: torch writes such a tensor as float32
    contents.more_of(tensor).note = fmt::format("a {} tensor, saved as {}", name_of(*dtype), name_of(row.dtype));
  return true;
}

// Parameter and Variable of 0.1 to 0.3: applied to (data[, requires_grad]), then BUILD (requires_grad, volatile,
// hooks), or BUILD (data, grad, hooks, requires_grad, volatile). Parameter also: BUILD (storage, offset, size, stride).
bool old_parameter(Walk& walk, Value object, Arguments args) {
  const Arena& arena = walk.arena();
  const Value state = walk.resolve(arena.state(object));
  const Value callable = arena.object(object).callable;
  Value data = walk.at(args, 0);
  Value grad = walk.at(args, 1);
  if (is_tuple(state, 3, arena)) grad = walk.at(arena.items(state), 0);
  if (is_tuple(state, 5, arena)) {
    data = walk.at(arena.items(state), 0);
    grad = walk.at(arena.items(state), 3);
  }
  const std::uint32_t inner = walk.tensor_of(data);
  std::uint32_t tensor = kNone;
  if (inner != kNone) {
    tensor = walk.mean_copy(object, inner);
  } else if (is_tuple(state, 4, arena)) {
    const Arguments fields = arena.items(state);
    tensor = mean_dense(walk, object, {fields[0], fields[1], fields[2], fields[3], grad, {}, {}});
  }
  if (tensor == kNone) return false;
  set_grad(walk.contents().tensors[tensor], grad);
  set_class(walk, tensor, callable);
  TensorMore* more = walk.contents().tensors[tensor].more == kNone ? nullptr : &walk.contents().more_of(tensor);
  if (more != nullptr && more->subclass == "torch.autograd.variable.Variable") more->subclass.clear();
  return true;
}

// (requires_grad,): a parameter of a lazy module; torch makes it an empty float32 tensor without a shape
bool uninitialized(Walk& walk, Value object, Arguments args) {
  const Value callable = walk.arena().object(object).callable;
  TensorRow row;
  row.is_meta = true;
  const auto name = text_of(walk.arena(), walk.arena().name(callable));
  row.is_parameter = name == "UninitializedParameter";
  row.is_buffer = !row.is_parameter;
  set_grad(row, walk.at(args, 0));
  const std::int64_t none = 0;  // what torch holds behind it is torch.empty(0)
  const std::int64_t one = 1;
  row.sizes = walk.contents().dims.put(std::span(&none, 1));
  row.strides = walk.contents().dims.put(std::span(&one, 1));
  const std::uint32_t tensor = walk.mean_tensor(object, row);
  TensorMore& more = walk.contents().more_of(tensor);
  more.subclass = class_text(walk, callable);
  more.note = "not initialized: it has no shape yet";
  return true;
}

}  // namespace wick::torch
