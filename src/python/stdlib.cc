// SPDX-License-Identifier: Apache-2.0
// Containers, numbers, paths and what else the standard library pickles by a class and arguments.
#include <algorithm>

#include "base/format.h"
#include "base/python_number.h"
#include "base/text.h"
#include "python/handlers.h"
#include "python/names.h"
#include "python/repr.h"

namespace wick::python {

using checkpoint::Contents;
using checkpoint::Meaning;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

bool mean(Contents& contents, Value object, Meaning::What what) {
  contents.mean(object, {what, 0});
  return true;
}

bool mean_same(Contents& contents, Value object, Value value) {
  contents.mean_same(object, value);
  return true;
}

bool mean_shown(Contents& contents, Value object, std::string_view text) {
  contents.mean_shown(object, text);
  return true;
}

// The items of a list, tuple or set; nothing for other values.
std::optional<std::span<const Value>> items_of(const Contents& contents, Value value) {
  value = contents.resolve(value);
  switch (value.kind()) {
    case Kind::List:
    case Kind::Tuple:
    case Kind::Set:
    case Kind::FrozenSet: return contents.arena.items(value);
    default: return std::nullopt;
  }
}

// One sequence of items as the only argument, or no argument at all.
std::optional<std::span<const Value>> only_items(const Contents& contents, Arguments args) {
  if (args.empty()) return std::span<const Value>();
  if (args.size() > 1) return std::nullopt;
  return items_of(contents, args[0]);
}

bool is_number(Value value) { return value.is(Kind::Int) || value.is(Kind::Float) || value.is(Kind::BigInt); }

// Texts that are shown are quoted and copied: longer ones are no numbers, paths or names that anybody has.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostParts = 512;

bool may_copy(Contents& contents, std::span<const Value> items) {
  return contents.arena.may_copy(items.size() * sizeof(Value));
}

// Text that is short and holds nothing but what a number or a path may hold is shown; hostile lengths are cut by repr.
std::string arguments_text(const Contents& contents, Arguments args) {
  std::string text;
  for (const Value arg : args) text += (text.empty() ? "" : ", ") + repr(contents, arg, {200, 10, 3});
  return text;
}

}  // namespace

// ---- containers ----

// Python 2 gives the pairs as one list of lists: OrderedDict([['a', 1]]).
bool ordered_dict(Contents& contents, Value object, Arguments args) {
  if (args.size() == 1 && contents.arena.pairs(object).empty()) {
    const Value first = contents.resolve(args[0]);
    if (first.is(Kind::Dict)) {
      if (!may_copy(contents, contents.arena.pairs(first))) return false;
      contents.arena.set_items(object, contents.arena.pairs(first));
    } else if (const auto items = items_of(contents, first)) {
      if (!contents.arena.may_copy(items->size() * 2 * sizeof(Value))) return false;
      std::vector<Value> pairs;
      for (const Value item : *items) {
        const auto pair = items_of(contents, item);
        if (!pair || pair->size() != 2) return false;
        pairs.insert(pairs.end(), pair->begin(), pair->end());
      }
      contents.arena.set_items(object, pairs);
    } else {
      return false;
    }
  } else if (!args.empty()) {
    return false;
  }
  return mean(contents, object, Meaning::What::Mapping);
}

bool default_dict(Contents& contents, Value object, Arguments args) {
  if (args.size() > 1) return false;
  return mean(contents, object, Meaning::What::Mapping);
}

bool counter(Contents& contents, Value object, Arguments args) {
  if (!contents.arena.pairs(object).empty() || args.empty()) return mean(contents, object, Meaning::What::Mapping);
  const Value counts = contents.resolve(args[0]);
  return args.size() == 1 && counts.is(Kind::Dict) && mean_same(contents, object, counts);
}

// deque((), maxlen) and then items; Python 2: deque([items], maxlen).
bool deque(Contents& contents, Value object, Arguments args) {
  if (args.size() > 2) return false;
  const auto given = only_items(contents, args.first(std::min<std::size_t>(args.size(), 1)));
  if (!given) return false;
  if (!given->empty()) {
    if (!contents.arena.items(object).empty() || !may_copy(contents, *given)) return false;
    const std::vector<Value> copy(given->begin(), given->end());
    contents.arena.append(object, copy);
  }
  return mean(contents, object, Meaning::What::Sequence);
}

bool set_of(Contents& contents, Value object, Arguments args) {
  const auto items = only_items(contents, args);
  if (!items || !may_copy(contents, *items)) return false;
  const Value set = contents.arena.set();
  contents.arena.append(set, *items);
  return mean_same(contents, object, set);
}

bool frozenset_of(Contents& contents, Value object, Arguments args) {
  const auto items = only_items(contents, args);
  return items && may_copy(contents, *items) && mean_same(contents, object, contents.arena.frozenset(*items));
}

bool list_of(Contents& contents, Value object, Arguments args) {
  const auto items = only_items(contents, args);
  if (!items || !contents.arena.items(object).empty()) {
    return items && items->empty() && mean(contents, object, Meaning::What::Sequence);
  }
  if (!may_copy(contents, *items)) return false;
  const std::vector<Value> copy(items->begin(), items->end());
  const Value list = contents.arena.list();
  contents.arena.append(list, copy);
  return mean_same(contents, object, list);
}

bool tuple_of(Contents& contents, Value object, Arguments args) {
  const auto items = only_items(contents, args);
  return items && may_copy(contents, *items) && mean_same(contents, object, contents.arena.tuple(*items));
}

// ---- bytes ----

// Protocols 0 to 2 have no bytes: Python 3 writes _codecs.encode('...', 'latin1').
bool codecs_encode(Contents& contents, Value object, Arguments args) {
  if (args.size() != 2 || !args[0].is(Kind::Str)) return false;
  const auto encoding = text_of(contents, args[1]);
  if (!encoding) return false;
  const std::string name = to_lower(*encoding);
  if (name != "latin1" && name != "latin-1" && name != "iso-8859-1") return false;
  if (!contents.arena.may_copy(contents.arena.as_text(args[0]).size())) return false;
  const auto bytes = latin1_of(contents.arena.as_text(args[0]));
  return bytes && mean_same(contents, object, contents.arena.text(Kind::Bytes, *bytes));
}

bool bytes_of_arguments(Contents& contents, Value object, Arguments args) {
  if (args.empty()) return mean_same(contents, object, contents.arena.text(Kind::Bytes, {}));
  const auto bytes = bytes_of(contents, args[0]);
  if (!bytes || !contents.arena.may_copy(bytes->size())) return false;
  return args.size() == 1 && mean_same(contents, object, contents.arena.text(Kind::Bytes, *bytes));
}

// bytearray(b'...'); Python 2 and protocol 2 of old Python 3: bytearray('...', 'latin-1').
bool byte_array(Contents& contents, Value object, Arguments args) {
  if (args.empty()) return mean_same(contents, object, contents.arena.text(Kind::ByteArray, {}));
  if (args.size() == 2 && contents.resolve(args[0]).is(Kind::Str)) {
    if (!contents.arena.may_copy(text_of(contents, args[0])->size())) return false;
    const auto bytes = latin1_of(*text_of(contents, args[0]));
    return bytes && mean_same(contents, object, contents.arena.text(Kind::ByteArray, *bytes));
  }
  const auto bytes = bytes_of(contents, args[0]);
  return bytes && contents.arena.may_copy(bytes->size()) &&
         mean_same(contents, object, contents.arena.text(Kind::ByteArray, *bytes));
}

// ---- numbers ----

// complex.__repr__: "1j", "(1+2j)", "(-0-1j)"; whole parts without their ".0".
bool complex_number(Contents& contents, Value object, Arguments args) {
  if (args.size() != 2 || !args[0].is(Kind::Float) || !args[1].is(Kind::Float)) return false;
  return mean_shown(contents, object, complex_text(contents.arena.as_real(args[0]), contents.arena.as_real(args[1])));
}

bool decimal(Contents& contents, Value object, Arguments args) {
  const auto digits = args.size() == 1 ? text_of(contents, args[0]) : std::nullopt;
  return digits && digits->size() <= kLongestText &&
         mean_shown(contents, object, "Decimal(" + python_quote(*digits) + ")");
}

// Fraction(1, 3), or Fraction('1/3') as Python before 3.12 writes it.
bool fraction(Contents& contents, Value object, Arguments args) {
  if (args.size() == 2 && is_number(args[0]) && is_number(args[1]))
    return mean_shown(contents, object, "Fraction(" + arguments_text(contents, args) + ")");
  const auto text = args.size() == 1 ? text_of(contents, args[0]) : std::nullopt;
  if (!text || text->size() > kLongestText || text->find_first_not_of("0123456789/-") != std::string_view::npos)
    return false;
  const std::size_t slash = text->find('/');
  const std::string_view below = slash == std::string_view::npos ? "1" : text->substr(slash + 1);
  return mean_shown(contents, object, fmt::format("Fraction({}, {})", text->substr(0, slash), below));
}

bool plain_value(Contents& contents, Value object, Arguments args) {
  if (args.size() != 1) return false;
  switch (args[0].kind()) {
    case Kind::Bool:
    case Kind::Int:
    case Kind::BigInt:
    case Kind::Float:
    case Kind::Str: break;
    default: return false;
  }
  // int('5') would be a computation; int(5) is the value itself.
  const std::string_view wanted = contents.arena.as_text(contents.arena.name(contents.arena.object(object).callable));
  const bool same = (wanted == "str" || wanted == "unicode") == args[0].is(Kind::Str) &&
                    (wanted == "float") == args[0].is(Kind::Float) && (wanted == "bool") == args[0].is(Kind::Bool);
  return same && mean_same(contents, object, args[0]);
}

// UUID() and then a state: {'int': 128 bits}.
bool uuid(Contents& contents, Value object, Arguments args) {
  const Value state = contents.arena.state(object);
  if (!args.empty() || !state.is(Kind::Dict) || contents.arena.pairs(state).size() > 16) return false;
  const Value number = contents.arena.find(state, "int");
  if (!number.is(Kind::Int) && !number.is(Kind::BigInt)) return false;
  std::string bytes;
  if (number.is(Kind::BigInt)) {
    bytes = contents.arena.as_text(number);
  } else {
    for (int shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(Arena::as_int(number)) >> shift & 0xFFU));
  }
  if (bytes.size() > 17 || (bytes.size() == 17 && bytes.back() != '\0')) return false;
  if (!bytes.empty() && bytes.size() < 17 && static_cast<unsigned char>(bytes.back()) >= 0x80)
    return false;  // negative
  bytes.resize(16);
  std::string text;
  for (std::size_t i = 16; i-- > 0;) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
    if (i == 12 || i == 10 || i == 8 || i == 6) text += '-';
  }
  return mean_shown(contents, object, "UUID('" + text + "')");
}

// ---- the rest ----

// Up to Python 3.12 a path is its parts, the root among them; from 3.13 on one string.
bool path(Contents& contents, Value object, Arguments args) {
  std::string joined;
  if (args.size() > kMostParts) return false;
  for (const Value arg : args) {
    const auto part = text_of(contents, arg);
    if (!part || joined.size() + part->size() > kLongestText) return false;
    if (!joined.empty() && joined.back() != '/') joined += '/';
    joined += *part;
    // Windows' drive and root are one part, "C:\\"; Python shows forward slashes.
    const Name name = modern(contents.arena, contents.arena.object(object).callable);
    if (name.name.find("Windows") != std::string_view::npos) std::replace(joined.begin(), joined.end(), '\\', '/');
  }
  const Name name = modern(contents.arena, contents.arena.object(object).callable);
  return mean_shown(contents, object, fmt::format("{}({})", name.name, python_quote(joined.empty() ? "." : joined)));
}

bool slice(Contents& contents, Value object, Arguments args) {
  return args.size() == 3 && mean_shown(contents, object, "slice(" + arguments_text(contents, args) + ")");
}

bool range(Contents& contents, Value object, Arguments args) {
  if (args.size() != 3 || !is_number(args[0]) || !is_number(args[1]) || !is_number(args[2])) return false;
  const bool by_one = args[2].is(Kind::Int) && Arena::as_int(args[2]) == 1;
  return mean_shown(contents, object, "range(" + arguments_text(contents, args.first(by_one ? 2 : 3)) + ")");
}

// type(None), type(Ellipsis), type(NotImplemented): classes that have no name to be found by.
bool type_of(Contents& contents, Value object, Arguments args) {
  if (args.size() != 1) return false;
  if (args[0].is(Kind::None)) return mean_shown(contents, object, "<class 'NoneType'>");
  if (!args[0].is(Kind::Global)) return false;
  const Name name = modern(contents.arena, args[0]);
  if (name.module != "builtins") return false;
  if (name.name == "Ellipsis") return mean_shown(contents, object, "<class 'ellipsis'>");
  return name.name == "NotImplemented" && mean_shown(contents, object, "<class 'NotImplementedType'>");
}

// getattr(Class, 'name'): how classes within classes and bound methods of classes are pickled.
bool attribute(Contents& contents, Value object, Arguments args) {
  if (args.size() != 2 || !args[0].is(Kind::Global)) return false;
  const auto name = text_of(contents, args[1]);
  return name && name->size() <= kLongestText &&
         contents.arena.as_text(contents.arena.name(args[0])).size() <= kLongestText &&
         contents.arena.as_text(contents.arena.module(args[0])).size() <= kLongestText &&
         mean_shown(contents, object,
                    escape_for_display(class_name(contents, args[0])) + "." + escape_for_display(*name));
}

}  // namespace wick::python
