// SPDX-License-Identifier: Apache-2.0
// Element types: those of torch 2.13 and its past, safetensors, numpy and GGUF. The table is dtypes.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wick/export.h"

namespace wick {

enum class DType : std::uint8_t {
#define WICK_DTYPE(enumerator, name, bits, storage_class, scalar_type, safetensors, component) enumerator,
#define WICK_BLOCK_DTYPE(enumerator, name, ggml_type, elements, bytes) enumerator,
#include "wick/dtypes.def"
#undef WICK_DTYPE
#undef WICK_BLOCK_DTYPE
};

// What one row of dtypes.def says. References stay valid for the life of the program.
struct DTypeFacts {
  DType dtype;
  std::string_view name;         // torch's name, or "gguf.q4_k"
  std::uint32_t bits;            // of one element as shapes count them; 0 for block types and NumpyOther
  std::uint32_t block_elements;  // elements of one block: 1 unless a GGUF block type
  std::uint32_t block_bytes;  // bytes of one block; 0 for NumpyOther and for bits that fill no byte (then use `bits`)
  std::string_view storage_class;  // "FloatStorage", or empty
  int scalar_type;                 // c10::ScalarType code, or -1
  std::string_view safetensors;    // "F32", or empty
  std::uint32_t component;         // bytes turned by a byte swap; 0 = none
  int ggml_type;                   // GGML type id of block types, or -1
};

// The row of a type. Never fails, thread-safe.
WICK_API const DTypeFacts& facts_of(DType dtype);
// "float32". Thread-safe.
WICK_API std::string_view name_of(DType dtype);
// The type torch calls `name` ("float32"), or nothing.
WICK_API std::optional<DType> find_dtype(std::string_view name);

// Bytes that `elements` elements take when packed without gaps, rounded up to whole bytes or blocks; nothing when it
// overflows or when the type has no size of its own (NumpyOther).
WICK_API std::optional<std::uint64_t> packed_bytes(DType dtype, std::uint64_t elements);

}  // namespace wick
