// SPDX-License-Identifier: Apache-2.0
// Quantized tensors, and the packed parameters of quantized modules. Forms: docs/formats/tensors.md.
#include <array>
#include <cstring>

#include "torch/rebuild_handlers.h"

namespace wick::torch {

using checkpoint::kNone;
using checkpoint::TensorMore;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

std::string scheme_name(const Walk& walk, Value scheme) {
  if (!scheme.is(Kind::Global)) return {};
  const auto name = text_of(walk.arena(), walk.arena().name(scheme));
  return name ? std::string(*name) : std::string();
}

std::optional<double> number_of(const Arena& arena, Value value) {
  if (value.is(Kind::Float)) return arena.as_real(value);
  if (value.is(Kind::Int)) return static_cast<double>(Arena::as_int(value));
  return std::nullopt;
}

// A per-channel list of numbers (torch 1.3 and 1.4 wrote lists) as a tensor row of its own.
std::uint32_t list_as_tensor(Walk& walk, Value list, bool integers) {
  checkpoint::Contents& contents = walk.contents();
  std::vector<std::byte> bytes;
  const auto items = walk.arena().items(list);
  bytes.reserve(items.size() * 8);
  for (const Value item : items) {
    const auto number = number_of(walk.arena(), item);
    if (!number || (integers && !item.is(Kind::Int))) return kNone;
    std::array<std::byte, 8> raw{};
    const std::int64_t whole = integers ? Arena::as_int(item) : 0;
    if (integers)
      std::memcpy(raw.data(), &whole, 8);
    else
      std::memcpy(raw.data(), &*number, 8);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  checkpoint::TensorRow row;
  row.dtype = integers ? DType::Int64 : DType::Float64;
  const std::int64_t count = static_cast<std::int64_t>(items.size());
  const std::int64_t one = 1;
  row.sizes = contents.dims.put(std::span(&count, 1));
  row.strides = contents.dims.put(std::span(&one, 1));
  row.storage = walk.add_owned_storage(std::move(bytes), row.dtype);
  return contents.add_tensor(row);
}

// What 2.13 checks too: the axis is one of the tensor's, and each channel has its own scale and zero point.
std::optional<Error> check_channels(const checkpoint::Contents& contents, std::uint32_t tensor) {
  const checkpoint::TensorRow& row = contents.tensors[tensor];
  const TensorMore& more = contents.more[row.more];
  const auto sizes = contents.sizes(row);
  if (more.axis < 0 || static_cast<std::uint64_t>(more.axis) >= sizes.size())
    return fail(ErrorCode::Malformed, "quantization axis {} of a tensor with {} dimensions", more.axis, sizes.size());
  const auto channels = static_cast<std::uint64_t>(sizes[static_cast<std::size_t>(more.axis)]);
  for (const std::uint32_t part : {more.scales, more.zero_points}) {
    const auto count = contents.numel(contents.tensors[part]);
    if (!count || *count != channels)
      return fail(ErrorCode::Mismatch, "{} scales or zero points for {} channels", count.value_or(0), channels);
  }
  return std::nullopt;
}

// (scheme, scales, zero_points, axis)
std::optional<Error> read_channels(Walk& walk, std::uint32_t tensor, Arguments parameters) {
  checkpoint::Contents& contents = walk.contents();
  const Value scales_value = walk.at(parameters, 1);
  const Value zeros_value = walk.at(parameters, 2);
  const Value axis = walk.at(parameters, 3);
  std::uint32_t scales = walk.tensor_of(scales_value);
  std::uint32_t zeros = walk.tensor_of(zeros_value);
  if (scales == kNone && scales_value.is(Kind::List)) scales = list_as_tensor(walk, scales_value, false);
  if (zeros == kNone && zeros_value.is(Kind::List)) zeros = list_as_tensor(walk, zeros_value, true);
  if (scales == kNone || zeros == kNone || !axis.is(Kind::Int))
    return Error(ErrorCode::Malformed, "its per-channel quantization is not (scheme, scales, zero points, axis)");
  TensorMore& more = contents.more_of(tensor);
  more.axis = Arena::as_int(axis);
  more.scales = scales;
  more.zero_points = zeros;
  more.parts = {{"scales", scales}, {"zero_points", zeros}};
  // The Python writer says per_channel_affine for this scheme too; the zero points tell (docs/formats/tensors.md).
  const DType zeros_type = contents.tensors[zeros].dtype;
  if (more.scheme == "per_channel_affine" && (zeros_type == DType::Float32 || zeros_type == DType::Float64))
    more.scheme = "per_channel_affine_float_qparams";
  return check_channels(contents, tensor);
}

std::optional<Error> read_parameters(Walk& walk, std::uint32_t tensor, Value value) {
  if (!value.is(Kind::Tuple)) return Error(ErrorCode::Malformed, "its quantization parameters are no tuple");
  const Arguments parameters = walk.arena().items(value);
  std::string scheme = scheme_name(walk, walk.at(parameters, 0));
  if (scheme.empty()) return Error(ErrorCode::Malformed, "its quantization parameters name no scheme");
  TensorMore& more = walk.contents().more_of(tensor);
  more.scheme = std::move(scheme);
  if (more.scheme.starts_with("per_channel")) return read_channels(walk, tensor, parameters);
  const auto scale = number_of(walk.arena(), walk.at(parameters, 1));
  const Value zero = walk.at(parameters, 2);
  if (!scale || !zero.is(Kind::Int))
    return Error(ErrorCode::Malformed, "its quantization is not (scheme, scale, zero point)");
  more.scale = *scale;
  more.zero_point = Arena::as_int(zero);
  return std::nullopt;
}

// ---- packed parameters ----

void note(Walk& walk, Value value, std::string_view what, std::string_view owner) {
  const std::uint32_t tensor = walk.tensor_of(value);
  if (tensor == kNone) return;
  std::string& text = walk.contents().more_of(tensor).note;
  if (text.empty()) text = fmt::format("{} of {}", what, owner);
}

Arguments items_of(const Walk& walk, Value value) {
  value = walk.resolve(value);
  if (!value.is(Kind::Tuple) && !value.is(Kind::List)) return {};
  return walk.arena().items(value);
}

// (weight, bias)
void note_linear(Walk& walk, Arguments state, std::string_view owner) {
  note(walk, walk.at(state, 0), "weight", owner);
  note(walk, walk.at(state, 1), "bias", owner);
}

// version 2 and 3: (version, [configuration, weight], [bias or None]); version 1: (weight, bias, stride ...)
void note_conv(Walk& walk, Arguments state, std::string_view owner) {
  const Arguments tensors = items_of(walk, walk.at(state, 1));
  const Arguments optional = items_of(walk, walk.at(state, 2));
  if (tensors.empty() && optional.empty()) return note_linear(walk, state, owner);
  note(walk, walk.at(tensors, 0), "configuration", owner);
  note(walk, walk.at(tensors, 1), "weight", owner);
  // Version 3 has the configuration as a list of numbers and both tensors among the optional ones.
  const bool version3 = walk.tensor_of(walk.at(optional, 1)) != kNone || optional.size() == 3;
  if (version3) {
    note(walk, walk.at(optional, 1), "weight", owner);
    note(walk, walk.at(optional, 2), "bias", owner);
  } else {
    note(walk, walk.at(optional, 0), "bias", owner);
  }
}

// (version, [weights], [doubles], [longs])
void note_embedding(Walk& walk, Arguments state, std::string_view owner) {
  note(walk, walk.at(items_of(walk, walk.at(state, 1)), 0), "weight", owner);
}

// (kind, [tensors], [doubles], [longs], [packed weights])
void note_cell(Walk& walk, Arguments state, std::string_view owner) {
  const Arguments tensors = items_of(walk, walk.at(state, 1));
  const bool fp16_or_float = walk.at(state, 4).missing() || items_of(walk, walk.at(state, 4)).empty();
  const std::string_view names[] = {fp16_or_float ? "weight_ih" : "bias_ih", fp16_or_float ? "weight_hh" : "bias_hh",
                                    "bias_ih", "bias_hh"};
  for (std::size_t i = 0; i < tensors.size() && i < std::size(names); ++i)
    note(walk, walk.at(tensors, i), names[i], owner);
}

// Says what the tensors of a packed state are. The object stays as it is: its state is what torch shows, and the walk
// goes through it.
void note_packed(Walk& walk, Value state_value, std::string_view class_name) {
  const Arguments state = items_of(walk, state_value);
  const std::size_t dot = class_name.rfind('.');
  const std::string_view owner = dot == std::string_view::npos ? class_name : class_name.substr(dot + 1);
  if (owner.starts_with("Conv")) return note_conv(walk, state, owner);
  if (owner.starts_with("Embedding")) return note_embedding(walk, state, owner);
  if (owner.starts_with("CellParams")) return note_cell(walk, state, owner);
  if (owner.starts_with("Linear")) return note_linear(walk, state, owner);
}

}  // namespace

// (storage, offset, size, stride, (scheme, ...), requires_grad, hooks)
bool rebuild_qtensor(Walk& walk, Value object, Arguments args) {
  if (args.size() < 5) return false;
  const Value parameters = walk.at(args, 4);
  const Value grad = args.size() > 5 ? args[5] : Value();
  const std::uint32_t tensor = mean_dense(walk, object, {args[0], args[1], args[2], args[3], grad, {}, {}});
  if (auto error = read_parameters(walk, tensor, parameters)) walk.contents().set_error(tensor, *std::move(error));
  return true;
}

// Python: torch.ScriptObject, NEWOBJ (), BUILD (state, "__torch__.torch.classes.quantized.LinearPackedParamsBase")
bool script_object(Walk& walk, Value object, Arguments /*args*/) {
  const Arguments fields = items_of(walk, walk.arena().state(object));
  if (fields.size() != 2) return false;
  if (const auto name = text_of(walk.arena(), walk.at(fields, 1))) note_packed(walk, fields[0], *name);
  return false;  // it stays an object; its state is walked
}

// C++: the class itself, NEWOBJ (), BUILD state
bool packed_parameters(Walk& walk, Value object, Arguments /*args*/) {
  const Value callable = walk.arena().object(object).callable;
  if (const auto name = text_of(walk.arena(), walk.arena().name(callable)))
    note_packed(walk, walk.arena().state(object), *name);
  return false;
}

}  // namespace wick::torch
