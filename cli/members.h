// SPDX-License-Identifier: Apache-2.0
// ls --members: the records of an archive.
#pragma once

#include "inputs.h"
#include "pattern.h"
#include "session.h"

namespace wick::cli {

// Prints the records whose names `names` picks; returns how many there were. A file that is no archive has none: it is
// said so, with exit code 1.
std::size_t list_members(Session& session, const Document& document, const NameFilter& names, bool many);

}  // namespace wick::cli
