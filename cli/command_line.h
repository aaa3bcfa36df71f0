// SPDX-License-Identifier: Apache-2.0
// The words after the program's name -> a command, its options and its arguments. Rules: docs/cli.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"
#include "wick/error.h"
#include "wick/limits.h"

namespace wick::cli {

inline constexpr std::size_t kOptionCount = static_cast<std::size_t>(Opt::Help) + 1;

// A parsed command line.
struct Arguments {
  Verb verb = Verb::Info;
  std::vector<std::string> words;  // what is no option, in order
  std::array<std::vector<std::string>, kOptionCount> values;

  [[nodiscard]] bool has(Opt opt) const { return !all(opt).empty(); }
  [[nodiscard]] const std::vector<std::string>& all(Opt opt) const { return values[static_cast<std::size_t>(opt)]; }
  // The last one given, or "".
  [[nodiscard]] std::string_view value(Opt opt) const {
    return has(opt) ? std::string_view(all(opt).back()) : std::string_view();
  }
};

// Reads argv[1..]. `wick FILE` is `wick info FILE`; a first word that is a verb is the verb.
Result<Arguments> parse_command_line(std::span<const std::string> words);

// The --max-* options over the defaults.
Result<Limits> limits_of(const Arguments& arguments);

// "1MiB", "1.5GB", "4k", "512": units of 1000 and 1024, in either case. Nothing when it is no size.
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace wick::cli
