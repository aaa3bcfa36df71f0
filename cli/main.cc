// SPDX-License-Identifier: Apache-2.0
// The program: words of the command line -> a command -> an exit code.
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/format.h"
#include "base/text.h"
#include "command_line.h"
#include "commands.h"
#include "completion.h"
#include "help.h"
#include "output.h"
#include "problem.h"
#include "wick/version.h"

namespace wick::cli {
namespace {

int usage(Output& out, const Error& error) {
  out.message(describe(error, {}));
  return kExitUsage;
}

int run_help(const Arguments& arguments, Output& out) {
  if (arguments.has(Opt::Man)) {
    out.text(man_page());
    return kExitYes;
  }
  if (arguments.words.empty()) {
    out.text(help_overview());
    return kExitYes;
  }
  const CommandRow* command = find_command(arguments.words.front());
  if (command == nullptr)
    return usage(out, usage_error(fmt::format("there is no command {}", escape_for_display(arguments.words.front())),
                                  "wick help lists the commands"));
  out.text(help_page(*command));
  return kExitYes;
}

int run_completion(const Arguments& arguments, Output& out) {
  const auto script = arguments.words.size() == 1 ? completion_script(arguments.words.front()) : std::nullopt;
  if (!script) return usage(out, usage_error("completion needs the name of a shell: bash, zsh or fish"));
  out.text(*script);
  return kExitYes;
}

int run_reader(const Arguments& arguments, Output& out) {
  Session session(arguments, out);
  if (const auto ready = Session::prepare(arguments, session); !ready) return usage(out, ready.error());
  if (arguments.words.empty())
    return usage(
        out, usage_error(fmt::format("{} needs an INPUT: a file, a folder, - or @list", row_of(arguments.verb).word),
                         fmt::format("wick help {}", row_of(arguments.verb).word)));
  switch (arguments.verb) {
    case Verb::Info: run_info(session); break;
    case Verb::Ls: run_ls(session); break;
    case Verb::Tree: run_tree(session); break;
    default: run_show(session); break;
  }
  return session.exit;
}

int dispatch(const Arguments& arguments, Output& out) {
  if (arguments.verb == Verb::Help && !arguments.has(Opt::Help)) return run_help(arguments, out);
  if (arguments.has(Opt::Help)) {
    out.text(help_page(row_of(arguments.verb)));
    return kExitYes;
  }
  if (arguments.verb == Verb::Version) {
    out.line(fmt::format("wick {}", version()));
    return kExitYes;
  }
  if (arguments.verb == Verb::Completion) return run_completion(arguments, out);
  return run_reader(arguments, out);
}

Colour colour_of(const Arguments& arguments) {
  const std::string_view word = arguments.value(Opt::Color);
  return word == "always" ? Colour::Always : word == "never" ? Colour::Never : Colour::Auto;
}

int run(std::span<const std::string> words) {
  const auto arguments = parse_command_line(words);
  if (!arguments) {
    Output out;
    return usage(out, arguments.error());
  }
  Output out(colour_of(*arguments));
  const int exit = dispatch(*arguments, out);
  out.flush();
  if (out.failure() == 0) return exit;
  out.message(fmt::format("wick: writing to stdout: {}\n", std::strerror(out.failure())));
  return kExitFailed;
}

}  // namespace
}  // namespace wick::cli

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return wick::cli::run(words);
  } catch (const std::bad_alloc&) {
    std::fputs("wick: out of memory\n", stderr);
    return wick::cli::kExitFailed;
  }
}
