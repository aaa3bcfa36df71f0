// SPDX-License-Identifier: Apache-2.0
// A torch.nn module as Python prints it, from its pickled attributes alone; no class code is needed or run. Source of
// truth: Module.__repr__ and each class's extra_repr in torch 2.13 (torch/nn, torch/ao/nn).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/contents.h"

namespace wick::torch {

// True when `value` (after resolve()) is an nn.Module.
bool is_module(const checkpoint::Contents& contents, pickle::Value value);

// What `print(module)` shows, to the character, for every class of torch.nn and torch.ao.nn. Other classes print as
// Module.__repr__ does without their own extra_repr (see repr_may_differ). Text from the file is as Python shows it,
// not escaped for terminals. nullopt when `module` is no module. Ends on modules that contain themselves ("...").
std::optional<std::string> module_repr(const checkpoint::Contents& contents, pickle::Value module);

// One line for `tree`: "Conv2d(3, 64, kernel_size=(7, 7), stride=(2, 2))"; of containers and unknown classes the name
// alone.
std::optional<std::string> module_line(const checkpoint::Contents& contents, pickle::Value module);

// Classes under `module` that wick has no table for: Python may print more about them. Distinct, in order.
std::vector<std::string> repr_may_differ(const checkpoint::Contents& contents, pickle::Value module);

}  // namespace wick::torch
