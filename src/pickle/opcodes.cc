// SPDX-License-Identifier: Apache-2.0
// opcodes.def as a table by byte.
#include "pickle/opcodes.h"

#include <array>

namespace wick::pickle {

namespace {

constexpr std::array<OpcodeFacts, 256> make_table() {
  std::array<OpcodeFacts, 256> table{};
#define WICK_OPCODE(code, name, handler, protocol, argument) table[code] = {name, protocol, Argument::argument};
#include "pickle/opcodes.def"
#undef WICK_OPCODE
  return table;
}

constexpr std::array<OpcodeFacts, 256> kTable = make_table();

}  // namespace

const OpcodeFacts& facts_of_opcode(std::uint8_t code) { return kTable[code]; }

}  // namespace wick::pickle
