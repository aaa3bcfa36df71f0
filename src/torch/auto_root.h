// SPDX-License-Identifier: Apache-2.0
// The branch people mean, and the names its state_dict() would have. docs/names.md is the specification.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/contents.h"
#include "checkpoint/places.h"

namespace wick::torch {

// A branch that could be meant: "state_dict", "model", "params_ema", "" (the whole file).
struct RootCandidate {
  std::string path;  // as --root takes it; "." for the whole file
  pickle::Value value;
  std::uint32_t section = 0;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
};

struct AutoRoot {
  std::string path;  // of the pick: "." for the whole file
  std::vector<RootCandidate> others;
  // Tensors of the branch. Of an nn.Module: exactly the names and order of its state_dict() (non-persistent buffers
  // left out, shared modules and parameters under each name ...). Of a dict: its tensors by path, optimizer and the
  // like left out.
  checkpoint::Places places;
  bool is_module = false;
  // Classes that override state_dict or carry hooks for which wick has no table: the names may differ from torch's.
  std::vector<std::string> names_may_differ;
};

// Picks the branch. Never fails: a file without tensors gives ".".
AutoRoot find_auto_root(const checkpoint::Contents& contents, const checkpoint::Places& all);

// Gives the rows of the whole file the roles that only the auto root's walk could tell (TorchScript: the class heads).
void refine_roles(const AutoRoot& automatic, checkpoint::Places& all);

// The state_dict() of one nn.Module object, names relative to it, in torch's order.
checkpoint::Places state_dict_of(const checkpoint::Contents& contents, pickle::Value module, std::uint32_t section,
                                 std::vector<std::string>* names_may_differ = nullptr);

}  // namespace wick::torch
