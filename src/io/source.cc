// SPDX-License-Identifier: Apache-2.0
// Memory, slices, and the helpers every source shares. Files are in file.cc.
#include "io/source.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/context.h"

namespace wick {

Result<ByteView> ByteSource::view(std::uint64_t /*offset*/, std::uint64_t /*length*/) const {
  return Error(ErrorCode::Unsupported, "these bytes are not in memory");
}

Result<void> ByteSource::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  const Read piece{offset, into};
  return read(std::span(&piece, 1));
}

namespace {

Error outside(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  return fail_at(ErrorCode::Truncated, offset, "{} bytes wanted here, the source has {} in all", length, size);
}

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::vector<std::byte> owned, std::string name)
      : owned_(std::move(owned)), bytes_(owned_), name_(std::move(name)) {}
  MemorySource(std::span<const std::byte> borrowed, std::string name) : bytes_(borrowed), name_(std::move(name)) {}

  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Result<void> read(std::span<const Read> pieces) const override {
    for (const Read& piece : pieces) {
      if (!lies_within(piece.offset, piece.into.size(), bytes_.size()))
        return outside(piece.offset, piece.into.size(), bytes_.size());
      if (!piece.into.empty()) std::memcpy(piece.into.data(), bytes_.data() + piece.offset, piece.into.size());
    }
    return {};
  }
  [[nodiscard]] Result<ByteView> view(std::uint64_t offset, std::uint64_t length) const override {
    if (!lies_within(offset, length, bytes_.size())) return outside(offset, length, bytes_.size());
    return ByteView{bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)),
                    shared_from_this()};
  }

 private:
  std::vector<std::byte> owned_;
  std::span<const std::byte> bytes_;
  std::string name_;
};

class SliceSource final : public ByteSource {
 public:
  SliceSource(io::SourcePtr whole, std::uint64_t offset, std::uint64_t length, std::string name)
      : whole_(std::move(whole)), offset_(offset), length_(length), name_(std::move(name)) {}

  [[nodiscard]] std::uint64_t size() const override { return length_; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Result<void> read(std::span<const Read> pieces) const override {
    std::vector<Read> moved(pieces.begin(), pieces.end());
    for (Read& piece : moved) {
      if (!lies_within(piece.offset, piece.into.size(), length_))
        return outside(piece.offset, piece.into.size(), length_);
      piece.offset += offset_;
    }
    return whole_->read(moved);
  }
  [[nodiscard]] Result<ByteView> view(std::uint64_t offset, std::uint64_t length) const override {
    if (!lies_within(offset, length, length_)) return outside(offset, length, length_);
    return whole_->view(offset_ + offset, length);
  }

 private:
  io::SourcePtr whole_;
  std::uint64_t offset_;
  std::uint64_t length_;
  std::string name_;
};

class OneByteSource final : public ByteSource {
 public:
  explicit OneByteSource(io::SourcePtr whole) : whole_(std::move(whole)) {}
  [[nodiscard]] std::uint64_t size() const override { return whole_->size(); }
  [[nodiscard]] const std::string& name() const override { return whole_->name(); }
  [[nodiscard]] Result<void> read(std::span<const Read> pieces) const override {
    for (const Read& piece : pieces)
      for (std::size_t i = 0; i < piece.into.size(); ++i)
        WICK_CHECK(whole_->read_at(piece.offset + i, piece.into.subspan(i, 1)));
    return {};
  }

 private:
  io::SourcePtr whole_;
};

}  // namespace

std::shared_ptr<const ByteSource> from_memory(std::vector<std::byte> bytes, std::string name) {
  return std::make_shared<MemorySource>(std::move(bytes), std::move(name));
}
std::shared_ptr<const ByteSource> borrow_memory(std::span<const std::byte> bytes, std::string name) {
  return std::make_shared<MemorySource>(bytes, std::move(name));
}

namespace io {

Result<SourcePtr> slice(SourcePtr source, std::uint64_t offset, std::uint64_t length, std::string name) {
  if (!lies_within(offset, length, source->size())) return outside(offset, length, source->size());
  return SourcePtr(std::make_shared<SliceSource>(std::move(source), offset, length, std::move(name)));
}

Result<std::vector<std::byte>> read_range(const ByteSource& source, std::uint64_t offset, std::uint64_t length,
                                          const Limits& limits) {
  if (!lies_within(offset, length, source.size())) return outside(offset, length, source.size());
  WICK_CHECK(check_memory(limits, length, "this part of the file"));
  std::vector<std::byte> bytes(static_cast<std::size_t>(length));
  WICK_CHECK(source.read_at(offset, bytes));
  return bytes;
}

Result<std::vector<std::byte>> read_all(const ByteSource& source, const Limits& limits) {
  return read_range(source, 0, source.size(), limits);
}

Result<std::vector<std::byte>> read_head(const ByteSource& source, std::size_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min<std::uint64_t>(count, source.size())));
  WICK_CHECK(source.read_at(0, bytes));
  return bytes;
}

SourcePtr one_byte_at_a_time(SourcePtr source) { return std::make_shared<OneByteSource>(std::move(source)); }

}  // namespace io
}  // namespace wick
