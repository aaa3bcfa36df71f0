// SPDX-License-Identifier: Apache-2.0
// The faces of the object tree: lines with branches, and JSON.
#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "brief_line.h"
#include "object_tree.h"
#include "python/repr.h"
#include "row.h"
#include "table.h"
#include "torch/module_repr.h"
#include "width.h"

namespace wick::cli {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::TensorRow;
using pickle::Value;

// A key of Python 2 that is no UTF-8, as --encoding says.
std::string shown_name(const std::string& name, Encoding encoding) {
  return is_utf8(name) ? name : decode_python2(name, encoding);
}

constexpr std::size_t kWidestName = 40;      // columns of branches and name before what follows goes out of line
constexpr std::size_t kWidestWords = 44;     // of the description
constexpr std::size_t kLongestScalar = 100;  // characters of a value on one line

bool is_torch_class(std::string_view name) { return name.starts_with("torch.nn.") || name.starts_with("torch.ao."); }

std::string dims(std::span<const std::int64_t> sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ", "));
}

class TreePrinter {
 public:
  TreePrinter(Output& out, const Contents& contents, const std::vector<TreeNode>& nodes, const TreeStyle& style)
      : out_(out), contents_(contents), nodes_(nodes), style_(style) {}

  void run(std::string_view title) {
    choose();
    find_last_children();
    for (const std::uint32_t index : chosen_)
      if (nodes_[index].depth > 0) measure(line_of(index));
    print_root(title);
    for (const std::uint32_t index : chosen_)
      if (nodes_[index].depth > 0 && out_.wanted()) print(line_of(index));
  }

 private:
  struct Line {
    std::string name;   // branches and name
    std::string words;  // what it is
    std::string count;  // bytes or parameters
    std::string more;
    bool bad = false;
  };

  // Nodes that are shown, in order. A node whose parent is not shown is not, nor is what a short text stands for.
  void choose() {
    shown_.assign(nodes_.size(), false);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      shown_[i] = i == 0 || (shown_[nodes_[i].parent] && !is_inline(nodes_[i].parent) && wants(i));
      if (shown_[i]) chosen_.push_back(i);
    }
  }

  // A list of scalars is one line.
  [[nodiscard]] bool is_inline(std::uint32_t index) const {
    const TreeNode& node = nodes_[index];
    if (node.kind != NodeKind::List || index == 0 || node.repeated) return false;
    const std::uint32_t last = index + node.children;
    if (last >= nodes_.size() + (node.children == 0 ? 1U : 0U)) return false;
    for (std::uint32_t i = index + 1; i <= last; ++i)
      if (nodes_[i].kind != NodeKind::Scalar || nodes_[i].parent != index) return false;
    return true;
  }

  [[nodiscard]] bool wants(std::uint32_t index) const {
    const TreeNode& node = nodes_[index];
    if (node.depth > style_.depth) return false;
    if (style_.everything || node.place == Place::Plain || node.place == Place::Module) return true;
    const bool settled = is_torch_class(class_text(contents_, nodes_[node.parent].value));
    if (settled) return false;  // its line says what it is made of
    if (node.place == Place::Attribute) return !node.name.starts_with('_') && node.name != "training";
    return !node.value.is(pickle::Kind::None);
  }

  void find_last_children() {
    last_.assign(nodes_.size(), kNone);
    for (const std::uint32_t index : chosen_)
      if (index > 0) last_[nodes_[index].parent] = index;
  }

  [[nodiscard]] std::string branches(std::uint32_t index) const {
    std::string text = last_[nodes_[index].parent] == index ? "\u2514\u2500 " : "\u251c\u2500 ";
    std::vector<bool> open;
    for (std::uint32_t up = nodes_[index].parent; up != 0 && up != kNone; up = nodes_[up].parent)
      open.push_back(last_[nodes_[up].parent] != up);
    std::string stem;
    for (auto it = open.rbegin(); it != open.rend(); ++it) stem += *it ? "\u2502  " : "   ";
    return stem + text;
  }

  [[nodiscard]] std::string tensor_words(const TreeNode& node) const {
    const TensorRow& row = contents_.tensors[node.tensor];
    std::string words = fmt::format("{} {}", dtype_text(contents_, row), dims(contents_.sizes(row)));
    if (row.layout != checkpoint::Layout::Strided) words += fmt::format(" {}", checkpoint::name_of(row.layout));
    if (const Error* error = contents_.error_of(row)) words += fmt::format("  error: {}", error->message());
    return words;
  }

  [[nodiscard]] std::string words_of(const TreeNode& node, std::uint32_t index) const {
    if (node.kind == NodeKind::Tensor) return tensor_words(node);
    if (node.kind == NodeKind::Scalar) return scalar_text(contents_, node.value, style_.encoding, kLongestScalar);
    if (node.repeated) return class_text(contents_, node.value) + " (shown above)";
    if (node.kind == NodeKind::Module) {
      if (auto line = torch::module_line(contents_, node.value)) return brief_line(*line);
      return class_text(contents_, node.value);
    }
    if (is_inline(index)) return scalar_text(contents_, node.value, style_.encoding, kLongestScalar);
    const std::string name = class_text(contents_, node.value);
    return node.kind == NodeKind::Object ? name : fmt::format("{} of {}", name, node.children);
  }

  [[nodiscard]] Line line_of(std::uint32_t index) const {
    const TreeNode& node = nodes_[index];
    Line line;
    const std::string name = node.name.empty() ? "''" : escape_for_display(shown_name(node.name, style_.encoding));
    line.name = branches(index) + name;
    line.words = escape_for_display(words_of(node, index));
    if (node.children > 0 && node.depth == style_.depth && !style_.asked && !is_inline(index))
      line.words += fmt::format("  ({} deeper; --depth N shows them)", with_commas(node.below));
    line.bad = node.tensor != kNone && contents_.error_of(contents_.tensors[node.tensor]) != nullptr;
    if (node.kind == NodeKind::Module && node.tensors > 0)
      line.count = short_count(node.parameters);
    else if (node.bytes > 0)
      line.count = human_bytes(node.bytes);
    if (node.kind == NodeKind::Module && node.buffers > 0)
      line.more = fmt::format("+ {} buffers", short_count(node.buffers));
    return line;
  }

  void measure(const Line& line) {
    name_width_ = std::max(name_width_, std::min(kWidestName, display_width(line.name)));
    words_width_ = std::max(words_width_, std::min(kWidestWords, display_width(line.words)));
    count_width_ = std::max(count_width_, display_width(line.count));
  }

  void print(const Line& line) {
    std::string text = pad_right(line.name, name_width_) + "  ";
    if (line.count.empty() && line.more.empty()) {
      text += line.words;
    } else {
      text += pad_right(line.words, words_width_) + "  " + pad_left(line.count, count_width_);
      if (!line.more.empty()) text += "  " + line.more;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out_.line(out_.dyed(line.bad ? Style::Bad : Style::Plain, text));
  }

  // "resnet.pt  ResNet  25.6 M parameters  102 MB"
  void print_root(std::string_view title) {
    const TreeNode& root = nodes_.front();
    std::string text = fmt::format("{}  {}", escape_for_display(title), escape_for_display(words_of(root, 0)));
    if (root.tensors > 0 && root.kind != NodeKind::Tensor) {
      const bool model = root.kind == NodeKind::Module;
      if (model) text += fmt::format("  {} parameters", short_count(root.parameters));
      if (!model) text += fmt::format("  {} tensor{}", with_commas(root.tensors), root.tensors == 1 ? "" : "s");
    }
    if (root.bytes > 0) text += fmt::format("  {}", human_bytes(root.bytes));
    out_.line(out_.dyed(Style::Strong, text));
  }

  Output& out_;
  const Contents& contents_;
  const std::vector<TreeNode>& nodes_;
  const TreeStyle& style_;
  std::vector<bool> shown_;
  std::vector<std::uint32_t> chosen_;
  std::vector<std::uint32_t> last_;
  std::size_t name_width_ = 0;
  std::size_t words_width_ = 0;
  std::size_t count_width_ = 0;
};

void write_tensor_keys(JsonWriter& json, const Contents& contents, std::uint32_t tensor) {
  const TensorRow& row = contents.tensors[tensor];
  json.named_text("dtype", dtype_text(contents, row));
  json.key("shape").open_array();
  for (const std::int64_t size : contents.sizes(row)) json.number(size);
  json.close_array();
  if (const Error* error = contents.error_of(row)) write_error(json, *error);
}

void open_node(JsonWriter& json, const Contents& contents, const TreeNode& node, Encoding encoding) {
  json.open_object();
  json.named_text("name", shown_name(node.name, encoding));
  json.named_text("class", class_text(contents, node.value));
  json.key("kind").text(name_of(node.kind));
  if (node.kind == NodeKind::Scalar) {
    json.key("value");
    write_scalar(json, contents, node.value, encoding);
    return;
  }
  json.key("tensors").number(node.tensors);
  json.key("parameters").number(node.parameters);
  json.key("bytes").number(node.bytes);
  if (node.tensor != kNone) write_tensor_keys(json, contents, node.tensor);
  if (node.repeated) json.key("repeated").boolean(true);
}

}  // namespace

void print_tree(Output& out, const Contents& contents, const std::vector<TreeNode>& nodes, std::string_view title,
                const TreeStyle& style) {
  TreePrinter(out, contents, nodes, style).run(title);
}

// Nodes come in walk order, so brackets close when the depth falls: no recursion over what a file nests.
void write_tree(JsonWriter& json, const Contents& contents, const std::vector<TreeNode>& nodes,
                const TreeStyle& style) {
  std::vector<bool> has_list;  // of each open node: its "children" is open
  const auto close_to = [&](std::size_t depth) {
    while (has_list.size() > depth) {
      if (has_list.back()) json.close_array();
      json.close_object();
      has_list.pop_back();
    }
  };
  const std::uint32_t base = nodes.front().depth;
  for (const TreeNode& node : nodes) {
    const std::size_t depth = node.depth - base;
    if (depth > style.depth) continue;
    close_to(depth);
    open_node(json, contents, node, style.encoding);
    const bool lists = node.children > 0 && depth < style.depth;
    if (node.children > 0 && !lists) json.key("deeper").number(node.below);
    if (lists) json.key("children").open_array();
    has_list.push_back(lists);
  }
  close_to(0);
}

}  // namespace wick::cli
