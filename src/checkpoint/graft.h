// SPDX-License-Identifier: Apache-2.0
// Graft: takes tensors of one file's contents over into another's, so that several files read as one checkpoint.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "checkpoint/contents.h"

namespace wick::checkpoint {

// Copies rows of `from` into `into`: dimensions, storages and what few tensors have, parts included. The storages'
// bytes stay where they are; `file` is the name their openers tell for the file. `from` may be destroyed afterwards.
class Graft {
 public:
  Graft(Contents& into, const Contents& from, std::string file);
  // The row in `into` for row `tensor` of `from`; the same one when it is asked for again.
  std::uint32_t tensor(std::uint32_t tensor);

 private:
  std::uint32_t storage(std::uint32_t storage);
  std::uint32_t copy_row(std::uint32_t tensor);
  [[nodiscard]] pickle::Value key(pickle::Value key);

  Contents& into_;
  const Contents& from_;
  std::string file_;
  std::uint32_t first_opener_;
  std::unordered_map<std::uint32_t, std::uint32_t> tensors_;
  std::unordered_map<std::uint32_t, std::uint32_t> storages_;
};

}  // namespace wick::checkpoint
