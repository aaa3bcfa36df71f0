// SPDX-License-Identifier: Apache-2.0
// Names as they are called now: pickles of Python 2, of old numpy and of Python 3.13 spell some differently.
#pragma once

#include <string_view>

#include "pickle/arena.h"

namespace wick::python {

struct Name {
  std::string_view module;
  std::string_view name;
};

// ("__builtin__", "xrange") -> ("builtins", "range"); ("numpy.core.multiarray", "scalar") -> ("numpy._core...").
// The views point into `module`, `name` or static text.
Name modern(std::string_view module, std::string_view name);
Name modern(const pickle::Arena& arena, pickle::Value global);

// The Global that tells an object's class: its callable, or the first argument of what copyreg makes objects with.
// Missing when there is none.
pickle::Value class_of(const pickle::Arena& arena, pickle::Value object);

// A built-in class ("int") rather than a function.
bool is_builtin_class(std::string_view name);

}  // namespace wick::python
