// SPDX-License-Identifier: Apache-2.0
#include "torch/dcp_tree.h"

#include <algorithm>

namespace wick::torch {

using pickle::Arena;
using pickle::Kind;
using pickle::Value;

DcpTree::DcpTree(Arena& arena) : arena_(arena) { nodes_.emplace_back(); }

std::string DcpTree::key_of(Value key) const {
  if (key.is(Kind::Int)) return "i" + std::to_string(Arena::as_int(key));
  if (key.is(Kind::Str) || key.is(Kind::Py2Str)) return "s" + std::string(arena_.as_text(key));
  return "v" + std::to_string(key.bits());
}

std::uint32_t DcpTree::child(std::uint32_t parent, Value key) {
  const auto place = std::pair(parent, key_of(key));
  if (const auto found = known_.find(place); found != known_.end()) return found->second;
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({key, {}, {}, true});
  nodes_[parent].children.push_back(index);
  nodes_[parent].all_integers = nodes_[parent].all_integers && key.is(Kind::Int);
  known_.emplace(place, index);
  return index;
}

bool DcpTree::put(const std::string& fqn, Value path, Value value) {
  const auto at_top = [&] {
    const std::uint32_t node = child(0, arena_.text(Kind::Str, fqn));
    if (nodes_[node].value.missing() && nodes_[node].children.empty()) nodes_[node].value = value;
  };
  const auto steps = path.is(Kind::Tuple) ? arena_.items(path) : std::span<const Value>();
  if (steps.empty()) {
    at_top();
    return path.missing();
  }
  std::uint32_t node = 0;
  for (const Value step : steps) {
    if (!nodes_[node].value.missing()) {  // another entry is a value where this one wants a container
      at_top();
      return false;
    }
    node = child(node, step);
  }
  if (!nodes_[node].value.missing() || !nodes_[node].children.empty()) {
    at_top();
    return false;
  }
  nodes_[node].value = value;
  return true;
}

Value DcpTree::container(const Node& node, bool may_be_list) {
  std::vector<std::uint32_t> order = node.children;
  if (may_be_list && node.all_integers) {
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return Arena::as_int(nodes_[a].key) < Arena::as_int(nodes_[b].key);
    });
    bool dense = true;
    for (std::size_t i = 0; i < order.size(); ++i)
      dense = dense && Arena::as_int(nodes_[order[i]].key) == static_cast<std::int64_t>(i);
    if (dense) {
      const Value list = arena_.list();
      for (const std::uint32_t index : order) arena_.append(list, std::span(&nodes_[index].value, 1));
      return list;
    }
  }
  std::vector<Value> pairs;
  for (const std::uint32_t index : node.children) {
    pairs.push_back(nodes_[index].key);
    pairs.push_back(nodes_[index].value);
  }
  const Value dict = arena_.dict();
  arena_.set_items(dict, pairs);
  return dict;
}

// Children were made after their parents, so going backwards every container's values are there.
Value DcpTree::build() {
  for (std::size_t i = nodes_.size(); i-- > 1;)
    if (nodes_[i].value.missing()) nodes_[i].value = container(nodes_[i], true);
  return container(nodes_[0], false);
}

}  // namespace wick::torch
