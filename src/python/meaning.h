// SPDX-License-Identifier: Apache-2.0
// What the standard library and numpy mean, by name: gives Meaning to objects whose callable is theirs.
#pragma once

#include "checkpoint/contents.h"

namespace wick::python {

// Looks at one object (all of whose arguments, state and items are there) and, when its class or function is one of the
// standard library's or numpy's, records what it is. True when it did. Arrays become tensor rows with is_array
// (storage: owned, or a range of the pickle); numpy scalars, complex, Decimal, datetime ... become Same or Shown;
// OrderedDict, defaultdict ... Mapping; Counter, set ... Same.
bool give_meaning(checkpoint::Contents& contents, pickle::Value object);

// Module names of Python 2 and renamed ones as Python 3 calls them ("__builtin__" -> "builtins", "copy_reg" ->
// "copyreg").
std::string_view modern_module(std::string_view module, std::string_view name);

}  // namespace wick::python
