// SPDX-License-Identifier: Apache-2.0
// Reads the input as each of torch's zips that it looks like, then every tensor it lists.
#include "checkpoint/places.h"
#include "checkpoint/read_tensor.h"
#include "torch/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span input(static_cast<const std::byte*>(static_cast<const void*>(bytes)), size);
  wick::Context context;
  context.limits.max_memory = 16 << 20;
  const auto probe = wick::checkpoint::probe(wick::borrow_memory(input), "input", context);
  if (!probe) return 0;
  using namespace wick::torch;  // NOLINT(google-build-using-namespace)
  if (!probe->zip) return 0;
  for (const auto read : {read_torch_zip, read_package, read_distcp}) {
    const auto contents = read(*probe);
    if (!contents) continue;
    (void)wick::checkpoint::find_places(*contents).ok();
    for (std::uint32_t i = 0; i < contents->tensors.size() && i < 100; ++i)
      (void)wick::checkpoint::read_elements(*contents, i).ok();
  }
  return 0;
}
