// SPDX-License-Identifier: Apache-2.0
// The one line of a torch.nn module, short enough for a tree: "Conv2d(3, 64, 7×7, stride 2)".
#pragma once

#include <string>
#include <string_view>

namespace wick::cli {

// `line` as Python prints the module ("Conv2d(3, 64, kernel_size=(7, 7), stride=(2, 2))"): what is as torch has it by
// default is left out, equal numbers are said once. A line of another form comes back as it is.
std::string brief_line(std::string_view line);

}  // namespace wick::cli
