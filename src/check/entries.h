// SPDX-License-Identifier: Apache-2.0
// The small things of a checkpoint beside its tensors: scalars, settings and containers near the root, each with its
// path. What the descriptions of a file look at.
#pragma once

#include <string>
#include <vector>

#include "open/loaded.h"

namespace wick::check {

struct Entry {
  std::string key;      // its own key, as a name spells it
  std::string path;     // from the root, as --root takes it
  pickle::Value value;  // resolved
  int depth = 0;        // 0: a child of the root
};

// Walks dicts, objects and short lists near the root, breadth first. State dicts, modules and optimizer states are
// entries themselves but are not entered. Bounded, so a file can not make it long.
std::vector<Entry> entries_of(const open_detail::Loaded& loaded);

// A dict with the keys "state" and "param_groups", or an object of torch.optim.
bool is_optimizer(const checkpoint::Contents& contents, pickle::Value value);
// Entry `key` of a dict or attribute of an object, resolved; Missing when there is none.
pickle::Value entry_of(const checkpoint::Contents& contents, pickle::Value value, std::string_view key);
// A value as a person reads it in one short line.
std::string short_text(const checkpoint::Contents& contents, pickle::Value value);

}  // namespace wick::check
