// SPDX-License-Identifier: Apache-2.0
// The option table: every command and option as a row of options.def. Parser, help, man page and completions read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wick::cli {

enum class Verb : std::uint8_t {
#define WICK_COMMAND(enumerator, word, group, arguments, line, examples) enumerator,
#include "options.def"
#undef WICK_COMMAND
};

enum class Opt : std::uint8_t {
#define WICK_OPTION(enumerator, name, letter, argument, commands, group, help) enumerator,
#include "options.def"
#undef WICK_OPTION
};

struct CommandRow {
  Verb verb;
  std::string_view word;
  std::string_view group;
  std::string_view arguments;
  std::string_view line;
  std::string_view examples;  // lines of "command\twhat it does"
};

struct OptionRow {
  Opt opt;
  std::string_view name;      // without the dashes
  char letter;                // 0 = none
  std::string_view argument;  // "" = a flag
  std::string_view commands;  // first letters of the commands that take it
  std::string_view group;
  std::string_view help;

  [[nodiscard]] bool takes_value() const { return !argument.empty() && !value_is_optional(); }
  [[nodiscard]] bool value_is_optional() const { return argument.starts_with("[="); }  // only after '='
  [[nodiscard]] bool belongs_to(const CommandRow& command) const {
    return commands.find(command.word.front()) != std::string_view::npos;
  }
};

std::span<const CommandRow> all_commands();
std::span<const OptionRow> all_options();
const CommandRow& row_of(Verb verb);
const OptionRow& row_of(Opt opt);
const CommandRow* find_command(std::string_view word);
// A verb of a later version.
bool is_later_word(std::string_view word);
// Options of one command, in table order.
std::vector<const OptionRow*> options_of(const CommandRow& command);
// Groups of options in the order in which pages show them.
std::span<const std::string_view> option_groups();

// The words of an argument that names them ("auto|always|never"); empty for free arguments.
std::vector<std::string_view> choices_of(const OptionRow& option);

}  // namespace wick::cli
