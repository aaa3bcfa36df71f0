// SPDX-License-Identifier: Apache-2.0
// wick ls: the tensors of each file, one a line.
#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "commands.h"
#include "group.h"
#include "inputs.h"
#include "members.h"
#include "pattern.h"
#include "row.h"
#include "table.h"

namespace wick::cli {
namespace {

using checkpoint::TensorRow;

// What was asked of every file alike.
struct Wanted {
  NameFilter names;
  std::optional<Where> where;
  std::optional<std::size_t> sort_field;
  bool largest_first = false;
  bool arrays = false;

  [[nodiscard]] bool filters() const { return !names.empty() || where.has_value(); }
};

Result<Wanted> read_wanted(const Session& session) {
  Wanted wanted;
  WICK_TRY(wanted.names, NameFilter::make(session.arguments.all(Opt::Tensor), session.arguments.all(Opt::Regex)));
  if (session.has(Opt::Where)) {
    WICK_TRY(wanted.where, Where::parse(session.arguments.value(Opt::Where), row_fields()));
  }
  if (session.has(Opt::Sort)) {
    std::string_view field = session.arguments.value(Opt::Sort);
    wanted.largest_first = field.starts_with('-');
    if (wanted.largest_first) field.remove_prefix(1);
    WICK_TRY(wanted.sort_field, find_field(field, row_fields()));
  }
  wanted.arrays = session.has(Opt::Arrays);
  return wanted;
}

// FILE::rest picks the tensor of that name, or the branch below it.
bool lies_under(std::string_view name, std::string_view rest) {
  return rest.empty() || name == rest || (name.starts_with(rest) && name[rest.size()] == '.');
}

std::vector<std::size_t> choose(Listing& listing, const Wanted& wanted, std::string_view rest) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < listing.size(); ++row) {
    if (listing.tensor(row).is_array && !wanted.arrays) continue;
    if (!rest.empty() || !wanted.names.empty()) {
      const std::string name = listing.name(row);
      if (!lies_under(name, rest) || !wanted.names.picks(name)) continue;
    }
    if (wanted.where && !wanted.where->holds([&](std::size_t field) { return field_of_row(listing, row, field); }))
      continue;
    rows.push_back(row);
  }
  return rows;
}

void sort_rows(Listing& listing, const Wanted& wanted, std::vector<std::size_t>& rows) {
  if (!wanted.sort_field) return;
  std::vector<std::pair<FieldValue, std::size_t>> keyed;
  keyed.reserve(rows.size());
  for (const std::size_t row : rows) keyed.emplace_back(field_of_row(listing, row, *wanted.sort_field), row);
  // Absent values (the variant's first alternative) stand first, and last when the largest come first.
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return wanted.largest_first ? b.first < a.first : a.first < b.first;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = keyed[i].second;
}

class LsPrinter {
 public:
  LsPrinter(Session& session, const Wanted& wanted, Listing& listing, const Document& document, bool many)
      : session_(session), wanted_(wanted), listing_(listing), document_(document), many_(many) {}

  void run() {
    rows_ = choose(listing_, wanted_, document_.rest);
    sort_rows(listing_, wanted_, rows_);
    if (rows_.empty() && !document_.rest.empty())
      return session_.fail(fail(ErrorCode::NotFound, "it holds no tensor and no branch of that name"),
                           fmt::format("{}::{}", document_.name, document_.rest));
    if (session_.has(Opt::Digest))
      for (const std::size_t row : rows_) total_bytes_ += listing_.contents().tensor_bytes(listing_.tensor(row));
    if (session_.has(Opt::Group))
      groups();
    else if (session_.json_mode == JsonMode::None)
      table();
    else
      json();
    tell_bad_rows();
  }

  [[nodiscard]] std::size_t matched() const { return rows_.size(); }

 private:
  const checkpoint::Contents& contents() const { return listing_.contents(); }

  // ---- text ----

  std::string shown_name(std::size_t row) const {
    std::string name = listing_.name(row);
    if (name.empty()) name = ".";  // the file is that tensor
    if (many_) name = fmt::format("{}::{}", document_.name, name);
    return escape_for_display(name);
  }

  std::string digest(std::size_t row) {
    auto made = digest_of(listing_, listing_.place(row).tensor, [this](std::uint64_t bytes) { hashed(bytes); });
    if (made) return *std::move(made);
    if (made.error().code() != ErrorCode::Unsupported && contents().error_of(listing_.tensor(row)) == nullptr)
      digest_errors_.emplace(row, made.error().message());
    return "-";
  }

  void hashed(std::uint64_t bytes) {
    hashed_bytes_ += bytes;
    session_.out.progress("hashing", hashed_bytes_, total_bytes_);
  }

  static std::string text_of(const FieldValue& value) {
    if (const auto* number = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *number);
    if (const auto* text = std::get_if<std::string>(&value)) return escape_for_display(*text);
    return "-";
  }

  std::string field(std::size_t row, std::string_view name) {
    const auto field = find_field(name, row_fields());
    return field ? text_of(field_of_row(listing_, row, *field)) : "-";
  }

  std::vector<Column> columns() const {
    std::vector<Column> columns{{"name"}, {"dtype"}, {"shape"}, {"bytes", true}};
    if (session_.has(Opt::Long))
      columns.insert(columns.end(), {{"role"}, {"storage"}, {"offset", true}, {"strides"}, {"device"}});
    if (session_.has(Opt::Offsets)) columns.push_back({"at", true});
    if (session_.has(Opt::Digest)) columns.push_back({"sha256"});
    return columns;
  }

  std::vector<std::string> cells(std::size_t row) {
    const TensorRow& tensor = listing_.tensor(row);
    std::vector<std::string> cells{shown_name(row), escape_for_display(dtype_text(contents(), tensor)),
                                   shape_for_people(contents().sizes(tensor)),
                                   short_count(contents().tensor_bytes(tensor))};
    if (session_.has(Opt::Long)) {
      cells.push_back(field(row, "role"));
      cells.push_back(field(row, "storage.key"));
      cells.push_back(fmt::format("{}", tensor.offset));
      const auto strides = contents().strides(tensor);
      std::string text = fmt::format("{}", fmt::join(strides.begin(), strides.end(), ","));
      cells.push_back(text.empty() ? "-" : text);
      cells.push_back(field(row, "device"));
    }
    if (session_.has(Opt::Offsets)) cells.push_back(field(row, "storage.file_offset"));
    if (session_.has(Opt::Digest)) cells.push_back(digests_[row]);
    return cells;
  }

  std::string tail(std::size_t row) {
    const TensorRow& tensor = listing_.tensor(row);
    if (const Error* error = contents().error_of(tensor))
      return session_.out.dyed(Style::Bad, fmt::format("  error: {}", escape_for_display(error->message())));
    if (const auto found = digest_errors_.find(row); found != digest_errors_.end())
      return session_.out.dyed(Style::Bad, fmt::format("  error: {}", escape_for_display(found->second)));
    if (session_.has(Opt::Long) && tensor.more != checkpoint::kNone && !contents().more[tensor.more].note.empty())
      return fmt::format("  {}", escape_for_display(contents().more[tensor.more].note));
    return {};
  }

  void table() {
    if (session_.has(Opt::Digest))
      for (const std::size_t row : rows_) digests_[row] = digest(row);
    print_table(
        session_.out, columns(), rows_.size(), session_.out.stdout_is_terminal(),
        [this](std::size_t i) { return cells(rows_[i]); }, [this](std::size_t i) { return tail(rows_[i]); });
    total();
  }

  void total() {
    if (!session_.out.stdout_is_terminal() || !session_.out.stderr_is_terminal() || session_.out.quiet()) return;
    std::uint64_t bytes = 0;
    std::uint64_t parameters = 0;
    for (const std::size_t row : rows_) {
      bytes += contents().tensor_bytes(listing_.tensor(row));
      parameters += contents().numel(listing_.tensor(row)).value_or(0);
    }
    session_.out.message(session_.out.dyed(
        Style::Faint, fmt::format("{} tensor{}, {} elements, {}\n", rows_.size(), rows_.size() == 1 ? "" : "s",
                                  with_commas(parameters), human_bytes(bytes))));
  }

  // ---- folded ----

  void groups() {
    std::vector<GroupLine> lines;
    for (const std::size_t row : rows_) {
      const TensorRow& tensor = listing_.tensor(row);
      const bool bad = contents().error_of(tensor) != nullptr;
      lines.push_back({session_.json_mode == JsonMode::None ? shown_name(row) : listing_.name(row),
                       fmt::format("{} {} {}", dtype_text(contents(), tensor),
                                   shape_for_people(contents().sizes(tensor)), bad ? row + 1 : 0),
                       contents().tensor_bytes(tensor)});
    }
    lines = fold(std::move(lines));
    if (session_.json_mode != JsonMode::None) return groups_json(lines);
    const Column columns[] = {{"name"}, {"dtype"}, {"shape"}, {"bytes", true}};
    print_table(
        session_.out, columns, lines.size(), session_.out.stdout_is_terminal(),
        [&](std::size_t i) { return group_cells(lines[i]); }, [&](std::size_t i) { return tail(rows_[lines[i].row]); });
    total();
  }

  static std::string count_text(const GroupLine& line) { return fmt::format(" \u00d7{}", line.count); }

  std::vector<std::string> group_cells(const GroupLine& line) const {
    const TensorRow& tensor = listing_.tensor(rows_[line.row]);
    return {line.name + (line.count > 1 ? count_text(line) : ""), escape_for_display(dtype_text(contents(), tensor)),
            shape_for_people(contents().sizes(tensor)), short_count(line.bytes)};
  }

  void groups_json(const std::vector<GroupLine>& lines) {
    const bool rows = session_.json_mode != JsonMode::Object;
    if (!rows) {
      open_object();
      session_.json.key("groups").open_array();
    }
    for (const GroupLine& line : lines) {
      const TensorRow& tensor = listing_.tensor(rows_[line.row]);
      session_.json.open_object();
      if (rows) {
        session_.json.key("schema").text("wick.ls.group/1");
        session_.json.named_text("file", document_.name);
      }
      session_.json.named_text("name", line.name);
      session_.json.key("count").number(line.count);
      session_.json.named_text("dtype", dtype_text(contents(), tensor));
      session_.json.key("shape").open_array();
      for (const std::int64_t size : contents().sizes(tensor)) session_.json.number(size);
      session_.json.close_array();
      session_.json.key("bytes").number(line.bytes);
      session_.json.close_object();
      if (rows) session_.json.end_line();
    }
    if (rows) return;
    session_.json.close_array();
    session_.json.close_object();
    session_.json.end_line();
  }

  // ---- JSON ----

  void open_object() {
    session_.open_document("wick.ls/1", document_.name, name_of(contents().kind));
    const std::string_view root = session_.arguments.value(Opt::Root);
    session_.json.named_text("root", root.empty() ? "." : root == "auto" ? listing_.loaded().automatic.path : root);
  }

  void json() {
    RowStyle style;
    style.offsets = session_.has(Opt::Offsets);
    style.digest = session_.has(Opt::Digest);
    style.only = session_.json_fields;
    // A key that is asked for by name needs no option beside it.
    if (std::find(style.only.begin(), style.only.end(), "sha256") != style.only.end()) style.digest = true;
    style.standalone = session_.json_mode != JsonMode::Object;
    style.file = document_.name;
    style.hashed = [this](std::uint64_t bytes) { hashed(bytes); };
    if (!style.standalone) {
      open_object();
      session_.json.key("tensors").open_array();
    }
    for (const std::size_t row : rows_) {
      if (!session_.out.wanted()) break;
      auto error = write_row(session_.json, listing_, row, style);
      if (error && contents().error_of(listing_.tensor(row)) == nullptr) digest_errors_.emplace(row, error->message());
      if (style.standalone) session_.json.end_line();
    }
    if (style.standalone) return;
    session_.json.close_array();
    session_.json.close_object();
    session_.json.end_line();
  }

  // Bad tensors are listed with their error; the end says how many, and the exit code tells scripts.
  void tell_bad_rows() {
    std::size_t bad = digest_errors_.size();
    for (const std::size_t row : rows_)
      if (contents().error_of(listing_.tensor(row)) != nullptr) ++bad;
    if (bad == 0) return;
    session_.out.message(fmt::format("wick: {}: {} of {} tensors can not be read; each says why\n",
                                     escape_for_display(document_.name), bad, rows_.size()));
    session_.exit = kExitFailed;
  }

  Session& session_;
  const Wanted& wanted_;
  Listing& listing_;
  const Document& document_;
  bool many_;
  std::vector<std::size_t> rows_;
  std::unordered_map<std::size_t, std::string> digests_;
  std::unordered_map<std::size_t, std::string> digest_errors_;
  std::uint64_t hashed_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace

void run_ls(Session& session) {
  const bool keyed = session.json_mode == JsonMode::Fields;
  if (keyed && (session.has(Opt::Members) || session.has(Opt::Group)))
    return session.fail(
        usage_error("--json=FIELDS names fields of tensors; --members and --group take --json and --json=rows"), {});
  auto wanted = read_wanted(session);
  if (!wanted) return session.fail(wanted.error(), {});
  auto inputs = expand_inputs(session.arguments.words, session.has(Opt::Null));
  if (!inputs) return session.fail(inputs.error(), {});
  std::size_t matched = 0;
  const bool members = session.has(Opt::Members);
  Opener(session, *std::move(inputs)).run(members, [&](const Document& document, bool many) {
    if (members) {
      matched += list_members(session, document, wanted->names, many);
      return;
    }
    auto listing = Listing::make(document.loaded, session.arguments.value(Opt::Root), session.encoding);
    if (!listing) return session.fail(listing.error(), document.name);
    LsPrinter printer(session, *wanted, *listing, document, many);
    printer.run();
    matched += printer.matched();
  });
  if (matched == 0 && wanted->filters()) session.answer_no();
}

}  // namespace wick::cli
