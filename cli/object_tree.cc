// SPDX-License-Identifier: Apache-2.0
// The walk and its sums; scalars and class names.
#include "object_tree.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "base/context.h"
#include "base/text.h"
#include "base/try.h"
#include "python/repr.h"
#include "torch/module_repr.h"

namespace wick::cli {
namespace {

using checkpoint::Child;
using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;

// What Module.__init__ makes and nobody set: empty hook tables and the like say nothing about the model.
bool is_bookkeeping(const Contents& contents, const Child& child) {
  if (child.hidden) return false;
  if (!child.key.is(Kind::Str) && !child.key.is(Kind::Py2Str)) return false;
  const std::string_view name = contents.arena.as_text(child.key);
  if (!name.starts_with('_')) return false;
  const Value value = contents.resolve(child.value);
  const bool hooks = name.ends_with("_hooks") || name.ends_with("_hooks_with_kwargs") ||
                     name.ends_with("_always_called") || name == "_non_persistent_buffers_set";
  if (hooks) return checkpoint::children(contents, value).empty();
  return value.is(Kind::None) && name == "_is_full_backward_hook";
}

struct Step {
  Child child;
  Place place = Place::Plain;
};

Place place_in(const Contents& contents, const Child& hidden) {
  if (contents.arena.is_text(hidden.key, "_parameters")) return Place::Parameter;
  if (contents.arena.is_text(hidden.key, "_buffers")) return Place::Buffer;
  return Place::Module;
}

// The children of a value, with those of a module's three tables in their place.
std::vector<Step> steps_below(const Contents& contents, Value value, bool is_module) {
  std::vector<Step> steps;
  for (const Child& child : checkpoint::children(contents, value)) {
    if (!is_module) {
      steps.push_back({child, Place::Plain});
    } else if (child.hidden) {
      for (const Child& inner : checkpoint::children(contents, child.value))
        steps.push_back({inner, place_in(contents, child)});
    } else if (!is_bookkeeping(contents, child)) {
      steps.push_back({child, Place::Attribute});
    }
  }
  return steps;
}

NodeKind kind_of(const Contents& contents, Value value) {
  switch (contents.meaning(value).what) {
    case Meaning::What::Tensor:
    case Meaning::What::Array:
    case Meaning::What::Storage: return NodeKind::Tensor;
    case Meaning::What::Mapping: return NodeKind::Dict;
    case Meaning::What::Sequence: return NodeKind::List;
    case Meaning::What::Module: return NodeKind::Module;
    case Meaning::What::Shown: return NodeKind::Scalar;
    default: break;
  }
  switch (value.kind()) {
    case Kind::Dict: return NodeKind::Dict;
    case Kind::Tuple:
    case Kind::List:
    case Kind::Set:
    case Kind::FrozenSet: return NodeKind::List;
    case Kind::Object: return torch::is_module(contents, value) ? NodeKind::Module : NodeKind::Object;
    case Kind::PersistentId: return NodeKind::Object;
    default: return NodeKind::Scalar;
  }
}

class TreeWalk {
 public:
  explicit TreeWalk(const Contents& contents) : contents_(contents) {}

  Result<std::vector<TreeNode>> run(Value root) {
    WICK_CHECK(add({{checkpoint::StepKind::Key, false, Value(), root}, Place::Plain}, kNone));
    while (!open_.empty()) {
      Frame& frame = open_.back();
      if (frame.next == frame.steps.size()) {
        open_.pop_back();
        continue;
      }
      const Step step = frame.steps[frame.next++];
      WICK_CHECK(add(step, frame.node));
    }
    sum_up();
    return std::move(nodes_);
  }

 private:
  struct Frame {
    std::uint32_t node;
    std::vector<Step> steps;
    std::size_t next = 0;
  };

  Result<void> add(const Step& step, std::uint32_t parent) {
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    if (index % 4096 == 0) WICK_CHECK(check_memory(contents_.limits, index * sizeof(TreeNode), "the object tree"));
    if (open_.size() > contents_.limits.max_depth)
      return fail(ErrorCode::Limit, "objects are nested deeper than {} levels (--max-depth)",
                  contents_.limits.max_depth);
    TreeNode node;
    node.value = contents_.resolve(step.child.value);
    node.place = step.place;
    node.kind = kind_of(contents_, node.value);
    node.parent = parent;
    if (parent != kNone) {
      node.name = checkpoint::step_text(contents_, step.child);
      node.depth = nodes_[parent].depth + 1;
      ++nodes_[parent].children;
    }
    if (node.kind == NodeKind::Tensor)
      count_tensor(node);
    else if (node.kind != NodeKind::Scalar)
      node.repeated = !seen_.insert(node.value).second;
    const bool leaf = node.kind == NodeKind::Tensor || node.kind == NodeKind::Scalar || node.repeated;
    if (!leaf) open_.push_back({index, steps_below(contents_, node.value, node.kind == NodeKind::Module)});
    nodes_.push_back(std::move(node));
    return {};
  }

  void count_tensor(TreeNode& node) {
    node.tensor = contents_.meaning(node.value).index;
    if (!counted_.insert(node.tensor).second) return;
    const checkpoint::TensorRow& row = contents_.tensors[node.tensor];
    node.tensors = 1;
    node.bytes = contents_.tensor_bytes(row);
    const std::uint64_t elements = contents_.numel(row).value_or(0);
    (node.place == Place::Buffer ? node.buffers : node.parameters) = elements;
  }

  void sum_up() {
    for (std::size_t i = nodes_.size(); i-- > 1;) {
      TreeNode& parent = nodes_[nodes_[i].parent];
      parent.below += nodes_[i].below + 1;
      parent.tensors += nodes_[i].tensors;
      parent.parameters += nodes_[i].parameters;
      parent.buffers += nodes_[i].buffers;
      parent.bytes += nodes_[i].bytes;
    }
  }

  const Contents& contents_;
  std::vector<TreeNode> nodes_;
  std::vector<Frame> open_;
  std::unordered_set<Value> seen_;
  std::unordered_set<std::uint32_t> counted_;
};

constexpr std::string_view kNames[] = {"module", "dict", "list", "object", "tensor", "scalar"};

}  // namespace

std::string_view name_of(NodeKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Result<std::vector<TreeNode>> build_tree(const Contents& contents, Value root) { return TreeWalk(contents).run(root); }

std::string class_text(const Contents& contents, Value value) {
  switch (contents.meaning(value).what) {
    case Meaning::What::Tensor: return "torch.Tensor";
    case Meaning::What::Array: return "numpy.ndarray";
    default: break;
  }
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
    default: break;
  }
  std::string name = python::class_name(contents, value);
  return name.empty() ? "object" : name;
}

namespace {

// complex(re, im) with two floats, which JSON carries as {"complex": [re, im]}.
bool write_complex(JsonWriter& json, const Contents& contents, Value value) {
  if (!value.is(Kind::Object)) return false;
  const std::string name = python::class_name(contents, value);
  if (name != "complex" && name != "builtins.complex") return false;
  const Value args = contents.arena.object(value).args;
  if (!args.is(Kind::Tuple)) return false;
  const auto items = contents.arena.items(args);
  if (items.size() != 2 || !items[0].is(Kind::Float) || !items[1].is(Kind::Float)) return false;
  json.open_object();
  json.key("complex").open_array();
  json.element(contents.arena.as_real(items[0]));
  json.element(contents.arena.as_real(items[1]));
  json.close_array();
  json.close_object();
  return true;
}

}  // namespace

void write_scalar(JsonWriter& json, const Contents& contents, Value value, Encoding encoding) {
  const pickle::Arena& arena = contents.arena;
  switch (value.kind()) {
    case Kind::None: return json.null();
    case Kind::Bool: return json.boolean(pickle::Arena::as_bool(value));
    case Kind::Int: return json.number(pickle::Arena::as_int(value));
    case Kind::Float: return json.real(arena.as_real(value));
    case Kind::Str: {
      if (is_utf8(arena.as_text(value))) return json.text(arena.as_text(value));
      break;
    }
    case Kind::Py2Str: {
      const std::string text = decode_python2(arena.as_text(value), encoding);
      if (encoding != Encoding::Bytes && is_utf8(text)) return json.text(text);
      break;
    }
    case Kind::BigInt: {
      json.open_object();
      json.key("int").text(python::repr_big_integer(arena.as_text(value)));
      return json.close_object();
    }
    case Kind::Bytes:
    case Kind::ByteArray: break;
    default:
      if (write_complex(json, contents, value)) return;
      return json.text(python::repr(contents, value));
  }
  json.open_object();
  json.key("bytes_b64").text(base64(arena.as_text(value)));
  json.close_object();
}

std::string scalar_text(const Contents& contents, Value value, Encoding encoding, std::size_t max_characters) {
  if (value.is(Kind::Py2Str) && encoding != Encoding::Utf8) {
    const std::string_view bytes = contents.arena.as_text(value);
    std::string text = encoding == Encoding::Bytes
                           ? python_quote_bytes(bytes.substr(0, max_characters))
                           : python_quote(decode_python2(bytes.substr(0, max_characters), encoding));
    return text;
  }
  python::ReprOptions options;
  options.max_characters = max_characters;
  return python::repr(contents, value, options);
}

}  // namespace wick::cli
