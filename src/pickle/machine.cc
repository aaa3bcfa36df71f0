// SPDX-License-Identifier: Apache-2.0
// Each handler reads its argument first and changes the machine after, so that an opcode whose bytes are not all there
// can be run again when they are. What is legal is what CPython's Modules/_pickle.c accepts; docs/formats/pickle.md.
#include "pickle/machine.h"

#include <algorithm>
#include <bit>

#include "base/cursor.h"
#include "base/try.h"
#include "pickle/machine_state.h"

namespace wick::pickle {

namespace {

// ---- running ----

Result<void> Machine::run(std::span<const std::byte> window, std::uint64_t base, std::uint64_t beyond,
                          const std::shared_ptr<const void>& owner) {
  cursor_ = Cursor(window, base);
  base_ = base;
  beyond_ = beyond;
  owner_ = owner;
  wanted_ = 0;
  while (!stopped_) {
    opcode_at_ = cursor_.position();
    if (++opcodes_ % kBudgetEvery == 0) [[unlikely]]
      WICK_CHECK(check_budgets());
    std::uint8_t code = 0;
    if (!cursor_.take_le(code)) [[unlikely]]
      return fail_at(ErrorCode::Truncated, opcode_offset(), "the pickle ends after {} opcodes without STOP",
                     opcodes_ - 1);
    if (!execute(code)) [[unlikely]]
      return placed(code);
  }
  pickle_.end = cursor_.offset();
  return {};
}

bool Machine::execute(std::uint8_t code) {
  switch (code) {
#define WICK_OPCODE(byte, name, handler, protocol, argument) \
  case byte:                                                 \
    return on_##handler();
#include "pickle/opcodes.def"
#undef WICK_OPCODE
    default: return refuse(ErrorCode::Malformed, "byte 0x{:02x} is no pickle opcode", code);
  }
}

// People look for the opcode, so its offset and name go with what a handler said.
Error Machine::placed(std::uint8_t code) const {
  const std::string_view name = facts_of_opcode(code).name;
  return fail_at(error_->code(), opcode_offset(), "{}{}{}", name, name.empty() ? "" : ": ", error_->message());
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

bool Machine::on_mark() {
  fence_ = stack_.size();
  marks_.push_back(fence_);
  return true;
}

bool Machine::on_stop() {
  if (depth() < 1) return underflow(1);
  pickle_.root = pop();
  stopped_ = true;
  return true;
}

// A mark with nothing above it is what POP takes away.
bool Machine::on_pop() {
  if (!marks_.empty() && depth() == 0) return on_pop_mark();
  if (depth() < 1) return underflow(1);
  stack_.pop_back();
  return true;
}

bool Machine::on_pop_mark() {
  std::size_t begin = 0;
  if (!take_mark(begin)) return false;
  stack_.resize(begin);
  return true;
}

bool Machine::on_dup() {
  if (depth() < 1) return underflow(1);
  return push(stack_.back());
}

// ---- values ----

bool Machine::on_none() { return push(Arena::none()); }
bool Machine::on_new_true() { return push(Arena::boolean(true)); }
bool Machine::on_new_false() { return push(Arena::boolean(false)); }

bool Machine::on_bin_int() {
  std::int32_t number = 0;
  if (!read(number, "number")) return false;
  return push(arena_.integer(number));
}
bool Machine::on_bin_int1() {
  std::uint8_t number = 0;
  if (!read(number, "number")) return false;
  return push(arena_.integer(number));
}
bool Machine::on_bin_int2() {
  std::uint16_t number = 0;
  if (!read(number, "number")) return false;
  return push(arena_.integer(number));
}
bool Machine::on_int_line() {
  std::string_view line;
  if (!read_line(line, "number")) return false;
  const auto number = parse_int_line(line);
  if (!number) return refuse(number.error());
  return push(make_integer(*number));
}
bool Machine::on_long_line() {
  std::string_view line;
  if (!read_line(line, "number")) return false;
  const auto number = parse_long_line(line);
  if (!number) return refuse(number.error());
  return push(make_integer(*number));
}
bool Machine::on_long1() { return push_long<std::uint8_t>(); }
bool Machine::on_long4() { return push_long<std::int32_t>(); }

bool Machine::on_float_line() {
  std::string_view line;
  if (!read_line(line, "number")) return false;
  const auto number = parse_float_line(line);
  if (!number) return refuse(number.error());
  return push(arena_.real(*number));
}
bool Machine::on_bin_float() {
  std::uint64_t swapped = 0;
  if (!read(swapped, "number")) return false;  // the one big-endian argument of pickle
  return push(arena_.real(std::bit_cast<double>(__builtin_bswap64(swapped))));
}

bool Machine::on_string_line() {
  std::string_view line;
  if (!read_line(line, "text")) return false;
  const auto text = parse_quoted_line(line);
  if (!text) return refuse(text.error());
  pickle_.python2 = true;
  return push(arena_.text(Kind::Py2Str, *text));
}
bool Machine::on_bin_string() {
  pickle_.python2 = true;
  return push_text<std::int32_t>(Kind::Py2Str);
}
bool Machine::on_short_bin_string() {
  pickle_.python2 = true;
  return push_text<std::uint8_t>(Kind::Py2Str);
}
bool Machine::on_unicode_line() {
  std::string_view line;
  if (!read_line(line, "text")) return false;
  const auto text = parse_unicode_line(line);
  if (!text) return refuse(text.error());
  return push(arena_.text(Kind::Str, *text));
}
// Not checked to be UTF-8: TorchScript writes std::strings with any bytes in them.
bool Machine::on_bin_unicode() { return push_text<std::uint32_t>(Kind::Str); }
bool Machine::on_short_bin_unicode() { return push_text<std::uint8_t>(Kind::Str); }
bool Machine::on_bin_unicode8() { return push_text<std::uint64_t>(Kind::Str); }
bool Machine::on_bin_bytes() { return push_text<std::uint32_t>(Kind::Bytes); }
bool Machine::on_short_bin_bytes() { return push_text<std::uint8_t>(Kind::Bytes); }
bool Machine::on_bin_bytes8() { return push_text<std::uint64_t>(Kind::Bytes); }
bool Machine::on_byte_array8() { return push_text<std::uint64_t>(Kind::ByteArray); }

// ---- memo ----

bool Machine::put(std::uint32_t slot) {
  if (depth() < 1) [[unlikely]]
    return underflow(1);
  if (slot > limits_.max_memo) [[unlikely]]
    return refuse(ErrorCode::Limit, "memo slot {} is above {} (--max-memo)", slot, limits_.max_memo);
  memo_.put(slot, stack_.back());
  return true;
}

bool Machine::get(std::uint64_t slot) {
  const Value value = slot > limits_.max_memo ? Value() : memo_.get(static_cast<std::uint32_t>(slot));
  if (value.missing()) [[unlikely]]
    return refuse(ErrorCode::Malformed, "memo slot {} was never set", slot);
  return push(value);
}

bool Machine::on_put() {
  std::string_view line;
  if (!read_line(line, "memo slot")) return false;
  const auto slot = parse_slot_line(line);
  if (!slot) return refuse(slot.error());
  return put(static_cast<std::uint32_t>(std::min<std::uint64_t>(*slot, 0xFFFFFFFFU)));
}
bool Machine::on_bin_put() {
  std::uint8_t slot = 0;
  if (!read(slot, "memo slot")) return false;
  return put(slot);
}
bool Machine::on_long_bin_put() {
  std::uint32_t slot = 0;
  if (!read(slot, "memo slot")) return false;
  return put(slot);
}
bool Machine::on_memoize() { return put(memo_.count()); }
bool Machine::on_get() {
  std::string_view line;
  if (!read_line(line, "memo slot")) return false;
  const auto slot = parse_slot_line(line);
  if (!slot) return refuse(slot.error());
  return get(*slot);
}
bool Machine::on_bin_get() {
  std::uint8_t slot = 0;
  if (!read(slot, "memo slot")) return false;
  return get(slot);
}
bool Machine::on_long_bin_get() {
  std::uint32_t slot = 0;
  if (!read(slot, "memo slot")) return false;
  return get(slot);
}

// ---- containers ----

bool Machine::on_empty_tuple() { return push(arena_.tuple({})); }
bool Machine::on_empty_list() { return push(arena_.list()); }
bool Machine::on_empty_dict() { return push(arena_.dict()); }
bool Machine::on_empty_set() { return push(arena_.set()); }
bool Machine::on_tuple1() { return push_tuple(1); }
bool Machine::on_tuple2() { return push_tuple(2); }
bool Machine::on_tuple3() { return push_tuple(3); }
bool Machine::on_tuple() {
  return push_marked([this](std::span<const Value> items) { return arena_.tuple(items); });
}
bool Machine::on_frozenset() {
  return push_marked([this](std::span<const Value> items) { return arena_.frozenset(items); });
}
bool Machine::on_list() {
  return push_marked([this](std::span<const Value> items) {
    const Value made = arena_.list();
    arena_.append(made, items);
    return made;
  });
}
bool Machine::on_dict() {
  if (!marks_.empty() && depth() % 2 != 0) return refuse(ErrorCode::Malformed, "a dict of {} keys and values", depth());
  return push_marked([this](std::span<const Value> pairs) {
    const Value made = arena_.dict();
    arena_.set_items(made, pairs);
    return made;
  });
}

// Gives the values from `begin` on to the container below them.
bool Machine::grow(std::size_t begin, bool pairs, std::string_view what) {
  if (begin <= fence_) [[unlikely]]
    return refuse(ErrorCode::Malformed, "there is nothing below the {} to take them", what);
  const std::span<const Value> added = from(begin);
  if (added.empty()) return true;
  const Value container = stack_[begin - 1];
  if (pairs && added.size() % 2 != 0) [[unlikely]]
    return refuse(ErrorCode::Malformed, "{} keys and values, an odd number", added.size());
  if (is_frozen(container.kind()) || container.is(pairs ? Kind::Set : Kind::Dict)) [[unlikely]]
    return refuse(ErrorCode::Malformed, "a {} takes no {}", name_of(container.kind()), what);
  // list[i] = x is Python all right, but no pickler writes it.
  if (pairs && container.is(Kind::List)) [[unlikely]]
    return refuse(ErrorCode::Unsupported, "assigning to the items of a list by SETITEM is not done");
  if (pairs)
    arena_.set_items(container, added);
  else
    arena_.append(container, added);
  stack_.resize(begin);
  return true;
}

bool Machine::on_append() {
  if (depth() < 1) [[unlikely]]
    return underflow(2);
  return grow(stack_.size() - 1, false, "items");
}
bool Machine::on_appends() {
  std::size_t begin = 0;
  if (!take_mark(begin)) return false;
  return grow(begin, false, "items");
}
bool Machine::on_add_items() { return on_appends(); }
bool Machine::on_set_item() {
  if (depth() < 2) [[unlikely]]
    return underflow(3);
  return grow(stack_.size() - 2, true, "keys");
}
bool Machine::on_set_items() {
  std::size_t begin = 0;
  if (!take_mark(begin)) return false;
  return grow(begin, true, "keys");
}

// ---- globals and objects: names, never looked up ----

bool Machine::push_global(Value global) {
  const auto ordinal = static_cast<std::size_t>(global.index());
  if (ordinal >= seen_globals_.size()) seen_globals_.resize(ordinal + 1);
  if (!seen_globals_[ordinal]) {
    seen_globals_[ordinal] = true;
    pickle_.globals.push_back(global);
  }
  return push(global);
}

bool Machine::on_global() {
  std::string_view module;
  if (!read_line(module, "module")) return false;
  std::string_view name;
  if (!read_line(name, "name")) return false;
  if (module.empty() || name.empty()) return refuse(ErrorCode::Malformed, "the module or the name is empty");
  return push_global(arena_.global(module, name));
}

bool Machine::on_stack_global() {
  if (depth() < 2) return underflow(2);
  const Value name = stack_.back();
  const Value module = stack_[stack_.size() - 2];
  if (!is_str(module) || !is_str(name))
    return refuse(ErrorCode::Malformed, "a {} and a {} are no module and name", name_of(module.kind()),
                  name_of(name.kind()));
  stack_.resize(stack_.size() - 2);
  return push_global(arena_.global(module, name));
}

bool Machine::push_object(Made made, Value callable, Value args) { return push(arena_.object(made, callable, args)); }

// The arguments are a tuple, but for TorchScript's enums: a bare value.
bool Machine::on_reduce() {
  if (depth() < 2) [[unlikely]]
    return underflow(2);
  const Value args = pop();
  return push_object(Made::Reduce, pop(), args);
}

bool Machine::on_new_obj() {
  if (depth() < 2) return underflow(2);
  if (!stack_.back().is(Kind::Tuple))
    return refuse(ErrorCode::Malformed, "the arguments are a {}, not a tuple", name_of(stack_.back().kind()));
  const Value args = pop();
  return push_object(Made::NewObj, pop(), args);
}

bool Machine::on_new_obj_ex() {
  if (depth() < 3) return underflow(3);
  const Value kwargs = stack_.back();
  const Value args = stack_[stack_.size() - 2];
  if (!args.is(Kind::Tuple) || !kwargs.is(Kind::Dict))
    return refuse(ErrorCode::Malformed, "the arguments are a {} and a {}, not a tuple and a dict", name_of(args.kind()),
                  name_of(kwargs.kind()));
  stack_.resize(stack_.size() - 2);
  const Value object = arena_.object(Made::NewObjEx, pop(), args);
  arena_.set_kwargs(object, kwargs);
  return push(object);
}

bool Machine::on_inst() {
  std::string_view module;
  if (!read_line(module, "module")) return false;
  std::string_view name;
  if (!read_line(name, "name")) return false;
  if (module.empty() || name.empty()) return refuse(ErrorCode::Malformed, "the module or the name is empty");
  std::size_t begin = 0;
  if (!take_mark(begin)) return false;
  const Value args = arena_.tuple(from(begin));
  stack_.resize(begin);
  if (!push_global(arena_.global(module, name))) return false;
  return push_object(Made::Inst, pop(), args);
}

bool Machine::on_obj() {
  if (!marks_.empty() && depth() < 1) return refuse(ErrorCode::Malformed, "no class lies above the mark");
  std::size_t begin = 0;
  if (!take_mark(begin)) return false;
  const Value args = arena_.tuple(from(begin + 1));
  stack_.resize(begin + 1);
  return push_object(Made::Obj, pop(), args);
}

bool Machine::on_build() {
  if (depth() < 2) [[unlikely]]
    return underflow(2);
  const Value object = stack_[stack_.size() - 2];
  if (is_frozen(object.kind())) return refuse(ErrorCode::Malformed, "a {} takes no state", name_of(object.kind()));
  arena_.add_state(object, pop());
  return true;
}

bool Machine::on_persid() {
  std::string_view line;
  if (!read_line(line, "persistent id")) return false;
  const Value id = arena_.persistent_id(arena_.text(Kind::Str, line));
  pickle_.persistent_ids.push_back(id);
  return push(id);
}

bool Machine::on_bin_persid() {
  if (depth() < 1) [[unlikely]]
    return underflow(1);
  const Value id = arena_.persistent_id(pop());
  pickle_.persistent_ids.push_back(id);
  return push(id);
}

bool Machine::push_extension(std::uint32_t code) {
  if (code == 0 || code > 0x7FFFFFFFU) return refuse(ErrorCode::Malformed, "extension code {} is not positive", code);
  return push(Arena::extension(code));
}
bool Machine::on_ext1() {
  std::uint8_t code = 0;
  if (!read(code, "extension code")) return false;
  return push_extension(code);
}
bool Machine::on_ext2() {
  std::uint16_t code = 0;
  if (!read(code, "extension code")) return false;
  return push_extension(code);
}
bool Machine::on_ext4() {
  std::uint32_t code = 0;
  if (!read(code, "extension code")) return false;
  return push_extension(code);
}

bool Machine::on_next_buffer() { return push(Arena::buffer(buffers_++)); }
bool Machine::on_readonly_buffer() {
  if (depth() < 1) return underflow(1);
  return true;
}

// ---- framing ----

bool Machine::on_proto() {
  std::uint8_t protocol = 0;
  if (!read(protocol, "protocol")) return false;
  if (protocol > kHighestProtocol)
    return refuse(ErrorCode::Unsupported, "pickle protocol {} is newer than {}", protocol, kHighestProtocol);
  pickle_.protocol = protocol;
  return true;
}

// A frame only tells a reader how much to fetch at once; one that passes the end is an error in Python too.
bool Machine::on_frame() {
  std::uint64_t length = 0;
  if (!read(length, "frame length")) return false;
  if (length <= cursor_.remaining() || length - cursor_.remaining() <= beyond_) return true;
  wanted_ = ~std::uint64_t{0};
  return refuse(ErrorCode::Truncated, "a frame of {} bytes, {} are left", length, cursor_.remaining() + beyond_);
}

#undef WICK_HOT

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
