// SPDX-License-Identifier: Apache-2.0
#include "help.h"

#include <algorithm>

#include "base/format.h"
#include "wick/version.h"
#include "width.h"

namespace wick::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kHelpAt = 30;  // column where the words about an option begin

constexpr std::string_view kExitCodes[] = {
    "0   yes: read, nothing wrong",
    "1   no: nothing matched",
    "2   could not do it, or a tensor that was asked for is bad",
    "64  the command line is wrong",
};

constexpr std::string_view kInputs[] = {
    "INPUT is a file, a folder (walked, unless it is one checkpoint), FILE::member,",
    "- (bytes on stdin), @list or @- (paths, one a line). -- ends the options.",
};

struct Example {
  std::string_view command;
  std::string_view what;
};

std::vector<Example> examples_of(const CommandRow& command) {
  std::vector<Example> examples;
  std::string_view rest = command.examples;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const std::size_t tab = line.find('\t');
    examples.push_back({line.substr(0, tab), line.substr(tab + 1)});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return examples;
}

// "-t, --tensor GLOB", "    --json[=rows|FIELDS]"
std::string spelling_of(const OptionRow& option) {
  std::string text = option.letter == 0 ? "    " : fmt::format("-{}, ", option.letter);
  text += fmt::format("--{}", option.name);
  if (option.value_is_optional()) text += option.argument;
  if (option.takes_value()) text += fmt::format(" {}", option.argument);
  return text;
}

// `text` in lines of at most `width` columns, broken at spaces.
std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string option_lines(const OptionRow& option) {
  std::string out = "  " + spelling_of(option);
  const auto lines = wrap(option.help, kColumns - kHelpAt);
  if (out.size() + 2 > kHelpAt)
    out += "\n" + std::string(kHelpAt, ' ');
  else
    out.append(kHelpAt - out.size(), ' ');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\n" + std::string(kHelpAt, ' ');
    out += lines[i];
  }
  return out + "\n";
}

std::string options_text(const CommandRow& command) {
  std::string out;
  for (const std::string_view group : option_groups()) {
    bool titled = false;
    for (const OptionRow* option : options_of(command)) {
      if (option->group != group) continue;
      if (!titled) out += fmt::format("\n{}\n", group);
      titled = true;
      out += option_lines(*option);
    }
  }
  return out;
}

bool takes_inputs(const CommandRow& command) { return command.arguments.starts_with("INPUT"); }

// troff: a backslash and a leading dot or quote mean something, a plain '-' may be set as a hyphen.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '.' && out.empty())
      out += "\\&.";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out;
}

std::string man_options(std::span<const OptionRow* const> options) {
  std::string out;
  for (const OptionRow* option : options) {
    std::string_view spelled = "";
    const std::string text = spelling_of(*option);
    spelled = std::string_view(text).substr(text.find_first_not_of(' '));
    out += fmt::format(".TP\n.B {}\n{}\n", troff(spelled), troff(option->help));
  }
  return out;
}

std::string man_command(const CommandRow& command) {
  std::string out = fmt::format(".SS wick {} {}\n{}.\n", command.word, troff(command.arguments), troff(command.line));
  std::vector<const OptionRow*> own;
  for (const OptionRow* option : options_of(command))
    if (option->group == "Select" || option->group == "Show") own.push_back(option);
  out += man_options(own);
  out += ".PP\nExamples:\n";
  for (const Example& example : examples_of(command))
    out += fmt::format(".TP\n.B {}\n{}\n", troff(example.command), troff(example.what));
  return out;
}

}  // namespace

std::string help_overview() {
  std::string out =
      "wick reads PyTorch files (.pt .pth .bin .pkl .ckpt .ptl .pt2) and shows what is\n"
      "in them; nothing that is inside is ever executed.\n\n"
      "Usage: wick COMMAND ...        `wick FILE` is `wick info FILE`\n";
  std::string_view group;
  for (const CommandRow& command : all_commands()) {
    if (command.group != group) out += fmt::format("\n{}\n", command.group);
    group = command.group;
    const auto lines = wrap(command.line, kColumns - 14);
    out += fmt::format("  {:<12}{}\n", command.word, lines.front());
    for (std::size_t i = 1; i < lines.size(); ++i) out += std::string(14, ' ') + lines[i] + "\n";
  }
  out += "\nwick help COMMAND shows the page of one command.\n";
  return out;
}

std::string help_page(const CommandRow& command) {
  const bool has_options = options_of(command).size() > 1;
  std::string out;
  for (const std::string& line : wrap(fmt::format("wick {}: {}", command.word, command.line), kColumns))
    out += line + "\n";
  out += fmt::format("\nUsage: wick {}{}{}{}\n", command.word, has_options ? " [OPTIONS]" : "",
                     command.arguments.empty() ? "" : " ", command.arguments);
  std::size_t widest = 0;
  std::size_t longest = 0;
  for (const Example& example : examples_of(command)) {
    widest = std::max(widest, example.command.size());
    longest = std::max(longest, example.what.size());
  }
  out += "\nExamples\n";
  for (const Example& example : examples_of(command)) {
    if (2 + widest + 3 + longest <= kColumns)
      out += fmt::format("  {:<{}}   {}\n", example.command, widest, example.what);
    else
      out += fmt::format("  {}\n      {}\n", example.command, example.what);
  }
  if (takes_inputs(command)) {
    out += "\n";
    for (const std::string_view line : kInputs) out += fmt::format("{}\n", line);
  }
  out += options_text(command);
  out += "\nExit codes\n";
  for (const std::string_view line : kExitCodes) out += fmt::format("  {}\n", line);
  return out;
}

std::string man_page() {
  std::string out = fmt::format(".TH WICK 1 \"\" \"wick {}\" \"User Commands\"\n", version());
  out += ".SH NAME\nwick \\- read PyTorch files and show what is in them\n";
  out += ".SH SYNOPSIS\n";
  for (const CommandRow& command : all_commands())
    out += fmt::format(".B wick {}\n[OPTIONS] {}\n.br\n", command.word, troff(command.arguments));
  out += ".B wick\nFILE\n.SH DESCRIPTION\n";
  out +=
      "Reads .pt, .pth, .bin, .pkl, .ckpt, .ptl, .pt2, safetensors, GGUF and NumPy files by their content, with\n"
      "neither Python nor libtorch, and never executes what is inside.\n.PP\n";
  for (const std::string_view line : kInputs) out += fmt::format("{}\n", troff(line));
  out += ".SH COMMANDS\n";
  for (const CommandRow& command : all_commands()) out += man_command(command);
  out += ".SH COMMON OPTIONS\n";
  std::vector<const OptionRow*> common;
  for (const OptionRow& option : all_options())
    if (option.group != "Select" && option.group != "Show") common.push_back(&option);
  out += man_options(common);
  out += ".SH EXIT STATUS\n";
  for (const std::string_view line : kExitCodes)
    out += fmt::format(".TP\n.B {}\n{}\n", line.substr(0, line.find(' ')), troff(line.substr(4)));
  out += ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colour, unless \\-\\-color always is given\n";
  return out;
}

}  // namespace wick::cli
