// SPDX-License-Identifier: Apache-2.0
// Unwraps the input as what it says it is.
#include "archive/wrapper.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span input(static_cast<const std::byte*>(static_cast<const void*>(bytes)), size);
  wick::Limits limits;
  limits.max_memory = 16 << 20;
  const auto source = wick::borrow_memory(input);
  if (const auto wrapper = wick::archive::detect_wrapper(input))
    (void)wick::archive::unwrap(source, *wrapper, limits, "").ok();
  if (!wick::archive::looks_like_7z(input)) return 0;
  const auto entries = wick::archive::list_7z(source, limits);
  for (std::size_t i = 0; entries.ok() && i < entries->size() && i < 8; ++i)
    (void)wick::archive::open_7z_entry(source, (*entries)[i].name, limits).ok();
  return 0;
}
