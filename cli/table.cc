// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <algorithm>

#include "base/format.h"
#include "width.h"

namespace wick::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 20;  // of the first column

std::string line_of(std::span<const Column> columns, std::span<const std::size_t> widths,
                    const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    line += columns[i].right ? pad_left(cells[i], widths[i]) : pad_right(cells[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void print_table(Output& out, std::span<const Column> columns, std::size_t rows, bool with_titles,
                 const std::function<std::vector<std::string>(std::size_t)>& cells,
                 const std::function<std::string(std::size_t)>& tail) {
  std::vector<std::size_t> widths(columns.size(), 0);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto made = cells(row);
    for (std::size_t i = 0; i < columns.size(); ++i) widths[i] = std::max(widths[i], display_width(made[i]));
  }
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    titles.emplace_back(columns[i].title);
    if (with_titles) widths[i] = std::max(widths[i], columns[i].title.size());
  }
  std::size_t others = 0;
  for (std::size_t i = 1; i < widths.size(); ++i) others += widths[i] + kGap;
  const std::size_t left = out.columns() > others ? out.columns() - others : 0;
  if (!widths.empty()) widths[0] = std::min(widths[0], std::max(kNarrowest, left));
  if (with_titles && rows > 0) out.line(out.dyed(Style::Faint, line_of(columns, widths, titles)));
  for (std::size_t row = 0; row < rows && out.wanted(); ++row) {
    out.text(line_of(columns, widths, cells(row)));
    if (tail) out.text(tail(row));
    out.text("\n");
  }
}

std::string short_count(std::uint64_t number) {
  if (number < 1000) return fmt::format("{}", number);
  constexpr std::string_view kUnits = "kMGTPE";
  double value = static_cast<double>(number) / 1000.0;
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace wick::cli
