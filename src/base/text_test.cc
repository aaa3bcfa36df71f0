// SPDX-License-Identifier: Apache-2.0
// Expected strings were printed by CPython 3.11 (repr, bytes.decode(errors="replace"), base64.b64encode).
#include "base/text.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

using namespace std::string_view_literals;

TEST(Text, tells_utf8_from_other_bytes) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("h\xC3\xA9llo \xE2\x82\xAC \xF0\x9F\x98\x80"));
  EXPECT_TRUE(is_utf8("\xF4\x8F\xBF\xBF"));   // U+10FFFF
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // above it
  EXPECT_FALSE(is_utf8("\xC0\x80"));          // overlong NUL
  EXPECT_FALSE(is_utf8("\xE0\x80\x80"));      // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xE2\x82"));          // cut
  EXPECT_FALSE(is_utf8("\x80"));              // continuation alone
  EXPECT_FALSE(is_utf8("\xFF"));
}

TEST(Text, replaces_each_maximal_bad_sequence_once) {
  EXPECT_EQ(to_valid_utf8("a\xE2\x82z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x98"), "\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xFF\xFE"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("caf\xC3\xA9"), "caf\xC3\xA9");
}

TEST(Text, shows_names_without_letting_them_drive_the_terminal) {
  EXPECT_EQ(escape_for_display("fc.weight"), "fc.weight");
  EXPECT_EQ(escape_for_display("\x1B[31mred"), "\\x1b[31mred");
  EXPECT_EQ(escape_for_display("a\nb\tc\rd\0e"sv), "a\\nb\\tc\\rd\\x00e");
  EXPECT_EQ(escape_for_display("x\xE2\x80\xAEy"), "x\\u202ey");  // right-to-left override
  EXPECT_EQ(escape_for_display("x\xE2\x80\xA8y"), "x\\u2028y");  // line separator
  EXPECT_EQ(escape_for_display("\xC2\x9B"
                               "31m"),
            "\\u009b31m");  // C1 CSI as UTF-8
  EXPECT_EQ(escape_for_display("\x9B"
                               "31m"),
            "\\x9b31m");  // and as a bare byte
  EXPECT_EQ(escape_for_display("\xC3\xA9\xE6\xA8\xA1"), "\xC3\xA9\xE6\xA8\xA1");
  EXPECT_EQ(escape_for_display("C:\\models"), "C:\\models");
  EXPECT_EQ(escape_for_display("\xF3\xA0\x81\x81"), "\\U000e0041");  // an invisible tag character
}

TEST(Text, quotes_str_as_python_does) {
  EXPECT_EQ(python_quote(""), "''");
  EXPECT_EQ(python_quote("it's"), "\"it's\"");
  EXPECT_EQ(python_quote("it's \"x\""), "'it\\'s \"x\"'");
  EXPECT_EQ(python_quote("a\\b\n\t\r\x01\x7F"), "'a\\\\b\\n\\t\\r\\x01\\x7f'");
  EXPECT_EQ(python_quote("\xC3\xA9\xC2\xA0\xC2\xAD"), "'\xC3\xA9\\xa0\\xad'");
  EXPECT_EQ(python_quote("\xE2\x80\x8B\xE3\x80\x80\xF0\x9F\x98\x80"), "'\\u200b\\u3000\xF0\x9F\x98\x80'");
  EXPECT_EQ(python_quote("\xF4\x8F\xBF\xBF"), "'\\U0010ffff'");
  EXPECT_EQ(python_quote("\xED\xA0\xBD."), "'\\ud83d.'");  // "\ud83d." by surrogatepass
  EXPECT_EQ(python_quote("\xFFz"), "'\\udcffz'");          // b"\xffz".decode("utf-8", "surrogateescape")
}

TEST(Text, quotes_bytes_as_python_does) {
  EXPECT_EQ(python_quote_bytes("abc"), "b'abc'");
  EXPECT_EQ(python_quote_bytes("it's"), "b\"it's\"");
  EXPECT_EQ(python_quote_bytes("'\""), "b'\\'\"'");
  EXPECT_EQ(python_quote_bytes("\x00\n\\\x7F\xFF"sv), "b'\\x00\\n\\\\\\x7f\\xff'");
}

TEST(Text, writes_base64_with_padding) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFB\xFF\xFE"), "+//+");
}

TEST(Text, folds_only_ascii_case) {
  EXPECT_EQ(to_lower("Data.PKL \xC3\x89"), "data.pkl \xC3\x89");
  EXPECT_TRUE(equals_ignoring_case("ARCHIVE/data.pkl", "archive/DATA.PKL"));
  EXPECT_FALSE(equals_ignoring_case("a", "ab"));
  EXPECT_FALSE(equals_ignoring_case("[", "{"));
}

TEST(Text, writes_numbers_for_people) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(4000674), "4,000,674");
  EXPECT_EQ(with_commas(18446744073709551615U), "18,446,744,073,709,551,615");
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.00 kB");
  EXPECT_EQ(human_bytes(93800000), "93.8 MB");
  EXPECT_EQ(human_bytes(438000000), "438 MB");
  EXPECT_EQ(human_bytes(1310000000), "1.31 GB");
  EXPECT_EQ(human_bytes(999999), "1.00 MB");
  EXPECT_EQ(human_bytes(9996), "10.0 kB");
  EXPECT_EQ(human_bytes(18446744073709551615U), "18.4 EB");
}

}  // namespace
}  // namespace wick
