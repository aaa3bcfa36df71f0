// SPDX-License-Identifier: Apache-2.0
// The nested dicts and lists of a distributed checkpoint, put together from the paths of its flattened entries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pickle/arena.h"

namespace wick::torch {

// Collects values under their paths, then makes one value of them. Paths come from the file: two may collide, be empty
// or leave gaps.
class DcpTree {
 public:
  explicit DcpTree(pickle::Arena& arena);
  // Puts `value` at `path` (a Tuple of strings and integers); under `fqn` at the top when `path` is Missing or is taken
  // by another. False in the latter case.
  bool put(const std::string& fqn, pickle::Value path, pickle::Value value);
  // A dict; inner levels whose keys are the integers 0 to n-1 become lists.
  pickle::Value build();

 private:
  struct Node {
    pickle::Value key;
    pickle::Value value;  // of a leaf; Missing of a container
    std::vector<std::uint32_t> children;
    bool all_integers = true;
  };
  [[nodiscard]] std::string key_of(pickle::Value key) const;
  std::uint32_t child(std::uint32_t parent, pickle::Value key);
  pickle::Value container(const Node& node, bool may_be_list);

  pickle::Arena& arena_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> known_;
};

}  // namespace wick::torch
