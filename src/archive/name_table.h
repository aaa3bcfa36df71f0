// SPDX-License-Identifier: Apache-2.0
// NameTable: names of a directory to their indices, by open addressing. Eight bytes a slot; names stay where they are.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/cursor.h"

namespace wick::archive {

enum class Case : std::uint8_t { Kept, Ignored };

// Lowers the ASCII capitals among eight bytes at once. A byte is one when its low seven bits are in 'A'..'Z' and its
// top bit is clear; adding to the seven bits sets the top bit at each bound without a carry into the neighbour.
constexpr std::uint64_t lower_eight(std::uint64_t word) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  const std::uint64_t low = word & (0x7F * kEach);
  const std::uint64_t from_a = low + (0x80 - 'A') * kEach;
  const std::uint64_t past_z = low + (0x7F - 'Z') * kEach;
  const std::uint64_t capital = (from_a ^ past_z) & ~word & (0x80 * kEach);
  return word | (capital >> 2U);
}

// Eight bytes of `text` from `at`, zeros behind its end.
inline std::uint64_t eight_at(std::string_view text, std::size_t at) {
  const auto bytes = as_bytes_of(text);
  if (text.size() - at >= 8) return load_le<std::uint64_t>(bytes.data() + at);
  std::uint64_t word = 0;
  for (std::size_t i = text.size(); i-- > at;) word = (word << 8U) | std::to_integer<std::uint64_t>(bytes[i]);
  return word;
}

inline bool has_capital(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at += 8)
    if (const std::uint64_t word = eight_at(text, at); lower_eight(word) != word) return true;
  return false;
}

class NameTable {
 public:
  // `seed` must be hard to foresee: a directory of a million names with one hash would take hours otherwise.
  NameTable(Case folding, std::uint64_t seed) : folding_(folding), seed_(seed | 1U) {}

  void reserve(std::size_t names) { slots_.assign(std::bit_ceil(names + names / 4 + 1), Slot{}); }

  // Adds a name, for at most as many as were reserved. When an equal one is there, the new index takes its place and
  // the old one is returned. `name_of(index)` gives the names that were added.
  template <class NameOf>
  std::optional<std::uint32_t> put(std::string_view name, std::uint32_t index, const NameOf& name_of) {
    const std::uint64_t code = hash(name);
    Slot& slot = slots_[seek(name, code, name_of)];
    const std::optional<std::uint32_t> old = slot.index == kEmpty ? std::nullopt : std::optional(slot.index);
    slot = {static_cast<std::uint32_t>(code >> 32U), index};
    return old;
  }

  template <class NameOf>
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name, const NameOf& name_of) const {
    if (slots_.empty()) return std::nullopt;
    const Slot& slot = slots_[seek(name, hash(name), name_of)];
    return slot.index == kEmpty ? std::nullopt : std::optional(slot.index);
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
  static constexpr std::uint64_t kNeighbours = 7;
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t index = kEmpty;
  };

  // The slot of the name, or the empty one where it belongs. Ends, because a quarter of the slots stays empty.
  template <class NameOf>
  [[nodiscard]] std::size_t seek(std::string_view name, std::uint64_t code, const NameOf& name_of) const {
    const auto tag = static_cast<std::uint32_t>(code >> 32U);
    std::size_t at = code & (slots_.size() - 1);
    while (slots_[at].index != kEmpty && (slots_[at].tag != tag || !equal(name_of(slots_[at].index), name)))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  [[nodiscard]] bool equal(std::string_view a, std::string_view b) const {
    if (folding_ == Case::Kept) return a == b;
    if (a.size() != b.size()) return false;
    for (std::size_t at = 0; at < a.size(); at += 8)
      if (lower_eight(eight_at(a, at)) != lower_eight(eight_at(b, at))) return false;
    return true;
  }

  // Names that differ only in their last letter (data/120 to data/129) get neighbouring slots: archives are filled and
  // asked in that order, and a large table costs a cache miss for every eight names instead of each one. Of the rest,
  // both halves of each product are folded together, and the multiplier holds the seed: no difference between two names
  // cancels for every seed.
  [[nodiscard]] std::uint64_t hash(std::string_view name) const {
    if (name.empty()) return seed_;
    const auto letter = static_cast<std::uint8_t>(name.back());
    const std::uint64_t last = folding_ == Case::Ignored ? lower_eight(letter) : letter;
    name.remove_suffix(1);
    std::uint64_t state = seed_ ^ name.size();
    for (std::size_t at = 0; at < name.size(); at += 8) {
      const std::uint64_t word = eight_at(name, at);
      state = mix(state ^ (folding_ == Case::Ignored ? lower_eight(word) : word), seed_ ^ 0x9E3779B97F4A7C15);
    }
    const std::uint64_t code = mix(state ^ 0xD6E8FEB86659FD93, seed_);
    return ((code & ~kNeighbours) | (last & kNeighbours)) ^ last << 32U;
  }

  [[nodiscard]] static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }

  Case folding_;
  std::uint64_t seed_;
  std::vector<Slot> slots_;
};

}  // namespace wick::archive
