// SPDX-License-Identifier: Apache-2.0
// Tensors that are made of others: sparse (Python and C++ dialect), nested and jagged. Forms: docs/formats/tensors.md.
#include "torch/rebuild_handlers.h"

namespace wick::torch {

using checkpoint::kNone;
using checkpoint::Layout;
using checkpoint::TensorRow;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

struct SparseForm {
  std::string_view name;  // torch's, as _get_layout takes it
  int code;               // c10::Layout, as the C++ dialect writes it
  Layout layout;
  std::string_view first;   // its parts, before `values`
  std::string_view second;  // "" when it has one
};
constexpr SparseForm kForms[] = {
    {"torch.sparse_coo", 1, Layout::SparseCoo, "indices", ""},
    {"torch.sparse_csr", 2, Layout::SparseCsr, "crow_indices", "col_indices"},
    {"torch.sparse_csc", 4, Layout::SparseCsc, "ccol_indices", "row_indices"},
    {"torch.sparse_bsr", 5, Layout::SparseBsr, "crow_indices", "col_indices"},
    {"torch.sparse_bsc", 6, Layout::SparseBsc, "ccol_indices", "row_indices"},
};

// A layout is torch.serialization._get_layout('torch.sparse_coo'), which means that text, or an integer.
const SparseForm* form_of(const Walk& walk, Value layout) {
  if (layout.is(Kind::Int)) {
    for (const SparseForm& form : kForms)
      if (form.code == Arena::as_int(layout)) return &form;
    return nullptr;
  }
  std::optional<std::string_view> name = text_of(walk.arena(), layout);
  if (!name && layout.is(Kind::Object)) {
    const Value args = walk.arena().object(layout).args;
    if (args.is(Kind::Tuple) && !walk.arena().items(args).empty())
      name = text_of(walk.arena(), walk.arena().items(args)[0]);
  }
  if (!name) return nullptr;
  for (const SparseForm& form : kForms)
    if (form.name == *name) return &form;
  return nullptr;
}

struct Parts {
  Value first;
  Value second;  // Missing when the form has one
  Value values;
  Value size;
};

// The row of a tensor made of parts; a part that is no tensor is its error.
void mean_parts(Walk& walk, Value object, const SparseForm& form, const Parts& parts, std::optional<bool> grad) {
  checkpoint::Contents& contents = walk.contents();
  TensorRow row;
  row.layout = form.layout;
  std::optional<Error> error;
  if (walk.read_dims(parts.size, walk.sizes))
    row.sizes = contents.dims.put(walk.sizes);
  else
    error = Error(ErrorCode::Malformed, "its size is no tuple of integers that fit");
  if (grad) {
    row.grad_known = true;
    row.requires_grad = *grad;
  }
  const std::uint32_t values = walk.tensor_of(parts.values);
  if (values != kNone) {
    row.dtype = contents.tensors[values].dtype;
    row.device = contents.tensors[values].device;
  }
  const std::uint32_t tensor = walk.mean_tensor(object, row);
  checkpoint::TensorMore& more = contents.more_of(tensor);
  const auto add = [&](std::string_view name, Value value) {
    const std::uint32_t part = walk.tensor_of(value);
    if (part != kNone)
      more.parts.emplace_back(name, part);
    else if (!error)
      error = fail(ErrorCode::Malformed, "its {} are no tensor", name);
  };
  add(form.first, parts.first);
  if (!form.second.empty()) add(form.second, parts.second);
  add("values", parts.values);
  if (error) contents.set_error(tensor, *std::move(error));
  for (const auto& [name, part] : contents.more_of(tensor).parts) {
    const Error* why = contents.error_of(contents.tensors[part]);
    if (why != nullptr) contents.set_error(tensor, Error(*why).inside(name));
  }
}

std::optional<bool> as_bool(Value value) {
  if (!value.is(Kind::Bool)) return std::nullopt;
  return Arena::as_bool(value);
}

// C++ dialect: (layout int, size, requires_grad, indices, values, hooks) or (.., crow_indices, col_indices, values, ..)
bool rebuild_flat(Walk& walk, Value object, Arguments args, const SparseForm& form) {
  const auto grad = as_bool(walk.at(args, 2));
  if (form.second.empty()) {
    if (args.size() < 5) return false;
    mean_parts(walk, object, form, {args[3], {}, args[4], args[1]}, grad);
    return true;
  }
  if (args.size() < 6) return false;
  mean_parts(walk, object, form, {args[3], args[4], args[5], args[1]}, grad);
  return true;
}

}  // namespace

// Python dialect: (layout, (indices, values, size[, is_coalesced])) or (layout, (crow_indices, col_indices, values,
// size))
bool rebuild_sparse_tensor(Walk& walk, Value object, Arguments args) {
  const Value layout = walk.at(args, 0);
  const SparseForm* form = form_of(walk, layout);
  if (form == nullptr) return false;
  if (args.size() > 3) return rebuild_flat(walk, object, args, *form);
  const Value inner = walk.at(args, 1);
  if (!inner.is(Kind::Tuple)) return false;
  const Arguments parts = walk.arena().items(inner);
  if (form->second.empty()) {
    if (parts.size() < 3) return false;
    mean_parts(walk, object, *form, {parts[0], {}, parts[1], parts[2]}, std::nullopt);
    return true;
  }
  if (parts.size() < 4) return false;
  mean_parts(walk, object, *form, {parts[0], parts[1], parts[2], parts[3]}, std::nullopt);
  return true;
}

// torch.sparse.FloatTensor of 0.3: (indices, values, size)
bool legacy_sparse_tensor(Walk& walk, Value object, Arguments args) {
  if (args.size() < 3) return false;
  mean_parts(walk, object, kForms[0], {args[0], {}, args[1], args[2]}, std::nullopt);
  return true;
}

// (buffer, sizes [n, d], strides [n, d], storage offsets [n]): n tensors in one buffer
bool rebuild_nested_tensor(Walk& walk, Value object, Arguments args) {
  if (args.size() < 4) return false;
  checkpoint::Contents& contents = walk.contents();
  constexpr std::string_view kNames[] = {"buffer", "sizes", "strides", "offsets"};
  TensorRow row;
  row.layout = Layout::Nested;
  const std::uint32_t buffer = walk.tensor_of(args[0]);
  const std::uint32_t sizes = walk.tensor_of(args[1]);
  if (buffer == kNone || sizes == kNone) return false;
  row.dtype = contents.tensors[buffer].dtype;
  row.device = contents.tensors[buffer].device;
  row.requires_grad = contents.tensors[buffer].requires_grad;
  const std::uint32_t tensor = walk.mean_tensor(object, row);
  const auto shape = contents.sizes(contents.tensors[sizes]);
  checkpoint::TensorMore& more = contents.more_of(tensor);
  if (shape.size() == 2) more.note = fmt::format("{} tensors of {} dimensions", shape[0], shape[1]);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t part = walk.tensor_of(args[i]);
    if (part != kNone) more.parts.emplace_back(kNames[i], part);
  }
  return true;
}

// ({'values': t, 'offsets': t, 'lengths': t or None, '_ragged_idx': n, ...},)
bool rebuild_njt(Walk& walk, Value object, Arguments args) {
  const Value fields = walk.at(args, 0);
  if (!fields.is(Kind::Dict)) return false;
  checkpoint::Contents& contents = walk.contents();
  const std::uint32_t values = walk.tensor_of(walk.arena().find(fields, "values"));
  if (values == kNone) return false;
  TensorRow row;
  row.layout = Layout::Jagged;
  row.dtype = contents.tensors[values].dtype;
  row.device = contents.tensors[values].device;
  if (const auto grad = as_bool(walk.arena().find(fields, "requires_grad"))) {
    row.grad_known = true;
    row.requires_grad = *grad;
  }
  const std::uint32_t tensor = walk.mean_tensor(object, row);
  checkpoint::TensorMore& more = contents.more_of(tensor);
  for (const std::string_view name : {"values", "offsets", "lengths"}) {
    const std::uint32_t part = walk.tensor_of(walk.arena().find(fields, name));
    if (part != kNone) more.parts.emplace_back(name, part);
  }
  const Value ragged = walk.arena().find(fields, "_ragged_idx");
  if (ragged.is(Kind::Int)) more.note = fmt::format("ragged in dimension {}", Arena::as_int(ragged));
  return true;
}

}  // namespace wick::torch
