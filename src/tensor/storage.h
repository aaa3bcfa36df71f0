// SPDX-License-Identifier: Apache-2.0
// Storage: the bytes behind tensors, read by range and never materialised before someone asks. What streams, merges,
// loads remotely and converts all stand on this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "io/source.h"
#include "wick/limits.h"

namespace wick::tensor {

// Immutable; every const call is safe from several threads.
class Storage : public std::enable_shared_from_this<Storage> {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Fills `into` from byte `offset`; Truncated when the range is not inside.
  [[nodiscard]] virtual Result<void> read(std::uint64_t offset, std::span<std::byte> into) const = 0;
  // The bytes without a copy, or the reason why that can not be had (code Unsupported: "deflated", "not in memory"
  // ...).
  [[nodiscard]] virtual Result<ByteView> view(std::uint64_t offset, std::uint64_t length) const;
  // False when every read makes all bytes anew (an inflated record): then one read of everything beats many small ones.
  [[nodiscard]] virtual bool ranges_are_cheap() const { return true; }
};

using StoragePtr = std::shared_ptr<const Storage>;

// A range of a source.
Result<StoragePtr> range_storage(io::SourcePtr source, std::uint64_t offset, std::uint64_t length);
// Bytes that were made in memory.
StoragePtr owned_storage(std::vector<std::byte> bytes);

// `length` bytes of `from` beginning at `from_offset` become bytes [at, at+length) of the whole.
struct Piece {
  StoragePtr from;
  std::uint64_t from_offset = 0;
  std::uint64_t at = 0;
  std::uint64_t length = 0;
};
// Pieces of several storages in one (shards, ZeRO). They must tile [0, size) without gap or overlap: Malformed
// otherwise, with the numbers.
Result<StoragePtr> pieces_storage(std::vector<Piece> pieces, std::uint64_t size);

// Bytes computed from elsewhere when they are read (a cast, a dequantization, an inflated record, chunks of a grid).
// `produce` makes all `size` bytes and is called anew by every read; `why_no_view` is the reason view() gives
// ("deflated").
StoragePtr derived_storage(std::uint64_t size, std::string_view why_no_view,
                           std::function<Result<std::vector<std::byte>>()> produce);

// `inner` with the order of the bytes in every group of `component` turned (2, 4, 8); a component of 0 or 1 gives
// `inner` itself.
StoragePtr swapped_storage(StoragePtr inner, std::uint32_t component);

}  // namespace wick::tensor
