// SPDX-License-Identifier: Apache-2.0
#include "torch/export_tensor.h"

#include "base/checked.h"
#include "tensor/dtype.h"

namespace wick::torch {

using checkpoint::Contents;
using wire::Json;

namespace {

constexpr std::int64_t kStridedLayout = 7;

std::string device_tag(const Json* device) {
  if (device == nullptr) return "cpu";
  const Json* type = device->find("type");
  const Json* index = device->find("index");
  std::string tag(type != nullptr ? type->as_string().value_or("cpu") : "cpu");
  if (index != nullptr && index->as_int()) tag += fmt::format(":{}", *index->as_int());
  return tag;
}

Result<void> fill(Contents& contents, const Json& meta, checkpoint::TensorRow& row) {
  const Json* dtype = meta.find("dtype");
  const auto code = dtype != nullptr ? dtype->as_int() : std::nullopt;
  if (!code) return Error(ErrorCode::Malformed, "tensor_meta has no dtype");
  const auto known = std::in_range<int>(*code) ? tensor::find_by_export_code(static_cast<int>(*code)) : std::nullopt;
  if (known) row.dtype = *known;
  WICK_TRY(const auto sizes, sym_ints(meta.find("sizes"), "sizes"));
  row.sizes = contents.dims.put(sizes);
  WICK_TRY(const auto strides, sym_ints(meta.find("strides"), "strides"));
  row.strides = contents.dims.put(strides);
  const Json* offset = meta.find("storage_offset");
  const auto at = offset != nullptr ? sym_int(*offset) : std::optional<std::int64_t>(0);
  if (!at || *at < 0) return Error(ErrorCode::Malformed, "storage_offset is no natural number");
  row.offset = static_cast<std::uint64_t>(*at);
  const Json* grad = meta.find("requires_grad");
  row.grad_known = grad != nullptr && grad->type == Json::Type::Bool;
  row.requires_grad = row.grad_known && grad->boolean;
  row.device = contents.device_index(device_tag(meta.find("device")));
  const Json* layout = meta.find("layout");
  if (layout != nullptr && layout->as_int().value_or(kStridedLayout) != kStridedLayout)
    return fail(ErrorCode::Unsupported, "layout {} has no raw bytes that wick knows", *layout->as_int());
  if (!known) return fail(ErrorCode::Unsupported, "dtype code {} of torch.export is none that wick knows", *code);
  return {};
}

}  // namespace

std::optional<std::int64_t> sym_int(const Json& value) {
  if (value.as_int()) return value.as_int();
  const Json* number = value.find("as_int");
  return number != nullptr ? number->as_int() : std::nullopt;
}

Result<std::vector<std::int64_t>> sym_ints(const Json* list, std::string_view what) {
  if (list == nullptr || list->type != Json::Type::Array)
    return fail(ErrorCode::Malformed, "{} of the tensor are no list", what);
  std::vector<std::int64_t> numbers;
  for (const Json& item : list->items) {
    const auto number = sym_int(item);
    if (!number) return fail(ErrorCode::Malformed, "{} of the tensor hold something that is no number", what);
    numbers.push_back(*number);
  }
  return numbers;
}

std::uint32_t add_exported_tensor(Contents& contents, const Json& meta, std::uint32_t storage) {
  checkpoint::TensorRow row;
  row.dtype = DType::NumpyOther;
  row.storage = storage;
  auto filled = fill(contents, meta, row);
  const std::uint32_t tensor = contents.add_tensor(row);
  if (!filled)
    contents.set_error(tensor, std::move(filled).error());
  else
    checkpoint::check_bounds(contents, tensor);
  return tensor;
}

}  // namespace wick::torch
