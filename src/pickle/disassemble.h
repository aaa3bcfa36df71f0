// SPDX-License-Identifier: Apache-2.0
// The opcodes of a pickle as Python's pickletools.dis prints them: offset, name, argument. Decodes; makes no values.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/context.h"

namespace wick::pickle {

struct Instruction {
  std::uint64_t offset = 0;  // from the first byte of the pickle
  std::uint8_t code = 0;
  std::string_view name;  // "BINUNICODE"
  bool has_argument = false;
  std::string argument;  // as pickletools prints it (Python's repr of the argument)
};

// Calls `take` for each opcode up to and including STOP. Returns the bytes used. Same errors as read_pickle, with the
// offset.
Result<std::uint64_t> disassemble(std::span<const std::byte> bytes, std::uint64_t base, const Limits& limits,
                                  const std::function<bool(const Instruction&)>& take);

}  // namespace wick::pickle
