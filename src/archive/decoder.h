// SPDX-License-Identifier: Apache-2.0
// Decoder: one compressed stream, fed piece by piece. What is behind each is zlib, liblzma, libbz2 or libzstd.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "archive/wrapper.h"

namespace wick::archive {

class Decoder {
 public:
  struct Step {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    bool ended = false;  // a member is complete; feed it what follows after restart()
  };

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;

  // Decodes from `in` into `out` as far as either reaches. Malformed, Limit (its window needs too much memory),
  // Unsupported (a dictionary is wanted), without an offset.
  virtual Result<Step> step(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  // Makes ready for another member behind the one that ended.
  virtual Result<void> restart() = 0;
};

// Unsupported when wick was built without the library.
Result<std::unique_ptr<Decoder>> make_decoder(Wrapper wrapper, const Limits& limits);

}  // namespace wick::archive
