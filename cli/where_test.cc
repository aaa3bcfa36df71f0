// SPDX-License-Identifier: Apache-2.0
#include "where.h"

#include <gtest/gtest.h>

#include <map>

#include "problem.h"

namespace wick::cli {
namespace {

constexpr FieldName kFields[] = {{"name", FieldType::Text},
                                 {"dtype", FieldType::Text},
                                 {"bytes", FieldType::Number},
                                 {"grad", FieldType::Truth},
                                 {"error", FieldType::Text}};

// A row with name "encoder.0.weight", dtype float16, 2 MiB, grad true, no error.
FieldValue field_of(std::size_t field) {
  switch (field) {
    case 0: return std::string("encoder.0.weight");
    case 1: return std::string("float16");
    case 2: return std::uint64_t{2} << 20U;
    case 3: return true;
    default: return std::monostate();
  }
}

bool holds(std::string_view expression) {
  const auto where = Where::parse(expression, kFields);
  EXPECT_TRUE(where) << expression << ": " << (where ? "" : where.error().message());
  return where && where->holds(field_of);
}

TEST(Where, compares_text_numbers_and_truths) {
  EXPECT_TRUE(holds("dtype=float16"));
  EXPECT_TRUE(holds("dtype == float16"));
  EXPECT_FALSE(holds("dtype=float32"));
  EXPECT_TRUE(holds("dtype!=float32"));
  EXPECT_TRUE(holds("bytes>1MiB"));
  EXPECT_FALSE(holds("bytes>2MiB"));
  EXPECT_TRUE(holds("bytes>=2MiB and bytes<=2MiB"));
  EXPECT_TRUE(holds("bytes<2.1MB"));
  EXPECT_TRUE(holds("bytes=2097152"));
  EXPECT_TRUE(holds("grad=true"));
  EXPECT_FALSE(holds("grad=false"));
}

TEST(Where, matches_regular_expressions_anywhere) {
  EXPECT_TRUE(holds("name~^encoder"));
  EXPECT_TRUE(holds("name~(0|1)\\.weight$"));
  EXPECT_FALSE(holds("name~^weight"));
  EXPECT_TRUE(holds("name ~ 'coder.0'"));
}

TEST(Where, and_binds_closer_than_or) {
  EXPECT_TRUE(holds("grad=true or grad=false and dtype=none"));
  EXPECT_FALSE(holds("(grad=true or grad=false) and dtype=none"));
  EXPECT_TRUE(holds("not dtype=none"));
  EXPECT_FALSE(holds("not (dtype=float16 and bytes>1k)"));
  EXPECT_TRUE(holds("NOT dtype=none AND grad=true"));
}

TEST(Where, absent_facts_equal_null_and_nothing_else) {
  EXPECT_TRUE(holds("error=null"));
  EXPECT_FALSE(holds("error!=null"));
  EXPECT_FALSE(holds("error=x"));
  EXPECT_TRUE(holds("error!=x"));
  EXPECT_FALSE(holds("error~."));
  EXPECT_TRUE(holds("dtype!=null"));
}

TEST(Where, says_what_is_wrong) {
  const std::map<std::string, std::string> cases = {
      {"dtyp=float16", "there is no field dtyp (did you mean dtype?)"},
      {"dtype>float16", "--where: dtype is no number: use =, != or ~"},
      {"bytes=big", "--where: bytes is a number, big is none"},
      {"grad=yes", "--where: grad is true or false, not yes"},
      {"dtype", "--where: expected one of = != < > <= >= ~, found the end"},
      {"dtype=", "--where: expected a value, found the end"},
      {"(dtype=a", "--where: expected ')', found the end"},
      {"dtype=a dtype=b", "--where: expected an operator or the end, found dtype=b"},
      {"", "--where: expected a field, found the end"},
      {"dtype='a", "--where: expected a closing quote, found 'a"},
  };
  for (const auto& [expression, message] : cases) {
    const auto where = Where::parse(expression, kFields);
    ASSERT_FALSE(where) << expression;
    EXPECT_EQ(where.error().message(), message);
    EXPECT_TRUE(is_usage(where.error()));
  }
  EXPECT_FALSE(Where::parse(std::string(10'000, '('), kFields));
  EXPECT_FALSE(Where::parse("name~(", kFields));
}

bool glob_matches(std::string_view glob, std::string_view name) {
  const auto pattern = Pattern::from_glob(glob);
  EXPECT_TRUE(pattern) << glob;
  return pattern && pattern->matches(name);
}

TEST(Glob, matches_whole_names) {
  EXPECT_TRUE(glob_matches("*.weight", "a.b.weight"));
  EXPECT_FALSE(glob_matches("*.weight", "a.weight.b"));
  EXPECT_FALSE(glob_matches("weight", "a.weight"));
  EXPECT_TRUE(glob_matches("layer?.x", "layer1.x"));
  EXPECT_FALSE(glob_matches("layer?.x", "layer10.x"));
  EXPECT_TRUE(glob_matches("a.[0-2].b", "a.1.b"));
  EXPECT_FALSE(glob_matches("a.[!0-2].b", "a.1.b"));
  EXPECT_TRUE(glob_matches("{q,k}.weight", "k.weight"));
  EXPECT_FALSE(glob_matches("{q,k}.weight", "v.weight"));
  EXPECT_TRUE(glob_matches("a\\*b", "a*b"));
  EXPECT_FALSE(glob_matches("a\\*b", "axb"));
  EXPECT_TRUE(glob_matches("a+(b)", "a+(b)"));
}

TEST(Glob, reaches_over_bytes_that_are_no_text) { EXPECT_TRUE(glob_matches("a*b", "a\xff\xfe\nb")); }

TEST(NameFilter, an_exclamation_mark_leaves_out) {
  const auto filter = NameFilter::make({"*.weight", "!head.*"}, {"^bias"});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->picks("fc.weight"));
  EXPECT_FALSE(filter->picks("head.weight"));
  EXPECT_TRUE(filter->picks("bias.x"));
  EXPECT_FALSE(filter->picks("fc.scale"));
  const auto only_out = NameFilter::make({"!head.*"}, {});
  ASSERT_TRUE(only_out);
  EXPECT_TRUE(only_out->picks("fc.weight"));
  EXPECT_FALSE(only_out->picks("head.weight"));
}

}  // namespace
}  // namespace wick::cli
