// SPDX-License-Identifier: Apache-2.0
#include "python/array_storage.h"

#include <algorithm>

#include "base/checked.h"
#include "base/cursor.h"

namespace wick::python {

namespace {

class HeldStorage : public tensor::Storage {
 public:
  HeldStorage(std::string_view bytes, std::shared_ptr<const void> owner)
      : bytes_(as_bytes_of(bytes)), owner_(std::move(owner)) {}

  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    WICK_TRY(const ByteView found, view(offset, into.size()));
    std::copy(found.bytes.begin(), found.bytes.end(), into.begin());
    return {};
  }

  [[nodiscard]] Result<ByteView> view(std::uint64_t offset, std::uint64_t length) const override {
    if (!lies_within(offset, length, bytes_.size()))
      return fail(ErrorCode::Truncated, "bytes {} to {} of an array of {} bytes", offset, offset + length,
                  bytes_.size());
    return ByteView{bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)), owner_};
  }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

Result<tensor::StoragePtr> ArenaStorageOpener::open(std::uint32_t) const {
  return tensor::StoragePtr(std::make_shared<HeldStorage>(bytes_, owner_));
}

std::string ArenaStorageOpener::member(std::uint32_t) const { return {}; }

Result<std::uint64_t> ArenaStorageOpener::file_offset(std::uint32_t) const {
  return fail(ErrorCode::Unsupported, "the array lies inside a pickle, not as bytes of its own");
}

}  // namespace wick::python
