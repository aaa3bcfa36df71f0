// SPDX-License-Identifier: Apache-2.0
// Rows in aligned columns. The first column gives way when the whole would be wider than the terminal: longer names
// stand out of line, nothing is cut.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output.h"

namespace wick::cli {

struct Column {
  std::string_view title;
  bool right = false;  // numbers stand to the right
};

// `cells` makes row i anew each time (twice a row), escaped; `tail` is put behind it, unaligned, and may be coloured.
void print_table(Output& out, std::span<const Column> columns, std::size_t rows, bool with_titles,
                 const std::function<std::vector<std::string>(std::size_t)>& cells,
                 const std::function<std::string(std::size_t)>& tail = {});

// 93.8 M, 3.1 k, 512: decimal units, one digit behind the point.
std::string short_count(std::uint64_t number);

}  // namespace wick::cli
