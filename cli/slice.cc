// SPDX-License-Identifier: Apache-2.0
// Source of truth: PySlice_Unpack and PySlice_AdjustIndices of CPython's Objects/sliceobject.c.
#include "slice.h"

#include <charconv>
#include <limits>
#include <optional>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "problem.h"

namespace wick::cli {
namespace {

constexpr std::string_view kSpaces = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Error no_slice(std::string_view part) {
  return usage_error(fmt::format("[{}] is no slice", escape_for_display(part)),
                     "Slices are as in Python: name[3], name[0:10, :], name[..., ::-1]");
}

Result<std::optional<std::int64_t>> read_number(std::string_view text) {
  if (text.empty()) return std::optional<std::int64_t>();
  if (text.front() == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return no_slice(text);
  return std::optional<std::int64_t>(value);
}

// A bound counted from the end when negative, and kept within what the direction can reach.
std::int64_t settle(std::int64_t bound, std::int64_t size, bool backwards) {
  const std::int64_t low = backwards ? -1 : 0;
  const std::int64_t high = backwards ? size - 1 : size;
  if (bound < 0) bound = bound < -size ? low : bound + size;
  return std::min(std::max(bound, low), high);
}

Result<Cut> read_range(std::string_view part, std::int64_t size) {
  const auto pieces = split(part, ':');
  if (pieces.size() > 3) return no_slice(part);
  WICK_TRY(const auto start, read_number(pieces[0]));
  WICK_TRY(const auto stop, read_number(pieces[1]));
  std::optional<std::int64_t> given;
  if (pieces.size() == 3) {
    WICK_TRY(given, read_number(pieces[2]));
  }
  // As CPython: a step of the least integer could not be negated.
  const std::int64_t step = std::max(given.value_or(1), -std::numeric_limits<std::int64_t>::max());
  if (step == 0) return usage_error("a slice's step can not be zero");
  const bool backwards = step < 0;
  Cut cut;
  cut.step = step;
  cut.first = start ? settle(*start, size, backwards) : backwards ? size - 1 : 0;
  const std::int64_t end = stop ? settle(*stop, size, backwards) : backwards ? -1 : size;
  if (backwards)
    cut.count = end < cut.first ? (cut.first - end - 1) / -step + 1 : 0;
  else
    cut.count = cut.first < end ? (end - cut.first - 1) / step + 1 : 0;
  return cut;
}

Result<Cut> read_index(std::string_view part, std::int64_t size, std::size_t dimension) {
  WICK_TRY(const auto index, read_number(part));
  if (!index) return no_slice(part);
  if (*index < -size || *index >= size)
    return fail(ErrorCode::NotFound, "index {} is out of bounds for dimension {} with size {}", *index, dimension,
                size);
  Cut cut;
  cut.first = *index < 0 ? *index + size : *index;
  cut.count = 1;
  cut.kept = false;
  return cut;
}

Cut whole_of(std::int64_t size) { return {0, 1, size, true}; }

}  // namespace

std::vector<Cut> whole(std::span<const std::int64_t> sizes) {
  std::vector<Cut> cuts;
  for (const std::int64_t size : sizes) cuts.push_back(whole_of(size));
  return cuts;
}

std::vector<std::int64_t> sizes_of(std::span<const Cut> cuts) {
  std::vector<std::int64_t> sizes;
  for (const Cut& cut : cuts)
    if (cut.kept) sizes.push_back(cut.count);
  return sizes;
}

Result<std::vector<Cut>> parse_slice(std::string_view text, std::span<const std::int64_t> sizes) {
  auto parts = split(text, ',');
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();  // weight[0,]
  std::size_t named = 0;
  std::size_t dots = 0;
  for (const std::string_view part : parts) (part == "..." ? dots : named) += 1;
  if (dots > 1) return usage_error("a slice may hold one ... only");
  if (named > sizes.size())
    return fail(ErrorCode::NotFound, "{} indices for a tensor of {} dimension{}", named, sizes.size(),
                sizes.size() == 1 ? "" : "s");
  std::vector<Cut> cuts;
  for (const std::string_view part : parts) {
    if (part == "...") {
      for (std::size_t i = named; i < sizes.size(); ++i) cuts.push_back(whole_of(sizes[cuts.size()]));
      continue;
    }
    const std::int64_t size = sizes[cuts.size()];
    if (part.find(':') != std::string_view::npos) {
      WICK_TRY(const Cut cut, read_range(part, size));
      cuts.push_back(cut);
    } else {
      WICK_TRY(const Cut cut, read_index(part, size, cuts.size()));
      cuts.push_back(cut);
    }
  }
  while (cuts.size() < sizes.size()) cuts.push_back(whole_of(sizes[cuts.size()]));
  return cuts;
}

bool split_slice(std::string_view text, std::string_view& name, std::string_view& slice) {
  if (!text.ends_with(']')) return false;
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos) return false;
  name = text.substr(0, open);
  slice = text.substr(open + 1, text.size() - open - 2);
  return true;
}

}  // namespace wick::cli
