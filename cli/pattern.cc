// SPDX-License-Identifier: Apache-2.0
#include "pattern.h"

#include <re2/re2.h>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "problem.h"

namespace wick::cli {
namespace {

// The class that begins at `at` ("[a-z]"), or 0 when no ']' ends it. A ']' right behind '[' or '[!' is a member.
std::size_t class_length(std::string_view glob, std::size_t at) {
  std::size_t end = at + 1;
  if (end < glob.size() && (glob[end] == '!' || glob[end] == '^')) ++end;
  if (end < glob.size() && glob[end] == ']') ++end;
  end = glob.find(']', end);
  return end == std::string_view::npos ? 0 : end - at + 1;
}

std::string regex_of_class(std::string_view text) {
  std::string regex = "[";
  text = text.substr(1, text.size() - 2);
  if (!text.empty() && (text.front() == '!' || text.front() == '^')) {
    regex += '^';
    text.remove_prefix(1);
  }
  for (const char c : text) {
    if (c == '\\' || c == '[' || c == ']' || c == '^') regex += '\\';
    regex += c;
  }
  return regex + "]";
}

re2::RE2::Options quiet_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace

std::string regex_of_glob(std::string_view glob) {
  std::string regex;
  int braces = 0;
  for (std::size_t at = 0; at < glob.size(); ++at) {
    const char c = glob[at];
    const std::size_t length = c == '[' ? class_length(glob, at) : 0;
    if (length > 0) {
      regex += regex_of_class(glob.substr(at, length));
      at += length - 1;
    } else if (c == '*') {
      regex += "\\C*";  // any bytes: names need not be UTF-8
    } else if (c == '?') {
      regex += "(?s:.)";
    } else if (c == '{' && glob.find('}', at) != std::string_view::npos) {
      regex += "(?:";
      ++braces;
    } else if (c == ',' && braces > 0) {
      regex += '|';
    } else if (c == '}' && braces > 0) {
      regex += ')';
      --braces;
    } else {
      if (c == '\\' && at + 1 < glob.size()) ++at;
      regex += re2::RE2::QuoteMeta(re2::StringPiece(&glob[at], 1));
    }
  }
  for (; braces > 0; --braces) regex += ')';
  return regex;
}

Pattern::Pattern(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::from_glob(std::string_view glob) {
  auto compiled = std::make_unique<re2::RE2>("\\A(?:" + regex_of_glob(glob) + ")\\z", quiet_options());
  if (!compiled->ok())
    return usage_error(fmt::format("glob {}: {}", escape_for_display(glob), escape_for_display(compiled->error())));
  return Pattern(std::move(compiled));
}

Result<Pattern> Pattern::from_regex(std::string_view regex) {
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(regex.data(), regex.size()), quiet_options());
  if (!compiled->ok())
    return usage_error(
        fmt::format("regular expression {}: {}", escape_for_display(regex), escape_for_display(compiled->error())),
        "The syntax is RE2's: https://github.com/google/re2/wiki/Syntax");
  return Pattern(std::move(compiled));
}

bool Pattern::matches(std::string_view name) const {
  return re2::RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *compiled_);
}

Result<NameFilter> NameFilter::make(const std::vector<std::string>& globs, const std::vector<std::string>& regexes) {
  NameFilter filter;
  for (const std::string& glob : globs) {
    const bool unwanted = glob.starts_with('!');
    WICK_TRY(Pattern pattern, Pattern::from_glob(std::string_view(glob).substr(unwanted ? 1 : 0)));
    (unwanted ? filter.unwanted_ : filter.wanted_).push_back(std::move(pattern));
  }
  for (const std::string& regex : regexes) {
    WICK_TRY(Pattern pattern, Pattern::from_regex(regex));
    filter.wanted_.push_back(std::move(pattern));
  }
  return filter;
}

bool NameFilter::picks(std::string_view name) const {
  for (const Pattern& pattern : unwanted_)
    if (pattern.matches(name)) return false;
  if (wanted_.empty()) return true;
  for (const Pattern& pattern : wanted_)
    if (pattern.matches(name)) return true;
  return false;
}

}  // namespace wick::cli
