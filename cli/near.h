// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the nearest of some words by edit distance.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wick::cli {

// Insertions, deletions, changes and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest word when it is near enough to be meant (a third of its length, at least one change); "" otherwise.
std::string_view nearest(std::string_view word, std::span<const std::string_view> words);

// " (did you mean `ls`?)", or "" when nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> words);

}  // namespace wick::cli
