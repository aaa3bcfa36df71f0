// SPDX-License-Identifier: Apache-2.0
#include "python/names.h"

#include <algorithm>
#include <array>

#include "python/meaning.h"
#include "python/repr.h"

namespace wick::python {

using pickle::Kind;
using pickle::Value;

namespace {

struct RenamedModule {
  std::string_view then;
  std::string_view now;
};
struct RenamedName {
  Name then;
  Name now;
};

constexpr RenamedModule kModules[] = {
#define WICK_MODULE(then, now) {then, now},
#define WICK_NAME(module, name, module_now, name_now)
#include "python/renamed.def"
#undef WICK_MODULE
#undef WICK_NAME
};

constexpr RenamedName kNames[] = {
#define WICK_MODULE(then, now)
#define WICK_NAME(module, name, module_now, name_now) {{module, name}, {module_now, name_now}},
#include "python/renamed.def"
#undef WICK_MODULE
#undef WICK_NAME
};

constexpr std::string_view kBuiltinClasses[] = {
    "bool",      "bytearray", "bytes",        "classmethod", "complex",    "dict",   "enumerate", "filter", "float",
    "frozenset", "int",       "list",         "map",         "memoryview", "object", "property",  "range",  "reversed",
    "set",       "slice",     "staticmethod", "str",         "super",      "tuple",  "type",      "zip"};

}  // namespace

Name modern(std::string_view module, std::string_view name) {
  for (const auto& row : kNames)
    if (row.then.name == name && row.then.module == module) return row.now;
  for (const auto& row : kModules)
    if (row.then == module) return {row.now, name};
  return {module, name};
}

Name modern(const pickle::Arena& arena, Value global) {
  return modern(arena.as_text(arena.module(global)), arena.as_text(arena.name(global)));
}

std::string_view modern_module(std::string_view module, std::string_view name) { return modern(module, name).module; }

bool is_builtin_class(std::string_view name) {
  return std::binary_search(std::begin(kBuiltinClasses), std::end(kBuiltinClasses), name);
}

Value class_of(const pickle::Arena& arena, Value object) {
  const pickle::Object& row = arena.object(object);
  if (!row.callable.is(Kind::Global)) return {};
  const Name name = modern(arena, row.callable);
  const bool by_copyreg = name.module == "copyreg" &&
                          (name.name == "_reconstructor" || name.name == "__newobj__" || name.name == "__newobj_ex__");
  if (!by_copyreg) return row.callable;
  if (!row.args.is(Kind::Tuple) || arena.items(row.args).empty()) return row.callable;
  const Value first = arena.items(row.args)[0];
  return first.is(Kind::Global) ? first : row.callable;
}

std::string class_name(const checkpoint::Contents& contents, Value value) {
  const Value global = value.is(Kind::Object) ? class_of(contents.arena, value) : value;
  if (!global.is(Kind::Global)) return {};
  const Name name = modern(contents.arena, global);
  return std::string(name.module) + "." + std::string(name.name);
}

}  // namespace wick::python
