// SPDX-License-Identifier: Apache-2.0
// wick info: one screen about each file.
#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "commands.h"
#include "info_json.h"
#include "inputs.h"
#include "object_tree.h"
#include "open/folder.h"
#include "table.h"
#include "width.h"

namespace wick::cli {
namespace {

using check::Found;
using checkpoint::Contents;

constexpr std::size_t kLabel = 12;        // columns of the label
constexpr std::size_t kMostRoots = 5;     // other branches named
constexpr std::size_t kMostFound = 6;     // losses and metrics named
constexpr std::size_t kMostLines = 8;     // of metadata, findings
constexpr std::size_t kLongestText = 60;  // of a value

std::string plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
}

// "float32", or "float32 ×190, int64 ×9".
std::string counts_text(const Counts& counts) {
  if (counts.size() == 1) return escape_for_display(counts.front().first);
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} \u00d7{}", text.empty() ? "" : ", ", escape_for_display(name), with_commas(count));
  return text;
}

std::string shortened(std::string text) {
  if (display_width(text) <= kLongestText) return text;
  std::size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  return text.substr(0, end) + "...";
}

// Blocks of lines, each with a label before its first.
class InfoPrinter {
 public:
  InfoPrinter(Session& session, const Document& document, const Report& report)
      : session_(session), out_(session.out), document_(document), report_(report) {}

  void run() {
    print_head();
    print_holds();
    print_branches();
    print_training();
    print_layout();
    print_metadata();
    print_bad();
    print_noticed();
    print_hints();
  }

 private:
  [[nodiscard]] const Contents& contents() const { return document_.loaded->contents; }

  // One line; the label stands on the first line of its block. Words that are too many go on below.
  void line(std::string_view label, const std::string& text, Style style = Style::Plain) {
    out_.text(pad_right(label, kLabel));
    std::string rest = text;
    const std::size_t room = std::max<std::size_t>(40, out_.columns() - kLabel);
    while (display_width(rest) > room) {
      std::size_t at = rest.rfind(' ', room);
      if (at == std::string::npos || at < room / 2) break;
      out_.line(out_.dyed(style, rest.substr(0, at)));
      out_.text(std::string(kLabel, ' '));
      rest.erase(0, at + 1);
    }
    out_.line(out_.dyed(style, rest));
  }

  void print_head() {
    const std::string name = escape_for_display(document_.name);
    const std::string what = fmt::format("{}, {}", title_of(contents().kind), human_bytes(report_.facts.bytes));
    if (display_width(name) + 2 < kLabel) {
      out_.text(out_.dyed(Style::Strong, name) + std::string(kLabel - display_width(name), ' '));
      out_.line(what);
    } else {
      out_.line(fmt::format("{}   {}", out_.dyed(Style::Strong, name), what));
    }
    const check::Writer& writer = report_.writer;
    if (!writer.tool.empty()) line("", fmt::format("written by {}", escape_for_display(writer.tool)));
    std::string said;
    for (const auto& [key, value] : writer.said)
      said += fmt::format("{}{} {}", said.empty() ? "" : ", ", escape_for_display(key), escape_for_display(value));
    if (!said.empty()) line("", "it says " + said);
    if (!writer.torch_min.empty())
      line("", fmt::format("torch {} and later read it", escape_for_display(writer.torch_min)));
    if (session_.has(Opt::Verbose))
      for (const check::Evidence& evidence : writer.evidence)
        line("", fmt::format("{}: {}", escape_for_display(evidence.found), escape_for_display(evidence.means)));
    out_.line();
  }

  // ---- holds ----

  std::string_view label(std::string_view text) {
    const std::string_view first = labelled_ ? std::string_view() : text;
    labelled_ = true;
    return first;
  }

  void print_holds() {
    const Facts& facts = report_.facts;
    labelled_ = false;
    if (contents().kind == FileKind::Archive) return print_archive();
    if (facts.model_tensors > 0) {
      const std::string branch = document_.loaded->automatic.path;
      std::string text =
          fmt::format("{}  {} parameters  {}  {}", plural(facts.model_tensors, "model tensor"),
                      with_commas(facts.parameters), human_bytes(facts.model_bytes), counts_text(facts.model_dtypes));
      if (branch != ".") text += fmt::format("  under {}", escape_for_display(branch));
      line(label("holds"), text);
    }
    for (const check::OptimizerFound& optimizer : report_.training.optimizers)
      line(label("holds"), optimizer_text(optimizer));
    const std::uint64_t known = facts.model_tensors + facts.optimizer_tensors;
    if (facts.tensors > known) line(label("holds"), plural(facts.tensors - known, "other tensor"));
    if (facts.arrays > 0) line(label("holds"), plural(facts.arrays, "numpy array"));
    if (!labelled_) line(label("holds"), root_text());
    if (const auto& names = document_.loaded->automatic.names_may_differ; !names.empty()) {
      std::string list;
      for (std::size_t i = 0; i < names.size() && i < 3; ++i)
        list += fmt::format("{}{}", i == 0 ? "" : ", ", escape_for_display(names[i]));
      if (names.size() > 3) list += fmt::format(" and {} more", names.size() - 3);
      line("", fmt::format("names may differ from torch's: {} may have a state_dict() of their own", list),
           Style::Warn);
    }
  }

  std::string root_text() const {
    if (contents().sections.empty()) return "no objects";
    const pickle::Value root = contents().resolve(contents().sections.front().root);
    const std::size_t count = checkpoint::children(contents(), root).size();
    return fmt::format("no tensors; {}{}", escape_for_display(class_text(contents(), root)),
                       count == 0 ? "" : fmt::format(" of {}", count));
  }

  std::string optimizer_text(const check::OptimizerFound& optimizer) const {
    std::string text = plural(optimizer.tensors, "optimizer slot");
    if (!optimizer.class_name.empty())
      text +=
          fmt::format("  {}{}", escape_for_display(optimizer.class_name), optimizer.guessed ? " (by its slots)" : "");
    if (!optimizer.groups.empty())
      for (const Found& hyper : optimizer.groups.front().hyper)
        if (hyper.name == "lr" || hyper.name == "weight_decay" || hyper.name == "momentum")
          text += fmt::format("  {} {}", hyper.name == "weight_decay" ? "wd" : hyper.name,
                              shortened(escape_for_display(hyper.text)));
    if (optimizer.groups.size() > 1) text += fmt::format("  {} groups", optimizer.groups.size());
    return text + fmt::format("  {}", human_bytes(optimizer.bytes));
  }

  void print_archive() {
    const std::uint64_t members = contents().members ? contents().members->size() : 0;
    const auto& models = contents().model_members;
    line("holds", fmt::format("{}, {} of them {}", plural(members, "member"), models.size(),
                              models.size() == 1 ? "a model file" : "model files"));
    for (const std::string& member : models) line("", escape_for_display(member));
  }

  void print_branches() {
    const auto& others = document_.loaded->automatic.others;
    std::string text;
    for (std::size_t i = 0; i < others.size() && i < kMostRoots; ++i)
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", escape_for_display(others[i].path),
                          plural(others[i].tensors, "tensor"));
    if (others.size() > kMostRoots) text += fmt::format(" and {} more", others.size() - kMostRoots);
    if (!text.empty()) line("branches", text);
  }

  // ---- training ----

  static void add(std::string& text, const std::string& more) { text += (text.empty() ? "" : ", ") + more; }

  static std::string found_text(const Found& found) {
    return fmt::format("{} {}", escape_for_display(found.name), shortened(escape_for_display(found.text)));
  }

  void print_training() {
    const check::Training& training = report_.training;
    std::string text;
    if (training.epoch) add(text, "epoch " + shortened(escape_for_display(training.epoch->text)));
    if (training.step) add(text, "step " + shortened(escape_for_display(training.step->text)));
    std::size_t shown = 0;
    for (const auto* founds : {&training.losses, &training.metrics})
      for (const Found& found : *founds)
        if (shown++ < kMostFound) add(text, found_text(found));
    if (shown > kMostFound) add(text, fmt::format("{} more figures", shown - kMostFound));
    if (training.saved_at) add(text, "saved " + shortened(escape_for_display(training.saved_at->text)));
    labelled_ = false;
    if (!text.empty()) line(label("training"), text);
    text.clear();
    const auto name_them = [&](std::string_view noun, const std::vector<Found>& founds) {
      if (founds.empty()) return;
      std::string paths;
      for (std::size_t i = 0; i < founds.size() && i < 3; ++i)
        paths += fmt::format("{}{}", i == 0 ? "" : ", ", escape_for_display(founds[i].path));
      add(text, fmt::format("{} at {}{}", noun, paths, founds.size() > 3 ? " ..." : ""));
    };
    name_them("scheduler", training.schedulers);
    name_them("scaler", training.scalers);
    name_them("random states", training.rng);
    name_them("averages", training.averages);
    name_them("settings", training.config);
    if (!text.empty()) line(label("training"), text);
  }

  // ---- layout ----

  void print_layout() {
    const auto& facts = contents().facts;
    std::string text;
    if (report_.facts.storages > 0)
      add(text,
          fmt::format("{} of {}", plural(report_.facts.storages, "storage"), human_bytes(report_.facts.storage_bytes)));
    if (facts.alignment > 1) add(text, fmt::format("{}-byte aligned", facts.alignment));
    if (report_.facts.storages > 0) add(text, facts.byteorder + "-endian");
    if (facts.crc_present + facts.crc_omitted > 0)
      add(text, facts.crc_omitted == 0   ? "CRCs present"
                : facts.crc_present == 0 ? "CRCs left out"
                                         : fmt::format("{} CRCs left out", facts.crc_omitted));
    if (facts.compressed > 0) add(text, fmt::format("{} deflated", plural(facts.compressed, "record")));
    if (facts.pickle_protocol >= 0) add(text, fmt::format("pickle protocol {}", facts.pickle_protocol));
    if (facts.python2) add(text, "written by Python 2");
    if (!text.empty()) line("layout", text);
    if (facts.persistent_ids > 0) {
      const std::uint64_t unused = facts.persistent_ids - std::min(facts.persistent_ids, facts.persistent_ids_used);
      line("",
           fmt::format("{}, {}", plural(facts.persistent_ids, "persistent id"),
                       unused == 0 ? std::string("each is a tensor's")
                                   : fmt::format("{} of them no tensor's", with_commas(unused))),
           unused == 0 ? Style::Plain : Style::Warn);
    }
    if (!facts.extra_members.empty()) print_extra(facts.extra_members);
  }

  void print_extra(const std::vector<std::string>& members) {
    std::string text = fmt::format("{} beside: ", plural(members.size(), "record"));
    for (std::size_t i = 0; i < members.size() && i < 3; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", escape_for_display(members[i]));
    if (members.size() > 3) text += " ...";
    line("", text);
  }

  void print_metadata() {
    const auto& metadata = contents().facts.metadata;
    labelled_ = false;
    const std::size_t most = session_.has(Opt::Verbose) ? metadata.size() : kMostLines;
    for (std::size_t i = 0; i < metadata.size() && i < most; ++i)
      line(label("metadata"), fmt::format("{} = {}", escape_for_display(metadata[i].first),
                                          shortened(escape_for_display(metadata[i].second))));
    if (metadata.size() > most) line("", fmt::format("{} more (-v shows all)", metadata.size() - most));
  }

  // ---- what a person should act on ----

  void print_bad() {
    const Facts& facts = report_.facts;
    if (facts.bad_tensors == 0) return;
    line("bad", fmt::format("{} of {} tensors can not be read", facts.bad_tensors, facts.tensors), Style::Bad);
    line("", escape_for_display(facts.first_error), Style::Bad);
  }

  void print_noticed() {
    const auto& findings = contents().findings;
    labelled_ = false;
    const std::size_t most = session_.has(Opt::Verbose) ? findings.size() : kMostLines;
    for (std::size_t i = 0; i < findings.size() && i < most; ++i)
      line(label("noticed"), escape_for_display(findings[i].message), Style::Warn);
    if (findings.size() > most) line("", fmt::format("{} more (-v shows all)", findings.size() - most));
  }

  void print_hints() {
    labelled_ = false;
    for (const check::Hint& hint : report_.hints) {
      if (!labelled_) out_.line();
      line(label("hints"), escape_for_display(hint.message), Style::Warn);
      if (!hint.next.empty())  // never broken: it may be a command to copy
        out_.line(std::string(kLabel + 2, ' ') + escape_for_display(hint.next));
    }
  }

  Session& session_;
  Output& out_;
  const Document& document_;
  const Report& report_;
  bool labelled_ = false;
};

}  // namespace

void run_info(Session& session) {
  auto inputs = expand_inputs(session.arguments.words, session.has(Opt::Null));
  if (!inputs) return session.fail(inputs.error(), {});
  bool first = true;
  Opener(session, *std::move(inputs)).run(true, [&](const Document& document, bool) {
    if (!document.rest.empty())
      return session.fail(fail(ErrorCode::NotFound, "info is about files; there is no file of that name in it")
                              .advise(fmt::format("wick show '{}::{}'", document.name, document.rest)),
                          fmt::format("{}::{}", document.name, document.rest));
    const auto& loaded = *document.loaded;
    const Report report{count_facts(loaded, document.name), check::find_writer(loaded), check::find_training(loaded),
                        check::find_hints(loaded)};
    if (report.facts.bad_tensors > 0) session.exit = kExitFailed;
    if (session.json_mode != JsonMode::None) return write_info(session, document, report);
    if (!first) session.out.line();
    first = false;
    InfoPrinter(session, document, report).run();
  });
}

}  // namespace wick::cli
