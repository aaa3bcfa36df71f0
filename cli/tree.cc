// SPDX-License-Identifier: Apache-2.0
// wick tree: modules and objects with their bytes and parameters.
#include <charconv>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "commands.h"
#include "inputs.h"
#include "object_tree.h"
#include "open/locate.h"
#include "torch/module_repr.h"
#include "tree_options.h"

namespace wick::cli {
namespace {

using checkpoint::Contents;

// One tree of a file: its main one, the branch asked for, or another pickle's.
struct Trunk {
  std::string record;
  pickle::Value root;
};

Result<std::vector<Trunk>> find_trunks(const Document& document, std::string_view root) {
  const Contents& contents = document.loaded->contents;
  std::vector<Trunk> trunks;
  std::string path(root == "auto" ? document.loaded->automatic.path : root);
  if (!document.rest.empty()) path = document.rest;
  if (path.empty() || path == ".") {
    for (const auto& section : contents.sections) trunks.push_back({section.record, section.root});
    return trunks;
  }
  WICK_TRY(const auto located, open_detail::locate_in(contents, path));
  trunks.push_back({path, located.value});
  return trunks;
}

std::string title_of(const Document& document, const Trunk& trunk) {
  return trunk.record.empty() ? document.name : fmt::format("{}::{}", document.name, trunk.record);
}

class TreeCommand {
 public:
  TreeCommand(Session& session, TreeStyle style) : session_(session), style_(style) {}

  void run(const Document& document) {
    auto trunks = find_trunks(document, session_.arguments.value(Opt::Root));
    if (!trunks) return session_.fail(trunks.error(), document.name);
    if (session_.has(Opt::Repr)) return print_reprs(document, *trunks);
    std::vector<std::vector<TreeNode>> trees;
    for (const Trunk& trunk : *trunks) {
      auto nodes = build_tree(document.loaded->contents, trunk.root);
      if (!nodes) return session_.fail(nodes.error(), title_of(document, trunk));
      trees.push_back(*std::move(nodes));
    }
    if (session_.json_mode == JsonMode::None)
      for (std::size_t i = 0; i < trees.size(); ++i)
        print_tree(session_.out, document.loaded->contents, trees[i], title_of(document, (*trunks)[i]), style_);
    else
      write_json(document, *trunks, trees);
  }

 private:
  void write_json(const Document& document, const std::vector<Trunk>& trunks,
                  const std::vector<std::vector<TreeNode>>& trees) {
    const Contents& contents = document.loaded->contents;
    session_.open_document("wick.tree/1", document.name, name_of(contents.kind));
    session_.json.key("root");
    if (trees.empty())
      session_.json.null();
    else
      write_tree(session_.json, contents, trees.front(), style_);
    if (trees.size() > 1) {
      session_.json.key("records").open_array();  // the other pickles of the file
      for (std::size_t i = 1; i < trees.size(); ++i) {
        session_.json.open_object();
        session_.json.named_text("record", trunks[i].record);
        session_.json.key("root");
        write_tree(session_.json, contents, trees[i], style_);
        session_.json.close_object();
      }
      session_.json.close_array();
    }
    session_.json.close_object();
    session_.json.end_line();
  }

  // The module itself; of a file whose root is none, the one that auto picks.
  static std::optional<pickle::Value> module_of(const Document& document, const std::vector<Trunk>& trunks) {
    const Contents& contents = document.loaded->contents;
    for (const Trunk& trunk : trunks)
      if (torch::is_module(contents, contents.resolve(trunk.root))) return contents.resolve(trunk.root);
    if (!document.loaded->automatic.is_module) return std::nullopt;
    const auto located = open_detail::locate_in(contents, document.loaded->automatic.path);
    if (!located) return std::nullopt;
    return contents.resolve(located->value);
  }

  void print_reprs(const Document& document, const std::vector<Trunk>& trunks) {
    const Contents& contents = document.loaded->contents;
    const auto module = module_of(document, trunks);
    const auto text = module ? torch::module_repr(contents, *module) : std::nullopt;
    if (!text) {
      session_.note(fmt::format("{}: holds no torch.nn module there", escape_for_display(document.name)));
      return session_.answer_no();
    }
    if (session_.json_mode != JsonMode::None) {
      session_.open_document("wick.tree/1", document.name, name_of(contents.kind));
      session_.json.key("repr").text(*text);
      session_.json.close_object();
      session_.json.end_line();
    } else {
      print_lines(*text);
    }
    tell_doubts(document, *module);
  }

  void print_lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      session_.out.name(text.substr(0, end));
      session_.out.line();
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void tell_doubts(const Document& document, pickle::Value module) {
    const auto classes = torch::repr_may_differ(document.loaded->contents, module);
    if (classes.empty()) return;
    std::string list;
    for (std::size_t i = 0; i < classes.size() && i < 5; ++i)
      list += fmt::format("{}{}", i == 0 ? "" : ", ", escape_for_display(classes[i]));
    if (classes.size() > 5) list += fmt::format(" and {} more", classes.size() - 5);
    session_.note(fmt::format("{}: Python may print more of {}: their own extra_repr is not known",
                              escape_for_display(document.name), list));
  }

  Session& session_;
  TreeStyle style_;
};

}  // namespace

Result<TreeStyle> tree_style_of(const Session& session) {
  TreeStyle style;
  style.encoding = session.encoding;
  style.everything = session.has(Opt::Verbose);
  if (!session.has(Opt::Depth)) return style;
  const std::string_view text = session.arguments.value(Opt::Depth);
  std::uint64_t depth = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), depth);
  if (code != std::errc() || end != text.data() + text.size())
    return usage_error(fmt::format("--depth {}: no number of levels", escape_for_display(text)));
  style.depth = depth;
  style.asked = true;
  return style;
}

void run_tree(Session& session) {
  auto style = tree_style_of(session);
  if (!style) return session.fail(style.error(), {});
  auto inputs = expand_inputs(session.arguments.words, session.has(Opt::Null));
  if (!inputs) return session.fail(inputs.error(), {});
  TreeCommand command(session, *style);
  Opener(session, *std::move(inputs)).run(false, [&](const Document& document, bool) { command.run(document); });
}

}  // namespace wick::cli
