// SPDX-License-Identifier: Apache-2.0
#include "near.h"

#include <algorithm>

#include "base/format.h"

namespace wick::cli {
namespace {
constexpr std::size_t kLongestWord = 64;  // longer ones are no typing slips of a word of ours
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> words) {
  std::string_view best;
  std::size_t best_distance = kLongestWord;
  if (word.size() > kLongestWord) return best;
  for (const std::string_view candidate : words) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t allowed = std::max<std::size_t>(1, candidate.size() / 3);
    const std::size_t distance = edit_distance(word, candidate);
    if (distance <= allowed && distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> words) {
  const std::string_view near = nearest(word, words);
  return near.empty() ? std::string() : fmt::format(" (did you mean {}?)", near);
}

}  // namespace wick::cli
