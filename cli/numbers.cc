// SPDX-License-Identifier: Apache-2.0
#include "numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/format.h"
#include "base/python_number.h"

namespace wick::cli {
namespace {

enum class Style : std::uint8_t { Integer, Fixed, Scientific };

// One rule for all values: whole numbers as "3.", a wide range as 1.2345e-05, else four decimals.
class Range {
 public:
  void add(double value) {
    if (!std::isfinite(value) || value == 0) return;
    const double size = std::abs(value);
    least_ = any_ ? std::min(least_, size) : size;
    most_ = any_ ? std::max(most_, size) : size;
    whole_ = whole_ && value == std::ceil(value);
    any_ = true;
  }
  [[nodiscard]] Style style() const {
    if (!any_) return Style::Integer;
    const bool wide = most_ / least_ > 1000.0 || most_ > 1.0e8;
    if (whole_) return wide ? Style::Scientific : Style::Integer;
    return wide || least_ < 1.0e-4 ? Style::Scientific : Style::Fixed;
  }

 private:
  bool any_ = false;
  bool whole_ = true;
  double least_ = 0;
  double most_ = 0;
};

std::string special(double value) { return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"; }

std::string format_real(double value, Style style) {
  if (!std::isfinite(value)) return special(value);
  if (style == Style::Scientific) return fmt::format("{:.4e}", value);
  if (style == Style::Integer) return fmt::format("{:.0f}.", value);
  return fmt::format("{:.4f}", value);
}

std::string format_complex(const Element& element, Style re, Style im) {
  std::string imaginary = format_real(element.imaginary, im);
  if (imaginary.front() != '-') imaginary.insert(0, 1, '+');
  return format_real(element.real, re) + imaginary + "j";
}

std::string format_other(const Element& element) {
  switch (element.kind) {
    case Element::Kind::Signed: return fmt::format("{}", element.integer);
    case Element::Kind::Unsigned: return fmt::format("{}", element.natural);
    case Element::Kind::Truth: return element.natural != 0 ? "True" : "False";
    default: return element.text;
  }
}

std::string shortest(double value, bool is_float) {
  if (!std::isfinite(value)) return special(value);
  if (!is_float) return python_float(value);
  char digits[40];
  const auto [end, code] = std::to_chars(std::begin(digits), std::end(digits), static_cast<float>(value));
  (void)code;  // 40 characters hold every float
  std::string text(digits, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::vector<std::string> format_elements(std::span<const Element> elements) {
  Range real;
  Range imaginary;
  for (const Element& element : elements) {
    real.add(element.real);
    imaginary.add(element.imaginary);
  }
  std::vector<std::string> texts;
  texts.reserve(elements.size());
  for (const Element& element : elements) {
    if (element.kind == Element::Kind::Real)
      texts.push_back(format_real(element.real, real.style()));
    else if (element.kind == Element::Kind::Complex)
      texts.push_back(format_complex(element, real.style(), imaginary.style()));
    else
      texts.push_back(format_other(element));
  }
  return texts;
}

std::string format_alone(const Element& element) {
  if (element.kind == Element::Kind::Real) return shortest(element.real, element.is_float);
  if (element.kind != Element::Kind::Complex) return format_other(element);
  std::string imaginary = shortest(element.imaginary, element.is_float);
  if (imaginary.front() != '-') imaginary.insert(0, 1, '+');
  return fmt::format("({}{}j)", shortest(element.real, element.is_float), imaginary);
}

}  // namespace wick::cli
