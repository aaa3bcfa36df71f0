// SPDX-License-Identifier: Apache-2.0
// The rows of include/wick/kinds.def.
#include "wick/kind.h"

namespace wick {
namespace {

struct Row {
  std::string_view name;
  std::string_view title;
  bool readable;
};

constexpr Row kRows[] = {
#define WICK_KIND(enumerator, name, title, readable) {name, title, readable},
#include "wick/kinds.def"
#undef WICK_KIND
};

const Row& row_of(FileKind kind) { return kRows[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view name_of(FileKind kind) { return row_of(kind).name; }
std::string_view title_of(FileKind kind) { return row_of(kind).title; }
bool can_open(FileKind kind) { return row_of(kind).readable; }

}  // namespace wick
