// SPDX-License-Identifier: Apache-2.0
#include "torch/module_repr.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/text.h"
#include "checkpoint/key_text.h"
#include "python/repr.h"
#include "torch/module_class.h"
#include "torch/module_template.h"
#include "torch/tensor_text.h"

namespace wick::torch {
namespace {

using checkpoint::Contents;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;

// Module.__repr__ of Python ends at its recursion limit of 1000 frames; deeper modules print as "...".
constexpr std::size_t kDeepest = 1000;
// A module that holds one child twice, 40 levels deep, would print 2^40 lines.
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

std::string own_name(const ClassName& name, const ModuleClass* known) {
  if (known != nullptr && !known->printed.empty()) return std::string(known->printed);
  const std::size_t dot = name.name.rfind('.');  // __name__ of a nested class
  return std::string(dot == std::string_view::npos ? name.name : name.name.substr(dot + 1));
}

// _addindent(text, 2)
std::string indented(const std::string& text) {
  std::string out;
  out.reserve(text.size() + 16);
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line(text.data() + begin, (end == std::string::npos ? text.size() : end) - begin);
    const bool blank = line.find_first_not_of(" \t\r\f\v") == std::string_view::npos;
    if (begin == 0)
      out += line;
    else if (!blank)
      out.append("  ").append(line);
    if (end == std::string::npos) return out;
    out += '\n';
    begin = end + 1;
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  if (text.empty()) return lines;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return lines;
    begin = end + 1;
  }
}

// ---- ParameterList, ParameterDict ----

std::string sizes_text(const Contents& contents, const checkpoint::TensorRow& row) {
  std::string text;
  for (const std::int64_t size : contents.sizes(row)) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

// tensor.type(): "torch.FloatTensor", "torch.cuda.HalfTensor"
std::string tensor_type(const Contents& contents, const checkpoint::TensorRow& row) {
  const std::string_view device = contents.devices[row.device];
  std::string prefix = "torch.";
  if (device.starts_with("cuda")) prefix += "cuda.";
  switch (row.dtype) {
    case DType::Float32: return prefix + "FloatTensor";
    case DType::Float64: return prefix + "DoubleTensor";
    case DType::Float16: return prefix + "HalfTensor";
    case DType::BFloat16: return prefix + "BFloat16Tensor";
    case DType::Int64: return prefix + "LongTensor";
    case DType::Int32: return prefix + "IntTensor";
    case DType::Int16: return prefix + "ShortTensor";
    case DType::Int8: return prefix + "CharTensor";
    case DType::UInt8: return prefix + "ByteTensor";
    case DType::Bool: return prefix + "BoolTensor";
    case DType::Complex64: return prefix + "ComplexFloatTensor";
    case DType::Complex128: return prefix + "ComplexDoubleTensor";
    default: return prefix + std::string(name_of(row.dtype));
  }
}

std::string type_name(const Contents& contents, Value value) {
  switch (value.kind()) {
    case Kind::None: return "NoneType";
    case Kind::Bool: return "bool";
    case Kind::Int:
    case Kind::BigInt: return "int";
    case Kind::Float: return "float";
    case Kind::Str:
    case Kind::Py2Str: return "str";
    case Kind::Bytes: return "bytes";
    case Kind::ByteArray: return "bytearray";
    case Kind::Tuple: return "tuple";
    case Kind::List: return "list";
    case Kind::Dict: return "dict";
    case Kind::Set: return "set";
    case Kind::FrozenSet: return "frozenset";
    case Kind::Global: return "type";
    default: return own_name(class_of(contents, value), nullptr);
  }
}

std::string member_line(const Contents& contents, std::string_view key, Value value, bool by_dtype) {
  const Meaning meaning = contents.meaning(value);
  std::string line = "  (" + std::string(key) + "): ";
  if (meaning.what != Meaning::What::Tensor) return line + "Object of type: " + type_name(contents, value);
  const checkpoint::TensorRow& row = contents.tensors[meaning.index];
  const std::string& device = contents.devices[row.device];
  return line + (row.is_parameter ? "Parameter" : "Tensor") + " containing: [" +
         (by_dtype ? "torch." + std::string(name_of(row.dtype)) : tensor_type(contents, row)) + " of size " +
         sizes_text(contents, row) + (device.starts_with("cuda") ? " (" + device + ")" : "") + "]";
}

// The members in order: of a list those called 0, 1, 2 ...; of a dict those _keys names; before 1.12 all parameters.
std::string members_of(const Contents& contents, Value module, bool list) {
  std::string text;
  const auto add = [&](std::string_view key, Value value) {
    if (!text.empty()) text += '\n';
    text += member_line(contents, key, contents.resolve(value), list);
  };
  const Value size = state_entry(contents, module, "_size");
  if (list && size.is(Kind::Int)) {
    for (std::int64_t i = 0; i < pickle::Arena::as_int(size); ++i) {
      const std::string key = std::to_string(i);
      const Value value = attribute_of(contents, module, key);
      if (value.missing()) break;
      add(key, value);
    }
    return text;
  }
  const Value keys = list ? Value() : state_entry(contents, module, "_keys");
  const auto names = pairs_of(contents, keys);
  for (std::size_t i = 0; i + 1 < names.size(); i += 2) {
    if (!names[i].is(Kind::Str)) continue;
    const std::string_view key = contents.arena.as_text(names[i]);
    add(key, attribute_of(contents, module, key));
  }
  if (!keys.missing()) return text;
  const auto parameters = pairs_of(contents, state_entry(contents, module, "_parameters"));
  for (std::size_t i = 0; i + 1 < parameters.size(); i += 2)
    if (parameters[i].is(Kind::Str) || parameters[i].is(Kind::Py2Str))
      add(contents.arena.as_text(parameters[i]), parameters[i + 1]);
  return text;
}

std::optional<std::string> packed_text(const Contents& contents, Value module);

std::string extra_of(const Contents& contents, Value module, const ModuleClass* known, bool* complete = nullptr) {
  if (complete != nullptr) *complete = true;
  if (known == nullptr) return {};
  if (known->repr == ModuleRepr::ParameterList) return members_of(contents, module, true);
  if (known->repr == ModuleRepr::ParameterDict) return members_of(contents, module, false);
  const auto text = fill_template(contents, module, known->extra);
  if (complete != nullptr)
    *complete = text.has_value() && (known->repr != ModuleRepr::Packed || packed_text(contents, module).has_value());
  return text.value_or("");
}

// What LinearPackedParams and EmbeddingPackedParams print: the weight, or (weight, bias).
std::optional<std::string> packed_text(const Contents& contents, Value module) {
  const ModuleClass* known = find_module_class(class_of(contents, module));
  if (known == nullptr || known->repr != ModuleRepr::Packed) return std::nullopt;
  const bool embedding = known->name == "EmbeddingPackedParams";
  Value value =
      unpack_script_object(contents, attribute_of(contents, module, embedding ? "_packed_weight" : "_packed_params"));
  const auto text_of = [&](Value part) -> std::optional<std::string> {
    part = contents.resolve(part);
    if (part.is(Kind::None)) return "None";
    const Meaning meaning = contents.meaning(part);
    if (meaning.what != Meaning::What::Tensor) return std::nullopt;
    const auto text = tensor_text(contents, meaning.index);
    if (!text || !contents.tensors[meaning.index].is_parameter) return text;
    return "Parameter containing:\n" + *text;
  };
  if (!value.is(Kind::Tuple)) return std::nullopt;
  const auto items = contents.arena.items(value);
  if (embedding) {  // (version, [weight], [], [bits])
    const Value list = items.size() > 1 ? contents.resolve(items[1]) : Value();
    if (!list.is(Kind::List) || contents.arena.items(list).size() != 1) return std::nullopt;
    return text_of(contents.arena.items(list)[0]);
  }
  if (items.size() != 2) return std::nullopt;  // sparse ones are packed for one engine
  const auto weight = text_of(items[0]);
  const auto bias = text_of(items[1]);
  if (!weight || !bias) return std::nullopt;
  return "(" + *weight + ", " + *bias + ")";
}

// ---- the tree ----

struct Child {
  std::string key;
  Value value;
};

std::vector<Child> children_of(const Contents& contents, Value module, const ModuleClass* known) {
  std::vector<Child> children;
  const auto pairs = pairs_of(contents, state_entry(contents, module, "_modules"));
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const Value child = contents.resolve(pairs[i + 1]);
    if (known != nullptr && known->repr == ModuleRepr::HidePacked) {
      const std::string_view name = class_of(contents, child).name;
      if (name == "LinearPackedParams" || name == "EmbeddingPackedParams" || name == "PackedParameter" ||
          name == "ModuleList")
        continue;
    }
    const bool text = pairs[i].is(Kind::Str) || pairs[i].is(Kind::Py2Str);
    children.push_back(
        {text ? std::string(contents.arena.as_text(pairs[i])) : checkpoint::key_repr(contents.arena, pairs[i]), child});
  }
  return children;
}

class Printer {
 public:
  explicit Printer(const Contents& contents) : contents_(contents) {}

  std::string run(Value module) {
    std::optional<std::string> done = open(module);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (done) frame.texts.push_back(*std::move(done));
      done.reset();
      if (frame.next < frame.children.size()) {
        done = open(frame.children[frame.next++].value);
        continue;
      }
      done = close(frame);
      open_.erase(frame.module);
      stack_.pop_back();
    }
    return done.value_or("");
  }

 private:
  struct Frame {
    Value module;
    const ModuleClass* known = nullptr;
    std::string name;
    std::vector<std::string> extra;
    std::vector<Child> children;
    std::vector<std::string> texts;
    std::size_t next = 0;
  };

  // The text of what is no module or can not be entered; of a module nothing yet: it is pushed.
  std::optional<std::string> open(Value value) {
    if (!is_module(contents_, value)) return value.is(Kind::None) ? "None" : python::repr(contents_, value);
    if (auto packed = packed_text(contents_, value)) return packed;
    if (stack_.size() >= kDeepest || bytes_ > kMostBytes || !open_.insert(value).second) return "...";
    const ClassName name = class_of(contents_, value);
    const ModuleClass* known = find_module_class(name);
    Frame frame{value,
                known,
                own_name(name, known),
                lines_of(extra_of(contents_, value, known)),
                children_of(contents_, value, known),
                {},
                0};
    stack_.push_back(std::move(frame));
    return std::nullopt;
  }

  std::string close(Frame& frame) {
    const bool folded = frame.known != nullptr && frame.known->repr == ModuleRepr::List;
    std::vector<std::string> lines = folded ? std::vector<std::string>{} : std::move(frame.extra);
    const bool one_line = !folded && lines.size() == 1 && frame.children.empty();
    if (folded)
      add_folded(frame, lines);
    else
      for (std::size_t i = 0; i < frame.texts.size(); ++i)
        lines.push_back("(" + frame.children[i].key + "): " + indented(frame.texts[i]));
    std::string text = frame.name + "(";
    if (one_line)
      text += lines[0];
    else if (!lines.empty()) {
      for (const std::string& line : lines) text.append("\n  ").append(line);
      text += '\n';
    }
    text += ')';
    bytes_ += text.size();
    return text;
  }

  // ModuleList: "(0-11): 12 x Linear(...)"
  static void add_folded(const Frame& frame, std::vector<std::string>& lines) {
    for (std::size_t first = 0; first < frame.texts.size();) {
      std::size_t last = first;
      while (last + 1 < frame.texts.size() && frame.texts[last + 1] == frame.texts[first]) ++last;
      std::string line = "(" + std::to_string(first);
      if (last != first) line += "-" + std::to_string(last);
      line += "): ";
      if (last != first) line += std::to_string(last - first + 1) + " x ";
      lines.push_back(indented(line + frame.texts[first]));
      first = last + 1;
    }
  }

  const Contents& contents_;
  std::vector<Frame> stack_;
  std::unordered_set<Value> open_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::optional<std::string> module_repr(const Contents& contents, Value module) {
  module = contents.resolve(module);
  if (!is_module(contents, module)) return std::nullopt;
  return Printer(contents).run(module);
}

std::optional<std::string> module_line(const Contents& contents, Value module) {
  module = contents.resolve(module);
  if (!is_module(contents, module)) return std::nullopt;
  const ClassName name = class_of(contents, module);
  const ModuleClass* known = find_module_class(name);
  const std::string text = own_name(name, known);
  const std::string extra = extra_of(contents, module, known);
  const bool list =
      known != nullptr && (known->repr == ModuleRepr::ParameterList || known->repr == ModuleRepr::ParameterDict);
  if (!extra.empty() && !list && extra.find('\n') == std::string::npos) return text + "(" + extra + ")";
  if (is_known_module_class(name) && !list && children_of(contents, module, known).empty()) return text + "()";
  return text;
}

std::vector<std::string> repr_may_differ(const Contents& contents, Value module) {
  std::vector<std::string> found;
  std::unordered_set<Value> seen;
  std::vector<Value> todo{contents.resolve(module)};
  while (!todo.empty()) {
    const Value value = todo.back();
    todo.pop_back();
    if (!is_module(contents, value) || !seen.insert(value).second) continue;
    const ClassName name = class_of(contents, value);
    const ModuleClass* known = find_module_class(name);
    bool complete = is_known_module_class(name);
    if (complete) (void)extra_of(contents, value, known, &complete);
    const std::string text = std::string(name.module) + "." + std::string(name.name);
    if (!complete && std::find(found.begin(), found.end(), text) == found.end()) found.push_back(text);
    const auto children = children_of(contents, value, known);
    for (auto child = children.rbegin(); child != children.rend(); ++child) todo.push_back(child->value);
  }
  return found;
}

}  // namespace wick::torch
