// SPDX-License-Identifier: Apache-2.0
#include "torch/module_template.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "checkpoint/key_text.h"
#include "python/repr.h"
#include "torch/module_class.h"
#include "torch/tensor_text.h"

namespace wick::torch {
namespace {

using checkpoint::Contents;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;

Value find_dotted(const Contents& contents, Value module, std::string_view name) {
  while (true) {
    const std::size_t dot = name.find('.');
    module = attribute_of(contents, module, name.substr(0, dot));
    if (dot == std::string_view::npos || module.missing()) return module;
    name.remove_prefix(dot + 1);
  }
}

std::string repr_of(const Contents& contents, Value value) {
  value = contents.resolve(value);
  const Meaning meaning = contents.meaning(value);
  if (meaning.what == Meaning::What::Tensor)
    if (auto text = tensor_text(contents, meaning.index)) return *text;
  return python::repr(contents, value);
}

// What f"{value}" gives: a str as it is, a tensor without dimensions as its item.
std::string str_of(const Contents& contents, Value value) {
  if (value.is(Kind::Str) || value.is(Kind::Py2Str)) return std::string(contents.arena.as_text(value));
  const Meaning meaning = contents.meaning(value);
  if (meaning.what == Meaning::What::Tensor)
    if (auto text = item_text(contents, meaning.index)) return *text;
  return repr_of(contents, value);
}

bool is_true(const Contents& contents, Value value) {
  switch (value.kind()) {
    case Kind::Missing:
    case Kind::None: return false;
    case Kind::Bool: return pickle::Arena::as_bool(value);
    case Kind::Int: return pickle::Arena::as_int(value) != 0;
    case Kind::Float: return contents.arena.as_real(value) != 0;
    case Kind::Str: return !contents.arena.as_text(value).empty();
    default: return true;
  }
}

bool equals_number(const Contents& contents, Value value, double number) {
  switch (value.kind()) {
    case Kind::Bool: return (pickle::Arena::as_bool(value) ? 1.0 : 0.0) == number;
    case Kind::Int: return static_cast<double>(pickle::Arena::as_int(value)) == number;
    case Kind::Float: return contents.arena.as_real(value) == number;
    default: return false;
  }
}

bool equals(const Contents& contents, Value value, std::string_view text) {
  value = contents.resolve(value);
  if (text == "zeros" || text == "ones") {  // self.padding != (0,) * len(self.padding); a str never equals a tuple
    if (!value.is(Kind::Tuple)) return false;
    const auto items = contents.arena.items(value);
    const double wanted = text == "ones" ? 1 : 0;
    return std::all_of(items.begin(), items.end(),
                       [&](Value item) { return equals_number(contents, contents.resolve(item), wanted); });
  }
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed == std::errc{} && end == text.data() + text.size()) return equals_number(contents, value, number);
  return repr_of(contents, value) == text;
}

bool holds(const Contents& contents, Value module, std::string_view condition) {
  const std::size_t mark = condition.find_first_of("!=");
  const Value value = find_dotted(contents, module, condition.substr(0, mark));
  if (mark == std::string_view::npos) return is_true(contents, value);
  if (value.missing()) return false;
  return equals(contents, value, condition.substr(mark + 1)) == (condition[mark] == '=');
}

// qscheme() of the weight that packed parameters hold.
std::optional<std::string> scheme_of(const Contents& contents, Value module) {
  const Value packed = attribute_of(contents, module, "_packed_params");
  Value holder = attribute_of(contents, packed, "_packed_params");
  if (holder.missing()) holder = attribute_of(contents, packed, "_packed_weight");
  std::vector<Value> todo{unpack_script_object(contents, holder)};
  while (!todo.empty()) {
    const Value value = contents.resolve(todo.back());
    todo.pop_back();
    const Meaning meaning = contents.meaning(value);
    if (meaning.what == Meaning::What::Tensor) {
      const std::string scheme = scheme_text(contents, meaning.index);
      if (scheme.empty()) continue;
      return "torch." + scheme;
    }
    if (!value.is(Kind::Tuple) && !value.is(Kind::List)) continue;
    const auto items = contents.arena.items(value);
    // sparse: (version, bias, block, block, scales, zero points, is per tensor, row blocks, columns, weights, ...)
    if (items.size() >= 10 && items[6].is(Kind::Bool))
      return pickle::Arena::as_bool(items[6]) ? "torch.per_tensor_affine" : "torch.per_channel_affine";
    const std::size_t few = std::min<std::size_t>(items.size(), 8);
    for (std::size_t i = few; i-- > 0 && todo.size() < 64;) todo.push_back(items[i]);
  }
  return std::nullopt;
}

std::optional<std::string> fill_field(const Contents& contents, Value module, std::string_view field) {
  if (field == "@qscheme") return scheme_of(contents, module);
  if (field.starts_with('?')) {
    const Value value = find_dotted(contents, module, field.substr(1));
    if (value.missing()) return std::nullopt;
    return value.is(Kind::None) ? "False" : "True";
  }
  const std::size_t bar = field.find('|');
  std::string_view name = field.substr(0, bar);
  const bool quoted = name.ends_with("!r");
  if (quoted) name.remove_suffix(2);
  const Value value = find_dotted(contents, module, name);
  if (value.missing()) {
    if (bar == std::string_view::npos) return std::nullopt;
    return std::string(field.substr(bar + 1));
  }
  return quoted ? repr_of(contents, value) : str_of(contents, value);
}

// Fields of a text without conditions.
bool fill_plain(const Contents& contents, Value module, std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return true;
    const std::size_t close = text.find('}', open);
    const auto field = fill_field(contents, module, text.substr(open + 1, close - open - 1));
    if (!field) return false;
    out += *field;
    text.remove_prefix(close + 1);
  }
  return true;
}

}  // namespace

std::optional<std::string> fill_template(const Contents& contents, Value module, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    if (!fill_plain(contents, module, text.substr(0, open), out)) return std::nullopt;
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find(']', open);
    const std::string_view part = text.substr(open + 1, close - open - 1);
    const std::size_t colon = part.find(':');
    if (holds(contents, module, part.substr(0, colon)) && !fill_plain(contents, module, part.substr(colon + 1), out))
      return std::nullopt;
    text.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace wick::torch
