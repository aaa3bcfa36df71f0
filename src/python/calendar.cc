// SPDX-License-Identifier: Apache-2.0
// datetime, date, time, timedelta, timezone. Their bytes: CPython's Lib/_pydatetime.py, __reduce_ex__ and __setstate.
#include "base/format.h"
#include "base/text.h"
#include "python/handlers.h"
#include "python/repr.h"

namespace wick::python {

using checkpoint::Contents;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

constexpr unsigned kFold = 0x80;  // in the month of a datetime, in the hour of a time

struct Fields {
  std::string text;
  bool fold = false;
};

unsigned at(std::string_view bytes, std::size_t index) { return static_cast<unsigned char>(bytes[index]); }

unsigned microsecond(std::string_view bytes, std::size_t index) {
  return at(bytes, index) << 16 | at(bytes, index + 1) << 8 | at(bytes, index + 2);
}

// Seconds and microseconds are left out when they are zero.
std::string clock_text(unsigned hour, unsigned minute, unsigned second, unsigned micro) {
  std::string text = fmt::format("{}, {}", hour, minute);
  if (second != 0 || micro != 0) text += fmt::format(", {}", second);
  if (micro != 0) text += fmt::format(", {}", micro);
  return text;
}

bool show(Contents& contents, Value object, std::string_view name, const Fields& fields, Arguments zone) {
  std::string text = fmt::format("datetime.{}({}", name, fields.text);
  if (!zone.empty() && !zone[0].is(Kind::None)) text += ", tzinfo=" + repr(contents, zone[0], {500, 20, 4});
  if (fields.fold) text += ", fold=1";
  contents.mean_shown(object, text + ")");
  return true;
}

// The packed bytes, also when a Python 2 pickle was written again as text.
std::optional<std::string> packed(const Contents& contents, Arguments args, std::size_t size) {
  if (args.empty() || args.size() > 2) return std::nullopt;
  std::optional<std::string> bytes;
  if (const auto found = bytes_of(contents, args[0]); found && found->size() == size)
    bytes = std::string(*found);
  else if (contents.resolve(args[0]).is(Kind::Str) && text_of(contents, args[0])->size() <= 2 * size)
    bytes = latin1_of(*text_of(contents, args[0]));
  return bytes && bytes->size() == size ? bytes : std::nullopt;
}

bool is_date(unsigned year, unsigned month, unsigned day) {
  return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

bool is_time(unsigned hour, unsigned minute, unsigned second, unsigned micro) {
  return hour < 24 && minute < 60 && second < 60 && micro < 1'000'000;
}

}  // namespace

bool date_time(Contents& contents, Value object, Arguments args) {
  const auto bytes = packed(contents, args, 10);
  if (!bytes) return false;
  const unsigned year = at(*bytes, 0) << 8 | at(*bytes, 1);
  const unsigned month = at(*bytes, 2) & ~kFold;
  const unsigned micro = microsecond(*bytes, 7);
  if (!is_date(year, month, at(*bytes, 3)) || !is_time(at(*bytes, 4), at(*bytes, 5), at(*bytes, 6), micro))
    return false;
  const std::string clock = clock_text(at(*bytes, 4), at(*bytes, 5), at(*bytes, 6), micro);
  const Fields fields{fmt::format("{}, {}, {}, {}", year, month, at(*bytes, 3), clock), (at(*bytes, 2) & kFold) != 0};
  return show(contents, object, "datetime", fields, args.subspan(1));
}

bool date(Contents& contents, Value object, Arguments args) {
  const auto bytes = packed(contents, args, 4);
  if (!bytes || args.size() != 1) return false;
  const unsigned year = at(*bytes, 0) << 8 | at(*bytes, 1);
  if (!is_date(year, at(*bytes, 2), at(*bytes, 3))) return false;
  return show(contents, object, "date", {fmt::format("{}, {}, {}", year, at(*bytes, 2), at(*bytes, 3)), false}, {});
}

bool time_of_day(Contents& contents, Value object, Arguments args) {
  const auto bytes = packed(contents, args, 6);
  if (!bytes) return false;
  const unsigned hour = at(*bytes, 0) & ~kFold;
  const unsigned micro = microsecond(*bytes, 3);
  if (!is_time(hour, at(*bytes, 1), at(*bytes, 2), micro)) return false;
  const Fields fields{clock_text(hour, at(*bytes, 1), at(*bytes, 2), micro), (at(*bytes, 0) & kFold) != 0};
  return show(contents, object, "time", fields, args.subspan(1));
}

bool time_delta(Contents& contents, Value object, Arguments args) {
  if (args.size() != 3) return false;
  constexpr std::string_view kNames[] = {"days", "seconds", "microseconds"};
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!args[i].is(Kind::Int)) return false;
    if (Arena::as_int(args[i]) == 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", kNames[i], Arena::as_int(args[i]));
  }
  contents.mean_shown(object, "datetime.timedelta(" + (text.empty() ? "0" : text) + ")");
  return true;
}

bool time_zone(Contents& contents, Value object, Arguments args) {
  if (args.empty() || args.size() > 2) return false;
  const std::string offset = repr(contents, args[0], {200, 10, 3});
  std::string text = "datetime.timezone(" + offset;
  if (args.size() == 2) {
    const auto name = text_of(contents, args[1]);
    if (!name || name->size() > 200) return false;
    text += ", " + python_quote(*name);
  }
  const bool utc = args.size() == 1 && offset == "datetime.timedelta(0)";
  contents.mean_shown(object, utc ? "datetime.timezone.utc" : text + ")");
  return true;
}

}  // namespace wick::python
