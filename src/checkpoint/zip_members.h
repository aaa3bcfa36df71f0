// SPDX-License-Identifier: Apache-2.0
// Storages that are records of a zip, or a part of one; and the zip as a MemberList.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "archive/zip.h"
#include "checkpoint/contents.h"

namespace wick::checkpoint {

// Opens parts of zip records: a range of the file when the record is stored, inflated on every read when it is not.
// Filled while reading, then never changed.
class ZipPartOpener final : public StorageOpener {
 public:
  ZipPartOpener(std::shared_ptr<const archive::Zip> zip, const Limits& limits)
      : zip_(std::move(zip)), limits_(limits) {}
  // `length` bytes from byte `skip` of record `index`.
  std::uint32_t add(std::uint32_t index, std::uint64_t skip, std::uint64_t length);

  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override;
  [[nodiscard]] std::string member(std::uint32_t entry) const override;
  [[nodiscard]] bool compressed(std::uint32_t entry) const override;
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t entry) const override;

 private:
  struct Part {
    std::uint32_t index = 0;
    std::uint64_t skip = 0;
    std::uint64_t length = 0;
  };
  std::shared_ptr<const archive::Zip> zip_;
  Limits limits_;
  std::vector<Part> parts_;
};

// The records of a zip as ls --members shows them.
std::shared_ptr<const MemberList> zip_member_list(std::shared_ptr<const archive::Zip> zip);

}  // namespace wick::checkpoint
