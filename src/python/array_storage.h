// SPDX-License-Identifier: Apache-2.0
// The bytes of an array that lie inside a pickle, as a storage.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/tensor_row.h"

namespace wick::python {

// One storage: `bytes`, which `owner` keeps alive.
class ArenaStorageOpener : public checkpoint::StorageOpener {
 public:
  ArenaStorageOpener(std::string_view bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override;
  [[nodiscard]] std::string member(std::uint32_t entry) const override;
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t entry) const override;

 private:
  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace wick::python
