// SPDX-License-Identifier: Apache-2.0
// When two keys of a dict are the same key: Python's rules of equality and hashing for what a pickle can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pickle/value.h"

namespace wick::pickle {

class Arena;

class DictKeys {
 public:
  explicit DictKeys(const Arena& arena) : arena_(arena) {}

  // Numbers by value (1 == 1.0 == True), str and bytes by content, tuples by items, the rest by identity.
  [[nodiscard]] bool equal(Value a, Value b);
  [[nodiscard]] std::uint64_t hash(Value key) const;

  // Key, value, key, value: an equal key keeps its first place and its last value. How many pairs went.
  std::size_t drop_duplicates(std::vector<Value>& pairs);

 private:
  [[nodiscard]] bool has_duplicates(const std::vector<Value>& pairs);
  // Where `key` is or belongs in table_; none when the steps are used up.
  [[nodiscard]] std::size_t slot_of(const std::vector<Value>& pairs, Value key);
  [[nodiscard]] bool equal_leaves(Value a, Value b);
  [[nodiscard]] bool equal_texts(Value a, Value b);
  [[nodiscard]] std::uint64_t hash_leaf(Value key) const;

  // Keys can be made whose hashes collide, and nested tuples that share their parts take for ever to compare. When the
  // steps are used up, what is not identical counts as unequal and its dict keeps both. Each pair adds to them.
  static constexpr std::int64_t kSteps = 20'000'000;
  static constexpr std::int64_t kStepsForPair = 32;
  static constexpr std::size_t kBytesOfStep = 256;  // of a text that is compared

  const Arena& arena_;
  std::int64_t steps_left_ = kSteps;
  std::vector<std::uint32_t> table_;  // open addressing: 1 + pair, or 0
};

}  // namespace wick::pickle
