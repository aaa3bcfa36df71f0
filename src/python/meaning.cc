// SPDX-License-Identifier: Apache-2.0
#include "python/meaning.h"

#include <cmath>

#include "base/python_number.h"
#include "python/handlers.h"
#include "python/names.h"

namespace wick::python {

using checkpoint::Contents;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

using Handler = bool (*)(Contents&, Value, Arguments);

struct Row {
  std::string_view module;
  std::string_view name;
  Handler handler;
};

constexpr Row kRows[] = {
#define WICK_PYTHON_GLOBAL(module, name, handler) {module, name, handler},
#include "python/globals.def"
#undef WICK_PYTHON_GLOBAL
};

Handler find_handler(const Name& name) {
  for (const Row& row : kRows)
    if (row.name == name.name && row.module == name.module) return row.handler;
  return nullptr;
}

}  // namespace

bool give_meaning(Contents& contents, Value object) {
  if (contents.meaning(object).what != checkpoint::Meaning::What::Unknown) return true;
  const pickle::Object& row = contents.arena.object(object);
  if (!row.callable.is(Kind::Global) || !row.args.is(Kind::Tuple)) return false;
  const Name name = modern(contents.arena, row.callable);
  Arguments args = contents.arena.items(row.args);
  // Protocols 0 and 1 make an object without arguments by copyreg._reconstructor(cls, object, None).
  if (name.module == "copyreg" && name.name == "_reconstructor") {
    if (args.size() != 3 || !args[0].is(Kind::Global) || !args[2].is(Kind::None)) return false;
    const Handler handler = find_handler(modern(contents.arena, args[0]));
    return handler != nullptr && handler(contents, object, {});
  }
  const Handler handler = find_handler(name);
  return handler != nullptr && handler(contents, object, args);
}

void give_meaning_to_bytes(Contents& contents, Value value) {
  if (!value.is(Kind::Object) || contents.meaning(value).what != checkpoint::Meaning::What::Unknown) return;
  const pickle::Object& row = contents.arena.object(value);
  if (!row.callable.is(Kind::Global)) return;
  const Handler handler = find_handler(modern(contents.arena, row.callable));
  if (handler == codecs_encode || handler == bytes_of_arguments || handler == byte_array) give_meaning(contents, value);
}

// ---- what handlers share ----

Value bytes_value(const Contents& contents, Value value) {
  value = contents.resolve(value);
  const bool bytes = value.is(Kind::Bytes) || value.is(Kind::ByteArray) || value.is(Kind::Py2Str);
  return bytes ? value : Value();
}

std::optional<std::string_view> bytes_of(const Contents& contents, Value value) {
  const Value bytes = bytes_value(contents, value);
  if (bytes.missing()) return std::nullopt;
  return contents.arena.as_text(bytes);
}

std::optional<std::string_view> text_of(const Contents& contents, Value value) {
  value = contents.resolve(value);
  // ASCII that waits to become bytes reads the same.
  if (value.is(Kind::Object) && contents.arena.is_global(contents.arena.object(value).callable, "_codecs", "encode")) {
    const Value args = contents.arena.object(value).args;
    if (args.is(Kind::Tuple) && !contents.arena.items(args).empty()) value = contents.arena.items(args)[0];
  }
  if (!value.is(Kind::Str) && !value.is(Kind::Py2Str) && !value.is(Kind::Bytes)) return std::nullopt;
  return contents.arena.as_text(value);
}

std::optional<std::int64_t> int_of(const Contents& contents, Value value) {
  value = contents.resolve(value);
  if (value.is(Kind::Int)) return Arena::as_int(value);
  if (value.is(Kind::Bool)) return Arena::as_bool(value) ? 1 : 0;
  return std::nullopt;
}

// complex.__repr__ leaves out a real part that is +0.0 and the ".0" of whole parts.
std::string complex_text(double real, double imaginary) {
  const auto part = [](double value) {
    std::string text = python_float(value);
    if (text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
    return text;
  };
  if (real == 0 && !std::signbit(real)) return part(imaginary) + "j";
  std::string second = part(imaginary);
  if (second[0] != '-') second.insert(0, 1, '+');
  return "(" + part(real) + second + "j)";
}

std::optional<std::string> latin1_of(std::string_view utf8) {
  std::string bytes;
  bytes.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size(); ++at) {
    const auto first = static_cast<unsigned char>(utf8[at]);
    if (first < 0x80) {
      bytes.push_back(utf8[at]);
      continue;
    }
    // U+0080 to U+00FF are C2 80 to C3 BF.
    if ((first != 0xC2 && first != 0xC3) || at + 1 == utf8.size()) return std::nullopt;
    const auto second = static_cast<unsigned char>(utf8[++at]);
    if ((second & 0xC0U) != 0x80U) return std::nullopt;
    bytes.push_back(static_cast<char>((first & 0x03U) << 6 | (second & 0x3FU)));
  }
  return bytes;
}

}  // namespace wick::python
