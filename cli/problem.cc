// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include "base/format.h"
#include "base/text.h"
#include "json_writer.h"

namespace wick::cli {
namespace {

constexpr std::string_view kIndent = "      ";  // as wide as "wick: "

// FILE::ENTRY, and what lies deeper behind " > ".
std::string place_of(const Error& error, std::string_view input) {
  std::string place = escape_for_display(input);
  std::size_t depth = place.empty() ? 0 : 1;
  bool first = true;
  std::string_view before;  // readers of one record may each have named it
  for (const std::string& step : error.where()) {
    if (step == before) continue;
    before = step;
    if (first && step == input) {
      first = false;
      continue;
    }
    first = false;
    if (depth > 0) place += depth == 1 ? "::" : " > ";
    place += escape_for_display(step);
    ++depth;
  }
  return place;
}

}  // namespace

Error usage_error(std::string message, std::string_view next) {
  return Error(ErrorCode::NotFound, std::move(message)).called("usage").advise(next);
}

bool is_usage(const Error& error) { return error.slug() == "usage"; }

std::string describe(const Error& error, std::string_view input) {
  std::string text = "wick: " + place_of(error, input);
  if (error.offset()) text += fmt::format(" @0x{:x}", *error.offset());
  if (text.size() > 6) text += ": ";
  text += escape_for_display(error.message());
  text += '\n';
  std::string_view next = error.next();
  while (!next.empty()) {  // one line of advice for each line of it
    const std::size_t end = std::min(next.find('\n'), next.size());
    text += fmt::format("{}{}\n", kIndent, escape_for_display(next.substr(0, end)));
    next.remove_prefix(std::min(end + 1, next.size()));
  }
  return text;
}

void write_error(JsonWriter& json, const Error& error) {
  json.key("error").open_object();
  json.key("code").text(error.slug());
  json.key("class").text(name_of(error.code()));
  json.key("message").text(error.message());
  std::string where;
  for (const std::string& step : error.where()) where += (where.empty() ? "" : " > ") + step;
  if (where.empty())
    json.key("where").null();
  else
    json.key("where").text(where);
  if (error.offset())
    json.key("offset").number(*error.offset());
  else
    json.key("offset").null();
  if (error.next().empty())
    json.key("next").null();
  else
    json.key("next").text(error.next());
  json.close_object();
}

}  // namespace wick::cli
