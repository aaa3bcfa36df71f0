// SPDX-License-Identifier: Apache-2.0
#include "python/numpy_dtype.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/cursor.h"
#include "base/format.h"
#include "base/text.h"
#include "python/handlers.h"
#include "python/names.h"
#include "python/numpy_time.h"

namespace wick::python {

using checkpoint::Contents;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

// A structure's fields may be structures: more than these is no type anybody uses.
constexpr int kMaxNesting = 16;
constexpr std::size_t kMaxSpelling = 1000;      // then "..." ends it: every array of the type has it
constexpr std::size_t kMaxFieldsSought = 4096;  // keys looked at for the fields of one structure
constexpr std::size_t kByteOrder = 1, kSubarray = 2, kNames = 3, kFields = 4, kItemSize = 5, kMetadata = 8;

struct Plain {
  std::string_view code;
  DType dtype;
  std::string_view name;
};
constexpr Plain kPlain[] = {
    {"b1", DType::Bool, "bool"},
    {"i1", DType::Int8, "int8"},
    {"i2", DType::Int16, "int16"},
    {"i4", DType::Int32, "int32"},
    {"i8", DType::Int64, "int64"},
    {"u1", DType::UInt8, "uint8"},
    {"u2", DType::UInt16, "uint16"},
    {"u4", DType::UInt32, "uint32"},
    {"u8", DType::UInt64, "uint64"},
    {"f2", DType::Float16, "float16"},
    {"f4", DType::Float32, "float32"},
    {"f8", DType::Float64, "float64"},
    {"c8", DType::Complex64, "complex64"},
    {"c16", DType::Complex128, "complex128"},
    {"f16", DType::NumpyOther, "float128"},
    {"c32", DType::NumpyOther, "complex256"},
};

const Plain* find_plain(std::string_view code) {
  for (const Plain& row : kPlain)
    if (row.code == code) return &row;
  return nullptr;
}

// The state of a dtype: (version, byteorder, subarray, names, fields, itemsize, alignment, flags[, metadata]).
std::span<const Value> state_of(const Contents& contents, Value dtype) {
  const Value state = contents.arena.state(dtype);
  if (!state.is(Kind::Tuple) || contents.arena.items(state).size() < 8) return {};
  return contents.arena.items(state);
}

// "M8" with its unit: metadata is ({}, (b'ns', count, denominator, events)).
void read_unit(const Contents& contents, std::span<const Value> state, NumpyType& type) {
  if (state.size() <= kMetadata || !state[kMetadata].is(Kind::Tuple)) return;
  const auto metadata = contents.arena.items(state[kMetadata]);
  if (metadata.size() != 2 || !metadata[1].is(Kind::Tuple)) return;
  const auto unit = contents.arena.items(metadata[1]);
  const auto name = unit.size() >= 2 ? text_of(contents, unit[0]) : std::nullopt;
  const auto count = unit.size() >= 2 ? int_of(contents, unit[1]) : std::nullopt;
  if (!name || !count || *name == "generic" || name->size() > 8) return;
  type.unit = to_valid_utf8(*name);
  type.unit_count = *count;
}

std::string count_and_unit(const NumpyType& type) {
  if (type.unit.empty()) return {};
  return type.unit_count == 1 ? "[" + type.unit + "]" : fmt::format("[{}{}]", type.unit_count, type.unit);
}

std::optional<NumpyType> read_at_depth(const Contents& contents, Value value, int depth);

// One field as dtype.descr writes it; false when it is none.
bool spell_field(const Contents& contents, Value name, Value field, std::uint64_t& at, std::string& out, int depth) {
  if (!field.is(Kind::Tuple) || contents.arena.items(field).size() < 2) return false;
  const auto parts = contents.arena.items(field);
  const auto offset = int_of(contents, parts[1]);
  const auto label = text_of(contents, name);
  const auto type = read_at_depth(contents, parts[0], depth + 1);
  if (!offset || *offset < 0 || !label || label->size() > kMaxSpelling || !type) return false;
  const auto begin = static_cast<std::uint64_t>(*offset);
  if (begin > at) out += fmt::format("{}('', '|V{}')", out.empty() ? "" : ", ", begin - at);
  const bool structure = type->spelling.front() == '[';
  const std::string quoted = structure || type->spelling.front() == '(' ? type->spelling : "'" + type->spelling + "'";
  // A sub-array's spelling is already "'<i4', (3,)".
  const bool subarray = type->spelling.front() == '\'';
  out += fmt::format("{}({}, {})", out.empty() ? "" : ", ", python_quote(*label), subarray ? type->spelling : quoted);
  at = begin + type->item_bytes;
  return true;
}

// The field of that name: usually the dict has the fields in the order of the names.
Value find_field(const Contents& contents, Value fields, std::size_t ordinal, std::string_view name,
                 std::size_t& budget) {
  const auto pairs = contents.arena.pairs(fields);
  if (2 * ordinal < pairs.size() && contents.arena.is_text(pairs[2 * ordinal], name)) return pairs[2 * ordinal + 1];
  for (std::size_t i = 0; i < pairs.size() / 2 && budget > 0; ++i, --budget)
    if (contents.arena.is_text(pairs[2 * i], name)) return pairs[2 * i + 1];
  return {};
}

bool read_structure(const Contents& contents, NumpyType& type, int depth) {
  std::string out;
  std::uint64_t at = 0;
  std::size_t budget = kMaxFieldsSought;
  const auto names = contents.arena.items(type.names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (out.size() > kMaxSpelling) {
      type.spelling = "[" + out + ", ...]";
      return true;
    }
    const auto label = text_of(contents, names[i]);
    if (!label) return false;
    const Value field = find_field(contents, type.fields, i, *label, budget);
    if (!spell_field(contents, names[i], field, at, out, depth)) return false;
  }
  if (at < type.item_bytes) out += fmt::format("{}('', '|V{}')", out.empty() ? "" : ", ", type.item_bytes - at);
  type.spelling = "[" + out + "]";
  return true;
}

// (base, shape): each element is a small array.
bool read_subarray(const Contents& contents, Value subarray, NumpyType& type, int depth) {
  if (!subarray.is(Kind::Tuple) || contents.arena.items(subarray).size() != 2) return false;
  const auto parts = contents.arena.items(subarray);
  const auto base = read_at_depth(contents, parts[0], depth + 1);
  if (!base) return false;
  std::string shape;
  const auto sizes = parts[1].is(Kind::Tuple) ? contents.arena.items(parts[1]) : parts.subspan(1, 1);
  if (sizes.size() > 64) return false;
  for (const Value size : sizes) {
    const auto number = int_of(contents, size);
    if (!number) return false;
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", *number);
  }
  const bool structure = base->spelling.front() == '[';
  type.spelling = fmt::format("{}{}{}, ({}{})", structure ? "" : "'", base->spelling, structure ? "" : "'", shape,
                              sizes.size() == 1 ? "," : "");
  return true;
}

// "f8", "U2", "V12" ...: letter and bytes (characters for U).
bool read_code(std::string_view code, NumpyType& type) {
  if (!code.empty() && (code[0] == '<' || code[0] == '|' || code[0] == '=')) code.remove_prefix(1);
  if (code.size() < 2 || std::string_view("biufcSUVOMm").find(code[0]) == std::string_view::npos) return false;
  type.kind = code[0];
  const char* end = code.data() + code.size();
  const auto [stop, status] = std::from_chars(code.data() + 1, end, type.item_bytes);
  if (status != std::errc() || stop != end || type.item_bytes > (std::uint64_t{1} << 40)) return false;
  if (type.kind == 'U') type.item_bytes *= 4;
  if (const Plain* plain = find_plain(code)) type.dtype = plain->dtype;
  return true;
}

// The code, or the class numpy names for a record type.
bool read_class(const Contents& contents, Value argument, NumpyType& type) {
  if (const auto code = text_of(contents, argument)) return read_code(*code, type);
  if (!argument.is(Kind::Global)) return false;
  const Name name = modern(contents.arena, argument);
  type.kind = 'V';
  return name.module == "numpy" && (name.name == "record" || name.name == "void");
}

void spell_simple(NumpyType& type) {
  const bool has_order = type.item_bytes > 1 && std::string_view("iufcUMm").find(type.kind) != std::string_view::npos;
  const std::string order = !has_order ? "|" : type.big_endian ? ">" : "<";
  if (type.kind == 'O')
    type.spelling = "|O";
  else
    type.spelling = fmt::format("{}{}{}{}", order, type.kind, type.kind == 'U' ? type.item_bytes / 4 : type.item_bytes,
                                count_and_unit(type));
}

std::optional<NumpyType> read_at_depth(const Contents& contents, Value value, int depth) {
  if (depth > kMaxNesting || !value.is(Kind::Object)) return std::nullopt;
  const pickle::Object& object = contents.arena.object(value);
  if (!object.callable.is(Kind::Global) || !object.args.is(Kind::Tuple)) return std::nullopt;
  const Name name = modern(contents.arena, object.callable);
  const auto args = contents.arena.items(object.args);
  NumpyType type;
  if (name.name == "_convert_to_stringdtype_kwargs") {
    type.kind = 'T';
    type.item_bytes = 16;
    type.spelling = "StringDType()";
    return type;
  }
  if (name.module != "numpy" || name.name != "dtype" || args.empty()) return std::nullopt;
  if (!read_class(contents, args[0], type)) return std::nullopt;
  const auto state = state_of(contents, value);
  if (state.empty()) {
    spell_simple(type);
    return type;
  }
  const auto order = text_of(contents, state[kByteOrder]);
  type.big_endian = order && *order == ">";
  if (const auto size = int_of(contents, state[kItemSize]); size && *size >= 0)
    type.item_bytes = static_cast<std::uint64_t>(*size);
  read_unit(contents, state, type);
  if (state[kNames].is(Kind::Tuple) && state[kFields].is(Kind::Dict)) {
    type.names = state[kNames];
    type.fields = state[kFields];
    if (!read_structure(contents, type, depth)) return std::nullopt;
  } else if (!state[kSubarray].is(Kind::None)) {
    if (!read_subarray(contents, state[kSubarray], type, depth)) return std::nullopt;
  } else {
    spell_simple(type);
  }
  return type;
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const double fraction = bits & 0x3FF;
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                            : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

double real_value(std::string_view bytes) {
  const auto* raw = as_bytes_of(bytes).data();
  if (bytes.size() == 2) return half_value(load_le<std::uint16_t>(raw));
  if (bytes.size() == 4) return static_cast<double>(load_le<float>(raw));
  return load_le<double>(raw);
}

// numpy pads its strings with zero bytes and drops those at the end.
std::string_view without_padding(std::string_view bytes, std::size_t width) {
  while (bytes.size() >= width && bytes.substr(bytes.size() - width).find_first_not_of('\0') == std::string_view::npos)
    bytes.remove_suffix(width);
  return bytes;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0U | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xE0U | point >> 12);
    } else {
      put(0xF0U | (point >> 18 & 0x7U));
      put(0x80U | (point >> 12 & 0x3FU));
    }
    put(0x80U | (point >> 6 & 0x3FU));
  }
  put(0x80U | (point & 0x3FU));
}

Value read_unicode(Arena& arena, std::string_view bytes) {
  const std::string_view text = without_padding(bytes, 4);
  std::string utf8;
  for (std::size_t at = 0; at + 4 <= text.size(); at += 4) {
    const auto point = load_le<std::uint32_t>(as_bytes_of(text).data() + at);
    if (point > 0x10FFFF) return {};
    append_utf8(utf8, point);
  }
  return arena.text(Kind::Str, utf8);
}

// Every group of `width` bytes turned.
std::string little_endian(std::string_view bytes, std::size_t width) {
  std::string turned(bytes);
  for (std::size_t at = 0; at + width <= turned.size(); at += width)
    std::reverse(turned.begin() + static_cast<std::ptrdiff_t>(at),
                 turned.begin() + static_cast<std::ptrdiff_t>(at + width));
  return turned;
}

Value read_unsigned(Arena& arena, std::string_view bytes) {
  std::string positive(bytes);
  positive.push_back('\0');
  return arena.big_integer(as_bytes_of(positive));
}

}  // namespace

std::optional<NumpyType> read_dtype(const Contents& contents, Value value) { return read_at_depth(contents, value, 0); }

namespace {

// repr() of a structure leaves out the '|' that descr writes before types without a byte order, and calls |b1 "?".
std::string without_bars(std::string text) {
  for (std::size_t at = 0; (at = text.find("'|", at)) != std::string::npos; ++at) {
    text.erase(at + 1, 1);
    if (text.compare(at + 1, 3, "b1'") == 0) text.replace(at + 1, 2, "?");
  }
  return text;
}

}  // namespace

std::string dtype_text(const NumpyType& type) {
  if (type.kind == 'T') return type.spelling;
  if (type.spelling.front() == '[') return "dtype(" + without_bars(type.spelling) + ")";
  if (type.spelling.front() == '\'') return "dtype((" + type.spelling + "))";
  if (type.kind == 'S' || type.kind == 'V' || type.kind == 'O') return "dtype('" + type.spelling.substr(1) + "')";
  const Plain* plain = type.big_endian ? nullptr : find_plain(std::string_view(type.spelling).substr(1));
  return plain != nullptr ? fmt::format("dtype('{}')", plain->name) : "dtype('" + type.spelling + "')";
}

Value read_element(Arena& arena, const NumpyType& type, std::string_view bytes, std::string& shown) {
  if (bytes.size() != type.item_bytes || !type.names.missing() || type.spelling.front() == '\'') return {};
  const std::size_t width = type.kind == 'U' ? 4 : type.kind == 'c' ? bytes.size() / 2 : bytes.size();
  const bool turned = type.big_endian && width > 1;
  const std::string own = turned ? little_endian(bytes, width) : std::string();
  if (turned) bytes = own;
  switch (type.kind) {
    case 'b': return bytes.size() == 1 ? Arena::boolean(bytes[0] != 0) : Value();
    case 'i': return bytes.size() <= 8 ? arena.big_integer(as_bytes_of(bytes)) : Value();
    case 'u': return bytes.size() <= 8 ? read_unsigned(arena, bytes) : Value();
    case 'f':
      return bytes.size() <= 8 && std::has_single_bit(bytes.size()) && bytes.size() > 1 ? arena.real(real_value(bytes))
                                                                                        : Value();
    case 'c':
      if (bytes.size() != 8 && bytes.size() != 16) return {};
      shown = complex_text(real_value(bytes.substr(0, width)), real_value(bytes.substr(width)));
      return {};
    case 'S': return arena.text(Kind::Bytes, without_padding(bytes, 1));
    case 'U': return read_unicode(arena, bytes);
    case 'M':
    case 'm':
      if (bytes.size() == 8) shown = numpy_time_text(type, load_le<std::int64_t>(as_bytes_of(bytes).data()));
      return {};
    default: return {};
  }
}

}  // namespace wick::python
