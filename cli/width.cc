// SPDX-License-Identifier: Apache-2.0
// Widths after Unicode's EastAsianWidth.txt (W and F) and the combining blocks; coarse on purpose: it lays out tables.
#include "width.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace wick::cli {
namespace {

struct Span {
  std::uint32_t first;
  std::uint32_t last;
};
constexpr Span kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
                          {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
                          {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                          {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Span kNone[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F}, {0x0E31, 0x0E31},
                          {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D},
                          {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

template <std::size_t N>
bool lies_in(const Span (&spans)[N], std::uint32_t code) {
  const Span* after = std::upper_bound(std::begin(spans), std::end(spans), code,
                                       [](std::uint32_t value, const Span& span) { return value < span.first; });
  return after != std::begin(spans) && code <= std::prev(after)->last;
}

// The code point that begins at `at`, which moves behind it. The text is valid UTF-8.
std::uint32_t next_code(std::string_view text, std::size_t& at) {
  const auto byte = static_cast<std::uint8_t>(text[at++]);
  const int following = byte < 0xC0 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  std::uint32_t code = following == 0 ? byte : byte & (0x3FU >> static_cast<unsigned>(following));
  for (int i = 0; i < following && at < text.size(); ++i)
    code = (code << 6U) | (static_cast<std::uint8_t>(text[at++]) & 0x3FU);
  return code;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<std::uint8_t>(text[at]) < 0x80) {
      ++at;
      ++width;
      continue;
    }
    const std::uint32_t code = next_code(text, at);
    width += lies_in(kNone, code) ? 0U : lies_in(kWide, code) ? 2U : 1U;
  }
  return width;
}

std::string pad_right(std::string_view text, std::size_t width) {
  std::string padded(text);
  const std::size_t has = display_width(text);
  if (has < width) padded.append(width - has, ' ');
  return padded;
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t has = display_width(text);
  std::string padded(has < width ? width - has : 0, ' ');
  padded += text;
  return padded;
}

}  // namespace wick::cli
