// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/key_text.h"

#include <algorithm>
#include <vector>

#include "base/python_number.h"
#include "base/text.h"

namespace wick::checkpoint {
namespace {

using pickle::Kind;
using pickle::Value;

std::string scalar_repr(const pickle::Arena& arena, Value key) {
  switch (key.kind()) {
    case Kind::None: return "None";
    case Kind::Bool: return pickle::Arena::as_bool(key) ? "True" : "False";
    case Kind::Int: return std::to_string(pickle::Arena::as_int(key));
    case Kind::BigInt: return python_big_integer(arena.as_text(key));
    case Kind::Float: return python_float(arena.as_real(key));
    case Kind::Str:
    case Kind::Py2Str: return python_quote(arena.as_text(key));
    case Kind::Bytes: return python_quote_bytes(arena.as_text(key));
    case Kind::ByteArray: return "bytearray(" + python_quote_bytes(arena.as_text(key)) + ")";
    case Kind::Global:
      return std::string(arena.as_text(arena.module(key))) + "." + std::string(arena.as_text(arena.name(key)));
    case Kind::Object: return "<object>";
    default: return "<value>";
  }
}

// What can be a key and holds others.
bool is_container(Value value) { return value.is(Kind::Tuple) || value.is(Kind::FrozenSet); }

struct Open {
  Value value;
  std::size_t next = 0;

  [[nodiscard]] std::string_view head(std::size_t count) const {
    if (value.is(Kind::Tuple)) return "(";
    return count == 0 ? "frozenset(" : "frozenset({";
  }
  [[nodiscard]] std::string_view tail(std::size_t count) const {
    if (value.is(Kind::Tuple)) return count == 1 ? ",)" : ")";
    return count == 0 ? ")" : "})";
  }
};

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string_view fixed_text(StepKind kind) {
  switch (kind) {
    case StepKind::Args: return "args";
    case StepKind::Kwargs: return "kwargs";
    case StepKind::State: return "state";
    case StepKind::Callable: return "callable";
    default: return {};
  }
}

}  // namespace

std::string key_repr(const pickle::Arena& arena, Value key, std::size_t max_characters) {
  if (!is_container(key)) return scalar_repr(arena, key);
  std::vector<Open> open{{key, 0}};
  std::string text(open.back().head(arena.items(key).size()));
  while (!open.empty() && text.size() < max_characters) {
    Open& top = open.back();
    const auto items = arena.items(top.value);
    if (top.next == items.size()) {
      text += top.tail(items.size());
      open.pop_back();
      continue;
    }
    if (top.next > 0) text += ", ";
    const Value item = items[top.next++];
    if (is_container(item)) {
      open.push_back({item, 0});
      text += open.back().head(arena.items(item).size());
    } else {
      text += scalar_repr(arena, item);
    }
  }
  if (text.size() > max_characters) text.resize(max_characters);
  return text;
}

std::string key_text(const pickle::Arena& arena, const PathNode& step) {
  if (const std::string_view fixed = fixed_text(step.kind); !fixed.empty()) return std::string(fixed);
  if (step.key.is(Kind::Str) || step.key.is(Kind::Py2Str)) return std::string(arena.as_text(step.key));
  return key_repr(arena, step.key);
}

std::string spelled_key(const pickle::Arena& arena, const PathNode& step) {
  if (const std::string_view fixed = fixed_text(step.kind); !fixed.empty()) return std::string(fixed);
  if (step.key.is(Kind::Str) && is_identifier(arena.as_text(step.key))) return std::string(arena.as_text(step.key));
  return "[" + key_repr(arena, step.key) + "]";
}

}  // namespace wick::checkpoint
