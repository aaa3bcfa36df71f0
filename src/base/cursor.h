// SPDX-License-Identifier: Apache-2.0
// Cursor: the only reader of raw bytes. It knows its offset, names the field it reads, and never reads past its end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/format.h"

namespace wick {

// Copies an integer or float out of `bytes` (which must hold sizeof(T)) whatever its alignment. Little-endian unless
// told.
template <class T>
T load_le(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1) {
    auto* raw = static_cast<std::byte*>(static_cast<void*>(&value));
    for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(raw[i], raw[sizeof(T) - 1 - i]);
  }
  return value;
}

class Cursor {
 public:
  // Reads `bytes`; `base` is the absolute offset of bytes[0], so that errors tell the place in the file.
  explicit Cursor(std::span<const std::byte> bytes, std::uint64_t base = 0) : bytes_(bytes), base_(base) {}

  [[nodiscard]] std::uint64_t offset() const { return base_ + at_; }  // absolute
  [[nodiscard]] std::size_t position() const { return at_; }          // within the span
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - at_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

  // Each read_ advances only on success.
  Result<std::uint8_t> read_u8(std::string_view field) { return read_le<std::uint8_t>(field); }
  Result<std::uint16_t> read_u16(std::string_view field) { return read_le<std::uint16_t>(field); }
  Result<std::uint32_t> read_u32(std::string_view field) { return read_le<std::uint32_t>(field); }
  Result<std::uint64_t> read_u64(std::string_view field) { return read_le<std::uint64_t>(field); }
  Result<std::int32_t> read_i32(std::string_view field) { return read_le<std::int32_t>(field); }
  Result<std::int64_t> read_i64(std::string_view field) { return read_le<std::int64_t>(field); }

  template <class T>
  Result<T> read_le(std::string_view field) {
    if (remaining() < sizeof(T)) [[unlikely]]
      return cut(field, sizeof(T));
    const T value = load_le<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }

  // The next `count` bytes as a view into the span; compared with what is left before anything else happens.
  Result<std::span<const std::byte>> read_bytes(std::uint64_t count, std::string_view field) {
    if (count > remaining()) [[unlikely]]
      return cut(field, count);
    const auto part = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return part;
  }
  Result<std::string_view> read_text(std::uint64_t count, std::string_view field) {
    auto part = read_bytes(count, field);
    if (!part) return std::move(part).error();
    return std::string_view(static_cast<const char*>(static_cast<const void*>(part->data())), part->size());
  }
  // The same for the innermost loops: false instead of an Error when the bytes are not there.
  template <class T>
  bool take_le(T& into) {
    if (remaining() < sizeof(T)) [[unlikely]]
      return false;
    into = load_le<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return true;
  }
  bool take_text(std::uint64_t count, std::string_view& into) {
    if (count > remaining()) [[unlikely]]
      return false;
    const auto* start = static_cast<const char*>(static_cast<const void*>(bytes_.data() + at_));
    into = std::string_view(start, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return true;
  }
  // Up to and without '\n', which is consumed. Truncated when there is none.
  Result<std::string_view> read_line(std::string_view field);

  Result<void> skip(std::uint64_t count, std::string_view field) {
    if (count > remaining()) [[unlikely]]
      return cut(field, count);
    at_ += static_cast<std::size_t>(count);
    return {};
  }
  Result<void> seek(std::uint64_t position, std::string_view field) {  // position within the span
    if (position > bytes_.size())
      return fail_at(ErrorCode::Truncated, base_ + bytes_.size(), "{} at {} lies beyond the {} bytes present", field,
                     base_ + position, base_ + bytes_.size());
    at_ = static_cast<std::size_t>(position);
    return {};
  }

 private:
  [[nodiscard]] Error cut(std::string_view field, std::uint64_t wanted) const;

  std::span<const std::byte> bytes_;
  std::uint64_t base_ = 0;
  std::size_t at_ = 0;
};

// Bytes as text and back, without a copy.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}
inline std::span<const std::byte> as_bytes_of(std::string_view text) {
  return {static_cast<const std::byte*>(static_cast<const void*>(text.data())), text.size()};
}

}  // namespace wick
