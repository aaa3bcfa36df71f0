// SPDX-License-Identifier: Apache-2.0
// The object tree of a file as nodes with sums, and its two faces: lines for people, nested objects for JSON. `tree`
// and `show` stand on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "listing.h"
#include "open/loaded.h"
#include "session.h"

namespace wick::cli {

enum class NodeKind : std::uint8_t { Module, Dict, List, Object, Tensor, Scalar };
std::string_view name_of(NodeKind kind);  // "module", "dict" ... as docs/json.md spells them

// What a child is to an nn.Module.
enum class Place : std::uint8_t { Plain, Attribute, Parameter, Buffer, Module };

struct TreeNode {
  std::string name;  // how the parent calls it; "" at the root
  pickle::Value value;
  NodeKind kind = NodeKind::Scalar;
  Place place = Place::Plain;
  bool repeated = false;  // stands further up already; its children are there
  std::uint32_t parent = checkpoint::kNone;
  std::uint32_t depth = 0;
  std::uint32_t tensor = checkpoint::kNone;
  std::uint32_t children = 0;
  std::uint32_t below = 0;  // nodes further down
  // Sums over the node and all below; a tensor that stands in two places counts at the first.
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;  // elements, buffers left out
  std::uint64_t buffers = 0;     // elements
  std::uint64_t bytes = 0;
};

// Nodes in the order of a walk from `root`: each before its children. Limit by --max-memory and --max-depth.
Result<std::vector<TreeNode>> build_tree(const checkpoint::Contents& contents, pickle::Value root);

struct TreeStyle {
  // Levels below the root. Real files nest a dozen; JSON readers give up at 128 brackets (serde_json) to 1000
  // (CPython), and each level is two.
  std::uint64_t depth = 60;
  bool asked = false;       // --depth was given: what it cuts need not be told
  bool everything = false;  // settings and parameters of torch.nn modules too
  Encoding encoding = Encoding::Utf8;
};

// The lines; `title` is what stands on the first one.
void print_tree(Output& out, const checkpoint::Contents& contents, const std::vector<TreeNode>& nodes,
                std::string_view title, const TreeStyle& style);
// One node with its children, as json.md says.
void write_tree(JsonWriter& json, const checkpoint::Contents& contents, const std::vector<TreeNode>& nodes,
                const TreeStyle& style);

// A scalar as JSON carries it, or one line of text for people.
void write_scalar(JsonWriter& json, const checkpoint::Contents& contents, pickle::Value value, Encoding encoding);
std::string scalar_text(const checkpoint::Contents& contents, pickle::Value value, Encoding encoding,
                        std::size_t max_characters);

// "collections.OrderedDict", "dict", "int".
std::string class_text(const checkpoint::Contents& contents, pickle::Value value);

}  // namespace wick::cli
