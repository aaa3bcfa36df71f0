// SPDX-License-Identifier: Apache-2.0
// A buffer written out by hand after https://flatbuffers.dev/internals, and what becomes of it when it lies.
#include "wire/flatbuffer.h"

#include <gtest/gtest.h>

#include <string>

namespace wick::wire {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * static_cast<unsigned>(i)) & 0xFF);
}

// root table: slot 4 u8 = 7, slot 6 string "hello", slot 8 [u32] = {10, 20, 30}, slot 10 [table] = {root itself by a
// copy of its vtable}, slot 12 absent, slot 14 offset to a bare struct of 8 bytes, slot 16 a table.
std::string sample() {
  std::string out;
  put(out, 24, 4);  // 0: root at 24
  // 4: vtable of 18 bytes, table of 28
  for (const unsigned field : {18U, 28U, 4U, 8U, 12U, 16U, 0U, 20U, 24U}) put(out, field, 2);
  put(out, 0, 2);                                             // 22: padding
  put(out, 20, 4);                                            // 24: vtable lies 20 before
  put(out, 7, 4);                                             // 28: the u8 and its padding
  put(out, 20, 4);                                            // 32: string at 52
  put(out, 28, 4);                                            // 36: vector at 64
  put(out, 40, 4);                                            // 40: vector of tables at 80
  put(out, 44, 4);                                            // 44: struct at 88
  put(out, static_cast<std::uint32_t>(-24) & 0xFFFFFFFF, 4);  // 48: wraps far beyond: replaced below
  put(out, 5, 4);                                             // 52: string
  out += "hello";
  put(out, 0, 3);  // 61: its NUL, padding
  put(out, 3, 4);  // 64
  put(out, 10, 4);
  put(out, 20, 4);
  put(out, 30, 4);
  put(out, 1, 4);                   // 80
  put(out, 16, 4);                  // 84: table at 100
  put(out, 0x1122334455667788, 8);  // 88
  put(out, 0, 4);                   // 96: an empty vtable would do; this is padding
  put(out, 96, 4);                  // 100: vtable at 4
  out += std::string(24, '\0');
  out[48] = 52;  // 48: table at 100
  out[49] = out[50] = out[51] = 0;
  return out;
}

std::span<const std::byte> span_of(const std::string& text) { return as_bytes_of(text); }

TEST(FlatBuffer, reads_scalars_strings_vectors_tables_and_structs) {
  const std::string bytes = sample();
  const auto root = FlatBuffer(span_of(bytes)).root();
  ASSERT_TRUE(root.ok()) << root.error().to_string();
  EXPECT_EQ(root->position(), 24U);
  EXPECT_EQ(*root->scalar<std::uint8_t>(4, 0), 7);
  EXPECT_EQ(**root->string(6), "hello");
  const auto numbers = root->vector(8, 4);
  ASSERT_TRUE(numbers.ok() && numbers->has_value());
  EXPECT_EQ((*numbers)->count, 3U);
  EXPECT_EQ((*numbers)->position, 68U);
  EXPECT_EQ((*numbers)->at<std::uint32_t>(2), 30U);
  const auto tables = root->vector(10, 4);
  const auto inner = FlatTable::table_of(span_of(bytes), **tables, 0);
  ASSERT_TRUE(inner.ok()) << inner.error().to_string();
  EXPECT_EQ(inner->position(), 100U);
  EXPECT_EQ(*inner->scalar<std::uint8_t>(4, 9), 0);
  const auto structure = root->structure(14, 8);
  ASSERT_TRUE(structure.ok() && structure->has_value());
  EXPECT_EQ(load_le<std::uint64_t>((*structure)->data()), 0x1122334455667788U);
  EXPECT_EQ((*root->table(16))->position(), 100U);
}

TEST(FlatBuffer, gives_the_fallback_for_absent_fields) {
  const std::string bytes = sample();
  const auto root = FlatBuffer(span_of(bytes)).root();
  EXPECT_EQ(*root->scalar<std::int32_t>(12, -1), -1);  // 0 in the vtable
  EXPECT_EQ(*root->scalar<std::int32_t>(18, -1), -1);  // behind the vtable
  EXPECT_EQ(*root->scalar<std::int32_t>(0xFFFE, 3), 3);
  EXPECT_EQ(*root->scalar<std::int32_t>(0, 3), 3);  // the sizes are no fields
  EXPECT_FALSE(root->string(12)->has_value());
  EXPECT_FALSE(root->table(12)->has_value());
  EXPECT_FALSE(root->vector(12, 4)->has_value());
  EXPECT_FALSE(root->structure(12, 8)->has_value());
}

TEST(FlatBuffer, refuses_offsets_that_leave_the_buffer) {
  const auto broken = [](std::size_t at, unsigned value) {
    std::string bytes = sample();
    bytes[at] = bytes[at + 1] = bytes[at + 2] = static_cast<char>(value);
    return bytes;
  };
  std::string bytes = broken(0, 0x7F);
  EXPECT_FALSE(FlatBuffer(span_of(bytes)).root().ok());
  bytes = broken(24, 0x7F);  // vtable before the buffer
  EXPECT_FALSE(FlatBuffer(span_of(bytes)).root().ok());
  bytes = broken(32, 0x7F);  // string
  EXPECT_EQ(FlatBuffer(span_of(bytes)).root()->string(6).error().code(), ErrorCode::Malformed);
  bytes = broken(52, 0x7F);  // its length
  EXPECT_EQ(FlatBuffer(span_of(bytes)).root()->string(6).error().code(), ErrorCode::Malformed);
  bytes = broken(64, 0xFF);  // the vector's count
  EXPECT_EQ(FlatBuffer(span_of(bytes)).root()->vector(8, 4).error().code(), ErrorCode::Malformed);
  bytes = broken(44, 0x7F);
  EXPECT_EQ(FlatBuffer(span_of(bytes)).root()->structure(14, 8).error().code(), ErrorCode::Malformed);
  bytes = sample();
  bytes[8] = 27;  // the field would begin in the last byte of its table
  EXPECT_EQ(FlatBuffer(span_of(bytes)).root()->scalar<std::uint16_t>(4, 0).error().code(), ErrorCode::Malformed);
}

TEST(FlatBuffer, refuses_an_element_behind_the_last) {
  const std::string bytes = sample();
  const auto tables = FlatBuffer(span_of(bytes)).root()->vector(10, 4);
  EXPECT_EQ(FlatTable::table_of(span_of(bytes), **tables, 1).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(FlatTable::string_of(span_of(bytes), **tables, 1).error().code(), ErrorCode::NotFound);
}

void use_all_of(const std::string& bytes) {
  const auto root = FlatBuffer(span_of(bytes)).root();
  if (!root.ok()) return;
  for (std::uint16_t slot = 0; slot < 24; ++slot) {
    (void)root->scalar<std::uint64_t>(slot, 0).ok();
    (void)root->string(slot).ok();
    (void)root->structure(slot, 16).ok();
    (void)root->table(slot).ok();
    const auto vector = root->vector(slot, 4);
    if (!vector.ok() || !vector->has_value() || (*vector)->count == 0) continue;
    (void)FlatTable::table_of(span_of(bytes), **vector, 0).ok();
    (void)FlatTable::string_of(span_of(bytes), **vector, (*vector)->count - 1).ok();
  }
}

TEST(FlatBuffer, survives_every_prefix_and_every_flipped_bit) {
  const std::string whole = sample();
  for (std::size_t length = 0; length < whole.size(); ++length) use_all_of(whole.substr(0, length));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    use_all_of(flipped);
  }
  EXPECT_FALSE(FlatBuffer({}).root().ok());
}

}  // namespace
}  // namespace wick::wire
