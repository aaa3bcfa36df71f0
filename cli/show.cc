// SPDX-License-Identifier: Apache-2.0
// wick show: one value. A name is looked for as a tensor, as a slice of one, as a way through the object tree, as a
// record.
#include <algorithm>
#include <set>

#include "base/cursor.h"
#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "commands.h"
#include "disasm.h"
#include "element.h"
#include "inputs.h"
#include "object_tree.h"
#include "open/locate.h"
#include "pattern.h"
#include "slice.h"
#include "tensor_show.h"
#include "tree_options.h"

namespace wick::cli {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;

constexpr std::size_t kLongestScalar = 100'000;  // characters of one value; --json has all of it

// What a name turned out to be.
struct Target {
  std::uint32_t tensor = kNone;
  std::optional<std::string_view> slice;
  Value value;
  std::string record;
};

bool is_tensor(const Contents& contents, Value value, std::uint32_t& tensor) {
  const Meaning meaning = contents.meaning(value);
  const bool is = meaning.what == Meaning::What::Tensor || meaning.what == Meaning::What::Array ||
                  meaning.what == Meaning::What::Storage;
  if (is) tensor = meaning.index;
  return is;
}

bool find_tensor(const Listing& listing, std::string_view name, std::uint32_t& tensor) {
  for (std::size_t row = 0; row < listing.size(); ++row) {
    if (listing.name(row) != name) continue;
    tensor = listing.place(row).tensor;
    return true;
  }
  return false;
}

class ShowCommand {
 public:
  ShowCommand(Session& session, TreeStyle style, const NameFilter& names)
      : session_(session), style_(style), names_(names) {
    style_.everything = true;
  }

  void run(const Document& document, const std::vector<std::string>& asked) {
    document_ = &document;
    std::vector<std::string> names = asked;
    if (!document.rest.empty()) names.insert(names.begin(), document.rest);
    if (contents().kind == FileKind::Archive && !contents().model_members.empty()) return show_records(names);
    if (!names_.empty()) return show_picked();
    const bool asked_for_some = !names.empty();
    std::erase_if(names, [this](const std::string& name) { return shown_records_.contains(name); });
    if (asked_for_some && names.empty()) return;
    if (session_.has(Opt::Disasm)) return run_disasm(session_, document, names);
    if (names.empty()) names.emplace_back(session_.arguments.value(Opt::Root));
    for (const std::string& name : names) show(name);
  }

 private:
  [[nodiscard]] const Contents& contents() const { return document_->loaded->contents; }

  void show(const std::string& name) {
    auto target = find(name);
    const std::string place = name.empty() ? document_->name : fmt::format("{}::{}", document_->name, name);
    if (!target) return session_.fail(target.error(), place);
    Result<void> shown;
    if (target->tensor != kNone)
      shown = show_tensor(target->tensor, target->slice, name);
    else if (!target->record.empty())
      shown = show_record(target->record);
    else
      shown = show_object(target->value, name, place);
    if (!shown) session_.fail(shown.error(), place);
  }

  // Of an archive of models its own records; other names are looked for in its models, which come after it.
  void show_records(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      Target target;
      if (!find_record(name, target)) continue;
      shown_records_.insert(name);
      if (session_.has(Opt::Disasm)) {
        run_disasm(session_, *document_, {name});
      } else if (auto shown = show_record(target.record); !shown) {
        session_.fail(shown.error(), fmt::format("{}::{}", document_->name, name));
      }
    }
  }

  // -t and -e: every tensor they pick, each under its name.
  void show_picked() {
    auto listing = Listing::make(document_->loaded, session_.arguments.value(Opt::Root), session_.encoding);
    if (!listing) return session_.fail(listing.error(), document_->name);
    bool any = false;
    for (std::size_t row = 0; row < listing->size() && session_.out.wanted(); ++row) {
      const std::string name = listing->name(row);
      if (!names_.picks(name)) continue;
      any = true;
      if (session_.json_mode == JsonMode::None) {
        session_.out.name(name);
        session_.out.text("  ");
      }
      const auto shown = show_tensor(listing->place(row).tensor, std::nullopt, name);
      if (!shown) session_.fail(shown.error(), fmt::format("{}::{}", document_->name, name));
    }
    if (!any) session_.answer_no();
  }

  // ---- finding ----

  Result<Target> find(std::string_view name) {
    Target target;
    if (find_by_name(name, target)) return target;
    std::string_view base;
    std::string_view slice;
    if (split_slice(name, base, slice)) {
      Target sliced;
      if (find_by_name(base, sliced) && sliced.tensor != kNone) {
        sliced.slice = slice;
        return sliced;
      }
    }
    if (find_record(name, target)) return target;
    // Nothing: the tree's own error says how far the name led and what is there.
    auto located = open_detail::locate_in(contents(), name);
    if (!located && !base.empty()) located = open_detail::locate_in(contents(), base);
    if (!located) return std::move(located).error();
    return usage_error(fmt::format("{} is no tensor, so it has no slices", escape_for_display(base)));
  }

  bool find_by_name(std::string_view name, Target& target) {
    const std::string_view root = session_.arguments.value(Opt::Root);
    for (const std::string_view branch : {root, std::string_view("auto"), std::string_view(".")}) {
      const auto listing = Listing::make(document_->loaded, branch, session_.encoding);
      if (listing && !name.empty() && find_tensor(*listing, name, target.tensor)) return true;
    }
    std::string path(root == "auto" ? document_->loaded->automatic.path : root);
    if (path.empty() || path == "." || name == root)
      path = name;
    else
      path += fmt::format(".{}", name);
    const auto located = open_detail::locate_in(contents(), path);
    if (!located) return false;
    target.value = contents().resolve(located->value);
    is_tensor(contents(), target.value, target.tensor);
    return true;
  }

  bool find_record(std::string_view name, Target& target) const {
    const auto& members = contents().members;
    if (!members || name.empty()) return false;
    const std::string inside = fmt::format("{}/{}", contents().facts.root_folder, name);
    for (const std::string& candidate : {std::string(name), inside})
      if (members->has(candidate)) target.record = candidate;
    return !target.record.empty();
  }

  // ---- showing ----

  Result<void> show_tensor(std::uint32_t tensor, std::optional<std::string_view> slice, std::string_view name) {
    const auto sizes = contents().sizes(contents().tensors[tensor]);
    std::vector<Cut> cuts = whole(sizes);
    if (slice) {
      WICK_TRY(cuts, parse_slice(*slice, sizes));
    }
    if (session_.json_mode == JsonMode::None) return print_tensor(session_.out, contents(), tensor, cuts);
    // An unreadable tensor is an error, not half an object.
    WICK_CHECK(check_readable(tensor));
    session_.open_document("wick.show/1", document_->name, wick::name_of(contents().kind));
    session_.json.named_text("name", name);
    session_.json.named_text("dtype", dtype_text(contents(), contents().tensors[tensor]));
    write_shape("shape", sizes_of(cuts));
    write_shape("of", sizes);
    session_.json.key("value");
    WICK_CHECK(write_tensor_values(session_.json, contents(), tensor, cuts));
    session_.json.close_object();
    session_.json.end_line();
    return {};
  }

  Result<void> check_readable(std::uint32_t tensor) const {
    WICK_TRY(const ElementReader reader, ElementReader::make(contents(), tensor));
    (void)reader;
    return {};
  }

  void write_shape(std::string_view key, std::span<const std::int64_t> sizes) {
    session_.json.key(key).open_array();
    for (const std::int64_t size : sizes) session_.json.number(size);
    session_.json.close_array();
  }

  Result<void> show_object(Value value, const std::string& name, const std::string& place) {
    WICK_TRY(const auto nodes, build_tree(contents(), value));
    if (session_.json_mode != JsonMode::None) {
      session_.open_document("wick.show/1", document_->name, wick::name_of(contents().kind));
      session_.json.named_text("name", name);
      session_.json.key("value");
      write_tree(session_.json, contents(), nodes, style_);
      session_.json.close_object();
      session_.json.end_line();
    } else if (nodes.front().kind == NodeKind::Scalar) {
      session_.out.line(escape_for_display(scalar_text(contents(), value, session_.encoding, kLongestScalar)));
    } else {
      print_tree(session_.out, contents(), nodes, place, style_);
    }
    return {};
  }

  // A record as it is: to a pipe its bytes, on a terminal its text, or a few bytes of what is none.
  Result<void> show_record(const std::string& record) {
    WICK_TRY(const auto source, contents().members->open(record, session_.limits));
    WICK_TRY(const auto bytes, io::read_all(*source, session_.limits));
    const std::string_view text = as_text(bytes);
    const bool is_text = is_utf8(text) && text.find('\0') == std::string_view::npos;
    if (session_.json_mode != JsonMode::None) {
      write_record(record, text, is_text);
    } else if (!session_.out.stdout_is_terminal()) {
      session_.out.text(text);
    } else if (is_text) {
      print_escaped_lines(text);
    } else {
      print_hex(text);
    }
    return {};
  }

  void write_record(const std::string& record, std::string_view text, bool is_text) {
    session_.open_document("wick.show/1", document_->name, wick::name_of(contents().kind));
    session_.json.named_text("record", record);
    session_.json.key("value");
    if (is_text) {
      session_.json.text(text);
    } else {
      session_.json.open_object();
      session_.json.key("bytes_b64").text(base64(text));
      session_.json.close_object();
    }
    session_.json.close_object();
    session_.json.end_line();
  }

  void print_escaped_lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      session_.out.line(escape_for_display(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void print_hex(std::string_view bytes) {
    constexpr std::size_t kShown = 256;
    for (std::size_t at = 0; at < std::min(bytes.size(), kShown); at += 16) {
      std::string line = fmt::format("{:08x} ", at);
      for (const char c : bytes.substr(at, 16)) line += fmt::format(" {:02x}", static_cast<unsigned char>(c));
      session_.out.line(line);
    }
    if (bytes.size() > kShown)
      session_.note(fmt::format("{} of {} bytes; to a pipe or file they come as they are", kShown, bytes.size()));
  }

  Session& session_;
  TreeStyle style_;
  const NameFilter& names_;
  const Document* document_ = nullptr;
  std::set<std::string> shown_records_;
};

}  // namespace

void run_show(Session& session) {
  auto style = tree_style_of(session);
  if (!style) return session.fail(style.error(), {});
  auto filter = NameFilter::make(session.arguments.all(Opt::Tensor), session.arguments.all(Opt::Regex));
  if (!filter) return session.fail(filter.error(), {});
  const std::vector<std::string>& words = session.arguments.words;
  auto inputs = expand_inputs({words.front()}, false);
  if (!inputs) return session.fail(inputs.error(), {});
  const std::vector<std::string> names(words.begin() + 1, words.end());
  ShowCommand command(session, *style, *filter);
  Opener(session, *std::move(inputs)).run(true, [&](const Document& document, bool) { command.run(document, names); });
}

}  // namespace wick::cli
