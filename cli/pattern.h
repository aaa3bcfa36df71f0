// SPDX-License-Identifier: Apache-2.0
// Patterns of users over names: globs and regular expressions, both through RE2, so that no pattern takes exponential
// time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/error.h"

namespace re2 {
class RE2;
}

namespace wick::cli {

class Pattern {
 public:
  // * any run of bytes, dots included; ? one character; [a-z] [!a-z]; {a,b}; \ quotes. Matches the whole name.
  static Result<Pattern> from_glob(std::string_view glob);
  // RE2 syntax; found anywhere in the name.
  static Result<Pattern> from_regex(std::string_view regex);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();
  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  explicit Pattern(std::unique_ptr<re2::RE2> compiled);
  std::unique_ptr<re2::RE2> compiled_;
};

// The regular expression that a glob stands for.
std::string regex_of_glob(std::string_view glob);

// -t and -e together: a name is picked when one of them matches (or none was given) and no !glob does.
class NameFilter {
 public:
  static Result<NameFilter> make(const std::vector<std::string>& globs, const std::vector<std::string>& regexes);
  [[nodiscard]] bool picks(std::string_view name) const;
  [[nodiscard]] bool empty() const { return wanted_.empty() && unwanted_.empty(); }

 private:
  std::vector<Pattern> wanted_;
  std::vector<Pattern> unwanted_;
};

}  // namespace wick::cli
