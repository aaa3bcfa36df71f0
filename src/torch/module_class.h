// SPDX-License-Identifier: Apache-2.0
// What wick knows about the classes of modules, and the ways to look into a pickled module. The table is modules.def.
#pragma once

#include <string_view>
#include <vector>

#include "checkpoint/contents.h"

namespace wick::torch {

enum class ModuleRepr : std::uint8_t { Default, List, HidePacked, Packed, ParameterList, ParameterDict };

struct ModuleClass {
  std::string_view name;     // class
  std::string_view printed;  // what _get_name() says, "" for the class's own name
  std::string_view state;    // modules.def
  ModuleRepr repr = ModuleRepr::Default;
  std::string_view extra;  // template
};

// Module and class of an object as the file names them.
struct ClassName {
  std::string_view module;
  std::string_view name;    // may be qualified: "Outer.Inner"
  std::string_view source;  // the class's Python text, when the file carries it (legacy streams)
};

// Of an Object whose callable is a Global, or the persistent id of a class; empty names for others.
ClassName class_of(const checkpoint::Contents& contents, pickle::Value object);

// True for classes of torch.nn, torch.ao.nn and torch.ao.quantization (and their older module paths): wick knows how
// torch prints and saves them, from modules.def or as nn.Module itself does.
bool is_known_module_class(const ClassName& name);
// The row of modules.def, or nullptr when the class does as nn.Module itself.
const ModuleClass* find_module_class(const ClassName& name);

// An attribute as Python's getattr gives it: from the object's dict, then _parameters, _buffers, _modules; of quantized
// convolutions from the tuple of their __getstate__. Missing when it is not there; None is None.
pickle::Value attribute_of(const checkpoint::Contents& contents, pickle::Value module, std::string_view name);
// The state's own entry ("_modules"), resolved; Missing when it is not there.
pickle::Value state_entry(const checkpoint::Contents& contents, pickle::Value module, std::string_view name);
// key, value, key, value of a dict-like value; empty for others.
std::span<const pickle::Value> pairs_of(const checkpoint::Contents& contents, pickle::Value value);

// Where attribute `name` lies in the tuple that a class's __getstate__ gives (quantized convolutions, sparse packed
// parameters); -1 when it is none.
int tuple_position(const ModuleClass& known, std::string_view name);

// The value that torch.ScriptObject wraps (packed parameters): what __getstate__ gave; `value` itself when it is none.
pickle::Value unpack_script_object(const checkpoint::Contents& contents, pickle::Value value);

}  // namespace wick::torch
