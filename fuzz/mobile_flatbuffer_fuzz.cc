// SPDX-License-Identifier: Apache-2.0
// Any bytes as a lite-interpreter flatbuffer: whatever they are, it ends.
#include "read_everything.h"
#include "torch/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return wick::fuzz::read_everything(bytes, size, wick::torch::is_mobile_flatbuffer,
                                     wick::torch::read_mobile_flatbuffer);
}
