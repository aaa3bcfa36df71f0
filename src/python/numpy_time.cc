// SPDX-License-Identifier: Apache-2.0
#include "python/numpy_time.h"

#include <limits>

#include "base/format.h"

namespace wick::python {

namespace {

constexpr std::int64_t kNaT = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kDaySeconds = 86'400;

struct Unit {
  std::string_view name;
  std::int64_t seconds;   // in one unit, or 0
  std::int64_t fraction;  // units in one second, or 0
  int digits;             // of the fraction as it is printed
};
constexpr Unit kUnits[] = {
    {"W", 7 * kDaySeconds, 0, 0},
    {"D", kDaySeconds, 0, 0},
    {"h", 3600, 0, 0},
    {"m", 60, 0, 0},
    {"s", 1, 0, 0},
    {"ms", 0, 1'000, 3},
    {"us", 0, 1'000'000, 6},
    {"ns", 0, 1'000'000'000, 9},
    {"ps", 0, 1'000'000'000'000, 12},
    {"fs", 0, 1'000'000'000'000'000, 15},
    {"as", 0, 1'000'000'000'000'000'000, 18},
};

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits)
    if (unit.name == name) return &unit;
  return nullptr;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

struct Date {
  std::int64_t year;
  unsigned month;
  unsigned day;
};

// The proleptic Gregorian date of a day since 1970-01-01, by eras of 400 years that begin on 1 March.
Date date_of(std::int64_t day) {
  day += 719'468;
  const std::int64_t era = floor_divide(day, 146'097);
  const auto of_era = static_cast<std::uint64_t>(day - era * 146'097);
  const std::uint64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::uint64_t march = (5 * of_year + 2) / 153;
  const auto month = static_cast<unsigned>(march < 10 ? march + 3 : march - 9);
  return {static_cast<std::int64_t>(year) + era * 400 + (month <= 2 ? 1 : 0), month,
          static_cast<unsigned>(of_year - (153 * march + 2) / 5 + 1)};
}

std::string year_text(std::int64_t year) {
  return year < 0 ? fmt::format("-{:04}", -year) : fmt::format("{:04}", year);
}

std::string moment_text(const Unit& unit, std::int64_t value) {
  std::int64_t seconds = 0;
  std::int64_t fraction = 0;
  if (unit.fraction == 0) {
    if (__builtin_mul_overflow(value, unit.seconds, &seconds)) return {};
  } else {
    seconds = floor_divide(value, unit.fraction);
    fraction = value - seconds * unit.fraction;
  }
  const std::int64_t day = floor_divide(seconds, kDaySeconds);
  const std::int64_t clock = seconds - day * kDaySeconds;
  const Date date = date_of(day);
  std::string text = fmt::format("{}-{:02}-{:02}", year_text(date.year), date.month, date.day);
  if (unit.seconds >= kDaySeconds) return text;
  text += fmt::format("T{:02}", clock / 3600);
  if (unit.name == "h") return text;
  text += fmt::format(":{:02}", clock / 60 % 60);
  if (unit.name == "m") return text;
  text += fmt::format(":{:02}", clock % 60);
  if (unit.digits > 0) text += fmt::format(".{:0{}}", fraction, unit.digits);
  return text;
}

std::string date_text(const NumpyType& type, std::int64_t value) {
  if (type.unit == "Y") return year_text(1970 + value);
  if (type.unit == "M") {
    const std::int64_t years = floor_divide(value, 12);
    return fmt::format("{}-{:02}", year_text(1970 + years), value - years * 12 + 1);
  }
  const Unit* unit = find_unit(type.unit);
  return unit == nullptr ? std::string() : moment_text(*unit, value);
}

}  // namespace

std::string numpy_time_text(const NumpyType& type, std::int64_t value) {
  const std::string unit = type.unit_count == 1 ? type.unit : fmt::format("{}{}", type.unit_count, type.unit);
  if (type.kind == 'm') {
    const std::string text = value == kNaT ? "'NaT'" : std::to_string(value);
    return type.unit.empty() ? fmt::format("np.timedelta64({})", text)
                             : fmt::format("np.timedelta64({},'{}')", text, unit);
  }
  if (value == kNaT) return fmt::format("np.datetime64('NaT','{}')", type.unit.empty() ? "generic" : unit);
  // Ten thousand million years either way: beyond that the arithmetic would overflow.
  std::int64_t units = 0;
  if (__builtin_mul_overflow(value, type.unit_count, &units)) return {};
  if ((type.unit == "Y" || type.unit == "M") && (units > 10'000'000'000 || units < -10'000'000'000)) return {};
  const std::string text = date_text(type, units);
  if (text.empty()) return {};
  // numpy adds the unit where the text does not tell it.
  const bool told = type.unit_count == 1 && type.unit != "h";
  return told ? fmt::format("np.datetime64('{}')", text) : fmt::format("np.datetime64('{}','{}')", text, unit);
}

}  // namespace wick::python
