// SPDX-License-Identifier: Apache-2.0
// Arena: owns every value of one file. Values are named by index, so sharing and cycles cost nothing, nothing is cloned
// on a memo get, and freeing recurses into nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pickle/value.h"

namespace wick::pickle {

// How an object came to be; a writer gives back the same form.
enum class Made : std::uint8_t { Reduce, NewObj, NewObjEx, Obj, Inst };

// One inert object: class or function `callable` applied to `args`, then whatever the pickle added to it.
struct Object {
  Value callable;           // usually a Global; may be any value
  Value args;               // a Tuple; for TorchScript enums the bare value
  std::uint32_t extra = 0;  // 1 + index into the arena's Extra rows, or 0
  Made made = Made::Reduce;
};

// What few objects have: keyword arguments, states, items.
struct Extra {
  Value kwargs;               // Dict of NEWOBJ_EX
  std::vector<Value> states;  // one for each BUILD, in order
  std::vector<Value> items;   // APPEND, APPENDS, ADDITEMS
  std::vector<Value> pairs;   // SETITEM, SETITEMS: key, value, key, value
};

class Arena {
 public:
  Arena();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;
  ~Arena();

  // ---- making ----
  static Value none() { return {Kind::None, 0}; }
  static Value boolean(bool value) { return {Kind::Bool, value ? 1U : 0U}; }
  Value integer(std::int64_t value);
  Value big_integer(std::span<const std::byte> twos_complement);  // becomes Int when it fits
  Value real(double value);
  Value text(Kind kind, std::string_view bytes);  // Str, Py2Str, Bytes, ByteArray: copies the bytes
  // The same without a copy: `bytes` lie in a buffer that keep_alive() was told of.
  Value borrowed_text(Kind kind, std::string_view bytes);
  void keep_alive(std::shared_ptr<const void> buffer);
  Value tuple(std::span<const Value> items);
  Value list();
  Value dict();
  Value set();
  Value frozenset(std::span<const Value> items);
  // Interned: the same module and name give the same Value.
  Value global(Value module, Value name);
  Value global(std::string_view module, std::string_view name);
  Value object(Made made, Value callable, Value args);
  Value persistent_id(Value pid);
  static Value extension(std::uint32_t code) { return {Kind::Extension, code}; }
  static Value buffer(std::uint64_t ordinal) { return {Kind::Buffer, ordinal}; }
  static Value leaf(std::uint64_t ordinal) { return {Kind::Leaf, ordinal}; }

  // ---- growing (List, Set: items; Dict: pairs; Object and whatever else a pickle builds on: both, states, kwargs)
  // ----
  void append(Value container, std::span<const Value> items);
  void set_items(Value container, std::span<const Value> pairs);  // key, value, key, value
  void add_state(Value object, Value state);
  void set_kwargs(Value object, Value kwargs);

  // ---- looking ----
  static bool as_bool(Value value) { return value.index() != 0; }
  static std::int64_t as_int(Value value) { return static_cast<std::int64_t>(value.bits()) >> Value::kTagBits; }
  [[nodiscard]] double as_real(Value value) const;
  // The bytes of Str, Py2Str, Bytes, ByteArray, or BigInt (two's complement little-endian). Valid while the arena
  // lives.
  [[nodiscard]] std::string_view as_text(Value value) const;
  // Tuple, List, Set, FrozenSet: items. Dict: key, value, key, value in the pickle's order, duplicates included until
  // drop_duplicate_keys(). Object: its appended items. Valid until that container grows.
  [[nodiscard]] std::span<const Value> items(Value value) const;
  // Dict and Object: key, value, key, value.
  [[nodiscard]] std::span<const Value> pairs(Value value) const;
  [[nodiscard]] const Object& object(Value value) const;
  [[nodiscard]] const Extra* extra(Value object) const;  // nullptr when it has none
  [[nodiscard]] Value state(Value object) const;         // the last BUILD, or Missing
  [[nodiscard]] Value module(Value global) const;
  [[nodiscard]] Value name(Value global) const;
  [[nodiscard]] Value pid(Value persistent_id) const;

  // Objects in the order they were made: what an object's arguments name was made before it.
  [[nodiscard]] std::size_t object_count() const;
  static Value object_at(std::size_t ordinal) { return {Kind::Object, ordinal}; }

  // Value of the last pair of `dict` whose key is Str (or Py2Str) `key`; Missing when none. Dict or Object pairs.
  [[nodiscard]] Value find(Value dict, std::string_view key) const;
  [[nodiscard]] bool is_global(Value value, std::string_view module, std::string_view name) const;
  // Str or Py2Str whose bytes are `text`.
  [[nodiscard]] bool is_text(Value value, std::string_view text) const;

  // Python's dict rule, applied once when all pickles are read: a key keeps its first place and its last value. Keys
  // are equal as in Python (1 == 1.0 == True; strings by content; tuples by items). Returns how many pairs went.
  std::size_t drop_duplicate_keys();

  // Keeps alive what as_text() shows, whatever becomes of the Arena: for storages whose bytes lie in a pickle.
  [[nodiscard]] std::shared_ptr<const void> owner() const { return state_; }

  // Whether `bytes` more may be copied to give meanings: a few bytes of a pickle can name a shared list a thousand
  // times, so copies together stay below a few times what the pickles themselves made. What may is counted.
  [[nodiscard]] bool may_copy(std::uint64_t bytes);

  // Bytes the arena holds, for limits.
  [[nodiscard]] std::uint64_t bytes_held() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace wick::pickle
