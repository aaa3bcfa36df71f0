// SPDX-License-Identifier: Apache-2.0
// Expected values: c10/core/ScalarType.h and torch/_export/serde/schema.py of torch 2.13, ggml's type list.
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace wick {
namespace {

TEST(DType, is_found_by_every_name_it_has) {
  EXPECT_EQ(tensor::find_by_storage_class("BFloat16Storage"), DType::BFloat16);
  EXPECT_EQ(tensor::find_by_storage_class(""), std::nullopt);
  EXPECT_EQ(tensor::find_by_scalar_type(6), DType::Float32);
  EXPECT_EQ(tensor::find_by_scalar_type(45), DType::Float4E2M1FNx2);
  EXPECT_EQ(tensor::find_by_scalar_type(46), std::nullopt);
  EXPECT_EQ(tensor::find_by_scalar_type(-1), std::nullopt);
  EXPECT_EQ(tensor::find_by_export_code(7), DType::Float32);
  EXPECT_EQ(tensor::find_by_export_code(28), DType::UInt16);
  EXPECT_EQ(tensor::find_by_safetensors("F8_E4M3"), DType::Float8E4M3FN);
  EXPECT_EQ(tensor::find_by_ggml_type(0), DType::Float32);
  EXPECT_EQ(tensor::find_by_ggml_type(12), DType::GgufQ4_K);
  EXPECT_EQ(find_dtype("float8_e8m0fnu"), DType::Float8E8M0FNU);
  EXPECT_EQ(find_dtype("float"), std::nullopt);
}

TEST(DType, names_and_scalar_types_are_distinct) {
  std::set<std::string_view> names;
  std::set<int> codes;
  for (const DTypeFacts& row : tensor::all_dtypes()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&facts_of(row.dtype), &row);
    if (row.scalar_type < 0) continue;
    EXPECT_TRUE(codes.insert(row.scalar_type).second) << row.name;
  }
  EXPECT_EQ(codes.size(), 46U);  // every code of 2.13
}

TEST(DType, counts_packed_bytes) {
  EXPECT_EQ(packed_bytes(DType::Float32, 3), 12U);
  EXPECT_EQ(packed_bytes(DType::QUInt4x2, 15), 8U);
  EXPECT_EQ(packed_bytes(DType::QUInt2x4, 5), 2U);
  EXPECT_EQ(packed_bytes(DType::GgufQ4_K, 512), 288U);
  EXPECT_EQ(packed_bytes(DType::GgufQ8_0, 33), 68U);
  EXPECT_EQ(packed_bytes(DType::Float64, ~std::uint64_t{0}), std::nullopt);
  EXPECT_EQ(packed_bytes(DType::NumpyOther, 1), std::nullopt);
}

}  // namespace
}  // namespace wick
