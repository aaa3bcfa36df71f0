// SPDX-License-Identifier: Apache-2.0
// Each handler reads its argument first and changes the machine after, so that an opcode whose bytes are not all there
// can be run again when they are. What is legal is what CPython's Modules/_pickle.c accepts; docs/formats/pickle.md.
#include "pickle/machine.h"

#include <algorithm>
#include <bit>

#include "base/cursor.h"
#include "base/try.h"
#include "pickle/lines.h"
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
  [[nodiscard]] std::uint64_t wanted() const { return wanted_ == 0 ? 0 : wanted_ - opcode_at_; }
  Pickle finish() { return std::move(pickle_); }

 private:
  Result<void> execute(std::uint8_t code);
  Result<void> check_budgets() const;
  [[nodiscard]] Error placed(const Error& error, std::uint8_t code) const;

#define WICK_OPCODE(code, name, handler, protocol, argument) Result<void> on_##handler();
#include "pickle/opcodes.def"
#undef WICK_OPCODE

  // ---- stack ----
  Result<void> push(Value value) {
    stack_.push_back(value);
    return {};
  }
  [[nodiscard]] std::size_t depth() const { return stack_.size() - fence_; }  // above the topmost mark
  [[nodiscard]] Error underflow(std::size_t needed) const;
  Value pop() {
    const Value top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Result<std::size_t> take_mark();  // where the items above the topmost mark begin; the mark is gone
  [[nodiscard]] std::span<const Value> from(std::size_t begin) const { return std::span(stack_).subspan(begin); }
  Result<void> push_tuple(std::size_t count);
  // Replaces the items above the topmost mark by what `make` makes of them.
  template <class Make>
  Result<void> push_marked(Make make);

  // ---- arguments ----
  template <class Length>
  Result<std::string_view> read_counted(std::string_view field);
  Result<std::string_view> read_line(std::string_view field);
  template <class Length>
  Result<void> push_text(Kind kind);
  Value make_text(Kind kind, std::string_view text);
  template <class Length>
  Result<void> push_long();
  Value make_integer(const IntLine& line);
  Result<std::uint32_t> read_slot();

  // ---- containers ----
  Result<void> grow(std::size_t begin, bool pairs, std::string_view opcode);
  Result<void> push_object(Made made, Value callable, Value args);
  Result<void> push_global(Value global);
  Result<void> push_extension(std::uint32_t code);
  Result<void> put(std::uint32_t slot);
  Result<void> get(std::uint64_t slot);

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
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::size_t fence_ = 0;  // the topmost mark: what lies below can not be popped
  Memo memo_;
  std::vector<bool> seen_globals_;
  Pickle pickle_;
};

// ---- running ----

Result<void> Machine::run(std::span<const std::byte> window, std::uint64_t base, std::uint64_t beyond,
                          const std::shared_ptr<const void>& owner) {
  cursor_ = Cursor(window, base);
  base_ = base;
  beyond_ = beyond;
  owner_ = owner;
  while (!stopped_) {
    opcode_at_ = cursor_.position();
    wanted_ = 0;
    if (++opcodes_ % kBudgetEvery == 0) [[unlikely]]
      WICK_CHECK(check_budgets());
    const auto code = cursor_.read_u8("opcode");
    if (!code) [[unlikely]]
      return fail_at(ErrorCode::Truncated, opcode_offset(), "the pickle ends after {} opcodes without STOP",
                     opcodes_ - 1);
    if (auto done = execute(*code); !done) [[unlikely]]
      return placed(done.error(), *code);
  }
  pickle_.end = cursor_.offset();
  return {};
}

Result<void> Machine::execute(std::uint8_t code) {
  switch (code) {
#define WICK_OPCODE(byte, name, handler, protocol, argument) \
  case byte:                                                 \
    return on_##handler();
#include "pickle/opcodes.def"
#undef WICK_OPCODE
    default: return fail(ErrorCode::Malformed, "byte 0x{:02x} is no pickle opcode", code);
  }
}

// An argument's own error tells where the argument lies; people look for the opcode.
Error Machine::placed(const Error& error, std::uint8_t code) const {
  const std::string_view name = facts_of_opcode(code).name;
  return fail_at(error.code(), opcode_offset(), "{}{}{}", name, name.empty() ? "" : ": ", error.message());
}

Result<void> Machine::check_budgets() const {
  if (opcodes_ > limits_.max_opcodes)
    return fail_at(ErrorCode::Limit, opcode_offset(), "the pickle has more than {} opcodes (--max-opcodes)",
                   limits_.max_opcodes);
  const std::uint64_t held = arena_.bytes_held() + memo_.bytes_held() + stack_.capacity() * sizeof(Value) +
                             marks_.capacity() * sizeof(std::size_t) +
                             pickle_.persistent_ids.capacity() * sizeof(Value);
  if (held <= limits_.max_memory) return {};
  return fail_at(ErrorCode::Limit, opcode_offset(), "the pickle's values need {} bytes, {} are allowed (--max-memory)",
                 held, limits_.max_memory);
}

// ---- stack ----

Error Machine::underflow(std::size_t needed) const {
  if (marks_.empty()) return fail(ErrorCode::Malformed, "the stack has {} values, {} are needed", depth(), needed);
  return fail(ErrorCode::Malformed, "{} values lie above the topmost mark, {} are needed", depth(), needed);
}

Result<std::size_t> Machine::take_mark() {
  if (marks_.empty()) [[unlikely]]
    return fail(ErrorCode::Malformed, "there is no mark on the stack");
  const std::size_t begin = marks_.back();
  marks_.pop_back();
  fence_ = marks_.empty() ? 0 : marks_.back();
  return begin;
}

template <class Make>
Result<void> Machine::push_marked(Make make) {
  WICK_TRY(const std::size_t begin, take_mark());
  const Value made = make(from(begin));
  stack_.resize(begin);
  return push(made);
}

Result<void> Machine::push_tuple(std::size_t count) {
  if (depth() < count) [[unlikely]]
    return underflow(count);
  const std::size_t begin = stack_.size() - count;
  const Value made = arena_.tuple(from(begin));
  stack_.resize(begin);
  return push(made);
}

Result<void> Machine::on_mark() {
  fence_ = stack_.size();
  marks_.push_back(fence_);
  return {};
}

Result<void> Machine::on_stop() {
  if (depth() < 1) return underflow(1);
  pickle_.root = pop();
  stopped_ = true;
  return {};
}

// A mark with nothing above it is what POP takes away.
Result<void> Machine::on_pop() {
  if (!marks_.empty() && depth() == 0) return on_pop_mark();
  if (depth() < 1) return underflow(1);
  stack_.pop_back();
  return {};
}

Result<void> Machine::on_pop_mark() {
  WICK_TRY(const std::size_t begin, take_mark());
  stack_.resize(begin);
  return {};
}

Result<void> Machine::on_dup() {
  if (depth() < 1) return underflow(1);
  return push(stack_.back());
}

// ---- arguments ----

template <class Length>
Result<std::string_view> Machine::read_counted(std::string_view field) {
  WICK_TRY(const Length length, cursor_.read_le<Length>("length"));
  if constexpr (std::is_signed_v<Length>)
    if (length < 0) [[unlikely]]
      return fail(ErrorCode::Malformed, "negative length {}", length);
  const auto count = static_cast<std::uint64_t>(length);
  if (count > cursor_.remaining()) [[unlikely]]
    wanted_ = count > ~std::uint64_t{0} - cursor_.position() ? ~std::uint64_t{0} : cursor_.position() + count;
  return cursor_.read_text(count, field);
}

Result<std::string_view> Machine::read_line(std::string_view field) {
  if (cursor_.remaining() <= kMaxLine) return cursor_.read_line(field);
  Cursor line = cursor_;
  auto text = line.read_line(field);
  if (!text || text->size() > kMaxLine)
    return fail(ErrorCode::Limit, "{} is longer than the {} bytes a line may have", field, kMaxLine);
  cursor_ = line;
  return text;
}

Value Machine::make_text(Kind kind, std::string_view text) {
  if (text.size() < kBorrowedFrom || !owner_) [[likely]]
    return arena_.text(kind, text);
  arena_.keep_alive(owner_);
  return arena_.borrowed_text(kind, text);
}

template <class Length>
Result<void> Machine::push_text(Kind kind) {
  WICK_TRY(const std::string_view text, read_counted<Length>("text"));
  return push(make_text(kind, text));
}

template <class Length>
Result<void> Machine::push_long() {
  WICK_TRY(const std::string_view bytes, read_counted<Length>("integer"));
  return push(arena_.big_integer(as_bytes_of(bytes)));
}

Value Machine::make_integer(const IntLine& line) {
  if (line.is_bool) return Arena::boolean(line.value != 0);
  return line.small ? arena_.integer(line.value) : arena_.big_integer(as_bytes_of(line.bytes));
}

Result<void> Machine::on_none() { return push(Arena::none()); }
Result<void> Machine::on_new_true() { return push(Arena::boolean(true)); }
Result<void> Machine::on_new_false() { return push(Arena::boolean(false)); }

Result<void> Machine::on_bin_int() {
  WICK_TRY(const std::int32_t number, cursor_.read_i32("number"));
  return push(arena_.integer(number));
}
Result<void> Machine::on_bin_int1() {
  WICK_TRY(const std::uint8_t number, cursor_.read_u8("number"));
  return push(arena_.integer(number));
}
Result<void> Machine::on_bin_int2() {
  WICK_TRY(const std::uint16_t number, cursor_.read_u16("number"));
  return push(arena_.integer(number));
}
Result<void> Machine::on_int_line() {
  WICK_TRY(const std::string_view line, read_line("number"));
  WICK_TRY(const IntLine number, parse_int_line(line));
  return push(make_integer(number));
}
Result<void> Machine::on_long_line() {
  WICK_TRY(const std::string_view line, read_line("number"));
  WICK_TRY(const IntLine number, parse_long_line(line));
  return push(make_integer(number));
}
Result<void> Machine::on_long1() { return push_long<std::uint8_t>(); }
Result<void> Machine::on_long4() { return push_long<std::int32_t>(); }

Result<void> Machine::on_float_line() {
  WICK_TRY(const std::string_view line, read_line("number"));
  WICK_TRY(const double number, parse_float_line(line));
  return push(arena_.real(number));
}
Result<void> Machine::on_bin_float() {
  WICK_TRY(const std::uint64_t swapped, cursor_.read_u64("number"));  // the one big-endian argument of pickle
  return push(arena_.real(std::bit_cast<double>(__builtin_bswap64(swapped))));
}

Result<void> Machine::on_string_line() {
  WICK_TRY(const std::string_view line, read_line("text"));
  WICK_TRY(const std::string text, parse_quoted_line(line));
  pickle_.python2 = true;
  return push(arena_.text(Kind::Py2Str, text));
}
Result<void> Machine::on_bin_string() {
  pickle_.python2 = true;
  return push_text<std::int32_t>(Kind::Py2Str);
}
Result<void> Machine::on_short_bin_string() {
  pickle_.python2 = true;
  return push_text<std::uint8_t>(Kind::Py2Str);
}
Result<void> Machine::on_unicode_line() {
  WICK_TRY(const std::string_view line, read_line("text"));
  WICK_TRY(const std::string text, parse_unicode_line(line));
  return push(arena_.text(Kind::Str, text));
}
// Not checked to be UTF-8: TorchScript writes std::strings with any bytes in them.
Result<void> Machine::on_bin_unicode() { return push_text<std::uint32_t>(Kind::Str); }
Result<void> Machine::on_short_bin_unicode() { return push_text<std::uint8_t>(Kind::Str); }
Result<void> Machine::on_bin_unicode8() { return push_text<std::uint64_t>(Kind::Str); }
Result<void> Machine::on_bin_bytes() { return push_text<std::uint32_t>(Kind::Bytes); }
Result<void> Machine::on_short_bin_bytes() { return push_text<std::uint8_t>(Kind::Bytes); }
Result<void> Machine::on_bin_bytes8() { return push_text<std::uint64_t>(Kind::Bytes); }
Result<void> Machine::on_byte_array8() { return push_text<std::uint64_t>(Kind::ByteArray); }

// ---- memo ----

Result<void> Machine::put(std::uint32_t slot) {
  if (depth() < 1) [[unlikely]]
    return underflow(1);
  if (slot > limits_.max_memo) [[unlikely]]
    return fail(ErrorCode::Limit, "memo slot {} is above {} (--max-memo)", slot, limits_.max_memo);
  memo_.put(slot, stack_.back());
  return {};
}

Result<void> Machine::get(std::uint64_t slot) {
  const Value value = slot > limits_.max_memo ? Value() : memo_.get(static_cast<std::uint32_t>(slot));
  if (value.missing()) [[unlikely]]
    return fail(ErrorCode::Malformed, "memo slot {} was never set", slot);
  return push(value);
}

Result<void> Machine::on_put() {
  WICK_TRY(const std::string_view line, read_line("memo slot"));
  WICK_TRY(const std::uint64_t slot, parse_slot_line(line));
  return put(static_cast<std::uint32_t>(std::min<std::uint64_t>(slot, 0xFFFFFFFFU)));
}
Result<void> Machine::on_bin_put() {
  WICK_TRY(const std::uint8_t slot, cursor_.read_u8("memo slot"));
  return put(slot);
}
Result<void> Machine::on_long_bin_put() {
  WICK_TRY(const std::uint32_t slot, cursor_.read_u32("memo slot"));
  return put(slot);
}
Result<void> Machine::on_memoize() { return put(memo_.count()); }
Result<void> Machine::on_get() {
  WICK_TRY(const std::string_view line, read_line("memo slot"));
  WICK_TRY(const std::uint64_t slot, parse_slot_line(line));
  return get(slot);
}
Result<void> Machine::on_bin_get() {
  WICK_TRY(const std::uint8_t slot, cursor_.read_u8("memo slot"));
  return get(slot);
}
Result<void> Machine::on_long_bin_get() {
  WICK_TRY(const std::uint32_t slot, cursor_.read_u32("memo slot"));
  return get(slot);
}

// ---- containers ----

Result<void> Machine::on_empty_tuple() { return push(arena_.tuple({})); }
Result<void> Machine::on_empty_list() { return push(arena_.list()); }
Result<void> Machine::on_empty_dict() { return push(arena_.dict()); }
Result<void> Machine::on_empty_set() { return push(arena_.set()); }
Result<void> Machine::on_tuple1() { return push_tuple(1); }
Result<void> Machine::on_tuple2() { return push_tuple(2); }
Result<void> Machine::on_tuple3() { return push_tuple(3); }
Result<void> Machine::on_tuple() {
  return push_marked([this](std::span<const Value> items) { return arena_.tuple(items); });
}
Result<void> Machine::on_frozenset() {
  return push_marked([this](std::span<const Value> items) { return arena_.frozenset(items); });
}
Result<void> Machine::on_list() {
  return push_marked([this](std::span<const Value> items) {
    const Value made = arena_.list();
    arena_.append(made, items);
    return made;
  });
}
Result<void> Machine::on_dict() {
  if (!marks_.empty() && depth() % 2 != 0) return fail(ErrorCode::Malformed, "a dict of {} keys and values", depth());
  return push_marked([this](std::span<const Value> pairs) {
    const Value made = arena_.dict();
    arena_.set_items(made, pairs);
    return made;
  });
}

// Gives the values from `begin` on to the container below them.
Result<void> Machine::grow(std::size_t begin, bool pairs, std::string_view what) {
  if (begin <= fence_) [[unlikely]]
    return fail(ErrorCode::Malformed, "there is nothing below the {} to take them", what);
  const std::span<const Value> added = from(begin);
  if (added.empty()) return {};
  const Value container = stack_[begin - 1];
  if (pairs && added.size() % 2 != 0) [[unlikely]]
    return fail(ErrorCode::Malformed, "{} keys and values, an odd number", added.size());
  if (is_frozen(container.kind()) || container.is(pairs ? Kind::Set : Kind::Dict)) [[unlikely]]
    return fail(ErrorCode::Malformed, "a {} takes no {}", name_of(container.kind()), what);
  // list[i] = x is Python all right, but no pickler writes it.
  if (pairs && container.is(Kind::List)) [[unlikely]]
    return fail(ErrorCode::Unsupported, "assigning to the items of a list by SETITEM is not done");
  if (pairs)
    arena_.set_items(container, added);
  else
    arena_.append(container, added);
  stack_.resize(begin);
  return {};
}

Result<void> Machine::on_append() {
  if (depth() < 1) [[unlikely]]
    return underflow(2);
  return grow(stack_.size() - 1, false, "items");
}
Result<void> Machine::on_appends() {
  WICK_TRY(const std::size_t begin, take_mark());
  return grow(begin, false, "items");
}
Result<void> Machine::on_add_items() { return on_appends(); }
Result<void> Machine::on_set_item() {
  if (depth() < 2) [[unlikely]]
    return underflow(3);
  return grow(stack_.size() - 2, true, "keys");
}
Result<void> Machine::on_set_items() {
  WICK_TRY(const std::size_t begin, take_mark());
  return grow(begin, true, "keys");
}

// ---- globals and objects: names, never looked up ----

Result<void> Machine::push_global(Value global) {
  const auto ordinal = static_cast<std::size_t>(global.index());
  if (ordinal >= seen_globals_.size()) seen_globals_.resize(ordinal + 1);
  if (!seen_globals_[ordinal]) {
    seen_globals_[ordinal] = true;
    pickle_.globals.push_back(global);
  }
  return push(global);
}

Result<void> Machine::on_global() {
  WICK_TRY(const std::string_view module, read_line("module"));
  WICK_TRY(const std::string_view name, read_line("name"));
  if (module.empty() || name.empty()) return fail(ErrorCode::Malformed, "the module or the name is empty");
  return push_global(arena_.global(module, name));
}

Result<void> Machine::on_stack_global() {
  if (depth() < 2) return underflow(2);
  const Value name = stack_.back();
  const Value module = stack_[stack_.size() - 2];
  if (!is_str(module) || !is_str(name))
    return fail(ErrorCode::Malformed, "a {} and a {} are no module and name", name_of(module.kind()),
                name_of(name.kind()));
  stack_.resize(stack_.size() - 2);
  return push_global(arena_.global(module, name));
}

Result<void> Machine::push_object(Made made, Value callable, Value args) {
  return push(arena_.object(made, callable, args));
}

// The arguments are a tuple, but for TorchScript's enums: a bare value.
Result<void> Machine::on_reduce() {
  if (depth() < 2) [[unlikely]]
    return underflow(2);
  const Value args = pop();
  return push_object(Made::Reduce, pop(), args);
}

Result<void> Machine::on_new_obj() {
  if (depth() < 2) return underflow(2);
  if (!stack_.back().is(Kind::Tuple))
    return fail(ErrorCode::Malformed, "the arguments are a {}, not a tuple", name_of(stack_.back().kind()));
  const Value args = pop();
  return push_object(Made::NewObj, pop(), args);
}

Result<void> Machine::on_new_obj_ex() {
  if (depth() < 3) return underflow(3);
  const Value kwargs = stack_.back();
  const Value args = stack_[stack_.size() - 2];
  if (!args.is(Kind::Tuple) || !kwargs.is(Kind::Dict))
    return fail(ErrorCode::Malformed, "the arguments are a {} and a {}, not a tuple and a dict", name_of(args.kind()),
                name_of(kwargs.kind()));
  stack_.resize(stack_.size() - 2);
  const Value object = arena_.object(Made::NewObjEx, pop(), args);
  arena_.set_kwargs(object, kwargs);
  return push(object);
}

Result<void> Machine::on_inst() {
  WICK_TRY(const std::string_view module, read_line("module"));
  WICK_TRY(const std::string_view name, read_line("name"));
  if (module.empty() || name.empty()) return fail(ErrorCode::Malformed, "the module or the name is empty");
  WICK_TRY(const std::size_t begin, take_mark());
  const Value args = arena_.tuple(from(begin));
  stack_.resize(begin);
  WICK_CHECK(push_global(arena_.global(module, name)));
  return push_object(Made::Inst, pop(), args);
}

Result<void> Machine::on_obj() {
  if (!marks_.empty() && depth() < 1) return fail(ErrorCode::Malformed, "no class lies above the mark");
  WICK_TRY(const std::size_t begin, take_mark());
  const Value args = arena_.tuple(from(begin + 1));
  stack_.resize(begin + 1);
  return push_object(Made::Obj, pop(), args);
}

Result<void> Machine::on_build() {
  if (depth() < 2) [[unlikely]]
    return underflow(2);
  const Value object = stack_[stack_.size() - 2];
  if (is_frozen(object.kind())) return fail(ErrorCode::Malformed, "a {} takes no state", name_of(object.kind()));
  arena_.add_state(object, pop());
  return {};
}

Result<void> Machine::on_persid() {
  WICK_TRY(const std::string_view line, read_line("persistent id"));
  const Value id = arena_.persistent_id(arena_.text(Kind::Str, line));
  pickle_.persistent_ids.push_back(id);
  return push(id);
}

Result<void> Machine::on_bin_persid() {
  if (depth() < 1) [[unlikely]]
    return underflow(1);
  const Value id = arena_.persistent_id(pop());
  pickle_.persistent_ids.push_back(id);
  return push(id);
}

Result<void> Machine::push_extension(std::uint32_t code) {
  if (code == 0 || code > 0x7FFFFFFFU) return fail(ErrorCode::Malformed, "extension code {} is not positive", code);
  return push(Arena::extension(code));
}
Result<void> Machine::on_ext1() {
  WICK_TRY(const std::uint8_t code, cursor_.read_u8("extension code"));
  return push_extension(code);
}
Result<void> Machine::on_ext2() {
  WICK_TRY(const std::uint16_t code, cursor_.read_u16("extension code"));
  return push_extension(code);
}
Result<void> Machine::on_ext4() {
  WICK_TRY(const std::uint32_t code, cursor_.read_u32("extension code"));
  return push_extension(code);
}

Result<void> Machine::on_next_buffer() { return push(Arena::buffer(buffers_++)); }
Result<void> Machine::on_readonly_buffer() {
  if (depth() < 1) return underflow(1);
  return {};
}

// ---- framing ----

Result<void> Machine::on_proto() {
  WICK_TRY(const std::uint8_t protocol, cursor_.read_u8("protocol"));
  if (protocol > kHighestProtocol)
    return fail(ErrorCode::Unsupported, "pickle protocol {} is newer than {}", protocol, kHighestProtocol);
  pickle_.protocol = protocol;
  return {};
}

// A frame only tells a reader how much to fetch at once; one that passes the end is an error in Python too.
Result<void> Machine::on_frame() {
  WICK_TRY(const std::uint64_t length, cursor_.read_u64("frame length"));
  if (length <= cursor_.remaining() || length - cursor_.remaining() <= beyond_) return {};
  wanted_ = ~std::uint64_t{0};
  return fail(ErrorCode::Truncated, "a frame of {} bytes, {} are left", length, cursor_.remaining() + beyond_);
}

}  // namespace

// ---- the two ways in ----

Result<Pickle> read_pickle(std::span<const std::byte> bytes, std::uint64_t base, Arena& arena, const Limits& limits,
                           const std::shared_ptr<const void>& owner) {
  Machine machine(arena, limits, base);
  WICK_CHECK(machine.run(bytes, base, 0, owner));
  return machine.finish();
}

namespace {

constexpr std::uint64_t kFirstWindow = 65536;

// A window is worth keeping alive for the texts in it only when they are most of it.
constexpr std::uint64_t kWorthKeeping = std::uint64_t{1} << 20;

}  // namespace

Result<Pickle> read_pickle_at(const ByteSource& source, std::uint64_t offset, Arena& arena, const Limits& limits) {
  Machine machine(arena, limits, offset);
  std::uint64_t at = offset;
  std::uint64_t length = kFirstWindow;
  while (true) {
    const std::uint64_t left = source.size() - std::min(source.size(), at);
    length = std::min(length, left);
    WICK_CHECK(check_memory(limits, length, "a piece of the pickle"));
    auto window = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(length));
    WICK_CHECK(source.read_at(at, *window));
    auto done = machine.run(*window, at, left - length, length >= kWorthKeeping ? window : nullptr);
    if (done) return machine.finish();
    const std::uint64_t rest = source.size() - std::min(source.size(), machine.opcode_offset());
    if (done.error().code() != ErrorCode::Truncated || length == left || machine.wanted() > rest)
      return std::move(done).error();
    // The next window begins at the opcode that was cut; it grows when this one could not even hold that.
    const bool stuck = machine.opcode_offset() == at;
    at = machine.opcode_offset();
    length = std::max(stuck ? length * 2 : length, machine.wanted() + kFirstWindow);
    if (length < kWorthKeeping) length *= 2;
  }
}

}  // namespace wick::pickle
