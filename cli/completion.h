// SPDX-License-Identifier: Apache-2.0
// Completions for shells, made from the option table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wick::cli {

// The script for "bash", "zsh" or "fish"; nothing for another word.
std::optional<std::string> completion_script(std::string_view shell);

}  // namespace wick::cli
