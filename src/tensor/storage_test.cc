// SPDX-License-Identifier: Apache-2.0
#include "tensor/storage.h"

#include <gtest/gtest.h>

#include "base/cursor.h"

namespace wick::tensor {
namespace {

StoragePtr storage_of(std::string_view text) {
  const auto bytes = as_bytes_of(text);
  return owned_storage({bytes.begin(), bytes.end()});
}

std::string read(const Storage& storage, std::uint64_t offset, std::size_t length) {
  std::vector<std::byte> bytes(length);
  const auto done = storage.read(offset, bytes);
  return done ? std::string(as_text(bytes)) : std::string(name_of(done.error().code()));
}

TEST(Storage, joins_pieces_of_several_and_reads_across_their_seams) {
  const auto whole =
      *pieces_storage({{storage_of("xxDEF"), 2, 3, 3}, {storage_of("ABC"), 0, 0, 3}, {storage_of("GH"), 0, 6, 2}}, 8);
  EXPECT_EQ(read(*whole, 0, 8), "ABCDEFGH");
  EXPECT_EQ(read(*whole, 2, 3), "CDE");
  EXPECT_EQ(read(*whole, 5, 2), "FG");
  EXPECT_EQ(read(*whole, 7, 2), "truncated");
}

TEST(Storage, refuses_pieces_that_do_not_tile) {
  EXPECT_EQ(pieces_storage({{storage_of("ABC"), 0, 0, 3}, {storage_of("D"), 0, 4, 1}}, 5).error().message(),
            "pieces leave a gap at byte 3: the next one begins at 4");
  EXPECT_FALSE(pieces_storage({{storage_of("ABC"), 0, 0, 3}, {storage_of("CD"), 0, 2, 2}}, 4));
  EXPECT_FALSE(pieces_storage({{storage_of("ABC"), 0, 0, 3}}, 4));
  EXPECT_FALSE(pieces_storage({{storage_of("ABC"), 1, 0, 3}}, 3));  // reaches past its source
}

TEST(Storage, turns_the_bytes_of_each_component_wherever_the_range_begins) {
  const auto swapped = swapped_storage(storage_of("ABCDEFGHIJ"), 4);
  EXPECT_EQ(read(*swapped, 0, 8), "DCBAHGFE");
  EXPECT_EQ(read(*swapped, 1, 4), "CBAH");
  EXPECT_EQ(read(*swapped, 8, 2), "IJ");  // a tail that fills no component stays
  EXPECT_FALSE(swapped->view(0, 4));
  const auto same = storage_of("AB");
  EXPECT_EQ(swapped_storage(same, 1), same);
}

TEST(Storage, of_a_range_never_reads_outside_it) {
  const auto source = from_memory({std::byte{'a'}, std::byte{'b'}, std::byte{'c'}});
  const auto range = *range_storage(source, 1, 2);
  EXPECT_EQ(read(*range, 0, 2), "bc");
  EXPECT_EQ(read(*range, 1, 2), "truncated");
  EXPECT_EQ(as_text(range->view(1, 1)->bytes), "c");
  EXPECT_FALSE(range_storage(source, 2, 2));
  EXPECT_FALSE(range_storage(source, ~std::uint64_t{0}, 2));
}

TEST(Storage, derived_from_elsewhere_tells_when_another_length_comes_out) {
  const auto right = derived_storage(2, "deflated", [] {
    return Result<std::vector<std::byte>>({std::byte{'o'}, std::byte{'k'}});
  });
  EXPECT_EQ(read(*right, 1, 1), "k");
  EXPECT_EQ(right->view(0, 1).error().message(), "deflated");
  const auto wrong = derived_storage(3, "deflated", [] { return Result<std::vector<std::byte>>({std::byte{'o'}}); });
  EXPECT_EQ(read(*wrong, 0, 1), "mismatch");
}

}  // namespace
}  // namespace wick::tensor
