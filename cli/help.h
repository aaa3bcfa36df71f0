// SPDX-License-Identifier: Apache-2.0
// Help pages and the manual page, made from the option table.
#pragma once

#include <string>

#include "options.h"

namespace wick::cli {

// All commands in their groups.
std::string help_overview();
// Usage, three examples, options in groups, exit codes.
std::string help_page(const CommandRow& command);
// troff for man(1).
std::string man_page();

}  // namespace wick::cli
