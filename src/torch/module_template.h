// SPDX-License-Identifier: Apache-2.0
// The little language in which modules.def writes extra_repr():
//   {name}  {name!r}    str() or repr() of an attribute; a dotted name goes through child modules
//   {name|None}         the text after | when the attribute is not there (what __setstate__ fills in)
//   {?name}             True when the attribute is not None, else False
//   {@qscheme}          the scheme of the packed weight
//   [condition:text]    text when the condition holds:
//      name             it is true in Python's sense
//      name!value       it is there and differs from the value (repr, or zeros / ones: all items of a tuple)
//      name=value       it is there and equals it
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/contents.h"

namespace wick::torch {

// nullopt when an attribute that the text needs is not there: Python would raise an AttributeError.
std::optional<std::string> fill_template(const checkpoint::Contents& contents, pickle::Value module,
                                         std::string_view text);

}  // namespace wick::torch
