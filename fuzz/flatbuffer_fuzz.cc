// SPDX-License-Identifier: Apache-2.0
// Asks the first tables of the input for every kind of field in every slot.
#include "wire/flatbuffer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span input(static_cast<const std::byte*>(static_cast<const void*>(bytes)), size);
  auto table = wick::wire::FlatBuffer(input).root();
  for (int steps = 0; steps < 20 && table.ok(); ++steps) {
    auto next = wick::Result<wick::wire::FlatTable>(wick::Error(wick::ErrorCode::NotFound, "no table below"));
    for (std::uint16_t slot = 0; slot < 40; ++slot) {
      (void)table->scalar<std::uint64_t>(slot, 0).ok();
      (void)table->string(slot).ok();
      (void)table->structure(slot, 16).ok();
      if (const auto inner = table->table(slot); inner.ok() && inner->has_value()) next = **inner;
      const auto vector = table->vector(slot, 4);
      if (!vector.ok() || !vector->has_value()) continue;
      (void)wick::wire::FlatTable::string_of(input, **vector, 0).ok();
      if (auto inner = wick::wire::FlatTable::table_of(input, **vector, 0); inner.ok()) next = std::move(inner);
    }
    table = std::move(next);
  }
  return 0;
}
