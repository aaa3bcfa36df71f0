// SPDX-License-Identifier: Apache-2.0
// Value: the 8-byte name of anything a pickle made. It means something only together with the Arena that owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace wick::pickle {

enum class Kind : std::uint8_t {
  Missing,  // no value: an absent field
  None,
  Bool,
  Int,     // fits 59 bits, held in the Value itself
  BigInt,  // any size, two's complement little-endian
  Float,
  Str,     // UTF-8 as the pickle has it, lone surrogates as CPython's surrogatepass writes them
  Py2Str,  // STRING, BINSTRING, SHORT_BINSTRING: bytes that Python 2 called str
  Bytes,
  ByteArray,
  Tuple,
  List,
  Dict,
  Set,
  FrozenSet,
  Global,        // module and name, looked up by nobody
  Object,        // REDUCE, NEWOBJ, NEWOBJ_EX, OBJ or INST of something: inert, see Arena::object
  PersistentId,  // PERSID, BINPERSID
  Extension,     // EXT1, EXT2, EXT4: a copyreg code
  Buffer,        // NEXT_BUFFER: out-of-band bytes that are not in the file
  Leaf,          // a thing of a format that has no pickle (a safetensors tensor): an ordinal
};

class Value {
 public:
  constexpr Value() = default;
  constexpr Value(Kind kind, std::uint64_t index) : bits_(static_cast<std::uint64_t>(kind) | index << kTagBits) {}

  [[nodiscard]] constexpr Kind kind() const { return static_cast<Kind>(bits_ & kTagMask); }
  // Where the arena keeps it; an ordinal for Object, Leaf, List, Dict, Set; the number itself for Bool and Extension.
  [[nodiscard]] constexpr std::uint64_t index() const { return bits_ >> kTagBits; }
  [[nodiscard]] constexpr bool missing() const { return bits_ == 0; }
  [[nodiscard]] constexpr bool is(Kind kind) const { return this->kind() == kind; }
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }

  // Identity: the same object, not an equal one.
  friend constexpr bool operator==(Value a, Value b) = default;

  static constexpr int kTagBits = 5;
  static constexpr std::uint64_t kTagMask = (1U << kTagBits) - 1;
  static constexpr std::int64_t kMaxInt = (std::int64_t{1} << 58) - 1;
  static constexpr std::int64_t kMinInt = -(std::int64_t{1} << 58);

 private:
  std::uint64_t bits_ = 0;
};

static_assert(sizeof(Value) == 8);

}  // namespace wick::pickle

template <>
struct std::hash<wick::pickle::Value> {
  std::size_t operator()(wick::pickle::Value value) const noexcept {
    return std::hash<std::uint64_t>{}(value.bits() * 0x9E3779B97F4A7C15U);
  }
};
