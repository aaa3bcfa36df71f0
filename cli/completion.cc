// SPDX-License-Identifier: Apache-2.0
#include "completion.h"

#include "base/format.h"
#include "options.h"

namespace wick::cli {
namespace {

std::string command_words() {
  std::string words;
  for (const CommandRow& command : all_commands()) words += fmt::format("{}{}", words.empty() ? "" : " ", command.word);
  return words;
}

std::string option_words(const CommandRow& command) {
  std::string words;
  for (const OptionRow* option : options_of(command)) {
    if (option->letter != 0) words += fmt::format("-{} ", option->letter);
    words += fmt::format("--{} ", option->name);
  }
  if (!words.empty()) words.pop_back();
  return words;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text += fmt::format("{}{}", text.empty() ? "" : " ", word);
  return text;
}

// Words that stand where no option does, when they are not files.
std::string_view argument_words(const CommandRow& command, const std::string& commands) {
  if (command.verb == Verb::Help) return commands;
  if (command.verb == Verb::Completion) return "bash zsh fish";
  return {};
}

std::string bash_script() {
  const std::string commands = command_words();
  std::string out = "# bash completion for wick; made by: wick completion bash\n_wick() {\n";
  out += "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}\n";
  out += "  COMPREPLY=()\n";
  out += fmt::format(
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '{}' -f -- \"$cur\"))\n    return\n  fi\n",
      commands);
  out += "  case $prev in\n";
  for (const OptionRow& option : all_options()) {
    if (!option.takes_value()) continue;
    out += fmt::format("    --{}{}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", option.name,
                       option.letter == 0 ? "" : fmt::format("|-{}", option.letter), joined(choices_of(option)));
  }
  out += "  esac\n  case $verb in\n";
  for (const CommandRow& command : all_commands()) {
    out += fmt::format("    {})\n      case $cur in -*) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;; esac\n",
                       command.word, option_words(command));
    if (const std::string_view words = argument_words(command, commands); !words.empty())
      out += fmt::format("      COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return\n", words);
    out += "      ;;\n";
  }
  out += "  esac\n  COMPREPLY=($(compgen -f -- \"$cur\"))\n}\ncomplete -o filenames -F _wick wick\n";
  return out;
}

// Inside '...' of zsh's _arguments: a quote ends the word, brackets and colons mean something.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out;
}

std::string zsh_option(const OptionRow& option, std::string_view spelled, bool is_short) {
  std::string value;
  std::string equals;
  if (option.takes_value()) {
    const auto choices = choices_of(option);
    value =
        choices.empty() ? fmt::format(":{}: ", zsh_text(option.argument)) : fmt::format(":word:({})", joined(choices));
    equals = is_short ? "" : "=";
  } else if (option.value_is_optional()) {
    value = "::form:(rows)";
    equals = "=-";
  }
  return fmt::format("        '*{}{}[{}]{}' \\\n", spelled, equals, zsh_text(option.help), value);
}

std::string zsh_script() {
  std::string out = "#compdef wick\n# zsh completion for wick; made by: wick completion zsh\n_wick() {\n";
  out += "  local -a verbs=(\n";
  for (const CommandRow& command : all_commands())
    out += fmt::format("    '{}:{}'\n", command.word, zsh_text(command.line));
  out += "  )\n  if (( CURRENT == 2 )); then\n    _describe command verbs\n    _files\n    return\n  fi\n";
  out += "  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $verb in\n";
  const std::string commands = command_words();
  for (const CommandRow& command : all_commands()) {
    out += fmt::format("    {})\n      _arguments \\\n", command.word);
    for (const OptionRow* option : options_of(command)) {
      if (option->letter != 0) out += zsh_option(*option, fmt::format("-{}", option->letter), true);
      out += zsh_option(*option, fmt::format("--{}", option->name), false);
    }
    const std::string_view words = argument_words(command, commands);
    out += words.empty() ? "        '*:file:_files'\n" : fmt::format("        '*:word:({})'\n", words);
    out += "      ;;\n";
  }
  out += "    *) _files ;;\n  esac\n}\n_wick \"$@\"\n";
  return out;
}

std::string fish_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish_script() {
  std::string out = "# fish completion for wick; made by: wick completion fish\n";
  for (const CommandRow& command : all_commands())
    out +=
        fmt::format("complete -c wick -n __fish_use_subcommand -a {} -d '{}'\n", command.word, fish_text(command.line));
  const std::string commands = command_words();
  for (const CommandRow& command : all_commands()) {
    const std::string_view words = argument_words(command, commands);
    if (!words.empty())
      out += fmt::format("complete -c wick -n '__fish_seen_subcommand_from {}' -f -a '{}'\n", command.word, words);
  }
  for (const OptionRow& option : all_options()) {
    std::string verbs;
    for (const CommandRow& command : all_commands())
      if (option.belongs_to(command)) verbs += fmt::format(" {}", command.word);
    out += fmt::format("complete -c wick -n '__fish_seen_subcommand_from{}' -l {}", verbs, option.name);
    if (option.letter != 0) out += fmt::format(" -s {}", option.letter);
    if (option.takes_value()) out += " -x";
    if (const auto choices = choices_of(option); !choices.empty()) out += fmt::format(" -a '{}'", joined(choices));
    out += fmt::format(" -d '{}'\n", fish_text(option.help));
  }
  return out;
}

}  // namespace

std::optional<std::string> completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  return std::nullopt;
}

}  // namespace wick::cli
