// SPDX-License-Identifier: Apache-2.0
// What `tree` and `show` read alike from the command line.
#pragma once

#include "object_tree.h"
#include "session.h"

namespace wick::cli {

// --depth, --encoding, -v. Usage error when the depth is no number.
Result<TreeStyle> tree_style_of(const Session& session);

}  // namespace wick::cli
