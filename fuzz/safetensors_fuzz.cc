// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file: whatever they are, it ends.
#include "formats/readers.h"
#include "read_everything.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return wick::fuzz::read_everything(bytes, size, wick::formats::is_safetensors, wick::formats::read_safetensors);
}
