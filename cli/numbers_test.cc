// SPDX-License-Identifier: Apache-2.0
#include "numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace wick::cli {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> formatted(std::initializer_list<double> values) {
  std::vector<Element> elements;
  for (const double value : values) {
    Element element;
    element.kind = Element::Kind::Real;
    element.real = value;
    element.is_float = true;
    elements.push_back(element);
  }
  return format_elements(elements);
}

using Texts = std::vector<std::string>;

// Expected: str(torch.tensor([...])) of torch 2.13.
TEST(Numbers, are_printed_as_torch_prints_them) {
  EXPECT_EQ(formatted({1, 2, -3}), (Texts{"1.", "2.", "-3."}));
  EXPECT_EQ(formatted({0.1, -0.25, 12.5}), (Texts{"0.1000", "-0.2500", "12.5000"}));
  EXPECT_EQ(formatted({1e-5, 1}), (Texts{"1.0000e-05", "1.0000e+00"}));
  EXPECT_EQ(formatted({1, 5000}), (Texts{"1.0000e+00", "5.0000e+03"}));
  EXPECT_EQ(formatted({kNan, kInf, -kInf, 0.5}), (Texts{"nan", "inf", "-inf", "0.5000"}));
  EXPECT_EQ(formatted({0, 0}), (Texts{"0.", "0."}));
  EXPECT_EQ(formatted({1e9, 2e9}), (Texts{"1.0000e+09", "2.0000e+09"}));
  EXPECT_EQ(formatted({2e-5, 3e-5}), (Texts{"2.0000e-05", "3.0000e-05"}));
}

TEST(Numbers, of_complex_values_format_their_parts_apart) {
  std::vector<Element> elements(2);
  for (Element& element : elements) element.kind = Element::Kind::Complex;
  elements[0].real = 1;
  elements[0].imaginary = 2;
  elements[1].real = -0.5;
  elements[1].imaginary = -0.25;
  EXPECT_EQ(format_elements(elements), (Texts{"1.0000+2.0000j", "-0.5000-0.2500j"}));
}

struct Bits {
  DType dtype;
  std::uint32_t bits;
  double value;
};

// Expected: torch.tensor(bits).view(dtype).double() of torch 2.13.
TEST(Elements, of_small_floats_are_what_torch_says) {
  const Bits cases[] = {
      {DType::Float16, 0x3c00, 1.0},
      {DType::Float16, 0x0001, 5.960464477539063e-08},
      {DType::Float16, 0x7bff, 65504.0},
      {DType::Float16, 0xfc00, -kInf},
      {DType::Float16, 0xc2ab, -3.333984375},
      {DType::BFloat16, 0x0001, 9.183549615799121e-41},
      {DType::BFloat16, 0xc2ab, -85.5},
      {DType::Float8E5M2, 0x7b, 57344.0},
      {DType::Float8E5M2, 0x7c, kInf},
      {DType::Float8E5M2, 0xb9, -0.625},
      {DType::Float8E4M3FN, 0x7e, 448.0},
      {DType::Float8E4M3FN, 0x01, 0.001953125},
      {DType::Float8E5M2FNUZ, 0x7f, 57344.0},
      {DType::Float8E5M2FNUZ, 0x01, 7.62939453125e-06},
      {DType::Float8E4M3FNUZ, 0x7f, 240.0},
      {DType::Float8E4M3FNUZ, 0xb9, -0.5625},
      {DType::Float8E8M0FNU, 0x00, 5.877471754111438e-39},
      {DType::Float8E8M0FNU, 0x7f, 1.0},
  };
  for (const Bits& c : cases) EXPECT_EQ(decode_float(c.dtype, c.bits), c.value) << c.bits;
}

TEST(Elements, that_are_no_number_are_nan) {
  for (const auto& [dtype, bits] : {std::pair{DType::Float16, 0x7e00U},
                                    {DType::Float8E5M2, 0x7eU},
                                    {DType::Float8E4M3FN, 0x7fU},
                                    {DType::Float8E4M3FN, 0xffU},
                                    {DType::Float8E5M2FNUZ, 0x80U},
                                    {DType::Float8E4M3FNUZ, 0x80U},
                                    {DType::Float8E8M0FNU, 0xffU}})
    EXPECT_TRUE(std::isnan(decode_float(dtype, bits))) << bits;
}

TEST(Numbers, alone_have_the_digits_they_need) {
  Element element;
  element.kind = Element::Kind::Real;
  element.real = static_cast<double>(0.1F);
  element.is_float = true;
  EXPECT_EQ(format_alone(element), "0.1");
  element.real = 0.1;
  element.is_float = false;
  EXPECT_EQ(format_alone(element), "0.1");
  element.real = 3;
  EXPECT_EQ(format_alone(element), "3.0");
}

}  // namespace
}  // namespace wick::cli
