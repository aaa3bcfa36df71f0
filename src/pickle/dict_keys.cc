// SPDX-License-Identifier: Apache-2.0
#include "pickle/dict_keys.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "pickle/arena.h"
#include "pickle/integers.h"

namespace wick::pickle {

namespace {

constexpr std::size_t kHashedLeaves = 64;  // of one tuple
constexpr std::size_t kFewPairs = 8;       // below this, comparing all with all is quicker than a table
constexpr std::size_t kNoSlot = ~std::size_t{0};
constexpr std::size_t kMaxPairs = std::size_t{1} << 30;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = (a ^ b) * 0x9E3779B97F4A7C15U;
  return sum ^ sum >> 29;
}

// Long texts count by their ends: a few bytes of a pickle can name one as a key a thousand times.
std::uint64_t hash_text(std::string_view text) {
  constexpr std::size_t kEnd = 128;
  if (text.size() <= 2 * kEnd) return std::hash<std::string_view>{}(text);
  const std::hash<std::string_view> hash;
  return mix(hash(text.substr(0, kEnd)) + text.size(), hash(text.substr(text.size() - kEnd)));
}

bool is_text(Kind kind) { return kind == Kind::Str || kind == Kind::Py2Str; }

// The number as int64 when it is one, whatever its type.
std::optional<std::int64_t> as_int64(const Arena& arena, Value value) {
  switch (value.kind()) {
    case Kind::Bool: return Arena::as_bool(value) ? 1 : 0;
    case Kind::Int: return Arena::as_int(value);
    case Kind::BigInt: {
      const std::string_view bytes = arena.as_text(value);
      if (bytes.size() > sizeof(std::int64_t)) return std::nullopt;
      return int64_from_twos_complement(bytes);
    }
    case Kind::Float: {
      const double number = arena.as_real(value);
      // 2^63 is the first double above int64; -2^63 is one.
      if (!(number >= -0x1p63 && number < 0x1p63) || std::trunc(number) != number) return std::nullopt;
      return static_cast<std::int64_t>(number);
    }
    default: return std::nullopt;
  }
}

bool is_number(Kind kind) {
  return kind == Kind::Bool || kind == Kind::Int || kind == Kind::BigInt || kind == Kind::Float;
}

}  // namespace

bool DictKeys::equal_texts(Value a, Value b) {
  const std::string_view left = arena_.as_text(a);
  const std::string_view right = arena_.as_text(b);
  if (left.size() != right.size()) return false;
  steps_left_ -= static_cast<std::int64_t>(left.size() / kBytesOfStep);
  return left == right;
}

bool DictKeys::equal_leaves(Value a, Value b) {
  if (a == b) return true;
  if (is_text(a.kind()) && is_text(b.kind())) return equal_texts(a, b);
  if (a.is(Kind::Bytes) && b.is(Kind::Bytes)) return equal_texts(a, b);
  if (!is_number(a.kind()) || !is_number(b.kind())) return false;
  const auto left = as_int64(arena_, a);
  const auto right = as_int64(arena_, b);
  if (left || right) return left == right;
  if (a.is(Kind::Float) && b.is(Kind::Float)) return arena_.as_real(a) == arena_.as_real(b);
  return a.is(Kind::BigInt) && b.is(Kind::BigInt) && equal_texts(a, b);
}

bool DictKeys::equal(Value a, Value b) {
  if (a == b) return true;
  if (--steps_left_ < 0) return false;
  if (!a.is(Kind::Tuple) || !b.is(Kind::Tuple)) return equal_leaves(a, b);
  std::vector<std::pair<Value, Value>> open{{a, b}};
  while (!open.empty()) {
    if (--steps_left_ < 0) return false;
    const auto [left, right] = open.back();
    open.pop_back();
    if (left == right) continue;
    if (!left.is(Kind::Tuple) || !right.is(Kind::Tuple)) {
      if (!equal_leaves(left, right)) return false;
      continue;
    }
    const auto left_items = arena_.items(left);
    const auto right_items = arena_.items(right);
    if (left_items.size() != right_items.size()) return false;
    if (static_cast<std::int64_t>(left_items.size()) > steps_left_) return false;
    for (std::size_t i = 0; i < left_items.size(); ++i) open.emplace_back(left_items[i], right_items[i]);
  }
  return true;
}

std::uint64_t DictKeys::hash_leaf(Value key) const {
  if (is_text(key.kind()) || key.is(Kind::Bytes)) return hash_text(arena_.as_text(key));
  if (const auto number = as_int64(arena_, key)) return mix(static_cast<std::uint64_t>(*number), 1);
  if (key.is(Kind::BigInt)) return hash_text(arena_.as_text(key));
  if (key.is(Kind::Float)) return mix(std::bit_cast<std::uint64_t>(arena_.as_real(key)), 2);
  return mix(key.bits(), 3);
}

std::uint64_t DictKeys::hash(Value key) const {
  if (!key.is(Kind::Tuple)) return hash_leaf(key);
  std::uint64_t sum = 0;
  std::vector<Value> open{key};
  for (std::size_t leaves = 0; !open.empty() && leaves < kHashedLeaves; ++leaves) {
    const Value value = open.back();
    open.pop_back();
    if (!value.is(Kind::Tuple)) {
      sum = mix(sum, hash_leaf(value));
      continue;
    }
    const auto items = arena_.items(value);
    sum = mix(sum, items.size());
    for (const Value item : items.first(std::min(items.size(), kHashedLeaves))) open.push_back(item);
  }
  return sum;
}

bool DictKeys::has_duplicates(const std::vector<Value>& pairs) {
  const std::size_t count = pairs.size() / 2;
  for (std::size_t i = 1; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (equal(pairs[2 * i], pairs[2 * j])) return true;
  return false;
}

std::size_t DictKeys::slot_of(const std::vector<Value>& pairs, Value key) {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t slot = hash(key) & mask; steps_left_ >= 0; slot = (slot + 1) & mask)
    if (table_[slot] == 0 || equal(pairs[2 * (table_[slot] - 1)], key)) return slot;
  return kNoSlot;
}

std::size_t DictKeys::drop_duplicates(std::vector<Value>& pairs) {
  const std::size_t count = pairs.size() / 2;
  if (count < 2 || count > kMaxPairs) return 0;
  steps_left_ += kStepsForPair * static_cast<std::int64_t>(count);
  if (count <= kFewPairs && !has_duplicates(pairs)) return 0;
  const std::size_t size = std::bit_ceil(count * 2);
  table_.assign(size, 0);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Value key = pairs[2 * i];
    const std::size_t slot = slot_of(pairs, key);
    if (slot != kNoSlot && table_[slot] != 0) {
      pairs[2 * (table_[slot] - 1) + 1] = pairs[2 * i + 1];
      continue;
    }
    pairs[2 * kept] = key;
    pairs[2 * kept + 1] = pairs[2 * i + 1];
    ++kept;
    if (slot != kNoSlot) table_[slot] = static_cast<std::uint32_t>(kept);
  }
  pairs.resize(2 * kept);
  return count - kept;
}

}  // namespace wick::pickle
