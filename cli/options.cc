// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <array>

namespace wick::cli {
namespace {

constexpr CommandRow kCommands[] = {
#define WICK_COMMAND(enumerator, word, group, arguments, line, examples) \
  {Verb::enumerator, word, group, arguments, line, examples},
#include "options.def"
#undef WICK_COMMAND
};

constexpr OptionRow kOptions[] = {
#define WICK_OPTION(enumerator, name, letter, argument, commands, group, help) \
  {Opt::enumerator, name, letter, argument, commands, group, help},
#include "options.def"
#undef WICK_OPTION
};

constexpr std::string_view kLater[] = {
#define WICK_LATER(word) word,
#include "options.def"
#undef WICK_LATER
};

constexpr std::string_view kGroups[] = {"Select", "Show", "Input", "Output", "Limits", "Help"};

}  // namespace

std::span<const CommandRow> all_commands() { return kCommands; }
std::span<const OptionRow> all_options() { return kOptions; }
const CommandRow& row_of(Verb verb) { return kCommands[static_cast<std::size_t>(verb)]; }
const OptionRow& row_of(Opt opt) { return kOptions[static_cast<std::size_t>(opt)]; }

const CommandRow* find_command(std::string_view word) {
  for (const CommandRow& row : kCommands)
    if (row.word == word) return &row;
  return nullptr;
}

bool is_later_word(std::string_view word) {
  for (const std::string_view later : kLater)
    if (later == word) return true;
  return false;
}

std::vector<const OptionRow*> options_of(const CommandRow& command) {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : kOptions)
    if (row.belongs_to(command)) rows.push_back(&row);
  return rows;
}

std::span<const std::string_view> option_groups() { return kGroups; }

std::vector<std::string_view> choices_of(const OptionRow& option) {
  std::vector<std::string_view> words;
  std::string_view rest = option.argument;
  if (!option.takes_value() || rest.find('|') == std::string_view::npos) return words;
  for (std::size_t bar = rest.find('|'); bar != std::string_view::npos; bar = rest.find('|')) {
    words.push_back(rest.substr(0, bar));
    rest.remove_prefix(bar + 1);
  }
  words.push_back(rest);
  return words;
}

}  // namespace wick::cli
