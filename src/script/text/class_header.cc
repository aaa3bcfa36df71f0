// SPDX-License-Identifier: Apache-2.0
#include "script/text/class_header.h"

#include <algorithm>

namespace wick::script {
namespace {

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view next_line(std::string_view& source) {
  const std::size_t end = std::min(source.find('\n'), source.size());
  const std::string_view line = source.substr(0, end);
  source.remove_prefix(std::min(end + 1, source.size()));
  return line;
}

// The strings of a printed list, ["weight", "bias", ]; escapes stay as they are written, torch prints none in names.
std::vector<std::string> strings_in(std::string_view text) {
  std::vector<std::string> found;
  while (true) {
    const std::size_t begin = text.find_first_of("\"'");
    if (begin == std::string_view::npos) return found;
    const std::size_t end = text.find(text[begin], begin + 1);
    if (end == std::string_view::npos) return found;
    found.emplace_back(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
}

bool is_name(std::string_view text) {
  if (text.empty()) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// class Linear(Module):
bool open_class(std::string_view line, std::string_view qualifier, ClassHeader& header) {
  constexpr std::string_view kWord = "class ";
  if (!line.starts_with(kWord)) return false;
  line = trim(line.substr(kWord.size()));
  if (line.ends_with(':')) line.remove_suffix(1);
  const std::size_t paren = line.find('(');
  const std::string_view name = trim(line.substr(0, std::min(paren, line.size())));
  if (!is_name(name)) return false;
  header = {};
  header.name = qualifier.empty() ? std::string(name) : std::string(qualifier) + "." + std::string(name);
  if (paren != std::string_view::npos) {
    const std::size_t end = std::min(line.find(')', paren), line.size());
    header.base = trim(line.substr(paren + 1, end - paren - 1));
  }
  return true;
}

void read_member(std::string_view line, ClassHeader& header) {
  constexpr std::string_view kAnnotation = "__annotations__[";
  const std::size_t equals = line.find('=');
  const std::string_view left = trim(line.substr(0, std::min(equals, line.size())));
  if (left == "__parameters__" && equals != std::string_view::npos) {
    header.parameters = strings_in(line.substr(equals));
    return;
  }
  if (left == "__buffers__" && equals != std::string_view::npos) {
    header.buffers = strings_in(line.substr(equals));
    return;
  }
  if (left.starts_with(kAnnotation) && equals != std::string_view::npos) {
    const auto names = strings_in(left);
    if (!names.empty()) header.attributes.emplace_back(names[0], trim(line.substr(equals + 1)));
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = trim(line.substr(0, colon));
  if (is_name(name)) header.attributes.emplace_back(name, trim(line.substr(colon + 1)));
}

}  // namespace

std::string qualifier_of(std::string_view record) {
  constexpr std::string_view kFolder = "code/";
  if (const std::size_t at = record.rfind(kFolder); at != std::string_view::npos && (at == 0 || record[at - 1] == '/'))
    record.remove_prefix(at + kFolder.size());
  if (record.ends_with(".py")) record.remove_suffix(3);
  std::string name(record);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::vector<ClassHeader> read_class_headers(std::string_view source, std::string_view qualifier) {
  std::vector<ClassHeader> found;
  bool in_head = false;
  while (!source.empty()) {
    const std::string_view line = next_line(source);
    const std::string_view text = trim(line);
    if (text.empty() || text.starts_with('#')) continue;
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (!indented) {
      ClassHeader header;
      in_head = open_class(text, qualifier, header);
      if (in_head) found.push_back(std::move(header));
      continue;
    }
    if (!in_head) continue;
    if (text.starts_with("def ")) {
      in_head = false;  // methods end the head: torch prints attributes first
      continue;
    }
    read_member(text, found.back());
  }
  return found;
}

}  // namespace wick::script
