// SPDX-License-Identifier: Apache-2.0
// CLI11 does the reading of dashes; it is given only the rows of the one command that was named, so that starting costs
// nothing.
#include "command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "near.h"
#include "problem.h"

namespace wick::cli {
namespace {

// What `--json` alone becomes before CLI11 sees it, so that it never swallows the word after it.
constexpr std::string_view kBareJson = "object";

// A word that can be no path of a person who mistyped a verb: nothing of that name exists and it looks like a word.
bool looks_like_mistyped_verb(const std::string& word) {
  if (word.empty() || word.find_first_of("./\\:@-") != std::string::npos) return false;
  std::error_code ignored;
  return !std::filesystem::exists(word, ignored);
}

std::vector<std::string_view> command_words() {
  std::vector<std::string_view> words;
  for (const CommandRow& row : all_commands()) words.push_back(row.word);
  return words;
}

// Sets the verb and returns how many words it took.
Result<std::size_t> read_verb(std::span<const std::string> words, Arguments& arguments) {
  if (words.empty()) {
    arguments.verb = Verb::Help;
    return std::size_t{0};
  }
  const std::string& first = words.front();
  if (const CommandRow* row = find_command(first)) {
    arguments.verb = row->verb;
    return std::size_t{1};
  }
  if (first == "--version" || first == "-h" || first == "--help") {
    arguments.verb = first == "--version" ? Verb::Version : Verb::Help;
    return std::size_t{1};
  }
  if (is_later_word(first))
    return usage_error(fmt::format("{} is not in this version of wick", first),
                       fmt::format("It has info, ls, tree and show. A file of that name is ./{}", first));
  if (looks_like_mistyped_verb(first)) {
    const auto known = command_words();
    return usage_error(fmt::format("there is no command and no file named {}{}", escape_for_display(first),
                                   did_you_mean(first, known)),
                       "wick help lists the commands");
  }
  arguments.verb = Verb::Info;
  return std::size_t{0};
}

std::string cli11_name(const OptionRow& row) {
  return row.letter == 0 ? fmt::format("--{}", row.name) : fmt::format("-{},--{}", row.letter, row.name);
}

// CLI11's own words ("--sort: 1 required TEXT missing") turned into ours.
Error explain(const CLI::ParseError& problem, const CommandRow& command) {
  const std::string what = problem.what();
  for (const OptionRow* row : options_of(command)) {
    if (!what.starts_with(fmt::format("--{}", row->name)) && !what.starts_with(row->name)) continue;
    if (row->takes_value())
      return usage_error(fmt::format("--{} needs a value: {}", row->name, row->argument),
                         fmt::format("wick help {}", command.word));
    if (row->argument.empty())
      return usage_error(fmt::format("--{} takes no value", row->name), fmt::format("wick help {}", command.word));
  }
  return usage_error(what, fmt::format("wick help {}", command.word));
}

Error unknown_option(std::string_view word, const CommandRow& command) {
  std::vector<std::string> spelled;
  for (const OptionRow* row : options_of(command)) spelled.push_back(fmt::format("--{}", row->name));
  const std::vector<std::string_view> known(spelled.begin(), spelled.end());
  const std::string_view name = word.substr(0, word.find('='));
  return usage_error(
      fmt::format("{} has no option {}{}", command.word, escape_for_display(name), did_you_mean(name, known)),
      fmt::format("wick help {}", command.word));
}

Result<void> check_choice(const OptionRow& row, const std::vector<std::string>& given) {
  const auto choices = choices_of(row);
  if (choices.empty()) return {};
  for (const std::string& value : given) {
    bool known = false;
    for (const std::string_view choice : choices) known = known || choice == value;
    if (!known)
      return usage_error(fmt::format("--{} {}: not one of {}{}", row.name, escape_for_display(value), row.argument,
                                     did_you_mean(value, choices)),
                         "");
  }
  return {};
}

// The options of one command through CLI11. What it does not know stays in order as words.
Result<std::vector<std::string>> read_options(std::vector<std::string> words, const CommandRow& command,
                                              Arguments& arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<const OptionRow*, CLI::Option*>> bound;
  try {
    for (const OptionRow* row : options_of(command)) {
      CLI::Option* option = row->argument.empty() ? app.add_flag(cli11_name(*row))->disable_flag_override()
                                                  : app.add_option(cli11_name(*row))->expected(1);
      option->take_all();
      bound.emplace_back(row, option);
    }
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(words);
  } catch (const CLI::ParseError& problem) {
    return explain(problem, command);
  }
  for (const auto& [row, option] : bound) {
    arguments.values[static_cast<std::size_t>(row->opt)] = option->results();
    WICK_CHECK(check_choice(*row, option->results()));
  }
  return app.remaining();
}

}  // namespace

Result<Arguments> parse_command_line(std::span<const std::string> words) {
  Arguments arguments;
  WICK_TRY(const std::size_t taken, read_verb(words, arguments));
  const CommandRow& command = row_of(arguments.verb);
  words = words.subspan(taken);
  std::vector<std::string> before;
  std::vector<std::string> after;
  bool options_ended = false;
  for (const std::string& word : words) {
    if (!options_ended && word == "--")
      options_ended = true;
    else if (options_ended)
      after.push_back(word);
    else
      before.push_back(word == "--json" ? fmt::format("--json={}", kBareJson) : word);
  }
  WICK_TRY(arguments.words, read_options(std::move(before), command, arguments));
  for (const std::string& word : arguments.words)
    if (word.size() > 1 && word.front() == '-') return unknown_option(word, command);
  arguments.words.insert(arguments.words.end(), after.begin(), after.end());
  return arguments;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  // A plain integer keeps all its digits, which a double would not.
  std::uint64_t exact = 0;
  const auto [last, plain] = std::from_chars(text.data(), text.data() + text.size(), exact);
  if (plain == std::errc() && last == text.data() + text.size()) return exact;
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (code != std::errc() || number < 0) return std::nullopt;
  std::string unit = to_lower(text.substr(static_cast<std::size_t>(end - text.data())));
  if (!unit.empty() && unit.back() == 'b') unit.pop_back();
  const bool binary = unit.size() == 2 && unit.back() == 'i';
  const std::size_t power = unit.empty() ? 0 : std::string_view("kmgtp").find(unit.front()) + 1;
  if (!unit.empty() && (power == 0 || unit.size() != (binary ? 2U : 1U))) return std::nullopt;
  for (std::size_t i = 0; i < power; ++i) number *= binary ? 1024.0 : 1000.0;
  if (!(number < 18446744073709551616.0)) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

Result<Limits> limits_of(const Arguments& arguments) {
  Limits limits;
  const auto read = [&arguments](Opt opt, auto& into) -> Result<void> {
    if (!arguments.has(opt)) return {};
    const OptionRow& row = row_of(opt);
    const auto size = parse_size(arguments.value(opt));
    using Number = std::remove_reference_t<decltype(into)>;
    if (!size || !std::in_range<Number>(*size))
      return usage_error(fmt::format("--{} {}: no {} that fits", row.name, escape_for_display(arguments.value(opt)),
                                     row.argument == "SIZE" ? "size" : "number"),
                         row.argument == "SIZE" ? "A size is 512MiB, 4G or 1000000" : "");
    into = static_cast<Number>(*size);
    return {};
  };
  WICK_CHECK(read(Opt::MaxMemory, limits.max_memory));
  WICK_CHECK(read(Opt::MaxRatio, limits.max_ratio));
  WICK_CHECK(read(Opt::MaxDepth, limits.max_depth));
  WICK_CHECK(read(Opt::MaxNesting, limits.max_nesting));
  WICK_CHECK(read(Opt::MaxMemo, limits.max_memo));
  WICK_CHECK(read(Opt::MaxOpcodes, limits.max_opcodes));
  WICK_CHECK(read(Opt::MaxMembers, limits.max_members));
  return limits;
}

}  // namespace wick::cli
