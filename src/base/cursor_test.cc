// SPDX-License-Identifier: Apache-2.0
#include "base/cursor.h"

#include <gtest/gtest.h>

#include <array>

namespace wick {
namespace {

std::array<std::byte, 5> five() { return {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{0xFF}, std::byte{'\n'}}; }

TEST(Cursor, reads_little_endian_and_knows_its_absolute_offset) {
  const auto bytes = five();
  Cursor cursor(bytes, 100);
  EXPECT_EQ(*cursor.read_u16("a"), 0x0201);
  EXPECT_EQ(cursor.offset(), 102U);
  EXPECT_EQ(*cursor.read_u8("b"), 3);
  EXPECT_EQ(cursor.remaining(), 2U);
}

TEST(Cursor, refuses_to_read_past_the_end) {
  const auto bytes = five();
  Cursor cursor(bytes, 100);
  const auto eight = cursor.read_u64("entry size");
  ASSERT_FALSE(eight);
  EXPECT_EQ(eight.error().code(), ErrorCode::Truncated);
  EXPECT_EQ(eight.error().offset(), 100U);
  EXPECT_EQ(eight.error().message(), "entry size needs 8 bytes, 5 are left");
}

TEST(Cursor, stays_where_it_was_after_a_failed_read) {
  const auto bytes = five();
  Cursor cursor(bytes);
  ASSERT_FALSE(cursor.read_bytes(6, "x"));
  ASSERT_FALSE(cursor.read_bytes(~std::uint64_t{0}, "x"));
  ASSERT_FALSE(cursor.skip(6, "x"));
  ASSERT_FALSE(cursor.seek(6, "x"));
  EXPECT_EQ(cursor.position(), 0U);
  EXPECT_EQ(cursor.read_bytes(5, "x")->size(), 5U);
  EXPECT_TRUE(cursor.at_end());
}

TEST(Cursor, reads_a_line_without_its_end) {
  const auto bytes = five();
  Cursor cursor(bytes);
  EXPECT_EQ(*cursor.read_line("line"), "\x01\x02\x03\xFF");
  EXPECT_TRUE(cursor.at_end());
  EXPECT_FALSE(cursor.read_line("line"));
}

TEST(Error, tells_the_whole_way) {
  Error error =
      Error(ErrorCode::Malformed, "size -1 is negative").at(31).inside("data.pkl").inside("a.pt").advise("wick help");
  EXPECT_EQ(error.to_string(), "a.pt > data.pkl @0x1f: size -1 is negative");
  EXPECT_EQ(error.slug(), "malformed");
  const Error copy = error;
  error = Error(ErrorCode::Io, "other").called("html");
  EXPECT_EQ(copy.next(), "wick help");
  EXPECT_EQ(error.slug(), "html");
  EXPECT_EQ(std::move(error).at(1).at(2).offset(), 1U);
}

}  // namespace
}  // namespace wick
