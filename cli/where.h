// SPDX-License-Identifier: Apache-2.0
// --where EXPR: fields of rows, = != < > <= >= ~, and, or, not, parentheses; nothing more. docs/cli.md.
//   expression = conjunction { "or" conjunction }      conjunction = condition { "and" condition }
//   condition  = "not" condition | "(" expression ")" | FIELD operator VALUE
// VALUE is a word (sizes such as 1MiB), or quoted with ' or ". An absent field is equal to null only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pattern.h"
#include "wick/error.h"

namespace wick::cli {

// What a field of a row holds: nothing, a number, a truth or a text.
using FieldValue = std::variant<std::monostate, std::uint64_t, bool, std::string>;
enum class FieldType : std::uint8_t { Number, Truth, Text };

// The fields an expression may name.
struct FieldName {
  std::string_view name;
  FieldType type;
};

class Where {
 public:
  using FieldOf = std::function<FieldValue(std::size_t field)>;  // by index into `fields`

  static Result<Where> parse(std::string_view expression, std::span<const FieldName> fields);
  [[nodiscard]] bool holds(const FieldOf& field_of) const;
  // Indices of the fields it names.
  [[nodiscard]] std::vector<std::size_t> fields_named() const;

 private:
  friend class WhereParser;
  enum class What : std::uint8_t { Compare, Match, And, Or, Not };
  enum class Order : std::uint8_t { Equal, NotEqual, Less, Greater, LessEqual, GreaterEqual };
  struct Step {  // in postfix order
    What what = What::Compare;
    Order order = Order::Equal;
    std::size_t field = 0;
    FieldValue value;
    std::shared_ptr<const Pattern> pattern;
  };
  [[nodiscard]] static bool compare(const Step& step, const FieldValue& has);

  std::vector<Step> steps_;
};

// The index of a field, or usage error with a near name.
Result<std::size_t> find_field(std::string_view name, std::span<const FieldName> fields);

}  // namespace wick::cli
