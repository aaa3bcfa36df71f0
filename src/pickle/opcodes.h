// SPDX-License-Identifier: Apache-2.0
// The opcodes by number: names and arguments. The table is opcodes.def.
#pragma once

#include <cstdint>
#include <string_view>

namespace wick::pickle {

// What follows an opcode's byte. Numbers are little-endian, Float8 alone is big-endian. N in TextN is the width of the
// length before the bytes; a Line ends with '\n'.
enum class Argument : std::uint8_t {
  None,
  UInt1,
  UInt2,
  UInt4,
  UInt8,
  Int4,
  Float8,
  Long1,    // unsigned length, two's complement
  Long4,    // signed length, two's complement
  String1,  // Python 2's str
  String4,  // signed length
  Bytes1,
  Bytes4,
  Bytes8,
  ByteArray8,
  Unicode1,  // UTF-8
  Unicode4,
  Unicode8,
  IntLine,   // decimal, or 00 and 01
  LongLine,  // decimal with an optional L
  FloatLine,
  StringLine,   // as it is
  QuotedLine,   // Python's repr of a str
  UnicodeLine,  // raw-unicode-escape
  TwoLines,     // module, name
};

struct OpcodeFacts {
  std::string_view name;  // empty: no such opcode
  std::uint8_t protocol = 0;
  Argument argument = Argument::None;
};

// The row of a byte; a row with an empty name when the byte is no opcode.
const OpcodeFacts& facts_of_opcode(std::uint8_t code);

}  // namespace wick::pickle
