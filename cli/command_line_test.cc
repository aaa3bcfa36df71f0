// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <gtest/gtest.h>

#include "group.h"
#include "near.h"
#include "problem.h"
#include "width.h"

namespace wick::cli {
namespace {

Result<Arguments> parse(std::vector<std::string> words) { return parse_command_line(words); }

std::string message_of(std::vector<std::string> words) {
  const auto arguments = parse(std::move(words));
  return arguments ? std::string("no error") : arguments.error().message();
}

TEST(CommandLine, a_first_word_that_is_no_verb_is_a_file_of_info) {
  const auto arguments = parse({"a.pt", "--json"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->verb, Verb::Info);
  EXPECT_EQ(arguments->words, std::vector<std::string>{"a.pt"});
  EXPECT_TRUE(arguments->has(Opt::Json));
}

TEST(CommandLine, json_never_takes_the_word_behind_it) {
  const auto arguments = parse({"ls", "--json", "a.pt", "--json=rows"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->words, std::vector<std::string>{"a.pt"});
  EXPECT_EQ(arguments->value(Opt::Json), "rows");
}

TEST(CommandLine, options_repeat_cluster_and_stand_anywhere) {
  const auto arguments = parse({"ls", "a.pt", "-t", "x*", "-lt[ab]", "--tensor=!y", "--sort", "-bytes", "-0q"});
  ASSERT_TRUE(arguments) << arguments.error().message();
  EXPECT_EQ(arguments->all(Opt::Tensor), (std::vector<std::string>{"x*", "[ab]", "!y"}));
  EXPECT_EQ(arguments->value(Opt::Sort), "-bytes");
  EXPECT_TRUE(arguments->has(Opt::Long));
  EXPECT_TRUE(arguments->has(Opt::Null));
  EXPECT_TRUE(arguments->has(Opt::Quiet));
}

TEST(CommandLine, two_dashes_end_the_options) {
  const auto arguments = parse({"ls", "--", "--long", "-x"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->words, (std::vector<std::string>{"--long", "-x"}));
  EXPECT_FALSE(arguments->has(Opt::Long));
}

TEST(CommandLine, words_of_stdin_and_lists_are_no_options) {
  const auto arguments = parse({"info", "-", "@-", "@list", "[a,b].pt"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->words, (std::vector<std::string>{"-", "@-", "@list", "[a,b].pt"}));
}

TEST(CommandLine, mistakes_are_named_with_what_was_meant) {
  EXPECT_EQ(message_of({"sl", "a.pt"}), "there is no command and no file named sl (did you mean ls?)");
  EXPECT_EQ(message_of({"ls", "a.pt", "--lnog"}), "ls has no option --lnog (did you mean --long?)");
  EXPECT_EQ(message_of({"ls", "a.pt", "-x"}), "ls has no option -x");
  EXPECT_EQ(message_of({"info", "a.pt", "--group"}), "info has no option --group");
  EXPECT_EQ(message_of({"ls", "a.pt", "--sort"}), "--sort needs a value: FIELD");
  EXPECT_EQ(message_of({"ls", "--long=3", "a.pt"}), "--long takes no value");
  EXPECT_EQ(message_of({"ls", "a.pt", "--color", "alway"}),
            "--color alway: not one of auto|always|never (did you mean always?)");
  EXPECT_EQ(message_of({"scan", "a.pt"}), "scan is not in this version of wick");
  EXPECT_TRUE(is_usage(parse({"scan"}).error()));
}

TEST(CommandLine, no_words_ask_for_help) { EXPECT_EQ(parse({})->verb, Verb::Help); }

TEST(Sizes, have_units_of_1000_and_1024) {
  EXPECT_EQ(parse_size("512"), 512U);
  EXPECT_EQ(parse_size("1MiB"), 1048576U);
  EXPECT_EQ(parse_size("1mb"), 1000000U);
  EXPECT_EQ(parse_size("4G"), 4000000000U);
  EXPECT_EQ(parse_size("1.5k"), 1500U);
  EXPECT_EQ(parse_size("18446744073709551615"), 18446744073709551615U);
  for (const std::string_view bad : {"", "MiB", "1x", "1iB", "-1", "1e3", "99999999999P", "1 k", "nan"})
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
}

TEST(Limits, every_option_reaches_its_field) {
  const auto arguments = parse({"ls", "a", "--max-memory=1MiB", "--max-ratio=2", "--max-depth=3", "--max-nesting=4",
                                "--max-memo=5", "--max-opcodes=6", "--max-members=7"});
  ASSERT_TRUE(arguments);
  const auto limits = limits_of(*arguments);
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->max_memory, 1048576U);
  EXPECT_EQ(limits->max_ratio, 2U);
  EXPECT_EQ(limits->max_depth, 3U);
  EXPECT_EQ(limits->max_nesting, 4U);
  EXPECT_EQ(limits->max_memo, 5U);
  EXPECT_EQ(limits->max_opcodes, 6U);
  EXPECT_EQ(limits->max_members, 7U);
  EXPECT_FALSE(limits_of(*parse({"ls", "a", "--max-depth=9999999999999"})));
  EXPECT_FALSE(limits_of(*parse({"ls", "a", "--max-depth=deep"})));
}

TEST(Near, finds_slips_and_leaves_strangers) {
  const std::string_view words[] = {"info", "ls", "tree", "show"};
  EXPECT_EQ(nearest("inof", words), "info");
  EXPECT_EQ(nearest("tre", words), "tree");
  EXPECT_EQ(nearest("convert", words), "");
}

TEST(Width, counts_columns_of_a_terminal) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("\u00d7"), 1U);
  EXPECT_EQ(display_width("\u5c42"), 2U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(pad_right("\u5c42", 4), "\u5c42  ");
  EXPECT_EQ(pad_left("7", 3), "  7");
}

std::vector<std::string> folded(std::vector<std::string> names) {
  std::vector<GroupLine> rows;
  for (std::string& name : names) rows.push_back({std::move(name), "float32", 4});
  std::vector<std::string> lines;
  for (const GroupLine& line : fold(std::move(rows)))
    lines.push_back(line.name + " x" + std::to_string(line.count) + " " + std::to_string(line.bytes));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Group, layer_numbers_fold_into_one_line) {
  EXPECT_EQ(folded({"a.0.w", "a.0.b", "a.1.w", "a.1.b", "head"}),
            (Lines{"a.{0-1}.w x2 8", "a.{0-1}.b x2 8", "head x1 4"}));
  EXPECT_EQ(folded({"a.0", "a.2", "a.3"}), (Lines{"a.{0,2-3} x3 12"}));
  EXPECT_EQ(folded({"conv1.w", "conv2.w"}), (Lines{"conv1.w x1 4", "conv2.w x1 4"}));
}

TEST(Group, braces_never_claim_names_that_are_not_there) {
  EXPECT_EQ(folded({"a.0.0", "a.0.1", "a.1.0", "a.1.1"}), (Lines{"a.{0-1}.{0-1} x4 16"}));
  EXPECT_EQ(folded({"a.0.0", "a.0.1", "a.1.0"}), (Lines{"a.0.{0-1} x2 8", "a.1.0 x1 4"}));
  EXPECT_EQ(folded({"a.0", "a.0"}), (Lines{"a.0 x1 4", "a.0 x1 4"}));
  EXPECT_EQ(folded({"a.00", "a.0"}), (Lines{"a.00 x1 4", "a.0 x1 4"}));
}

}  // namespace
}  // namespace wick::cli
