// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "near.h"
#include "row.h"
#include "wick/version.h"

namespace wick::cli {
namespace {

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// --json alone, =rows, or =name,shape.
Result<void> read_json_mode(const Arguments& arguments, Session& session) {
  if (!arguments.has(Opt::Json)) return {};
  const std::string_view mode = arguments.value(Opt::Json);
  session.json_mode = mode == "object" ? JsonMode::Object : mode == "rows" ? JsonMode::Rows : JsonMode::Fields;
  if (session.json_mode == JsonMode::Object) return {};
  if (arguments.verb != Verb::Ls)
    return usage_error(
        fmt::format("--json={}: {} has no rows; only ls has", escape_for_display(mode), row_of(arguments.verb).word),
        fmt::format("wick {} --json gives one object for each file", row_of(arguments.verb).word));
  if (session.json_mode != JsonMode::Fields) return {};
  session.json_fields = split_at_commas(mode);
  std::vector<std::string_view> known(row_keys().begin(), row_keys().end());
  known.push_back("file");
  std::string list;
  for (const std::string_view key : known) list += fmt::format("{}{}", list.empty() ? "" : " ", key);
  for (const std::string& field : session.json_fields)
    if (std::find(known.begin(), known.end(), field) == known.end())
      return usage_error(fmt::format("--json={}: rows have no key {}{}", escape_for_display(mode),
                                     escape_for_display(field), did_you_mean(field, known)),
                         fmt::format("Keys: {}", list));
  return {};
}

}  // namespace

Result<void> Session::prepare(const Arguments& arguments, Session& session) {
  WICK_TRY(session.limits, limits_of(arguments));
  WICK_CHECK(read_json_mode(arguments, session));
  session.encoding = find_encoding(arguments.value(Opt::Encoding)).value_or(Encoding::Utf8);
  if (arguments.has(Opt::Quiet)) session.out.be_quiet();
  return {};
}

void Session::fail(const Error& error, std::string_view input) {
  out.message(describe(error, input));
  if (is_usage(error)) {
    exit = kExitUsage;
    return;
  }
  if (exit != kExitUsage) exit = kExitFailed;
  if (json_mode == JsonMode::None) return;
  // The kind is what the bytes are, when the error is about that.
  open_document("wick.error/1", input, {});
  write_error(json, error);
  json.close_object();
  json.end_line();
}

void Session::answer_no() {
  if (exit == kExitYes) exit = kExitNo;
}

void Session::note(std::string_view text) {
  if (!out.quiet()) out.message(fmt::format("wick: {}\n", text));
}

void Session::open_document(std::string_view schema, std::string_view file, std::string_view kind) {
  json.open_object();
  json.key("schema").text(schema);
  json.key("wick").text(version());
  json.named_text("file", file);
  if (kind.empty())
    json.key("kind").null();
  else
    json.key("kind").text(kind);
}

}  // namespace wick::cli
