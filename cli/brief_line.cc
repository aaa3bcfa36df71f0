// SPDX-License-Identifier: Apache-2.0
#include "brief_line.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/format.h"

namespace wick::cli {
namespace {

struct Default {
  std::string_view key;
  std::string_view value;
};
// Defaults of torch.nn 2.13 whose printing says nothing about a model.
constexpr Default kDefaults[] = {
    {"eps", "1e-05"},
    {"momentum", "0.1"},
    {"affine", "True"},
    {"bias", "True"},
    {"padding", "0"},
    {"dilation", "1"},
    {"ceil_mode", "False"},
    {"track_running_stats", "True"},
    {"elementwise_affine", "True"},
    {"inplace", "False"},
    {"inplace", "True"},
    {"batch_first", "True"},
};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// At commas that stand in no bracket and no quotes.
std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || depth > 0) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (!trimmed(text.substr(begin)).empty()) parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

// "(3, 3)" -> its numbers; empty when it is no tuple of plain numbers.
std::vector<std::string_view> tuple_of(std::string_view value) {
  if (!value.starts_with('(') || !value.ends_with(')')) return {};
  auto items = split_arguments(value.substr(1, value.size() - 2));
  for (const std::string_view item : items)
    if (item.empty() || item.find_first_not_of("0123456789-") != std::string_view::npos) return {};
  return items;
}

std::string by_cross(const std::vector<std::string_view>& items) {
  std::string text;
  for (const std::string_view item : items) text += fmt::format("{}{}", text.empty() ? "" : "\u00d7", item);
  return text;
}

bool is_default(std::string_view key, std::string_view value) {
  return std::any_of(std::begin(kDefaults), std::end(kDefaults),
                     [&](const Default& row) { return row.key == key && row.value == value; });
}

// "stride=(2, 2)" -> "stride 2"; "" for what goes without saying.
std::string brief_argument(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos) return std::string(argument);
  const std::string_view key = argument.substr(0, equals);
  std::string_view value = argument.substr(equals + 1);
  const auto items = tuple_of(value);
  const bool same =
      !items.empty() && std::all_of(items.begin(), items.end(), [&](auto item) { return item == items[0]; });
  if (key == "kernel_size" && !items.empty()) return by_cross(items);
  std::string spelled(value);
  if (same)
    spelled = std::string(items[0]);
  else if (!items.empty())
    spelled = by_cross(items);
  if (is_default(key, spelled) || (key == "stride" && spelled == "1")) return {};
  if (key == "bias" && spelled == "False") return "no bias";
  return fmt::format("{} {}", key, spelled);
}

}  // namespace

std::string brief_line(std::string_view line) {
  const std::size_t open = line.find('(');
  if (open == std::string_view::npos || !line.ends_with(')')) return std::string(line);
  std::string in_features;
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  for (const std::string_view argument : split_arguments(line.substr(open + 1, line.size() - open - 2))) {
    if (argument.starts_with("in_features="))
      in_features = argument.substr(12);
    else if (argument.starts_with("out_features=") && !in_features.empty())
      add(fmt::format("{} \u2192 {}", std::exchange(in_features, {}), argument.substr(13)));
    else
      add(brief_argument(argument));
  }
  if (!in_features.empty()) add("in_features " + in_features);
  const std::string_view name = line.substr(0, open);
  return text.empty() ? std::string(name) : fmt::format("{}({})", name, text);
}

}  // namespace wick::cli
