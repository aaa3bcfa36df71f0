// SPDX-License-Identifier: Apache-2.0
// How many columns a text takes on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wick::cli {

// Columns of `text` (escaped for display before): wide East Asian characters take two, combining marks none.
std::size_t display_width(std::string_view text);

// `text` with spaces behind it, or before it, to `width` columns; wider text stays as it is.
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

}  // namespace wick::cli
