// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: a Python literal with dtype, order and shape. Format: docs/formats/npy.md, numpy NEP 1 and
// numpy/lib/format.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "wick/dtype.h"

namespace wick::formats {

// A Python literal: strings, integers, True/False/None, lists, tuples, dicts of them. Nodes name each other by index.
struct Literal {
  enum class Kind : std::uint8_t { None, Bool, Int, Str, List, Tuple, Dict };
  Kind kind = Kind::None;
  bool boolean = false;
  std::int64_t integer = 0;
  std::string text;                  // Str
  std::vector<std::uint32_t> items;  // List, Tuple: items; Dict: key, value, key, value
  std::size_t begin = 0;             // where it stands in the text
  std::size_t end = 0;
};
struct LiteralTree {
  std::vector<Literal> nodes;
  std::uint32_t root = 0;
};
// Malformed with the offset within `text` when it is no literal or something follows it; Limit when it nests deeper
// than 64. No recursion.
Result<LiteralTree> parse_literal(std::string_view text);

// What numpy's `descr` says an element is.
struct NumpyType {
  DType dtype = DType::NumpyOther;
  std::string spelling;          // "<f4", "<M8[ns]", "[('a', '<i4')]"
  std::uint64_t item_bytes = 0;  // 8 for objects
  bool big_endian = false;       // the bytes of `dtype` are; never set for NumpyOther
  bool has_objects = false;      // the data is a pickle
};
// "<f4", "|b1", "<U12", "<M8[ns]" ...; Malformed when it is no type string numpy writes.
Result<NumpyType> parse_type_string(std::string_view text);
// A `descr`: a type string, or the list of fields of a structure.
Result<NumpyType> parse_descr(const LiteralTree& tree, std::uint32_t node, std::string_view text);

struct NpyHeader {
  NumpyType type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::uint64_t data_start = 0;  // from the first byte of the file
  int major = 0;
  int minor = 0;
};
// Bytes of magic, version and header together, told by the first 12 bytes of a file; nothing when they are no npy.
// Truncated when fewer are given.
Result<std::uint64_t> npy_header_size(std::span<const std::byte> head);
// The header at the start of `bytes` (npy_header_size() of them at least).
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes);

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

}  // namespace wick::formats
