// SPDX-License-Identifier: Apache-2.0
// Compact JSON, written as it is said: rows stream and nothing is kept. Rules for values that JSON cannot carry:
// docs/json.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "output.h"

namespace wick::cli {

class JsonWriter {
 public:
  explicit JsonWriter(Output& output) : output_(output) {}

  JsonWriter& open_object() { return open('{'); }
  void close_object() { close('}'); }
  JsonWriter& open_array() { return open('['); }
  void close_array() { close(']'); }
  JsonWriter& key(std::string_view name);  // of our own: ASCII without quotes
  void text_key(std::string_view bytes);   // any text

  void null() { raw("null"); }
  void boolean(bool value) { raw(value ? "true" : "false"); }
  // Beyond +-(2^53-1) as {"int": "..."}.
  template <class T>
  void number(T value) {
    static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>);
    if constexpr (std::is_signed_v<T>)
      integer(value);
    else
      natural(value);
  }
  // NaN and infinities as {"float": "nan"}.
  void real(double value);
  // The same two inside arrays of numbers, where such values are bare strings.
  void element(double value);
  void element(float value);  // the shortest digits that read back as this float
  void element_integer(std::int64_t value);
  void element_natural(std::uint64_t value);
  // Text from a file: invalid UTF-8 is shown with U+FFFD.
  void text(std::string_view bytes);
  // key: text, and beside it key_b64 with the exact bytes when they are no UTF-8.
  void named_text(std::string_view key, std::string_view bytes);
  void digits(std::string_view number);  // a number that is written already
  void end_line();                       // after one document

 private:
  JsonWriter& open(char bracket);
  void close(char bracket);
  void raw(std::string_view text);
  void comma();
  void integer(std::int64_t value);
  void natural(std::uint64_t value);
  void spill();

  Output& output_;
  std::string buffer_;
  bool needs_comma_ = false;
};

}  // namespace wick::cli
