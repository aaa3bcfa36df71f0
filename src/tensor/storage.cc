// SPDX-License-Identifier: Apache-2.0
#include "tensor/storage.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"

namespace wick::tensor {

Result<ByteView> Storage::view(std::uint64_t /*offset*/, std::uint64_t /*length*/) const {
  return Error(ErrorCode::Unsupported, "these bytes are not in memory");
}

namespace {

Result<void> check_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  if (lies_within(offset, length, size)) return {};
  return fail(ErrorCode::Truncated, "bytes {} to {} wanted of a storage of {}", offset, offset + length, size);
}

class RangeStorage final : public Storage {
 public:
  RangeStorage(io::SourcePtr source, std::uint64_t offset, std::uint64_t length)
      : source_(std::move(source)), offset_(offset), length_(length) {}
  [[nodiscard]] std::uint64_t size() const override { return length_; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    WICK_CHECK(check_range(offset, into.size(), length_));
    return source_->read_at(offset_ + offset, into);
  }
  [[nodiscard]] Result<ByteView> view(std::uint64_t offset, std::uint64_t length) const override {
    WICK_CHECK(check_range(offset, length, length_));
    return source_->view(offset_ + offset, length);
  }

 private:
  io::SourcePtr source_;
  std::uint64_t offset_;
  std::uint64_t length_;
};

class OwnedStorage final : public Storage {
 public:
  explicit OwnedStorage(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    WICK_CHECK(check_range(offset, into.size(), bytes_.size()));
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }
  [[nodiscard]] Result<ByteView> view(std::uint64_t offset, std::uint64_t length) const override {
    WICK_CHECK(check_range(offset, length, bytes_.size()));
    return ByteView{std::span(bytes_).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)),
                    shared_from_this()};
  }

 private:
  std::vector<std::byte> bytes_;
};

class PiecesStorage final : public Storage {
 public:
  PiecesStorage(std::vector<Piece> pieces, std::uint64_t size) : pieces_(std::move(pieces)), size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    WICK_CHECK(check_range(offset, into.size(), size_));
    auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                  [](std::uint64_t at, const Piece& p) { return at < p.at; });
    if (piece != pieces_.begin()) --piece;
    while (!into.empty()) {
      const std::uint64_t within = offset - piece->at;
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece->length - within, into.size()));
      WICK_CHECK(piece->from->read(piece->from_offset + within, into.first(count)));
      into = into.subspan(count);
      offset += count;
      ++piece;
    }
    return {};
  }

  [[nodiscard]] bool ranges_are_cheap() const override {
    return std::all_of(pieces_.begin(), pieces_.end(),
                       [](const Piece& piece) { return piece.from->ranges_are_cheap(); });
  }

 private:
  std::vector<Piece> pieces_;  // sorted by `at`, tiling [0, size_), none empty
  std::uint64_t size_;
};

class DerivedStorage final : public Storage {
 public:
  DerivedStorage(std::uint64_t size, std::string_view why, std::function<Result<std::vector<std::byte>>()> produce)
      : size_(size), why_(why), produce_(std::move(produce)) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    WICK_CHECK(check_range(offset, into.size(), size_));
    WICK_TRY(const auto bytes, produce_());
    if (bytes.size() != size_)
      return fail(ErrorCode::Mismatch, "{} bytes came out, {} were declared", bytes.size(), size_);
    if (!into.empty()) std::memcpy(into.data(), bytes.data() + offset, into.size());
    return {};
  }
  [[nodiscard]] Result<ByteView> view(std::uint64_t /*offset*/, std::uint64_t /*length*/) const override {
    return Error(ErrorCode::Unsupported, why_);
  }

  [[nodiscard]] bool ranges_are_cheap() const override { return false; }

 private:
  std::uint64_t size_;
  std::string why_;
  std::function<Result<std::vector<std::byte>>()> produce_;
};

class SwappedStorage final : public Storage {
 public:
  SwappedStorage(StoragePtr inner, std::uint32_t component) : inner_(std::move(inner)), component_(component) {}
  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    WICK_CHECK(check_range(offset, into.size(), inner_->size()));
    // Widen to whole groups, turn them, and hand out what was asked for. A tail that fills no group stays as it is.
    const std::uint64_t begin = offset - offset % component_;
    const std::uint64_t wanted_end = offset + into.size();
    const std::uint64_t end =
        std::min(inner_->size(), wanted_end + (component_ - wanted_end % component_) % component_);
    std::vector<std::byte> groups(static_cast<std::size_t>(end - begin));
    WICK_CHECK(inner_->read(begin, groups));
    for (std::size_t i = 0; i + component_ <= groups.size(); i += component_)
      std::reverse(groups.begin() + static_cast<std::ptrdiff_t>(i),
                   groups.begin() + static_cast<std::ptrdiff_t>(i + component_));
    if (!into.empty()) std::memcpy(into.data(), groups.data() + (offset - begin), into.size());
    return {};
  }
  [[nodiscard]] Result<ByteView> view(std::uint64_t /*offset*/, std::uint64_t /*length*/) const override {
    return Error(ErrorCode::Unsupported, "the bytes are stored in the other byte order");
  }

  [[nodiscard]] bool ranges_are_cheap() const override { return inner_->ranges_are_cheap(); }

 private:
  StoragePtr inner_;
  std::uint32_t component_;
};

}  // namespace

Result<StoragePtr> range_storage(io::SourcePtr source, std::uint64_t offset, std::uint64_t length) {
  if (!lies_within(offset, length, source->size()))
    return fail_at(ErrorCode::Truncated, offset, "{} bytes wanted here, the source has {} in all", length,
                   source->size());
  return StoragePtr(std::make_shared<RangeStorage>(std::move(source), offset, length));
}

StoragePtr owned_storage(std::vector<std::byte> bytes) { return std::make_shared<OwnedStorage>(std::move(bytes)); }

Result<StoragePtr> pieces_storage(std::vector<Piece> pieces, std::uint64_t size) {
  std::erase_if(pieces, [](const Piece& piece) { return piece.length == 0; });
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.at < b.at; });
  std::uint64_t reached = 0;
  for (const Piece& piece : pieces) {
    if (piece.at != reached)
      return fail(ErrorCode::Malformed, "pieces {} at byte {}: the next one begins at {}",
                  piece.at < reached ? "overlap" : "leave a gap", reached, piece.at);
    WICK_CHECK(check_range(piece.from_offset, piece.length, piece.from->size()));
    WICK_TRY(reached, checked_add(reached, piece.length, "size of the pieces"));
  }
  if (reached != size) return fail(ErrorCode::Malformed, "pieces give {} bytes, {} are needed", reached, size);
  return StoragePtr(std::make_shared<PiecesStorage>(std::move(pieces), size));
}

StoragePtr derived_storage(std::uint64_t size, std::string_view why_no_view,
                           std::function<Result<std::vector<std::byte>>()> produce) {
  return std::make_shared<DerivedStorage>(size, why_no_view, std::move(produce));
}

StoragePtr swapped_storage(StoragePtr inner, std::uint32_t component) {
  if (component <= 1) return inner;
  return std::make_shared<SwappedStorage>(std::move(inner), component);
}

}  // namespace wick::tensor
