// SPDX-License-Identifier: Apache-2.0
#include "check/entries.h"

#include <deque>
#include <unordered_set>

#include "checkpoint/key_text.h"
#include "python/repr.h"
#include "torch/module_class.h"
#include "torch/module_repr.h"
#include "torch/tensor_text.h"

namespace wick::check {
namespace {

using checkpoint::Contents;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;

constexpr std::size_t kMostEntries = 5000;
constexpr std::size_t kLongestList = 64;
constexpr int kDeepest = 4;

bool is_tensor(const Contents& contents, Value value) {
  const Meaning::What what = contents.meaning(value).what;
  return what == Meaning::What::Tensor || what == Meaning::What::Array || what == Meaning::What::Storage;
}

bool is_mapping(const Contents& contents, Value value) {
  return value.is(Kind::Dict) || contents.meaning(value).what == Meaning::What::Mapping;
}

// More than a few tensors right inside: a state dict, not settings.
bool holds_tensors(const Contents& contents, Value value) {
  const auto pairs = contents.arena.pairs(value);
  std::size_t tensors = 0;
  constexpr std::size_t kFew = 3;  // {"best_loss": tensor(0.1)} is still a dict of settings
  for (std::size_t i = 1; i < pairs.size() && tensors <= kFew; i += 2)
    if (is_tensor(contents, contents.resolve(pairs[i]))) ++tensors;
  return tensors > kFew || (tensors > 0 && tensors * 2 >= pairs.size());
}

bool is_entered(const Contents& contents, Value value) {
  if (torch::is_module(contents, value) || is_optimizer(contents, value)) return false;
  if (is_mapping(contents, value)) return !holds_tensors(contents, value);
  if (value.is(Kind::List) || value.is(Kind::Tuple)) return contents.arena.items(value).size() <= kLongestList;
  return value.is(Kind::Object) && contents.meaning(value).what == Meaning::What::Unknown;
}

}  // namespace

bool is_optimizer(const Contents& contents, Value value) {
  value = contents.resolve(value);
  if (value.is(Kind::Object) && torch::class_of(contents, value).module.starts_with("torch.optim") &&
      !torch::state_entry(contents, value, "param_groups").missing())
    return true;
  if (!is_mapping(contents, value)) return false;
  return !contents.arena.find(value, "param_groups").missing() && !contents.arena.find(value, "state").missing();
}

Value entry_of(const Contents& contents, Value value, std::string_view key) {
  value = contents.resolve(value);
  if (is_mapping(contents, value)) return contents.resolve(contents.arena.find(value, key));
  return value.is(Kind::Object) ? torch::state_entry(contents, value, key) : Value();
}

std::string short_text(const Contents& contents, Value value) {
  value = contents.resolve(value);
  if (is_mapping(contents, value)) {
    const std::size_t count = contents.arena.pairs(value).size() / 2;
    return std::to_string(count) + (count == 1 ? " entry" : " entries");
  }
  if (value.is(Kind::List) || value.is(Kind::Tuple)) {
    constexpr std::size_t kShort = 8;
    const std::size_t count = contents.arena.items(value).size();
    if (count > kShort) return std::to_string(count) + " items";
  }
  if (value.is(Kind::Object) && contents.meaning(value).what == Meaning::What::Unknown)
    return python::class_name(contents, value);
  // A number that a program left as a tensor: one element, read like the scalars of the pickle.
  if (const Meaning meaning = contents.meaning(value); meaning.what == Meaning::What::Tensor)
    if (const auto item = torch::item_text(contents, meaning.index)) return *item;
  python::ReprOptions options;
  options.max_characters = 120;
  return python::repr(contents, value, options);
}

std::vector<Entry> entries_of(const open_detail::Loaded& loaded) {
  const Contents& contents = loaded.contents;
  std::vector<Entry> found;
  if (contents.sections.empty()) return found;
  struct Open {
    Value value;
    std::string path;
    int depth;
  };
  std::deque<Open> todo;
  std::unordered_set<Value> seen;
  todo.push_back({contents.resolve(contents.sections.front().root), {}, 0});
  while (!todo.empty()) {
    const Open open = std::move(todo.front());
    todo.pop_front();
    if (!is_entered(contents, open.value) || !seen.insert(open.value).second) continue;
    for (const checkpoint::Child& child : checkpoint::children(contents, open.value)) {
      if (found.size() >= kMostEntries) return found;
      const checkpoint::PathNode step{checkpoint::kNone, child.kind, 0, child.hidden, child.key};
      const std::string key(checkpoint::key_text(contents.arena, step));
      const std::string path = open.path.empty() ? key : open.path + "." + key;
      const Value value = contents.resolve(child.value);
      found.push_back({key, path, value, open.depth});
      if (open.depth + 1 < kDeepest) todo.push_back({value, path, open.depth + 1});
    }
  }
  return found;
}

}  // namespace wick::check
