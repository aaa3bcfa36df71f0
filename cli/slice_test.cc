// SPDX-License-Identifier: Apache-2.0
#include "slice.h"

#include <gtest/gtest.h>

namespace wick::cli {
namespace {

std::vector<std::int64_t> positions(std::string_view text, std::int64_t size) {
  const std::int64_t sizes[] = {size};
  const auto cuts = parse_slice(text, sizes);
  EXPECT_TRUE(cuts) << text;
  std::vector<std::int64_t> at;
  if (cuts)
    for (std::int64_t i = 0; i < cuts->front().count; ++i) at.push_back(cuts->front().first + cuts->front().step * i);
  return at;
}

struct Case {
  std::int64_t size;
  std::string_view slice;
  std::vector<std::int64_t> expected;
};

// Expected: list(range(size))[slice] in CPython 3.11.
TEST(Slice, picks_what_python_picks) {
  const Case cases[] = {
      {0, "::", {}},
      {0, "-2:", {}},
      {0, "::-1", {}},
      {1, "-2:", {0}},
      {1, ":-1", {}},
      {1, "::-1", {0}},
      {1, "-100:100", {0}},
      {1, ":-10:-1", {0}},
      {1, "10::-3", {0}},
      {5, "::", {0, 1, 2, 3, 4}},
      {5, "1:", {1, 2, 3, 4}},
      {5, "-2:", {3, 4}},
      {5, ":-1", {0, 1, 2, 3}},
      {5, "::2", {0, 2, 4}},
      {5, "::-1", {4, 3, 2, 1, 0}},
      {5, "4:0:-2", {4, 2}},
      {5, "-100:100", {0, 1, 2, 3, 4}},
      {5, "3:1", {}},
      {5, "1:4:3", {1}},
      {5, ":-10:-1", {4, 3, 2, 1, 0}},
      {5, "10::-3", {4, 1}},
  };
  for (const Case& c : cases) EXPECT_EQ(positions(c.slice, c.size), c.expected) << c.size << " " << c.slice;
}

TEST(Slice, takes_steps_at_the_ends_of_the_integers) {
  EXPECT_EQ(positions("::9223372036854775807", 5), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(positions("::-9223372036854775808", 5), (std::vector<std::int64_t>{4}));
}

TEST(Slice, an_index_takes_its_dimension_away) {
  const std::int64_t sizes[] = {4, 5, 6};
  const auto cuts = parse_slice("-1, ..., ::2", sizes);
  ASSERT_TRUE(cuts);
  EXPECT_EQ((*cuts)[0].first, 3);
  EXPECT_EQ(sizes_of(*cuts), (std::vector<std::int64_t>{5, 3}));
}

TEST(Slice, dimensions_that_are_not_named_stay_whole) {
  const std::int64_t sizes[] = {4, 5};
  EXPECT_EQ(sizes_of(*parse_slice("1:", sizes)), (std::vector<std::int64_t>{3, 5}));
  EXPECT_EQ(sizes_of(*parse_slice("0,", sizes)), (std::vector<std::int64_t>{5}));
}

TEST(Slice, refuses_an_index_outside_with_both_numbers) {
  const std::int64_t sizes[] = {4};
  const auto cuts = parse_slice("4", sizes);
  ASSERT_FALSE(cuts);
  EXPECT_EQ(cuts.error().message(), "index 4 is out of bounds for dimension 0 with size 4");
  EXPECT_FALSE(parse_slice("-5", sizes));
  EXPECT_FALSE(parse_slice("0,0", sizes));
}

TEST(Slice, refuses_what_is_no_slice) {
  const std::int64_t sizes[] = {4, 4, 4};
  for (const std::string_view text : {"a", "1:2:3:4", "::0", "..., ...", "", "1 2", "0x1"})
    EXPECT_FALSE(parse_slice(text, sizes)) << text;
}

TEST(Slice, brackets_at_the_end_of_a_name_are_split_off) {
  std::string_view name;
  std::string_view slice;
  ASSERT_TRUE(split_slice("a[0].b[1:2]", name, slice));
  EXPECT_EQ(name, "a[0].b");
  EXPECT_EQ(slice, "1:2");
  EXPECT_FALSE(split_slice("a[0].b", name, slice));
}

}  // namespace
}  // namespace wick::cli
