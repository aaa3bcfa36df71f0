// SPDX-License-Identifier: Apache-2.0
// Places: the ways through the object tree that end in a tensor, with the names people use. docs/names.md is the
// specification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/contents.h"

namespace wick::checkpoint {

enum class StepKind : std::uint8_t {
  Key,        // of a dict: any value
  Attribute,  // of an object: a string
  Index,      // of a list, tuple, set: `key` is an Int
  Args,       // the arguments of an unknown object ("args")
  Kwargs,     // its keyword arguments ("kwargs")
  State,      // its state when that is no dict ("state")
  Callable,   // what it calls, when that is no plain name ("callable")
  Label,      // in the name, not in the path: what state_dict() calls a value that lies under hidden steps
};

// One step, linked to the one before it: the paths of a file share their beginnings.
struct PathNode {
  std::uint32_t parent = kNone;
  StepKind kind = StepKind::Key;
  std::uint8_t spelled = 0;  // 0: plain name; 1: spelled out, as an earlier place has the plain one; n: the n-th such
  bool hidden = false;       // _modules, _parameters, _buffers of an nn.Module: in the path, not in the name
  pickle::Value key;
};

struct Place {
  std::uint32_t tensor = 0;    // row
  std::uint32_t path = kNone;  // node, kNone for the root itself
  std::uint32_t section = 0;
  Role role = Role::Unknown;
};

struct Places {
  std::vector<PathNode> nodes;
  std::vector<Place> rows;  // in the file's own order
};

// Child of a value in the tree, as the walk, `tree` and `show` see it.
struct Child {
  StepKind kind = StepKind::Key;
  bool hidden = false;
  pickle::Value key;
  pickle::Value value;
};
// The children of `value` (after resolve()). Integers for Index steps are made from the position, so this needs no
// arena change.
std::vector<Child> children(const Contents& contents, pickle::Value value);

// Every reachable tensor, storage and array from every section's root: depth first, in order, a container reached twice
// walked once, no recursion. A tensor that two names share is listed under both. Limit above limits.max_depth.
Result<Places> find_places(const Contents& contents);
// The same from one value on, with names relative to it.
Result<Places> find_places_under(const Contents& contents, pickle::Value root, std::uint32_t section);

// How a name writes this step (see key_text.h).
std::string step_text(const Contents& contents, const Child& child);

// "state_dict.fc.weight": steps joined by dots without the hidden ones; keys that are no strings as docs/names.md
// spells them. Text may hold any bytes of the file: escape before printing.
std::string name_of(const Contents& contents, const Places& places, std::uint32_t node);
// Spells out every name but the first of those that would be equal. find_places does it; for places made elsewhere.
void settle_collisions(const Contents& contents, Places& places);
// The steps from the root to `node` (no labels), outermost first.
std::vector<PathNode> steps_to(const Places& places, std::uint32_t node);

}  // namespace wick::checkpoint
