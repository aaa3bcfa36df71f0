// SPDX-License-Identifier: Apache-2.0
#include "group.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "base/format.h"

namespace wick::cli {
namespace {

// A name cut at its numbers: components of digits alone ("layer.0.weight", not "conv1"). texts has one more than
// numbers.
struct Cut {
  std::vector<std::string> texts;
  std::vector<std::uint64_t> numbers;
};

bool is_number(std::string_view component, std::uint64_t& number) {
  if (component.empty() || component.size() > 9 || (component.size() > 1 && component.front() == '0')) return false;
  const auto [end, code] = std::from_chars(component.data(), component.data() + component.size(), number);
  return code == std::errc() && end == component.data() + component.size();
}

Cut cut_at_numbers(std::string_view name) {
  Cut cut;
  cut.texts.emplace_back();
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const std::string_view component = name.substr(at, end - at);
    std::uint64_t number = 0;
    if (is_number(component, number)) {
      cut.numbers.push_back(number);
      cut.texts.emplace_back();
    } else {
      cut.texts.back() += component;
    }
    if (end < name.size()) cut.texts.back() += '.';
    at = end + 1;
  }
  return cut;
}

std::string pattern_of(const Cut& cut, const std::string& alike) {
  std::string pattern;
  for (const std::string& text : cut.texts) pattern += text + '\0';
  return pattern + alike;
}

struct Member {
  Cut cut;
  std::size_t row;
};

// The numbers at each place when they form a full product, each combination once; empty otherwise.
std::vector<std::vector<std::uint64_t>> product_of(const std::vector<Member>& members, std::size_t from) {
  const std::size_t places = members.front().cut.numbers.size();
  std::vector<std::set<std::uint64_t>> sets(places);
  std::set<std::vector<std::uint64_t>> distinct;
  for (const Member& member : members) {
    for (std::size_t i = from; i < places; ++i) sets[i].insert(member.cut.numbers[i]);
    distinct.insert(member.cut.numbers);
  }
  std::size_t product = 1;
  for (std::size_t i = from; i < places; ++i) {
    if (sets[i].size() > members.size()) return {};
    product *= sets[i].size();
    if (product > members.size()) return {};
  }
  if (product != members.size() || distinct.size() != members.size()) return {};
  std::vector<std::vector<std::uint64_t>> numbers(places);
  for (std::size_t i = from; i < places; ++i) numbers[i].assign(sets[i].begin(), sets[i].end());
  return numbers;
}

class Folder {
 public:
  explicit Folder(const std::vector<GroupLine>& rows) : rows_(rows) {}

  // Splits by one number more until each part is a product; a single name is one.
  void add(std::vector<Member> members) {
    struct Part {
      std::vector<Member> members;
      std::size_t fixed;
    };
    std::vector<Part> open;
    open.push_back({std::move(members), 0});
    while (!open.empty()) {
      Part part = std::move(open.back());
      open.pop_back();
      const std::size_t places = part.members.front().cut.numbers.size();
      const auto numbers = product_of(part.members, part.fixed);
      if (part.members.size() == 1 || (!numbers.empty() && part.fixed < places)) {
        put(part.members, numbers, part.fixed);
      } else if (part.fixed >= places) {  // equal names: they stay lines of their own
        for (const Member& member : part.members) put({member}, {}, places);
      } else {
        std::unordered_map<std::uint64_t, std::vector<Member>> by_number;
        for (Member& member : part.members) by_number[member.cut.numbers[part.fixed]].push_back(std::move(member));
        for (auto& [number, same] : by_number) open.push_back({std::move(same), part.fixed + 1});
      }
    }
  }

  std::vector<GroupLine> lines() && {
    std::sort(lines_.begin(), lines_.end(), [](const GroupLine& a, const GroupLine& b) { return a.row < b.row; });
    return std::move(lines_);
  }

 private:
  void put(const std::vector<Member>& members, const std::vector<std::vector<std::uint64_t>>& numbers,
           std::size_t fixed) {
    GroupLine line = rows_[members.front().row];
    if (members.size() > 1) {
      const Cut& cut = members.front().cut;
      line.name = cut.texts.front();
      for (std::size_t i = 0; i < cut.numbers.size(); ++i) {
        line.name += i < fixed ? fmt::format("{}", cut.numbers[i]) : number_set(numbers[i]);
        line.name += cut.texts[i + 1];
      }
      line.count = members.size();
      line.bytes = 0;
      line.row = members.front().row;
      for (const Member& member : members) {
        line.bytes += rows_[member.row].bytes;
        line.row = std::min(line.row, member.row);
      }
    }
    lines_.push_back(std::move(line));
  }

  const std::vector<GroupLine>& rows_;
  std::vector<GroupLine> lines_;
};

}  // namespace

std::string number_set(std::vector<std::uint64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (numbers.size() == 1) return fmt::format("{}", numbers.front());
  std::string text = "{";
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (text.size() > 1) text += ',';
    text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text + "}";
}

std::vector<GroupLine> fold(std::vector<GroupLine> rows) {
  std::unordered_map<std::string, std::vector<Member>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].row = i;
    Cut cut = cut_at_numbers(rows[i].name);
    const std::string pattern = pattern_of(cut, rows[i].alike);
    groups[pattern].push_back({std::move(cut), i});
  }
  Folder folder(rows);
  for (auto& [pattern, members] : groups) folder.add(std::move(members));
  return std::move(folder).lines();
}

}  // namespace wick::cli
