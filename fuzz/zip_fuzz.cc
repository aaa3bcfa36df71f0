// SPDX-License-Identifier: Apache-2.0
// Opens the input as a zip, reads every entry, looks every name up.
#include "archive/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span input(static_cast<const std::byte*>(static_cast<const void*>(bytes)), size);
  wick::Limits limits;
  limits.max_memory = 16 << 20;
  const auto zip = wick::archive::Zip::open(wick::borrow_memory(input), limits);
  if (!zip) return 0;
  const std::size_t count = std::min<std::size_t>((*zip)->size(), 100);
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = (*zip)->entry(i);
    (void)(*zip)->check_entry(i).ok();
    (void)(*zip)->read(i, limits).ok();
    (void)(*zip)->open_entry(i, limits).ok();
    if (!(*zip)->find(entry.name) || !(*zip)->find_ignoring_case(entry.name)) __builtin_trap();
  }
  return 0;
}
