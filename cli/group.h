// SPDX-License-Identifier: Apache-2.0
// Folds names that differ only in layer numbers: encoder.{0-11}.weight ×12.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick::cli {

// One line: what folds together has the same `alike` (dtype, shape ...) and the same name but for numbers.
struct GroupLine {
  std::string name;
  std::string alike;
  std::uint64_t bytes = 0;
  std::size_t count = 1;
  std::size_t row = 0;  // the first row of the line, for what is alike
};

// In the order in which each line's first name came. A fold is made only when the numbers form a full product
// ({0-3}.{0-1} stands for exactly 8 names); otherwise it is split by its first number.
std::vector<GroupLine> fold(std::vector<GroupLine> rows);

// "{0-11}", "{0,2,5-7}", "3" for one number. Sorts and keeps each number once.
std::string number_set(std::vector<std::uint64_t> numbers);

}  // namespace wick::cli
