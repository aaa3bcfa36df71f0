// SPDX-License-Identifier: Apache-2.0
// wick.info/1: everything `info` knows, for scripts.
#pragma once

#include "check/describe.h"
#include "facts.h"
#include "inputs.h"
#include "session.h"

namespace wick::cli {

// What info tells of one file, found once.
struct Report {
  Facts facts;
  check::Writer writer;
  check::Training training;
  std::vector<check::Hint> hints;
};

void write_info(Session& session, const Document& document, const Report& report);

// "collections.OrderedDict".
std::string global_text(const checkpoint::Contents& contents, pickle::Value global);

}  // namespace wick::cli
