// SPDX-License-Identifier: Apache-2.0
// Numbers as torch prints a tensor: one format for all of them, chosen by their range. Source of truth: _Formatter of
// torch/_tensor_str.py.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "element.h"

namespace wick::cli {

// The text of each element, all in one format, not padded.
std::vector<std::string> format_elements(std::span<const Element> elements);

// One element by itself, with as many digits as it needs: "0.1", "3", "True", "(1+2j)".
std::string format_alone(const Element& element);

}  // namespace wick::cli
