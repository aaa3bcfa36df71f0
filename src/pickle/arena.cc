// SPDX-License-Identifier: Apache-2.0
#include "pickle/arena.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "pickle/dict_keys.h"
#include "pickle/heap.h"
#include "pickle/integers.h"

namespace wick::pickle {

namespace {

constexpr std::size_t kObjectsInChunk = 2048;

// A double lives in the word heap as its bits.
Value word_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return {static_cast<Kind>(bits & Value::kTagMask), bits >> Value::kTagBits};
}

// Texts are owned (heap index << 1) or borrowed (ordinal << 1 | 1).
constexpr std::uint64_t kBorrowed = 1;

struct GlobalRow {
  Value module;
  Value name;
};

}  // namespace

struct Arena::State {
  WordHeap words;
  TextHeap texts;
  std::vector<std::string_view> borrowed;
  std::vector<std::shared_ptr<const void>> kept;
  std::vector<std::vector<Object>> objects;  // chunks of kObjectsInChunk, reserved once
  std::size_t object_count = 0;
  std::deque<std::vector<Value>> lists;  // List, Set
  std::deque<std::vector<Value>> dicts;
  std::deque<Extra> extras;
  // States, items and pairs that a pickle gives to what is no Object (a global, a persistent id): rare.
  std::unordered_map<std::uint64_t, std::uint32_t> strangers;
  std::vector<GlobalRow> globals;
  std::unordered_map<std::string, std::uint64_t> global_index;
  Value empty_tuple;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> global_of;  // by module and name as Values
  std::uint64_t copied = 0;                                                    // see may_copy
  std::uint64_t grown = 0;  // bytes of vectors and rows outside the two heaps

  Object& row(Value object) {
    const auto ordinal = static_cast<std::size_t>(object.index());
    return objects[ordinal / kObjectsInChunk][ordinal % kObjectsInChunk];
  }

  Extra& extra_of(Value value) {
    if (value.is(Kind::Object)) {
      Object& object = row(value);
      if (object.extra == 0) object.extra = add_extra();
      return extras[object.extra - 1];
    }
    std::uint32_t& slot = strangers[value.bits()];
    if (slot == 0) {
      slot = add_extra();
      grown += 64;  // about what a node of the map takes
    }
    return extras[slot - 1];
  }

  const Extra* find_extra(Value value) {
    if (value.is(Kind::Object)) {
      const std::uint32_t extra = row(value).extra;
      return extra == 0 ? nullptr : &extras[extra - 1];
    }
    if (strangers.empty()) return nullptr;
    const auto found = strangers.find(value.bits());
    return found == strangers.end() ? nullptr : &extras[found->second - 1];
  }

  void push_all(std::vector<Value>& into, std::span<const Value> values) {
    const std::size_t before = into.capacity();
    into.insert(into.end(), values.begin(), values.end());
    grown += (into.capacity() - before) * sizeof(Value);
  }

 private:
  std::uint32_t add_extra() {
    extras.emplace_back();
    grown += sizeof(Extra);
    return static_cast<std::uint32_t>(extras.size());
  }
};

Arena::Arena() : state_(std::make_shared<State>()) {}
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;
Arena::~Arena() = default;

// ---- making ----

Value Arena::integer(std::int64_t value) {
  if (value >= Value::kMinInt && value <= Value::kMaxInt) [[likely]]
    return {Kind::Int, static_cast<std::uint64_t>(value)};
  return text(Kind::BigInt, twos_complement_of(value));
}

Value Arena::big_integer(std::span<const std::byte> twos_complement) {
  const std::string_view minimal = minimal_twos_complement(twos_complement);
  if (minimal.size() <= sizeof(std::int64_t)) return integer(int64_from_twos_complement(minimal));
  return text(Kind::BigInt, minimal);
}

Value Arena::real(double value) { return {Kind::Float, state_->words.put_word(word_of(value))}; }

Value Arena::text(Kind kind, std::string_view bytes) { return {kind, state_->texts.put(bytes) << 1}; }

Value Arena::borrowed_text(Kind kind, std::string_view bytes) {
  state_->borrowed.push_back(bytes);
  state_->grown += sizeof(std::string_view) + bytes.size();  // the buffer is held because of it
  return {kind, (state_->borrowed.size() - 1) << 1 | kBorrowed};
}

void Arena::keep_alive(std::shared_ptr<const void> buffer) {
  if (!state_->kept.empty() && state_->kept.back() == buffer) return;
  state_->kept.push_back(std::move(buffer));
}

Value Arena::tuple(std::span<const Value> items) {
  if (!items.empty()) return {Kind::Tuple, state_->words.put_run(items)};
  if (state_->empty_tuple.missing()) state_->empty_tuple = {Kind::Tuple, state_->words.put_run({})};
  return state_->empty_tuple;
}

Value Arena::list() {
  state_->lists.emplace_back();
  state_->grown += sizeof(std::vector<Value>);
  return {Kind::List, state_->lists.size() - 1};
}

Value Arena::set() { return {Kind::Set, list().index()}; }

Value Arena::dict() {
  state_->dicts.emplace_back();
  state_->grown += sizeof(std::vector<Value>);
  return {Kind::Dict, state_->dicts.size() - 1};
}

Value Arena::frozenset(std::span<const Value> items) { return {Kind::FrozenSet, state_->words.put_run(items)}; }

namespace {

// The length first, so that no module and name can be mistaken for another pair.
std::string global_key(std::string_view module, std::string_view name) {
  return std::to_string(module.size()).append(1, ' ').append(module).append(name);
}

}  // namespace

Value Arena::global(Value module, Value name) {
  // Five bytes of STACK_GLOBAL can name texts of many megabytes: those are looked at once.
  const std::pair<std::uint64_t, std::uint64_t> values{module.bits(), name.bits()};
  const auto known = state_->global_of.find(values);
  if (known != state_->global_of.end()) return {Kind::Global, known->second};
  const auto [place, added] =
      state_->global_index.try_emplace(global_key(as_text(module), as_text(name)), state_->globals.size());
  if (added) {
    state_->globals.push_back({module, name});
    state_->grown += place->first.capacity() + sizeof(GlobalRow) + 64;
  }
  state_->global_of.emplace(values, place->second);
  state_->grown += 64;  // about what a node of the map takes
  return {Kind::Global, place->second};
}

Value Arena::global(std::string_view module, std::string_view name) {
  const auto known = state_->global_index.find(global_key(module, name));
  if (known != state_->global_index.end()) return {Kind::Global, known->second};
  const Value module_text = text(Kind::Str, module);
  return global(module_text, text(Kind::Str, name));
}

Value Arena::object(Made made, Value callable, Value args) {
  State& state = *state_;
  if (state.object_count % kObjectsInChunk == 0) [[unlikely]] {
    state.objects.emplace_back().reserve(kObjectsInChunk);
    state.grown += kObjectsInChunk * sizeof(Object);
  }
  state.objects.back().push_back({callable, args, 0, made});
  return {Kind::Object, state.object_count++};
}

Value Arena::persistent_id(Value pid) { return {Kind::PersistentId, state_->words.put_word(pid)}; }

// ---- growing ----

void Arena::append(Value container, std::span<const Value> items) {
  if (container.is(Kind::List) || container.is(Kind::Set))
    state_->push_all(state_->lists[static_cast<std::size_t>(container.index())], items);
  else
    state_->push_all(state_->extra_of(container).items, items);
}

void Arena::set_items(Value container, std::span<const Value> pairs) {
  if (container.is(Kind::Dict))
    state_->push_all(state_->dicts[static_cast<std::size_t>(container.index())], pairs);
  else
    state_->push_all(state_->extra_of(container).pairs, pairs);
}

void Arena::add_state(Value object, Value state) { state_->push_all(state_->extra_of(object).states, {&state, 1}); }

void Arena::set_kwargs(Value object, Value kwargs) { state_->extra_of(object).kwargs = kwargs; }

// ---- looking ----

double Arena::as_real(Value value) const { return std::bit_cast<double>(state_->words.word(value.index()).bits()); }

std::string_view Arena::as_text(Value value) const {
  const std::uint64_t index = value.index();
  if ((index & kBorrowed) != 0) return state_->borrowed[static_cast<std::size_t>(index >> 1)];
  return state_->texts.get(index >> 1);
}

std::span<const Value> Arena::items(Value value) const {
  switch (value.kind()) {
    case Kind::Tuple:
    case Kind::FrozenSet: return state_->words.run(value.index());
    case Kind::List:
    case Kind::Set: return state_->lists[static_cast<std::size_t>(value.index())];
    case Kind::Dict: return state_->dicts[static_cast<std::size_t>(value.index())];
    default: break;
  }
  const Extra* extra = state_->find_extra(value);
  return extra == nullptr ? std::span<const Value>() : extra->items;
}

std::span<const Value> Arena::pairs(Value value) const {
  if (value.is(Kind::Dict)) return state_->dicts[static_cast<std::size_t>(value.index())];
  const Extra* extra = state_->find_extra(value);
  return extra == nullptr ? std::span<const Value>() : extra->pairs;
}

const Object& Arena::object(Value value) const { return state_->row(value); }

const Extra* Arena::extra(Value object) const { return state_->find_extra(object); }

Value Arena::state(Value object) const {
  const Extra* extra = state_->find_extra(object);
  return extra == nullptr || extra->states.empty() ? Value() : extra->states.back();
}

Value Arena::module(Value global) const { return state_->globals[static_cast<std::size_t>(global.index())].module; }
Value Arena::name(Value global) const { return state_->globals[static_cast<std::size_t>(global.index())].name; }
Value Arena::pid(Value persistent_id) const { return state_->words.word(persistent_id.index()); }
std::size_t Arena::object_count() const { return state_->object_count; }

Value Arena::find(Value dict, std::string_view key) const {
  const std::span<const Value> all = pairs(dict);
  for (std::size_t i = all.size() / 2; i-- > 0;)
    if (is_text(all[2 * i], key)) return all[2 * i + 1];
  return {};
}

bool Arena::is_global(Value value, std::string_view module, std::string_view name) const {
  return value.is(Kind::Global) && as_text(this->name(value)) == name && as_text(this->module(value)) == module;
}

bool Arena::is_text(Value value, std::string_view text) const {
  return (value.is(Kind::Str) || value.is(Kind::Py2Str)) && as_text(value) == text;
}

std::size_t Arena::drop_duplicate_keys() {
  DictKeys keys(*this);
  std::size_t dropped = 0;
  for (auto& pairs : state_->dicts) dropped += keys.drop_duplicates(pairs);
  for (auto& extra : state_->extras) dropped += keys.drop_duplicates(extra.pairs);
  return dropped;
}

bool Arena::may_copy(std::uint64_t bytes) {
  constexpr std::uint64_t kAlways = std::uint64_t{16} << 20;
  constexpr std::uint64_t kTimes = 4;
  const std::uint64_t made = bytes_held() - std::min(bytes_held(), state_->copied);
  if (bytes > kAlways + kTimes * made || state_->copied > kAlways + kTimes * made - bytes) return false;
  state_->copied += bytes;
  return true;
}

std::uint64_t Arena::bytes_held() const {
  return state_->words.bytes_held() + state_->texts.bytes_held() + state_->grown;
}

}  // namespace wick::pickle
