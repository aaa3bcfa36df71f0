// SPDX-License-Identifier: Apache-2.0
// The state of the pickle machine, its stack and how arguments are read. Part of machine.cc, which holds a handler for
// each opcode: one translation unit, so that the handlers are inlined into the loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/cursor.h"
#include "base/try.h"
#include "pickle/lines.h"
#include "pickle/machine.h"
#include "pickle/memo.h"
#include "pickle/opcodes.h"

namespace wick::pickle {

namespace {

constexpr std::size_t kBorrowedFrom = 4096;  // bytes of a text that is worth not copying
constexpr std::uint64_t kMaxLine = std::uint64_t{64} << 20;
constexpr std::uint64_t kBudgetEvery = 256;  // opcodes between two looks at the budgets
constexpr int kHighestProtocol = 5;

std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[] = {"nothing",   "None",   "bool",      "int",       "int",    "float",
                                         "str",       "str",    "bytes",     "bytearray", "tuple",  "list",
                                         "dict",      "set",    "frozenset", "global",    "object", "persistent id",
                                         "extension", "buffer", "leaf"};
  return kNames[static_cast<std::size_t>(kind)];
}

// What BUILD, APPEND and SETITEM can never change in Python: numbers, text, tuples.
bool is_frozen(Kind kind) {
  switch (kind) {
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
    case Kind::Global:
    case Kind::Object:
    case Kind::PersistentId:
    case Kind::Extension:
    case Kind::Buffer: return false;
    default: return true;
  }
}

bool is_str(Value value) { return value.is(Kind::Str) || value.is(Kind::Py2Str); }

// The compiler finds these too many to inline by itself; the calls cost half of the machine's time.
#define WICK_HOT [[gnu::always_inline]] inline

// A vector of Values whose push is inlined everywhere.
class Stack {
 public:
  WICK_HOT void push_back(Value value) {
    if (size_ == values_.size()) [[unlikely]]
      grow();
    values_[size_++] = value;
  }
  void pop_back() { --size_; }
  void resize(std::size_t size) { size_ = size; }  // only ever downwards
  [[nodiscard]] Value back() const { return values_[size_ - 1]; }
  Value operator[](std::size_t at) const { return values_[at]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return values_.size(); }
  [[nodiscard]] std::span<const Value> from(std::size_t begin) const {
    return std::span(values_).subspan(begin, size_ - begin);
  }

 private:
  [[gnu::cold]] void grow() { values_.resize(std::max<std::size_t>(1024, 2 * size_)); }

  std::vector<Value> values_;
  std::size_t size_ = 0;
};

class Machine {
 public:
  Machine(Arena& arena, const Limits& limits, std::uint64_t begin) : arena_(arena), limits_(limits) {
    pickle_.begin = begin;
  }

  // Runs over `window`, which lies at absolute offset `base` and has `beyond` more bytes after it in the source. Ends
  // at STOP or with an error. After Truncated it can be run again on a window that begins at opcode_offset().
  Result<void> run(std::span<const std::byte> window, std::uint64_t base, std::uint64_t beyond,
                   const std::shared_ptr<const void>& owner);

  [[nodiscard]] std::uint64_t opcode_offset() const { return base_ + opcode_at_; }
  // Bytes from the opcode on that it asked for in vain; 0 when it is a line, whose length nobody knows.
  [[nodiscard]] std::uint64_t wanted() const { return wanted_; }
  Pickle finish() { return std::move(pickle_); }

 private:
  WICK_HOT bool execute(std::uint8_t code);
  Result<void> check_budgets() const;
  [[nodiscard]] Error placed(std::uint8_t code) const;

#define WICK_OPCODE(code, name, handler, protocol, argument) WICK_HOT bool on_##handler();
#include "pickle/opcodes.def"
#undef WICK_OPCODE

  // A handler answers whether it could; if not, it has said why. (A Result for each of a thousand million opcodes
  // took twice the time.)
  template <class... Args>
  [[gnu::cold, gnu::noinline]] bool refuse(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
    return refuse(fail(code, text, std::forward<Args>(args)...));
  }
  [[gnu::cold, gnu::noinline]] bool refuse(const Error& error) {
    error_ = error;
    return false;
  }

  // ---- stack ----
  WICK_HOT bool push(Value value) {
    stack_.push_back(value);
    return true;
  }
  [[nodiscard]] std::size_t depth() const { return stack_.size() - fence_; }  // above the topmost mark
  [[gnu::cold, gnu::noinline]] bool underflow(std::size_t needed);
  Value pop() {
    const Value top = stack_.back();
    stack_.pop_back();
    return top;
  }
  bool take_mark(std::size_t& begin);  // where the items above the topmost mark begin; the mark is gone
  [[nodiscard]] std::span<const Value> from(std::size_t begin) const { return stack_.from(begin); }
  bool push_tuple(std::size_t count);
  // Replaces the items above the topmost mark by what `make` makes of them.
  template <class Make>
  bool push_marked(Make make);

  // ---- arguments ----
  template <class Number>
  WICK_HOT bool read(Number& number, std::string_view field) {
    return cursor_.take_le(number) || cut(field, sizeof(Number));
  }
  [[gnu::cold, gnu::noinline]] bool cut(std::string_view field, std::uint64_t needed);
  template <class Length>
  bool read_counted(std::string_view& text, std::string_view field);
  bool read_line(std::string_view& line, std::string_view field);
  template <class Length>
  bool push_text(Kind kind);
  Value make_text(Kind kind, std::string_view text);
  template <class Length>
  bool push_long();
  Value make_integer(const IntLine& line);

  // ---- containers ----
  bool grow(std::size_t begin, bool pairs, std::string_view opcode);
  bool push_object(Made made, Value callable, Value args);
  bool push_global(Value global);
  bool push_extension(std::uint32_t code);
  WICK_HOT bool put(std::uint32_t slot);
  WICK_HOT bool get(std::uint64_t slot);

  Arena& arena_;
  const Limits& limits_;
  Cursor cursor_{{}};
  std::uint64_t base_ = 0;
  std::uint64_t beyond_ = 0;
  std::shared_ptr<const void> owner_;
  std::size_t opcode_at_ = 0;
  std::uint64_t wanted_ = 0;
  std::uint64_t opcodes_ = 0;
  std::uint64_t buffers_ = 0;
  bool stopped_ = false;
  std::optional<Error> error_;  // of the handler that refused
  Stack stack_;
  std::vector<std::size_t> marks_;
  std::size_t fence_ = 0;  // the topmost mark: what lies below can not be popped
  Memo memo_;
  std::vector<bool> seen_globals_;
  Pickle pickle_;
};

// ---- stack ----

bool Machine::underflow(std::size_t needed) {
  if (marks_.empty()) return refuse(ErrorCode::Malformed, "the stack has {} values, {} are needed", depth(), needed);
  return refuse(ErrorCode::Malformed, "{} values lie above the topmost mark, {} are needed", depth(), needed);
}

bool Machine::take_mark(std::size_t& begin) {
  if (marks_.empty()) [[unlikely]]
    return refuse(ErrorCode::Malformed, "there is no mark on the stack");
  begin = marks_.back();
  marks_.pop_back();
  fence_ = marks_.empty() ? 0 : marks_.back();
  return true;
}

template <class Make>
bool Machine::push_marked(Make make) {
  std::size_t begin = 0;
  if (!take_mark(begin)) return false;
  const Value made = make(from(begin));
  stack_.resize(begin);
  return push(made);
}

bool Machine::push_tuple(std::size_t count) {
  if (depth() < count) [[unlikely]]
    return underflow(count);
  const std::size_t begin = stack_.size() - count;
  const Value made = arena_.tuple(from(begin));
  stack_.resize(begin);
  return push(made);
}

// ---- arguments ----

template <class Length>
bool Machine::read_counted(std::string_view& text, std::string_view field) {
  Length length = 0;
  if (!read(length, "length")) return false;
  if constexpr (std::is_signed_v<Length>)
    if (length < 0) [[unlikely]]
      return refuse(ErrorCode::Malformed, "negative length {}", length);
  const auto count = static_cast<std::uint64_t>(length);
  return cursor_.take_text(count, text) || cut(field, count);
}

bool Machine::cut(std::string_view field, std::uint64_t needed) {
  const std::uint64_t before = cursor_.position() - opcode_at_;
  wanted_ = needed > ~std::uint64_t{0} - before ? ~std::uint64_t{0} : before + needed;
  return refuse(ErrorCode::Truncated, "{} needs {} bytes, {} are left", field, needed, cursor_.remaining() + beyond_);
}

bool Machine::read_line(std::string_view& line, std::string_view field) {
  auto found = cursor_.read_line(field);
  if (found && found->size() <= kMaxLine) {
    line = *found;
    return true;
  }
  if (cursor_.remaining() > kMaxLine || found)
    return refuse(ErrorCode::Limit, "{} is longer than the {} bytes a line may have", field, kMaxLine);
  wanted_ = 0;
  return refuse(found.error());
}

Value Machine::make_text(Kind kind, std::string_view text) {
  if (text.size() < kBorrowedFrom || !owner_) [[likely]]
    return arena_.text(kind, text);
  arena_.keep_alive(owner_);
  return arena_.borrowed_text(kind, text);
}

template <class Length>
bool Machine::push_text(Kind kind) {
  std::string_view text;
  if (!read_counted<Length>(text, "text")) return false;
  return push(make_text(kind, text));
}

template <class Length>
bool Machine::push_long() {
  std::string_view bytes;
  if (!read_counted<Length>(bytes, "integer")) return false;
  return push(arena_.big_integer(as_bytes_of(bytes)));
}

Value Machine::make_integer(const IntLine& line) {
  if (line.is_bool) return Arena::boolean(line.value != 0);
  return line.small ? arena_.integer(line.value) : arena_.big_integer(as_bytes_of(line.bytes));
}

}  // namespace

}  // namespace wick::pickle
