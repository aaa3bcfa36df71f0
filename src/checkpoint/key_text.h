// SPDX-License-Identifier: Apache-2.0
// How a step of a path is written in a name. docs/names.md is the specification.
#pragma once

#include <string>

#include "checkpoint/places.h"

namespace wick::checkpoint {

// Python's repr of a dict key (str(key) for all but strings, which are quoted): ints, floats, bytes, tuples of such; a
// key of another kind as "<kind>". Never recurses, ends after `max_characters`.
std::string key_repr(const pickle::Arena& arena, pickle::Value key, std::size_t max_characters = 200);

// The plain spelling: a string as it is, anything else as Python's str() writes it; "args", "kwargs", "state",
// "callable".
std::string key_text(const pickle::Arena& arena, const PathNode& step);

// The spelling of a spelled-out name: an identifier as it is, everything else as [repr], so that no two ways share a
// name.
std::string spelled_key(const pickle::Arena& arena, const PathNode& step);

}  // namespace wick::checkpoint
