// SPDX-License-Identifier: Apache-2.0
// The wire rules are those of https://flatbuffers.dev/internals: docs/formats/flatbuffer-wire.md.
#include "wire/flatbuffer.h"

#include <limits>

#include "base/checked.h"
#include "base/try.h"

namespace wick::wire {
namespace {

// Four bytes at `position`, which is an offset relative to itself: where it leads.
Result<std::uint32_t> follow_at(std::span<const std::byte> buffer, std::uint64_t position) {
  if (!lies_within(position, 4, buffer.size()))
    return fail_at(ErrorCode::Truncated, position, "an offset here lies beyond the {} bytes present", buffer.size());
  const auto relative = load_le<std::uint32_t>(&buffer[static_cast<std::size_t>(position)]);
  const std::uint64_t target = position + relative;  // both are below 2^33: no overflow
  if (!lies_within(target, 4, buffer.size()) || target > std::numeric_limits<std::uint32_t>::max())
    return fail_at(ErrorCode::Malformed, position, "an offset leads to {}, beyond the {} bytes present", target,
                   buffer.size());
  return static_cast<std::uint32_t>(target);
}

// Count in front, elements behind: vectors and strings.
Result<FlatVector> vector_at(std::span<const std::byte> buffer, std::uint32_t position, std::uint32_t stride) {
  const auto count = load_le<std::uint32_t>(&buffer[position]);  // follow_at has shown that these four bytes are there
  const std::uint64_t bytes = std::uint64_t{count} * stride;
  const std::uint64_t first = std::uint64_t{position} + 4;
  if (!lies_within(first, bytes, buffer.size()))
    return fail_at(ErrorCode::Malformed, position, "a vector of {} elements of {} bytes exceeds the {} bytes left",
                   count, stride, buffer.size() - first);
  return FlatVector{buffer.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(bytes)), count, stride,
                    first};
}

Result<std::string_view> string_at(std::span<const std::byte> buffer, std::uint32_t position) {
  auto text = vector_at(buffer, position, 1);
  if (!text) return std::move(text).error();
  return as_text(text->bytes);
}

Result<std::uint32_t> follow_element(std::span<const std::byte> buffer, const FlatVector& vector, std::uint32_t index) {
  if (index >= vector.count) return fail(ErrorCode::NotFound, "element {} of a vector of {}", index, vector.count);
  return follow_at(buffer, vector.position + std::uint64_t{index} * 4);
}

}  // namespace

Result<FlatTable> FlatBuffer::root() const {
  WICK_TRY(const std::uint32_t position, follow_at(bytes_, 0));
  return FlatTable::at(bytes_, position);
}

Result<FlatTable> FlatTable::at(std::span<const std::byte> buffer, std::uint64_t position) {
  if (!lies_within(position, 4, buffer.size()) || position > std::numeric_limits<std::uint32_t>::max())
    return fail_at(ErrorCode::Malformed, position, "a table here lies beyond the {} bytes present", buffer.size());
  const std::int64_t back = load_le<std::int32_t>(&buffer[static_cast<std::size_t>(position)]);
  const std::int64_t vtable = static_cast<std::int64_t>(position) - back;
  if (vtable < 0 || vtable > std::numeric_limits<std::uint32_t>::max() ||
      !lies_within(static_cast<std::uint64_t>(vtable), 4, buffer.size()))
    return fail_at(ErrorCode::Malformed, position, "its vtable at {} lies outside the {} bytes present", vtable,
                   buffer.size());
  const auto vtable_at = static_cast<std::uint32_t>(vtable);
  const auto vtable_bytes = load_le<std::uint16_t>(&buffer[vtable_at]);
  const auto table_bytes = load_le<std::uint16_t>(&buffer[vtable_at + 2U]);
  if (vtable_bytes < 4 || !lies_within(vtable_at, vtable_bytes, buffer.size()))
    return fail_at(ErrorCode::Malformed, vtable_at, "a vtable of {} bytes, {} are left", vtable_bytes,
                   buffer.size() - vtable_at);
  if (table_bytes < 4 || !lies_within(position, table_bytes, buffer.size()))
    return fail_at(ErrorCode::Malformed, vtable_at + 2U, "a table of {} bytes, {} are left", table_bytes,
                   buffer.size() - position);
  return FlatTable(buffer, static_cast<std::uint32_t>(position), vtable_at, vtable_bytes, table_bytes);
}

Result<std::optional<std::uint32_t>> FlatTable::field_position(std::uint16_t slot, std::uint32_t size) const {
  if (slot < 4 || slot > vtable_bytes_ || vtable_bytes_ - slot < 2) return std::optional<std::uint32_t>();
  const auto within = load_le<std::uint16_t>(&buffer_[vtable_ + std::size_t{slot}]);
  if (within == 0) return std::optional<std::uint32_t>();
  if (within < 4 || !lies_within(within, size, table_bytes_))
    return fail_at(ErrorCode::Malformed, vtable_ + std::uint64_t{slot},
                   "a field of {} bytes at {} does not fit its table of {}", size, within, table_bytes_);
  return std::optional<std::uint32_t>(position_ + within);
}

Result<std::optional<std::uint32_t>> FlatTable::follow(std::uint16_t slot) const {
  WICK_TRY(const auto field, field_position(slot, 4));
  if (!field) return std::optional<std::uint32_t>();
  WICK_TRY(const std::uint32_t target, follow_at(buffer_, *field));
  return std::optional<std::uint32_t>(target);
}

Result<std::optional<FlatTable>> FlatTable::table(std::uint16_t slot) const {
  WICK_TRY(const auto target, follow(slot));
  if (!target) return std::optional<FlatTable>();
  WICK_TRY(FlatTable found, at(buffer_, *target));
  return std::optional<FlatTable>(found);
}

Result<std::optional<std::string_view>> FlatTable::string(std::uint16_t slot) const {
  WICK_TRY(const auto target, follow(slot));
  if (!target) return std::optional<std::string_view>();
  WICK_TRY(const std::string_view text, string_at(buffer_, *target));
  return std::optional<std::string_view>(text);
}

Result<std::optional<FlatVector>> FlatTable::vector(std::uint16_t slot, std::uint32_t stride) const {
  WICK_TRY(const auto target, follow(slot));
  if (!target) return std::optional<FlatVector>();
  WICK_TRY(const FlatVector found, vector_at(buffer_, *target, stride));
  return std::optional<FlatVector>(found);
}

Result<FlatTable> FlatTable::table_of(std::span<const std::byte> buffer, const FlatVector& vector,
                                      std::uint32_t index) {
  WICK_TRY(const std::uint32_t target, follow_element(buffer, vector, index));
  return at(buffer, target);
}

Result<std::string_view> FlatTable::string_of(std::span<const std::byte> buffer, const FlatVector& vector,
                                              std::uint32_t index) {
  WICK_TRY(const std::uint32_t target, follow_element(buffer, vector, index));
  return string_at(buffer, target);
}

Result<std::optional<std::span<const std::byte>>> FlatTable::structure(std::uint16_t slot, std::uint32_t size) const {
  WICK_TRY(const auto field, field_position(slot, 4));
  if (!field) return std::optional<std::span<const std::byte>>();
  const std::uint64_t target = std::uint64_t{*field} + load_le<std::uint32_t>(&buffer_[*field]);
  if (!lies_within(target, size, buffer_.size()))
    return fail_at(ErrorCode::Malformed, *field, "a struct of {} bytes at {} lies beyond the {} bytes present", size,
                   target, buffer_.size());
  return std::optional<std::span<const std::byte>>(buffer_.subspan(static_cast<std::size_t>(target), size));
}

}  // namespace wick::wire
