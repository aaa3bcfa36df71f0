// SPDX-License-Identifier: Apache-2.0
// FlatBuffers tables as hostile input: every offset is checked before it is followed. Wire rules:
// docs/formats/flatbuffer-wire.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/cursor.h"

namespace wick::wire {

class FlatTable;

// A whole buffer. `bytes` must outlive everything made from it.
class FlatBuffer {
 public:
  explicit FlatBuffer(std::span<const std::byte> bytes) : bytes_(bytes) {}
  // The root table, from the u32 at offset 0.
  [[nodiscard]] Result<FlatTable> root() const;
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// `count` elements of `stride` bytes beginning at absolute `position`; lies within the buffer.
struct FlatVector {
  std::span<const std::byte> bytes;
  std::uint32_t count = 0;
  std::uint32_t stride = 0;
  std::uint64_t position = 0;  // of element 0 in the buffer
  template <class T>
  [[nodiscard]] T at(std::uint32_t index) const {
    return load_le<T>(bytes.data() + std::size_t{index} * stride);
  }
};

// One table. `slot` is the vtable slot as in the reference (4 + 2 * field id). An absent field is nullopt, never an
// error.
class FlatTable {
 public:
  FlatTable(std::span<const std::byte> buffer, std::uint32_t position, std::uint32_t vtable, std::uint16_t vtable_bytes,
            std::uint16_t table_bytes)
      : buffer_(buffer), position_(position), vtable_(vtable), vtable_bytes_(vtable_bytes), table_bytes_(table_bytes) {}

  // Follows the table at absolute `position`.
  static Result<FlatTable> at(std::span<const std::byte> buffer, std::uint64_t position);

  template <class T>
  Result<T> scalar(std::uint16_t slot, T fallback) const {
    auto field = field_position(slot, sizeof(T));
    if (!field) return std::move(field).error();
    if (!*field) return fallback;
    return load_le<T>(buffer_.data() + **field);
  }
  Result<std::optional<FlatTable>> table(std::uint16_t slot) const;
  Result<std::optional<std::string_view>> string(std::uint16_t slot) const;
  Result<std::optional<FlatVector>> vector(std::uint16_t slot, std::uint32_t stride) const;  // of scalars or structs
  // Element `index` of a vector of tables or strings (stride 4).
  static Result<FlatTable> table_of(std::span<const std::byte> buffer, const FlatVector& vector, std::uint32_t index);
  static Result<std::string_view> string_of(std::span<const std::byte> buffer, const FlatVector& vector,
                                            std::uint32_t index);
  // `size` bytes at the place the offset field points to: union members that are bare structs.
  Result<std::optional<std::span<const std::byte>>> structure(std::uint16_t slot, std::uint32_t size) const;
  [[nodiscard]] std::uint32_t position() const { return position_; }

 private:
  // Absolute position of the field, nullopt when absent; Malformed when it does not lie within the table.
  [[nodiscard]] Result<std::optional<std::uint32_t>> field_position(std::uint16_t slot, std::uint32_t size) const;
  [[nodiscard]] Result<std::optional<std::uint32_t>> follow(std::uint16_t slot) const;

  std::span<const std::byte> buffer_;
  std::uint32_t position_;
  std::uint32_t vtable_;
  std::uint16_t vtable_bytes_;
  std::uint16_t table_bytes_;
};

}  // namespace wick::wire
