// SPDX-License-Identifier: Apache-2.0
// Chunked heaps under the Arena. What is put in never moves and is freed as a whole; chunks are added, never doubled,
// so the peak is what is held.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "pickle/value.h"

namespace wick::pickle {

// An index is chunk << kOffsetBits | offset. What is larger than a quarter of a chunk gets a chunk of its own.
inline constexpr int kOffsetBits = 16;
inline constexpr std::uint64_t kOffsetMask = (1U << kOffsetBits) - 1;

// Runs of Values.
class WordHeap {
 public:
  // One run: a word that tells its length, then the values. The index of that first word.
  std::uint64_t put_run(std::span<const Value> values) {
    std::uint64_t index = 0;
    Value* at = room_for(values.size() + 1, index);
    *at = Value(Kind::Missing, values.size());
    for (const Value value : values) *++at = value;
    return index;
  }
  std::uint64_t put_word(Value word) {
    std::uint64_t index = 0;
    *room_for(1, index) = word;
    return index;
  }
  [[nodiscard]] std::span<const Value> run(std::uint64_t index) const {
    const Value* start = at(index);
    return {start + 1, static_cast<std::size_t>(start->index())};
  }
  [[nodiscard]] Value word(std::uint64_t index) const { return *at(index); }
  [[nodiscard]] std::uint64_t bytes_held() const { return bytes_; }

 private:
  static constexpr std::size_t kChunkWords = 8192;
  static_assert(kChunkWords <= kOffsetMask);

  // Memory for Values that is not touched before it is used.
  struct Free {
    std::size_t words;
    void operator()(Value* start) const { std::allocator<Value>().deallocate(start, words); }
  };
  using Chunk = std::unique_ptr<Value, Free>;

  [[nodiscard]] const Value* at(std::uint64_t index) const {
    return chunks_[static_cast<std::size_t>(index >> kOffsetBits)].get() + (index & kOffsetMask);
  }

  // Room for `words`, and the index of the first.
  Value* room_for(std::size_t words, std::uint64_t& index) {
    if (words > kChunkWords - used_) [[unlikely]] {
      const bool alone = words > kChunkWords / 4;
      const std::size_t size = alone ? words : kChunkWords;
      chunks_.push_back(Chunk(std::allocator<Value>().allocate(size), Free{size}));
      bytes_ += size * sizeof(Value);
      if (alone) {
        index = (chunks_.size() - 1) << kOffsetBits;
        return chunks_.back().get();
      }
      current_ = chunks_.size() - 1;
      start_ = chunks_.back().get();
      used_ = 0;
    }
    index = current_ << kOffsetBits | used_;
    Value* at = start_ + used_;
    used_ += words;
    return at;
  }

  std::vector<Chunk> chunks_;
  Value* start_ = nullptr;          // of the chunk that is being filled
  std::size_t used_ = kChunkWords;  // of its words
  std::uint64_t current_ = 0;       // its number
  std::uint64_t bytes_ = 0;
};

// Byte strings, each as a varint length and its bytes.
class TextHeap {
 public:
  std::uint64_t put(std::string_view bytes) {
    char* at = room_for(bytes.size() + kMaxVarint);
    const std::uint64_t index =
        last_chunk_ << kOffsetBits | static_cast<std::uint64_t>(at - starts_[last_chunk_].get());
    char* end = write_length(at, bytes.size());
    if (!bytes.empty()) std::memcpy(end, bytes.data(), bytes.size());
    if (last_chunk_ == current_) free_ = end + bytes.size();
    return index;
  }
  [[nodiscard]] std::string_view get(std::uint64_t index) const {
    const char* at = starts_[static_cast<std::size_t>(index >> kOffsetBits)].get() + (index & kOffsetMask);
    std::uint64_t length = 0;
    int shift = 0;
    while (true) {
      const auto byte = static_cast<unsigned char>(*at++);
      length |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return {at, static_cast<std::size_t>(length)};
      shift += 7;
    }
  }
  [[nodiscard]] std::uint64_t bytes_held() const { return bytes_; }

 private:
  static constexpr std::size_t kChunkBytes = 65536;
  static constexpr std::size_t kMaxVarint = 10;

  static char* write_length(char* at, std::uint64_t length) {
    for (; length >= 0x80; length >>= 7) *at++ = static_cast<char>(length | 0x80U);
    *at++ = static_cast<char>(length);
    return at;
  }

  // Sets last_chunk_ to the chunk that holds what is returned.
  char* room_for(std::size_t bytes) {
    last_chunk_ = current_;
    if (bytes <= static_cast<std::size_t>(limit_ - free_)) [[likely]]
      return free_;
    const bool alone = bytes > kChunkBytes / 4;
    const std::size_t size = alone ? bytes : kChunkBytes;
    starts_.push_back(std::make_unique_for_overwrite<char[]>(size));
    bytes_ += size;
    last_chunk_ = starts_.size() - 1;
    char* start = starts_.back().get();
    if (alone) return start;
    current_ = last_chunk_;
    free_ = start;
    limit_ = start + size;
    return start;
  }

  std::vector<std::unique_ptr<char[]>> starts_;
  std::uint64_t current_ = ~std::uint64_t{0};
  std::uint64_t last_chunk_ = 0;
  char* free_ = nullptr;
  char* limit_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace wick::pickle
