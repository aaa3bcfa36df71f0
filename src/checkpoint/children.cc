// SPDX-License-Identifier: Apache-2.0
// The children of a value: one rule for the walk, `tree` and `show`. docs/names.md is the specification.
#include <array>
#include <string_view>

#include "checkpoint/places.h"

namespace wick::checkpoint {
namespace {

using pickle::Kind;
using pickle::Value;

// Where an nn.Module keeps what its state_dict() names without these steps.
constexpr std::array<std::string_view, 3> kModuleSteps{"_parameters", "_buffers", "_modules"};

bool is_module_step(const pickle::Arena& arena, Value key) {
  for (const std::string_view step : kModuleSteps)
    if (arena.is_text(key, step)) return true;
  return false;
}

// Keys are what they mean: in protocol 2 a bytes key is a call of _codecs.encode.
void add_pairs(std::span<const Value> pairs, StepKind kind, const Contents& contents, std::vector<Child>& out) {
  out.reserve(out.size() + pairs.size() / 2);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const bool hidden = kind == StepKind::Attribute && is_module_step(contents.arena, pairs[i]);
    out.push_back({kind, hidden, contents.resolve(pairs[i]), pairs[i + 1]});
  }
}

void add_items(std::span<const Value> items, std::vector<Child>& out) {
  out.reserve(out.size() + items.size());
  for (std::size_t i = 0; i < items.size(); ++i) out.push_back({StepKind::Index, false, Value(Kind::Int, i), items[i]});
}

// The attributes that BUILD gave: of a dict state its entries, any other state is one child.
void add_state(const Contents& contents, Value object, bool keep_hidden, std::vector<Child>& out) {
  const Value state = contents.resolve(contents.arena.state(object));
  if (state.missing() || state.is(Kind::None)) return;
  const bool mapping = state.is(Kind::Dict) || contents.meaning(state).what == Meaning::What::Mapping;
  if (!mapping) {
    out.push_back({StepKind::State, false, Value(), state});
    return;
  }
  const std::size_t first = out.size();
  add_pairs(contents.arena.pairs(state), StepKind::Attribute, contents, out);
  if (keep_hidden) return;
  for (std::size_t i = first; i < out.size(); ++i) out[i].hidden = false;
}

void add_arguments(const Contents& contents, Value object, std::vector<Child>& out) {
  const pickle::Object& row = contents.arena.object(object);
  const bool empty = row.args.missing() || (row.args.is(Kind::Tuple) && contents.arena.items(row.args).empty());
  if (!empty) out.push_back({StepKind::Args, false, Value(), row.args});
  if (const pickle::Extra* extra = contents.arena.extra(object); extra != nullptr && !extra->kwargs.missing())
    out.push_back({StepKind::Kwargs, false, Value(), extra->kwargs});
  if (!row.callable.is(Kind::Global)) out.push_back({StepKind::Callable, false, Value(), row.callable});
}

void add_object(const Contents& contents, Value object, std::vector<Child>& out) {
  switch (contents.meaning(object).what) {
    case Meaning::What::Tensor:
    case Meaning::What::Array:
    case Meaning::What::Storage:
    case Meaning::What::Shown:
    case Meaning::What::Same: return;
    case Meaning::What::Mapping:
      add_pairs(contents.arena.pairs(object), StepKind::Key, contents, out);
      add_items(contents.arena.items(object), out);
      add_state(contents, object, false, out);
      return;
    case Meaning::What::Sequence:
      add_items(contents.arena.items(object), out);
      add_state(contents, object, false, out);
      return;
    case Meaning::What::Unknown:
    case Meaning::What::Module:
      add_state(contents, object, true, out);
      add_pairs(contents.arena.pairs(object), StepKind::Key, contents, out);
      add_items(contents.arena.items(object), out);
      add_arguments(contents, object, out);
      return;
  }
}

}  // namespace

std::vector<Child> children(const Contents& contents, Value value) {
  std::vector<Child> out;
  value = contents.resolve(value);
  switch (value.kind()) {
    case Kind::Tuple:
    case Kind::List:
    case Kind::Set:
    case Kind::FrozenSet: add_items(contents.arena.items(value), out); break;
    case Kind::Dict: add_pairs(contents.arena.pairs(value), StepKind::Key, contents, out); break;
    case Kind::Object: add_object(contents, value, out); break;
    case Kind::PersistentId:
      if (contents.meaning(value).what == Meaning::What::Unknown)
        out.push_back({StepKind::Args, false, Value(), contents.arena.pid(value)});
      break;
    default: break;
  }
  return out;
}

}  // namespace wick::checkpoint
