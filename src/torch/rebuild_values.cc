// SPDX-License-Identifier: Apache-2.0
// Torch's values that are no tensors: sizes, devices, layouts, memory formats, and what is transparent.
#include "base/text.h"
#include "torch/rebuild_handlers.h"

namespace wick::torch {

using checkpoint::Meaning;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

// (bytes,): a whole torch.save file inside the pickle
bool load_from_bytes(Walk& walk, Value object, Arguments args) {
  const Value bytes = walk.at(args, 0);
  if (!bytes.is(Kind::Bytes) && !bytes.is(Kind::ByteArray) && !bytes.is(Kind::Py2Str)) return false;
  auto root = walk.enter_nested(walk.arena().as_text(bytes));
  if (root) {
    walk.contents().mean_same(object, *root);
    return true;
  }
  walk.contents().findings.push_back(
      {"nested-save", fmt::format("a save inside the pickle can not be read: {}", root.error().message()), {}, {}});
  walk.mean_broken(object, std::move(root).error());
  return true;
}

// ((ints),)
bool size_value(Walk& walk, Value object, Arguments args) {
  if (args.size() > 1) return false;
  const Value inner = args.empty() ? Value() : args[0];
  if (!inner.is(Kind::Tuple) && !inner.is(Kind::List)) return false;
  walk.contents().mean_same(object, inner);
  return true;
}

// ('cuda', 1) or ('cuda:1',)
bool device_value(Walk& walk, Value object, Arguments args) {
  const Value type = walk.at(args, 0);
  const auto text = text_of(walk.arena(), type);
  if (!text) return false;
  const Value index = walk.at(args, 1);
  std::string shown(*text);
  if (index.is(Kind::Int)) shown += fmt::format(":{}", Arena::as_int(index));
  walk.contents().mean_shown(object, shown);
  return true;
}

// torch.finfo('float32') or torch.finfo(torch.float32)
bool info_value(Walk& walk, Value object, Arguments args) {
  const Value callable = walk.arena().object(object).callable;
  const auto name = text_of(walk.arena(), walk.arena().name(callable));
  const Value of = walk.at(args, 0);
  auto dtype = text_of(walk.arena(), of.is(Kind::Global) ? walk.arena().name(of) : of);
  if (!name || !dtype) return false;
  walk.contents().mean_shown(object, fmt::format("torch.{}({})", *name, *dtype));
  return true;
}

// ('torch.sparse_coo',)
bool layout_value(Walk& walk, Value object, Arguments args) {
  const auto name = text_of(walk.arena(), walk.at(args, 0));
  if (!name) return false;
  walk.contents().mean_shown(object, *name);
  return true;
}

// getattr(torch, 'channels_last'): the only way a memory format pickles. Anything else is for Python's table.
bool attribute_value(Walk& walk, Value object, Arguments args) {
  const Value owner = walk.at(args, 0);
  const auto name = text_of(walk.arena(), walk.at(args, 1));
  if (!owner.is(Kind::Global) || !name) return false;
  if (!walk.arena().is_global(owner, "torch._utils", "torch")) return false;
  walk.contents().mean_shown(object, fmt::format("torch.{}", *name));
  return true;
}

// The hooks of every tensor are one: worth the shortest way. With arguments it is for Python's table.
bool ordered_dict(Walk& walk, Value object, Arguments args) {
  if (!args.empty()) return false;
  walk.contents().mean(object, {Meaning::What::Mapping, 0});
  return true;
}

// restore_type_tag(value, 'List[str]'), build_intlist([..]): the value itself
bool first_argument(Walk& walk, Value object, Arguments args) {
  if (args.empty()) return false;
  walk.contents().mean_same(object, args[0]);
  return true;
}

}  // namespace wick::torch
