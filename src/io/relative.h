// SPDX-License-Identifier: Apache-2.0
// File names that a file gives for its neighbours.
#pragma once

#include <string_view>

namespace wick::io {

// True when `path`, taken from a folder, stays in it or below it: relative, without "..", without NUL, backslash or an
// empty name. An index must be no way to other files of the machine.
bool stays_inside(std::string_view path);

}  // namespace wick::io
