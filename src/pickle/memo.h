// SPDX-License-Identifier: Apache-2.0
// The pickle machine's memo: slots named by any 32-bit number, usually 0, 1, 2 ...
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "pickle/value.h"

namespace wick::pickle {

class Memo {
 public:
  // The value of a slot, Missing when it was never set.
  [[nodiscard]] Value get(std::uint32_t slot) const {
    const std::size_t page = slot / kPageSlots;
    if (page < pages_.size() && pages_[page]) [[likely]] {
      const Value value = pages_[page][slot % kPageSlots];
      if (!value.missing()) return value;
    }
    return get_sparse(slot);
  }

  // Overwriting is legal: Python does the same.
  void put(std::uint32_t slot, Value value) {
    const std::size_t page = slot / kPageSlots;
    if (page < pages_.size() && pages_[page]) [[likely]]
      put_in_page(slot, value);
    else
      put_slow(slot, value);
  }

  // Distinct slots that are set: where MEMOIZE puts next.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint64_t bytes_held() const { return bytes_; }

 private:
  // Small: a plain pickle of tensors holds a hundred thousand little pickles, each with a memo of its own.
  static constexpr std::size_t kPageSlots = 256;

  [[nodiscard]] Value get_sparse(std::uint32_t slot) const {
    if (sparse_.empty()) [[likely]]
      return {};
    const auto found = sparse_.find(slot);
    return found == sparse_.end() ? Value() : found->second;
  }

  void put_in_page(std::uint32_t slot, Value value) {
    Value& place = pages_[slot / kPageSlots][slot % kPageSlots];
    if (place.missing() && get_sparse(slot).missing()) ++count_;
    place = value;
  }

  void put_slow(std::uint32_t slot, Value value) {
    // Pages only where the slots are dense: a stream that sets every 256th slot must not get 2 KiB for 5 bytes.
    if (slot / 4 <= count_ + kPageSlots) {
      const std::size_t page = slot / kPageSlots;
      if (page >= pages_.size()) pages_.resize(page + 1);
      pages_[page] = std::make_unique<Value[]>(kPageSlots);
      bytes_ += kPageSlots * sizeof(Value);
      put_in_page(slot, value);
      return;
    }
    if (sparse_.insert_or_assign(slot, value).second) {
      ++count_;
      bytes_ += kNodeBytes;
    }
  }

  static constexpr std::uint64_t kNodeBytes = 48;  // about what one costs in the map

  std::vector<std::unique_ptr<Value[]>> pages_;
  std::map<std::uint32_t, Value> sparse_;  // ordered: no chain of collisions can be made
  std::uint32_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace wick::pickle
