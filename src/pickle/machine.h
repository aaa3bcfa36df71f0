// SPDX-License-Identifier: Apache-2.0
// The pickle machine: all 68 opcodes of protocols 0 to 5 into inert values. It imports, calls and executes nothing and
// knows no tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/finding.h"
#include "pickle/arena.h"
#include "wick/source.h"

namespace wick::pickle {

// One pickle that was read: its root and where it lay.
struct Pickle {
  Value root;
  std::uint64_t begin = 0;            // absolute offset of its first byte
  std::uint64_t end = 0;              // one past STOP
  int protocol = 0;                   // what PROTO said, 0 when absent
  bool python2 = false;               // it holds STRING, BINSTRING or SHORT_BINSTRING
  std::vector<Value> persistent_ids;  // every one, in order of appearance
  std::vector<Value> globals;         // every distinct Global, in order of first appearance
};

// Reads one pickle from the start of `bytes`, which begin at absolute offset `base`. Bytes after STOP are not looked
// at. Strings are copied into `arena`; byte strings of 4 KiB or more are borrowed from `bytes` when `owner` is given
// (it is kept alive). Errors carry the absolute offset of the opcode: Truncated, Malformed (unknown opcode, empty
// stack, unset memo slot ...), Limit.
Result<Pickle> read_pickle(std::span<const std::byte> bytes, std::uint64_t base, Arena& arena, const Limits& limits,
                           const std::shared_ptr<const void>& owner = nullptr);

// The same for a pickle that begins at `offset` of `source` and whose length is unknown: reads 64 KiB and doubles on
// Truncated until the pickle or the source ends.
Result<Pickle> read_pickle_at(const ByteSource& source, std::uint64_t offset, Arena& arena, const Limits& limits);

}  // namespace wick::pickle
