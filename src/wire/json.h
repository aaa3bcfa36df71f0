// SPDX-License-Identifier: Apache-2.0
// JSON as hostile input, over nlohmann's SAX reader: duplicate keys and depth are seen, and no third-party type leaves
// this folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/context.h"

namespace wick::wire {

// A parsed document: for configs and indexes. Order is kept; of duplicate keys both stay and find() gives the last.
class Json {
 public:
  enum class Type : std::uint8_t { Null, Bool, Int, Uint, Float, String, Array, Object };

  // Declared here and defaulted in json.cc: `members` holds Json while Json is not complete yet.
  Json();
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  Type type = Type::Null;
  bool boolean = false;
  std::int64_t integer = 0;   // Int (negative) and Uint when it fits
  std::uint64_t natural = 0;  // Uint
  double real = 0;            // Float, and integers as doubles
  std::string string;
  std::vector<Json> items;                            // Array
  std::vector<std::pair<std::string, Json>> members;  // Object

  [[nodiscard]] const Json* find(std::string_view key) const;  // Object member, or nullptr
  [[nodiscard]] std::optional<std::int64_t> as_int() const;    // Int or Uint within range
  [[nodiscard]] std::optional<std::string_view> as_string() const;
};

// Malformed with the byte offset within `text`. `max_values` bounds the number of values (Limit), depth is bounded by
// 256.
Result<Json> parse_json(std::string_view text, std::uint64_t max_values = 10'000'000);

// Events of a document of any size, without a tree (safetensors headers). Return false to stop early.
class JsonEvents {
 public:
  JsonEvents() = default;
  JsonEvents(const JsonEvents&) = delete;
  JsonEvents& operator=(const JsonEvents&) = delete;
  virtual ~JsonEvents() = default;
  virtual bool on_null() = 0;
  virtual bool on_bool(bool value) = 0;
  virtual bool on_int(std::int64_t value) = 0;
  virtual bool on_uint(std::uint64_t value) = 0;
  virtual bool on_float(double value, std::string_view text) = 0;
  virtual bool on_string(std::string& value) = 0;  // may be moved from
  virtual bool on_key(std::string& value) = 0;     // may be moved from
  virtual bool on_object(bool begin) = 0;
  virtual bool on_array(bool begin) = 0;
};
// Malformed with the byte offset within `text`; Limit when nested deeper than 256. A stop by the events is ok.
Result<void> read_json(std::string_view text, JsonEvents& events);

}  // namespace wick::wire
