// SPDX-License-Identifier: Apache-2.0
#include "open/locate.h"

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "checkpoint/places.h"

namespace wick::open_detail {
namespace {

using checkpoint::Child;
using checkpoint::Contents;
using pickle::Value;

struct Candidate {
  Value value;
  std::string_view rest;
};

// "[0]" and "['a']" are the key 0 and the key a.
std::string_view without_brackets(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return text;
  text = text.substr(1, text.size() - 2);
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// What is left of `rest` after the step `key`; nothing when it does not begin with it.
std::optional<std::string_view> after_step(std::string_view rest, std::string_view key) {
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos || without_brackets(rest.substr(0, end + 1)) != key) return std::nullopt;
    rest.remove_prefix(end + 1);
  } else {
    if (key.empty() || !rest.starts_with(key)) return std::nullopt;
    rest.remove_prefix(key.size());
  }
  if (rest.empty() || rest.front() == '[') return rest;
  if (rest.front() != '.') return std::nullopt;
  return rest.substr(1);
}

// The ways to go on from one value, the best (longest key) last, for a stack.
void add_candidates(const Contents& contents, const Candidate& here, std::vector<Candidate>& stack) {
  std::vector<Candidate> found;
  for (const Child& child : checkpoint::children(contents, here.value)) {
    const std::string key = checkpoint::step_text(contents, child);
    if (const auto rest = after_step(here.rest, key))
      found.push_back({child.value, *rest});
    else if (child.hidden)
      found.push_back({child.value, here.rest});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.rest.size() > b.rest.size(); });
  stack.insert(stack.end(), found.begin(), found.end());
}

}  // namespace

std::string some_keys(const Contents& contents, Value value, std::size_t count) {
  std::string text;
  std::size_t shown = 0;
  const auto all = checkpoint::children(contents, value);
  for (const Child& child : all) {
    if (shown++ == count) return text + fmt::format(" ... ({} in all)", all.size());
    if (!text.empty()) text += ", ";
    text += checkpoint::step_text(contents, child);
  }
  return text;
}

Result<Value> locate(const Contents& contents, Value from, std::string_view path) {
  constexpr int kMostLooks = 10'000;  // keys with dots could make the search branch without end
  std::vector<Candidate> stack{{from, path}};
  Candidate furthest{from, path};
  for (int looks = 0; !stack.empty() && looks < kMostLooks; ++looks) {
    const Candidate here{contents.resolve(stack.back().value), stack.back().rest};
    stack.pop_back();
    if (here.rest.empty()) return here.value;
    if (here.rest.size() < furthest.rest.size()) furthest = here;
    add_candidates(contents, here, stack);
  }
  const std::string keys = some_keys(contents, furthest.value);
  return fail(ErrorCode::NotFound, "there is no {}{}; {}", python_quote(furthest.rest),
              furthest.rest.size() == path.size()
                  ? std::string()
                  : " under " + python_quote(path.substr(0, path.size() - furthest.rest.size() - 1)),
              keys.empty() ? std::string("nothing is below it") : "there are: " + keys);
}

Result<Located> locate_in(const Contents& contents, std::string_view path) {
  if (contents.sections.empty()) return Error(ErrorCode::NotFound, "the file holds no objects");
  for (std::uint32_t i = 1; i < contents.sections.size(); ++i) {
    const std::string prefix = contents.sections[i].record + ":";
    if (!path.starts_with(prefix)) continue;
    WICK_TRY(const Value value, locate(contents, contents.sections[i].root, path.substr(prefix.size())));
    return Located{value, i};
  }
  WICK_TRY(const Value value, locate(contents, contents.sections[0].root, path == "." ? std::string_view() : path));
  return Located{value, 0};
}

}  // namespace wick::open_detail
