// SPDX-License-Identifier: Apache-2.0
// Expected values: Python 3.11's repr().
#include "base/python_number.h"

#include <gtest/gtest.h>

#include <limits>

namespace wick {
namespace {

TEST(PythonNumber, writes_floats_as_repr_does) {
  const std::pair<double, const char*> kCases[] = {
      {0.1, "0.1"},
      {1.0, "1.0"},
      {-0.0, "-0.0"},
      {1e16, "1e+16"},
      {1e15, "1000000000000000.0"},
      {123456.789, "123456.789"},
      {1e-4, "0.0001"},
      {1e-5, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {1e100, "1e+100"},
      {5e-324, "5e-324"},
      {2.0 / 3.0, "0.6666666666666666"},
      {9007199254740993.0, "9007199254740992.0"},
  };
  for (const auto& [value, text] : kCases) EXPECT_EQ(python_float(value), text);
  EXPECT_EQ(python_float(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(python_float(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(python_float(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(PythonNumber, writes_integers_of_any_size) {
  using namespace std::string_view_literals;
  EXPECT_EQ(python_big_integer(""), "0");
  EXPECT_EQ(python_big_integer("\x00"sv), "0");
  EXPECT_EQ(python_big_integer("\xff"sv), "-1");
  EXPECT_EQ(python_big_integer("\x00\x01"sv), "256");
  EXPECT_EQ(python_big_integer("\x00\x80"sv), "-32768");
  EXPECT_EQ(python_big_integer("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv),
            "119547037146038801333356");  // torch's magic
  EXPECT_EQ(python_big_integer("\x00\xca\x9a\x3b\x00"sv), "1000000000");
  EXPECT_EQ(python_big_integer("\x00\x00\x00\x00\x00\x00\x00\x00\x01"sv), "18446744073709551616");
}

}  // namespace
}  // namespace wick
