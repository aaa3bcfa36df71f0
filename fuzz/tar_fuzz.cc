// SPDX-License-Identifier: Apache-2.0
// Walks the input as a tar and reads its entries.
#include "archive/tar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span input(static_cast<const std::byte*>(static_cast<const void*>(bytes)), size);
  (void)wick::archive::looks_like_tar(input);
  const auto tar = wick::archive::read_tar(wick::borrow_memory(input), {});
  if (!tar) return 0;
  for (std::size_t i = 0; i < tar->entries.size(); ++i) {
    const auto source = wick::archive::open_entry(*tar, i);
    if (source && !wick::io::read_all(**source, {}).ok()) __builtin_trap();  // what is listed is there
  }
  return 0;
}
