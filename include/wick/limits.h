// SPDX-License-Identifier: Apache-2.0
// Budgets on what a file may make wick do. Each field says which attack it stops; docs/limits.md has the list.
#pragma once

#include <cstdint>

namespace wick {

// A plain value: copy and change it freely. Every field has a command-line option of the same name (--max-depth ...).
struct Limits {
  // Bytes wick may hold for one file at once, inflated records and densified tensors included (--max-memory).
  // Stops zip bombs, memo bombs (a list of itself a million times) and declared sizes without bytes behind them.
  std::uint64_t max_memory = std::uint64_t{4} << 30;
  // Inflated bytes for each compressed byte, beyond the first MiB (--max-ratio). Stops zip bombs and quines.
  std::uint32_t max_ratio = 1100;  // deflate itself cannot exceed 1032
  // Nesting of containers, objects and members in members when they are walked (--max-depth). Stops a million `(`.
  std::uint32_t max_depth = 10'000;
  // Archives within archives (--max-nesting). Stops quine zips.
  std::uint32_t max_nesting = 8;
  // Highest memo slot a pickle may name (--max-memo). LONG_BINPUT can name any 32-bit slot; stops a 9-byte file asking
  // for 64 GiB.
  std::uint32_t max_memo = 100'000'000;
  // Opcodes of one pickle (--max-opcodes). Stops streams that run for hours while making nothing.
  std::uint64_t max_opcodes = 2'000'000'000;
  // Entries of one archive (--max-members). Stops directories of a billion empty records.
  std::uint64_t max_members = 20'000'000;
};

}  // namespace wick
