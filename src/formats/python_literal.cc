// SPDX-License-Identifier: Apache-2.0
// parse_literal: the part of Python's ast.literal_eval that numpy's headers need, with a stack of its own.
#include <optional>

#include "base/checked.h"
#include "formats/npy_header.h"

namespace wick::formats {
namespace {

constexpr std::size_t kMostDepth = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12);
    put(0x80U | (code >> 6 & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18);
    put(0x80U | (code >> 12 & 0x3FU));
    put(0x80U | (code >> 6 & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Result<LiteralTree> parse();

 private:
  struct Open {
    std::uint32_t node;
    char closer;
    bool comma;  // the last thing read was a comma (or nothing yet), so a value may follow
    bool any_comma;
    bool colon;  // a dict's value must follow
  };

  Result<void> step();
  Result<void> close();
  Result<void> open(char c);
  Result<std::uint32_t> scalar();
  Result<std::uint32_t> string();
  Result<void> escape(std::string& into);
  Result<std::uint32_t> integer();
  Result<std::uint32_t> word();
  Result<void> place(std::uint32_t node);
  std::uint32_t add(Literal::Kind kind, std::size_t begin);
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  Error bad(std::string_view what) const { return fail_at(ErrorCode::Malformed, at_, "header: {}", what); }

  std::string_view text_;
  std::size_t at_ = 0;
  LiteralTree tree_;
  std::vector<Open> stack_;
  std::optional<std::uint32_t> root_;
};

std::uint32_t Parser::add(Literal::Kind kind, std::size_t begin) {
  Literal node;
  node.kind = kind;
  node.begin = begin;
  tree_.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
}

Result<void> Parser::escape(std::string& into) {
  if (at_ >= text_.size()) return bad("a string does not end");
  const char c = text_[at_++];
  int digits = 0;
  switch (c) {
    case '\\':
    case '\'':
    case '"': into.push_back(c); return {};
    case 'n': into.push_back('\n'); return {};
    case 't': into.push_back('\t'); return {};
    case 'r': into.push_back('\r'); return {};
    case 'x': digits = 2; break;
    case 'u': digits = 4; break;
    case 'U': digits = 8; break;
    default: return bad("an escape that repr() does not write");
  }
  std::uint32_t code = 0;
  for (int i = 0; i < digits; ++i) {
    const int digit = at_ < text_.size() ? hex_digit(text_[at_]) : -1;
    if (digit < 0) return bad("an escape without its hexadecimal digits");
    code = code << 4 | static_cast<std::uint32_t>(digit);
    ++at_;
  }
  if (code > 0x10FFFF) return bad("an escape beyond U+10FFFF");
  append_utf8(into, code);
  return {};
}

Result<std::uint32_t> Parser::string() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  std::string value;
  while (at_ < text_.size() && text_[at_] != quote) {
    const char c = text_[at_++];
    if (c == '\n') return bad("a line ends inside a string");
    if (c != '\\') {
      value.push_back(c);
      continue;
    }
    WICK_CHECK(escape(value));
  }
  if (at_ >= text_.size()) return bad("a string does not end");
  ++at_;
  const std::uint32_t node = add(Literal::Kind::Str, begin);
  tree_.nodes[node].text = std::move(value);
  return node;
}

Result<std::uint32_t> Parser::integer() {
  const std::size_t begin = at_;
  const bool negative = text_[at_] == '-';
  if (negative) ++at_;
  if (at_ >= text_.size() || !is_digit(text_[at_])) return bad("a number without digits");
  std::int64_t value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
    const std::int64_t digit = text_[at_] - '0';
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value) || __builtin_add_overflow(value, digit, &value))
      return bad("a number beyond 63 bits");
  }
  if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so; numpy strips it too
  if (at_ < text_.size() && is_word(text_[at_])) return bad("letters right after a number");
  const std::uint32_t node = add(Literal::Kind::Int, begin);
  tree_.nodes[node].integer = negative ? -value : value;
  return node;
}

Result<std::uint32_t> Parser::word() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  const std::string_view name = text_.substr(begin, at_ - begin);
  if (name == "None") return add(Literal::Kind::None, begin);
  if (name == "True" || name == "False") {
    const std::uint32_t node = add(Literal::Kind::Bool, begin);
    tree_.nodes[node].boolean = name == "True";
    return node;
  }
  at_ = begin;
  return bad("a word that is no literal");
}

Result<std::uint32_t> Parser::scalar() {
  const char c = text_[at_];
  if (c == '\'' || c == '"') return string();
  if (c == 'u' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\'' || text_[at_ + 1] == '"')) {
    ++at_;  // Python 2's u'..'
    return string();
  }
  if (c == '-' || is_digit(c)) return integer();
  return word();
}

// Puts a finished value where the innermost open container wants it.
Result<void> Parser::place(std::uint32_t node) {
  tree_.nodes[node].end = at_;
  if (stack_.empty()) {
    root_ = node;
    return {};
  }
  Open& top = stack_.back();
  if (!top.comma) return bad("two values without a comma between them");
  Literal& container = tree_.nodes[top.node];
  container.items.push_back(node);
  top.comma = false;
  if (container.kind != Literal::Kind::Dict) return {};
  if (top.colon) {
    top.colon = false;
    return {};
  }
  skip_space();
  if (at_ >= text_.size() || text_[at_] != ':') return bad("a key without a colon after it");
  ++at_;
  top.colon = true;
  top.comma = true;
  return {};
}

Result<void> Parser::open(char c) {
  if (stack_.size() >= kMostDepth) return fail_at(ErrorCode::Limit, at_, "header: nested deeper than {}", kMostDepth);
  const std::size_t begin = at_++;
  const auto kind = c == '{' ? Literal::Kind::Dict : c == '[' ? Literal::Kind::List : Literal::Kind::Tuple;
  stack_.push_back({add(kind, begin), c == '{' ? '}' : c == '[' ? ']' : ')', true, false, false});
  return {};
}

Result<void> Parser::close() {
  if (stack_.empty() || stack_.back().closer != text_[at_] || stack_.back().colon)
    return bad("a bracket closes what is not open");
  const Open top = stack_.back();
  stack_.pop_back();
  ++at_;
  const Literal& node = tree_.nodes[top.node];
  if (node.kind == Literal::Kind::Tuple && node.items.size() == 1 && !top.any_comma)
    return place(node.items.front());  // (3) is 3; only (3,) is a tuple
  return place(top.node);
}

Result<void> Parser::step() {
  const char c = text_[at_];
  if (c == '{' || c == '[' || c == '(') return open(c);
  if (c == '}' || c == ']' || c == ')') return close();
  if (c == ',') {
    if (stack_.empty() || stack_.back().comma) return bad("a comma where none belongs");
    stack_.back().comma = true;
    stack_.back().any_comma = true;
    ++at_;
    return {};
  }
  WICK_TRY(const std::uint32_t node, scalar());
  return place(node);
}

Result<LiteralTree> Parser::parse() {
  for (skip_space(); at_ < text_.size(); skip_space()) {
    if (root_) return bad("something follows the literal");
    WICK_CHECK(step());
  }
  if (!root_) return bad("the literal does not end");
  tree_.root = *root_;
  return std::move(tree_);
}

}  // namespace

Result<LiteralTree> parse_literal(std::string_view text) { return Parser(text).parse(); }

}  // namespace wick::formats
