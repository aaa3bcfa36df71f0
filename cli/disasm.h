// SPDX-License-Identifier: Apache-2.0
// show --disasm: the opcodes of a file's pickles, as Python's pickletools.dis tells them.
#pragma once

#include <string>
#include <vector>

#include "inputs.h"
#include "session.h"

namespace wick::cli {

// The main pickle of the file, or those in the records that `names` name.
void run_disasm(Session& session, const Document& document, const std::vector<std::string>& names);

}  // namespace wick::cli
