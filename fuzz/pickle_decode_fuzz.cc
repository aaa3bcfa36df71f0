// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pickle to disassemble. It must not refuse what the machine takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "pickle/disassemble.h"
#include "pickle/machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = std::as_bytes(std::span(bytes, size));
  wick::Limits limits;
  limits.max_memory = 64 << 20;
  const auto used = wick::pickle::disassemble(input, 0, limits, [](const wick::pickle::Instruction&) { return true; });
  wick::pickle::Arena arena;
  const auto pickle = wick::pickle::read_pickle(input, 0, arena, limits);
  if (pickle && used && pickle->end != *used) std::abort();
  return 0;
}
