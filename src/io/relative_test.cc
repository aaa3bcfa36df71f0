// SPDX-License-Identifier: Apache-2.0
#include "io/relative.h"

#include <gtest/gtest.h>

namespace wick::io {
namespace {

TEST(Relative, names_stay_in_their_folder) {
  for (const char* path : {"a", "a.bin", "sub/a.bin", "..a", "a..", "./a", "a/.../b"})
    EXPECT_TRUE(stays_inside(path)) << path;
  for (const char* path : {"", "/etc/passwd", "../a", "a/../../b", "a/..", "C:x", "a\\..\\b"})
    EXPECT_FALSE(stays_inside(path)) << path;
  EXPECT_FALSE(stays_inside(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace wick::io
