// SPDX-License-Identifier: Apache-2.0
// Expected values: numpy and torch on the same bytes (the expressions are beside them).
#include "tensor/gather.h"

#include <gtest/gtest.h>

#include <array>

#include "base/cursor.h"

namespace wick::tensor {
namespace {

using Dims = std::vector<std::int64_t>;

std::string gathered(std::string_view from, const Dims& sizes, const Dims& strides, std::uint32_t item = 1) {
  std::uint64_t count = item;
  for (const auto size : sizes) count *= static_cast<std::uint64_t>(size);
  std::vector<std::byte> into(static_cast<std::size_t>(count));
  gather(as_bytes_of(from), sizes, strides, item, into);
  return std::string(as_text(into));
}

TEST(Gather, follows_strides_to_c_order) {
  EXPECT_EQ(gathered("ABCDEF", {2, 3}, {3, 1}), "ABCDEF");
  EXPECT_EQ(gathered("ABCDEF", {3, 2}, {1, 3}), "ADBECF");  // a.t()
  EXPECT_EQ(gathered("AB", {3, 2}, {0, 1}), "ABABAB");      // expand
  EXPECT_EQ(gathered("ABCDE", {3}, {2}), "ACE");            // a[::2]
  EXPECT_EQ(gathered("aAbBcCdD", {2, 2}, {1, 2}, 2), "aAcCbBdD");
  EXPECT_EQ(gathered("X", {}, {}), "X");  // 0-dim
  EXPECT_EQ(gathered("", {0, 3}, {3, 1}), "");
  EXPECT_EQ(gathered("ABCDEFGH", {1, 2, 2, 2}, {8, 1, 4, 2}), "ACEGBDFH");  // channels_last [1,2,2,2]
}

TEST(Gather, knows_when_elements_lie_in_order) {
  EXPECT_TRUE(is_contiguous(Dims{2, 3}, Dims{3, 1}));
  EXPECT_TRUE(is_contiguous(Dims{1, 3}, Dims{99, 1}));  // a dimension of 1 may have any stride
  EXPECT_TRUE(is_contiguous(Dims{0, 3}, Dims{7, 7}));
  EXPECT_FALSE(is_contiguous(Dims{3, 2}, Dims{1, 3}));
  EXPECT_FALSE(is_contiguous(Dims{2}, Dims{0}));
  EXPECT_EQ(extent(Dims{2, 3}, Dims{10, 2}), 15U);
  EXPECT_EQ(extent(Dims{2, 0}, Dims{10, 2}), 0U);
}

TEST(Gather, packs_elements_smaller_than_a_byte_from_the_low_bits_up) {
  const std::array<std::byte, 3> nibbles{std::byte{0x21}, std::byte{0x43}, std::byte{0x65}};  // 1 2 3 4 5 6
  std::array<std::byte, 2> three{std::byte{0xFF}, std::byte{0xFF}};
  gather_bits(nibbles, 1, Dims{3}, Dims{1}, 4, three);  // 2 3 4
  EXPECT_EQ(three[0], std::byte{0x32});
  EXPECT_EQ(three[1], std::byte{0x04});  // the spare half is 0
  std::array<std::byte, 1> pairs{};
  gather_bits(std::array{std::byte{0b11100100}}, 0, Dims{2}, Dims{2}, 2, pairs);  // 0 and 2 of 0 1 2 3
  EXPECT_EQ(pairs[0], std::byte{0b1000});
}

TEST(Gather, resolves_conjugates_and_negatives) {
  const std::array<float, 4> pairs{1, 2, -3, 4};
  std::vector<std::byte> bytes(sizeof(pairs));
  std::memcpy(bytes.data(), pairs.data(), sizeof(pairs));
  resolve_math_bits(bytes, DType::Complex64, true, false);
  EXPECT_EQ(load_le<float>(bytes.data() + 4), -2.0F);
  EXPECT_EQ(load_le<float>(bytes.data() + 8), -3.0F);
  resolve_math_bits(bytes, DType::Complex64, true, true);  // conj again, then minus all
  EXPECT_EQ(load_le<float>(bytes.data()), -1.0F);
  EXPECT_EQ(load_le<float>(bytes.data() + 4), -2.0F);
  std::vector<std::byte> number{std::byte{1}, std::byte{0}};
  resolve_math_bits(number, DType::Int16, false, true);
  EXPECT_EQ(load_le<std::int16_t>(number.data()), -1);
}

}  // namespace
}  // namespace wick::tensor
