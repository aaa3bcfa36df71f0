// SPDX-License-Identifier: Apache-2.0
// The state_dict() of a pickled nn.Module, from its attributes alone. Source of truth: Module.state_dict,
// _save_to_state_dict and their overrides in torch/nn and torch/ao/nn of torch 2.13 (modules.def).
#pragma once

#include <string>
#include <vector>

#include "checkpoint/contents.h"
#include "checkpoint/places.h"

namespace wick::torch {

// Finds the modules among a file's objects (Meaning::Module). Makes rows for the tensors that state_dict() creates out
// of plain numbers, and the names it gives to parts of packed parameters. Called once, when all pickles of a file have
// their meaning and before names are looked for.
void prepare_modules(checkpoint::Contents& contents);

// Adds what state_dict() of `module` holds to `places`, below node `under` (kNone: the root). Names and order are
// torch's: parameters, persistent buffers, what the class adds, then the children; what is shared comes under each of
// its names. `names_may_differ` gets, once each, what may make torch's names other ones.
void add_state_dict(const checkpoint::Contents& contents, pickle::Value module, std::uint32_t section,
                    std::uint32_t under, checkpoint::Places& places, std::vector<std::string>* names_may_differ);

}  // namespace wick::torch
