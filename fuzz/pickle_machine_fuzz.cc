// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pickle: into values, their meanings, their repr and their arrays. Whatever they are, it ends.
#include <cstddef>
#include <cstdint>

#include "checkpoint/read_tensor.h"
#include "pickle/machine.h"
#include "python/meaning.h"
#include "python/repr.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  wick::checkpoint::Contents contents;
  contents.limits.max_memory = 64 << 20;
  const auto pickle =
      wick::pickle::read_pickle(std::as_bytes(std::span(bytes, size)), 0, contents.arena, contents.limits);
  if (!pickle) return 0;
  contents.arena.drop_duplicate_keys();
  for (std::size_t i = 0; i < contents.arena.object_count(); ++i)
    wick::python::give_meaning(contents, wick::pickle::Arena::object_at(i));
  (void)wick::python::repr(contents, pickle->root);
  for (std::uint32_t i = 0; i < contents.tensors.size(); ++i) (void)wick::checkpoint::read_elements(contents, i);
  return 0;
}
