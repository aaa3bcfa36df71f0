// SPDX-License-Identifier: Apache-2.0
#include "formats/npy_header.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/cursor.h"
#include "base/text.h"

namespace wick::formats {
namespace {

// numpy's kind letter and item size -> element type. What has no row is NumpyOther.
struct TypeRow {
  char kind;
  std::uint64_t bytes;
  DType dtype;
};
constexpr std::array<TypeRow, 14> kTypes{{{'b', 1, DType::Bool},
                                          {'i', 1, DType::Int8},
                                          {'i', 2, DType::Int16},
                                          {'i', 4, DType::Int32},
                                          {'i', 8, DType::Int64},
                                          {'u', 1, DType::UInt8},
                                          {'u', 2, DType::UInt16},
                                          {'u', 4, DType::UInt32},
                                          {'u', 8, DType::UInt64},
                                          {'f', 2, DType::Float16},
                                          {'f', 4, DType::Float32},
                                          {'f', 8, DType::Float64},
                                          {'c', 8, DType::Complex64},
                                          {'c', 16, DType::Complex128}}};

Error no_type(std::string_view text) {
  return fail(ErrorCode::Malformed, "'{}' is no dtype that numpy writes", escape_for_display(text));
}

// Digits at the start of `text`, which is shortened by them.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  std::size_t used = 0;
  while (used < text.size() && text[used] >= '0' && text[used] <= '9') {
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, static_cast<std::uint64_t>(text[used] - '0'), &value)) return std::nullopt;
    ++used;
  }
  if (used == 0) return std::nullopt;
  text.remove_prefix(used);
  return value;
}

// Elements of an array in a field: (name, type, 3) or (name, type, (2, 3)).
Result<std::uint64_t> repeats_of(const LiteralTree& tree, std::uint32_t node) {
  const Literal& shape = tree.nodes[node];
  const auto one = [](const Literal& size) -> Result<std::uint64_t> {
    if (size.kind != Literal::Kind::Int || size.integer < 0)
      return Error(ErrorCode::Malformed, "a field's shape holds something that is no natural number");
    return static_cast<std::uint64_t>(size.integer);
  };
  if (shape.kind == Literal::Kind::Int) return one(shape);
  if (shape.kind != Literal::Kind::Tuple) return Error(ErrorCode::Malformed, "a field's shape is no tuple");
  std::uint64_t product = 1;
  for (const std::uint32_t item : shape.items) {
    WICK_TRY(const std::uint64_t size, one(tree.nodes[item]));
    WICK_TRY(product, checked_mul(product, size, "elements of a field"));
  }
  return product;
}

bool is_field_name(const LiteralTree& tree, std::uint32_t node) {
  const Literal& name = tree.nodes[node];
  if (name.kind == Literal::Kind::Str) return true;
  // A title and a name.
  return name.kind == Literal::Kind::Tuple && name.items.size() == 2 &&
         std::all_of(name.items.begin(), name.items.end(),
                     [&](std::uint32_t item) { return tree.nodes[item].kind == Literal::Kind::Str; });
}

// Adds the bytes of a structure's fields, structures in structures with a stack.
Result<void> measure_fields(const LiteralTree& tree, std::uint32_t node, NumpyType& type) {
  struct Pending {
    std::uint32_t list;
    std::uint64_t repeats;
  };
  std::vector<Pending> pending{{node, 1}};
  while (!pending.empty()) {
    const Pending now = pending.back();
    pending.pop_back();
    for (const std::uint32_t item : tree.nodes[now.list].items) {
      const Literal& field = tree.nodes[item];
      const bool shaped = field.items.size() == 3;
      if (field.kind != Literal::Kind::Tuple || (!shaped && field.items.size() != 2) ||
          !is_field_name(tree, field.items[0]))
        return Error(ErrorCode::Malformed, "a field of the structure is no (name, dtype[, shape])");
      std::uint64_t repeats = now.repeats;
      if (shaped) {
        WICK_TRY(const std::uint64_t own, repeats_of(tree, field.items[2]));
        WICK_TRY(repeats, checked_mul(repeats, own, "elements of a field"));
      }
      const Literal& inner = tree.nodes[field.items[1]];
      if (inner.kind == Literal::Kind::List) {
        pending.push_back({field.items[1], repeats});
        continue;
      }
      if (inner.kind != Literal::Kind::Str) return Error(ErrorCode::Malformed, "a field's dtype is no text");
      WICK_TRY(const NumpyType element, parse_type_string(inner.text));
      WICK_TRY(const std::uint64_t bytes, checked_mul(element.item_bytes, repeats, "bytes of a field"));
      WICK_TRY(type.item_bytes, checked_add(type.item_bytes, bytes, "bytes of an element"));
      type.has_objects = type.has_objects || element.has_objects;
    }
  }
  return {};
}

}  // namespace

Result<NumpyType> parse_type_string(std::string_view text) {
  NumpyType type;
  type.spelling = text;
  std::string_view rest = text;
  char order = '=';
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    order = rest[0];
    rest.remove_prefix(1);
  }
  if (rest.empty()) return no_type(text);
  const char kind = rest[0];
  rest.remove_prefix(1);
  if (std::string_view("biufcOSaUVMm").find(kind) == std::string_view::npos) return no_type(text);
  const auto count = take_number(rest);
  if (kind == 'O') {
    if (!rest.empty()) return no_type(text);
    type.item_bytes = 8;
    type.has_objects = true;
    return type;
  }
  const bool dated = kind == 'M' || kind == 'm';
  const bool unit = dated && rest.size() >= 3 && rest.front() == '[' && rest.back() == ']';
  if (!count || (!rest.empty() && !unit)) return no_type(text);
  WICK_TRY(type.item_bytes, checked_mul(*count, kind == 'U' ? 4 : 1, "bytes of an element"));
  for (const TypeRow& row : kTypes)
    if (row.kind == kind && row.bytes == *count) type.dtype = row.dtype;
  const bool known_other = (kind == 'f' && (*count == 12 || *count == 16)) ||
                           (kind == 'c' && (*count == 24 || *count == 32)) || (dated && *count == 8) ||
                           std::string_view("SaUV").find(kind) != std::string_view::npos;
  if (type.dtype == DType::NumpyOther && !known_other) return no_type(text);
  type.big_endian = order == '>' && type.dtype != DType::NumpyOther && facts_of(type.dtype).component > 1;
  return type;
}

Result<NumpyType> parse_descr(const LiteralTree& tree, std::uint32_t node, std::string_view text) {
  const Literal& descr = tree.nodes[node];
  if (descr.kind == Literal::Kind::Str) return parse_type_string(descr.text);
  if (descr.kind != Literal::Kind::List)
    return Error(ErrorCode::Malformed, "descr is neither a dtype nor a list of fields");
  NumpyType type;
  type.spelling = std::string(text.substr(descr.begin, descr.end - descr.begin));
  WICK_CHECK(measure_fields(tree, node, type));
  return type;
}

Result<std::uint64_t> npy_header_size(std::span<const std::byte> head) {
  Cursor cursor(head);
  WICK_TRY(const auto magic, cursor.read_text(kNpyMagic.size(), "magic"));
  if (magic != kNpyMagic) return fail_at(ErrorCode::Malformed, 0, "the magic is not \\x93NUMPY");
  WICK_TRY(const std::uint8_t major, cursor.read_u8("major version"));
  WICK_TRY(const std::uint8_t minor, cursor.read_u8("minor version"));
  if (major < 1 || major > 3 || minor != 0)
    return fail_at(ErrorCode::Unsupported, 6, "npy version {}.{} is none that numpy writes (1.0, 2.0, 3.0)", major,
                   minor);
  if (major == 1) {
    WICK_TRY(const std::uint16_t length, cursor.read_u16("header length"));
    return cursor.offset() + length;
  }
  WICK_TRY(const std::uint32_t length, cursor.read_u32("header length"));
  return cursor.offset() + length;
}

namespace {

Result<std::vector<std::int64_t>> shape_of(const LiteralTree& tree, std::uint32_t node) {
  const Literal& tuple = tree.nodes[node];
  if (tuple.kind != Literal::Kind::Tuple) return Error(ErrorCode::Malformed, "shape is no tuple");
  if (tuple.items.size() > 64) return fail(ErrorCode::Malformed, "{} dimensions, numpy takes 64", tuple.items.size());
  std::vector<std::int64_t> shape;
  for (const std::uint32_t item : tuple.items) {
    const Literal& size = tree.nodes[item];
    if (size.kind != Literal::Kind::Int || size.integer < 0)
      return Error(ErrorCode::Malformed, "shape holds something that is no natural number");
    shape.push_back(size.integer);
  }
  return shape;
}

// Exactly the three keys numpy wants, each once.
Result<std::array<std::uint32_t, 3>> find_keys(const LiteralTree& tree) {
  constexpr std::array<std::string_view, 3> kKeys{"descr", "fortran_order", "shape"};
  const Literal& dict = tree.nodes[tree.root];
  if (dict.kind != Literal::Kind::Dict) return Error(ErrorCode::Malformed, "the header is no dict");
  std::array<std::optional<std::uint32_t>, 3> found;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Literal& key = tree.nodes[dict.items[i]];
    const auto place = std::find(kKeys.begin(), kKeys.end(), key.text);
    if (key.kind != Literal::Kind::Str || place == kKeys.end())
      return fail(ErrorCode::Malformed, "the header has the key '{}', which numpy refuses",
                  escape_for_display(key.text));
    found[static_cast<std::size_t>(place - kKeys.begin())] = dict.items[i + 1];
  }
  std::array<std::uint32_t, 3> places{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!found[i]) return fail(ErrorCode::Malformed, "the header has no key '{}'", kKeys[i]);
    places[i] = *found[i];
  }
  return places;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes) {
  WICK_TRY(const std::uint64_t size, npy_header_size(bytes));
  if (size > bytes.size())
    return fail_at(ErrorCode::Truncated, 0, "the header ends at byte {}, {} are present", size, bytes.size());
  NpyHeader header;
  header.data_start = size;
  header.major = std::to_integer<int>(bytes[6]);
  header.minor = std::to_integer<int>(bytes[7]);
  const std::uint64_t start = header.major == 1 ? 10 : 12;
  Cursor cursor(bytes);
  WICK_CHECK(cursor.seek(start, "header"));
  WICK_TRY(const std::string_view text, cursor.read_text(size - start, "header"));
  auto tree = parse_literal(text);
  if (!tree)
    return fail_at(tree.error().code(), start + tree.error().offset().value_or(0), "{}", tree.error().message());
  WICK_TRY(const auto keys, find_keys(*tree));
  WICK_TRY(header.type, parse_descr(*tree, keys[0], text));
  const Literal& order = tree->nodes[keys[1]];
  if (order.kind != Literal::Kind::Bool) return fail_at(ErrorCode::Malformed, start, "fortran_order is no boolean");
  header.fortran_order = order.boolean;
  WICK_TRY(header.shape, shape_of(*tree, keys[2]));
  return header;
}

}  // namespace wick::formats
