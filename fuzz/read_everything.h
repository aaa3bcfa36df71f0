// SPDX-License-Identifier: Apache-2.0
// What the targets of whole formats share: open the bytes, walk every name, read every element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checkpoint/places.h"
#include "checkpoint/probe.h"
#include "checkpoint/read_tensor.h"

namespace wick::fuzz {

template <class Matches, class Read>
int read_everything(const std::uint8_t* bytes, std::size_t size, Matches matches, Read read) {
  Context context;
  context.limits.max_memory = 64 << 20;
  const auto probe = checkpoint::probe(borrow_memory(std::as_bytes(std::span(bytes, size))), "fuzz", context);
  if (!probe || !matches(*probe)) return 0;
  const auto contents = read(*probe);
  if (!contents) return 0;
  const auto places = checkpoint::find_places(*contents);
  if (places)
    for (const auto& place : places->rows) (void)checkpoint::name_of(*contents, *places, place.path);
  for (std::uint32_t i = 0; i < contents->tensors.size(); ++i) (void)checkpoint::read_elements(*contents, i);
  return 0;
}

}  // namespace wick::fuzz
