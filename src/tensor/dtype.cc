// SPDX-License-Identifier: Apache-2.0
// The rows of include/wick/dtypes.def and the ways to look one up.
#include "tensor/dtype.h"

#include <array>

namespace wick {
namespace {

constexpr std::uint32_t whole_bytes(std::uint32_t bits) { return bits % 8 == 0 ? bits / 8 : 0; }

constexpr DTypeFacts kRows[] = {
#define WICK_DTYPE(enumerator, name, bits, storage_class, scalar_type, safetensors, component) \
  {DType::enumerator, name, bits, 1, whole_bytes(bits), storage_class, scalar_type, safetensors, component, -1},
#define WICK_BLOCK_DTYPE(enumerator, name, ggml_type, elements, bytes) \
  {DType::enumerator, name, 0, elements, bytes, "", -1, "", 0, ggml_type},
#include "wick/dtypes.def"
#undef WICK_DTYPE
#undef WICK_BLOCK_DTYPE
};

template <class Match>
std::optional<DType> find_row(Match match) {
  for (const DTypeFacts& row : kRows)
    if (match(row)) return row.dtype;
  return std::nullopt;
}

}  // namespace

const DTypeFacts& facts_of(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }
std::string_view name_of(DType dtype) { return facts_of(dtype).name; }
std::optional<DType> find_dtype(std::string_view name) {
  return find_row([&](const DTypeFacts& row) { return row.name == name; });
}

std::optional<std::uint64_t> packed_bytes(DType dtype, std::uint64_t elements) {
  const DTypeFacts& row = facts_of(dtype);
  std::uint64_t bytes = 0;
  if (row.block_bytes != 0) {
    const std::uint64_t blocks = elements / row.block_elements + (elements % row.block_elements != 0 ? 1 : 0);
    if (__builtin_mul_overflow(blocks, row.block_bytes, &bytes)) return std::nullopt;
    return bytes;
  }
  if (row.bits == 0 || __builtin_mul_overflow(elements, row.bits, &bytes)) return std::nullopt;
  return bytes / 8 + (bytes % 8 != 0 ? 1 : 0);
}

namespace tensor {

std::optional<DType> find_by_storage_class(std::string_view name) {
  if (name.empty()) return std::nullopt;
  return find_row([&](const DTypeFacts& row) { return row.storage_class == name; });
}
std::optional<DType> find_by_scalar_type(int code) {
  if (code < 0) return std::nullopt;
  return find_row([&](const DTypeFacts& row) { return row.scalar_type == code; });
}
std::optional<DType> find_by_safetensors(std::string_view name) {
  if (name.empty()) return std::nullopt;
  return find_row([&](const DTypeFacts& row) { return row.safetensors == name; });
}

std::optional<DType> find_by_export_code(int code) {
  // torch/_export/serde/schema.py ScalarType: 1..13 follow c10 shifted by one, then its own order (reference 9.7).
  static constexpr std::array<std::pair<int, DType>, 21> kCodes{{
      {1, DType::UInt8},           {2, DType::Int8},
      {3, DType::Int16},           {4, DType::Int32},
      {5, DType::Int64},           {6, DType::Float16},
      {7, DType::Float32},         {8, DType::Float64},
      {9, DType::Complex32},       {10, DType::Complex64},
      {11, DType::Complex128},     {12, DType::Bool},
      {13, DType::BFloat16},       {28, DType::UInt16},
      {29, DType::Float8E4M3FN},   {30, DType::Float8E5M2},
      {31, DType::Float8E4M3FNUZ}, {32, DType::Float8E5M2FNUZ},
      {33, DType::Float8E8M0FNU},  {34, DType::UInt32},
      {35, DType::UInt64},
  }};
  for (const auto& [number, dtype] : kCodes)
    if (number == code) return dtype;
  return std::nullopt;
}

std::optional<DType> find_by_ggml_type(int id) {
  // The GGML types that are plain elements; block types have rows of their own.
  static constexpr std::array<std::pair<int, DType>, 8> kPlain{{{0, DType::Float32},
                                                                {1, DType::Float16},
                                                                {24, DType::Int8},
                                                                {25, DType::Int16},
                                                                {26, DType::Int32},
                                                                {27, DType::Int64},
                                                                {28, DType::Float64},
                                                                {30, DType::BFloat16}}};
  for (const auto& [number, dtype] : kPlain)
    if (number == id) return dtype;
  return find_row([&](const DTypeFacts& row) { return row.ggml_type >= 0 && row.ggml_type == id; });
}

std::span<const DTypeFacts> all_dtypes() { return kRows; }

}  // namespace tensor
}  // namespace wick
