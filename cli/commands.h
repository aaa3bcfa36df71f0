// SPDX-License-Identifier: Apache-2.0
// The commands: each looks at the session's arguments, prints, and leaves the exit code in the session.
#pragma once

#include "session.h"

namespace wick::cli {

void run_info(Session& session);
void run_ls(Session& session);
void run_tree(Session& session);
void run_show(Session& session);

}  // namespace wick::cli
