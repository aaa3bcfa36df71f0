// SPDX-License-Identifier: Apache-2.0
#include "where.h"

#include <optional>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "command_line.h"
#include "near.h"
#include "problem.h"

namespace wick::cli {
namespace {

constexpr int kDeepest = 100;  // of a user's own parentheses
constexpr std::string_view kSpaces = " \t\n";

bool ends_field(char c) {
  return kSpaces.find(c) != std::string_view::npos || std::string_view("=!<>~()").find(c) != std::string_view::npos;
}

}  // namespace

Result<std::size_t> find_field(std::string_view name, std::span<const FieldName> fields) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == name) return i;
  std::vector<std::string_view> known;
  for (const FieldName& field : fields) known.push_back(field.name);
  std::string list;
  for (const std::string_view field : known) list += fmt::format("{}{}", list.empty() ? "" : " ", field);
  return usage_error(fmt::format("there is no field {}{}", escape_for_display(name), did_you_mean(name, known)),
                     fmt::format("Fields: {}", list));
}

class WhereParser {
 public:
  WhereParser(std::string_view text, std::span<const FieldName> fields) : text_(text), fields_(fields) {}

  Result<Where> run() {
    WICK_CHECK(expression(0));
    skip_spaces();
    if (at_ != text_.size()) return problem("an operator or the end");
    return std::move(where_);
  }

 private:
  Error problem(std::string_view expected) const {
    const std::string_view rest = text_.substr(at_);
    return usage_error(fmt::format("--where: expected {}, found {}", expected,
                                   rest.empty() ? std::string("the end") : escape_for_display(rest)),
                       "An example: --where 'dtype=float16 and bytes>1MiB and name~^encoder'");
  }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(kSpaces, at_), text_.size()); }

  // Takes `word` when it stands here and no longer word does.
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!equals_ignoring_case(text_.substr(at_, word.size()), word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && !ends_field(text_[end])) return false;
    if (end < text_.size() && std::string_view("=!<>~").find(text_[end]) != std::string_view::npos) return false;
    at_ = end;
    return true;
  }

  bool take(std::string_view sign) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  Result<void> expression(int depth) {
    WICK_CHECK(conjunction(depth));
    while (take_word("or")) {
      WICK_CHECK(conjunction(depth));
      where_.steps_.push_back({Where::What::Or, {}, 0, {}, nullptr});
    }
    return {};
  }

  Result<void> conjunction(int depth) {
    WICK_CHECK(condition(depth));
    while (take_word("and")) {
      WICK_CHECK(condition(depth));
      where_.steps_.push_back({Where::What::And, {}, 0, {}, nullptr});
    }
    return {};
  }

  Result<void> condition(int depth) {
    if (depth > kDeepest) return usage_error("--where: more than 100 parentheses in one another");
    if (take_word("not")) {
      WICK_CHECK(condition(depth + 1));
      where_.steps_.push_back({Where::What::Not, {}, 0, {}, nullptr});
      return {};
    }
    if (take("(")) {
      WICK_CHECK(expression(depth + 1));
      if (!take(")")) return problem("')'");
      return {};
    }
    return comparison();
  }

  Result<void> comparison() {
    skip_spaces();
    std::size_t end = at_;
    while (end < text_.size() && !ends_field(text_[end])) ++end;
    if (end == at_) return problem("a field");
    WICK_TRY(const std::size_t field, find_field(text_.substr(at_, end - at_), fields_));
    at_ = end;
    if (take("~")) return match(field);
    const auto order = take_order();
    if (!order) return problem("one of = != < > <= >= ~");
    WICK_TRY(const std::string word, value());
    return compare(field, *order, word);
  }

  std::optional<Where::Order> take_order() {
    using Order = Where::Order;
    constexpr std::pair<std::string_view, Order> kOrders[] = {
        {"==", Order::Equal}, {"!=", Order::NotEqual}, {"<=", Order::LessEqual}, {">=", Order::GreaterEqual},
        {"=", Order::Equal},  {"<", Order::Less},      {">", Order::Greater}};
    for (const auto& [sign, order] : kOrders)
      if (take(sign)) return order;
    return std::nullopt;
  }

  // A quoted text, or a word up to a space or a ')' that it did not open.
  Result<std::string> value() {
    skip_spaces();
    if (at_ == text_.size()) return problem("a value");
    const char quote = text_[at_];
    if (quote == '\'' || quote == '"') {
      const std::size_t end = text_.find(quote, at_ + 1);
      if (end == std::string_view::npos) return problem("a closing quote");
      std::string word(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      return word;
    }
    const std::size_t begin = at_;
    int open = 0;
    for (; at_ < text_.size() && kSpaces.find(text_[at_]) == std::string_view::npos; ++at_) {
      if (text_[at_] == '(') ++open;
      if (text_[at_] == ')' && --open < 0) break;
    }
    if (at_ == begin) return problem("a value");
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<void> match(std::size_t field) {
    WICK_TRY(const std::string regex, value());
    WICK_TRY(Pattern pattern, Pattern::from_regex(regex));
    where_.steps_.push_back({Where::What::Match, {}, field, {}, std::make_shared<const Pattern>(std::move(pattern))});
    return {};
  }

  Result<void> compare(std::size_t field, Where::Order order, const std::string& word) {
    using Order = Where::Order;
    const FieldName& name = fields_[field];
    FieldValue wanted;
    const bool ordered = order != Order::Equal && order != Order::NotEqual;
    if (ordered && name.type != FieldType::Number)
      return usage_error(fmt::format("--where: {} is no number: use =, != or ~", name.name));
    if (word == "null") {
      wanted = std::monostate();
    } else if (name.type == FieldType::Number) {
      const auto size = parse_size(word);
      if (!size)
        return usage_error(fmt::format("--where: {} is a number, {} is none", name.name, escape_for_display(word)),
                           "A size is 512MiB, 4G or 1000000");
      wanted = *size;
    } else if (name.type == FieldType::Truth) {
      if (word != "true" && word != "false")
        return usage_error(fmt::format("--where: {} is true or false, not {}", name.name, escape_for_display(word)));
      wanted = word == "true";
    } else {
      wanted = word;
    }
    where_.steps_.push_back({Where::What::Compare, order, field, std::move(wanted), nullptr});
    return {};
  }

  std::string_view text_;
  std::span<const FieldName> fields_;
  std::size_t at_ = 0;
  Where where_;
};

Result<Where> Where::parse(std::string_view expression, std::span<const FieldName> fields) {
  return WhereParser(expression, fields).run();
}

bool Where::compare(const Step& step, const FieldValue& has) {
  switch (step.order) {
    case Order::Equal: return has == step.value;
    case Order::NotEqual: return has != step.value;
    default: break;
  }
  const auto* number = std::get_if<std::uint64_t>(&has);
  const auto* bound = std::get_if<std::uint64_t>(&step.value);
  if (number == nullptr || bound == nullptr) return false;  // an absent number is neither less nor more
  switch (step.order) {
    case Order::Less: return *number < *bound;
    case Order::Greater: return *number > *bound;
    case Order::LessEqual: return *number <= *bound;
    default: return *number >= *bound;
  }
}

bool Where::holds(const FieldOf& field_of) const {
  std::vector<bool> stack;
  for (const Step& step : steps_) {
    if (step.what == What::Not) {
      stack.back() = !stack.back();
    } else if (step.what == What::And || step.what == What::Or) {
      const bool right = stack.back();
      stack.pop_back();
      stack.back() = step.what == What::And ? (stack.back() && right) : (stack.back() || right);
    } else if (step.what == What::Match) {
      const FieldValue has = field_of(step.field);
      const auto* text = std::get_if<std::string>(&has);
      if (const auto* number = std::get_if<std::uint64_t>(&has))
        stack.push_back(step.pattern->matches(fmt::format_int(*number).c_str()));
      else
        stack.push_back(text != nullptr && step.pattern->matches(*text));
    } else {
      stack.push_back(compare(step, field_of(step.field)));
    }
  }
  return !stack.empty() && stack.back();
}

std::vector<std::size_t> Where::fields_named() const {
  std::vector<std::size_t> named;
  for (const Step& step : steps_)
    if (step.what == What::Compare || step.what == What::Match) named.push_back(step.field);
  return named;
}

}  // namespace wick::cli
