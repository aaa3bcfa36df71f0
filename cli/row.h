// SPDX-License-Identifier: Apache-2.0
// One row of `ls`: its fields for --where and --sort, its JSON, its digest. One table names the fields. docs/json.md.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json_writer.h"
#include "listing.h"
#include "where.h"

namespace wick::cli {

// The fields that --where and --sort know.
std::span<const FieldName> row_fields();
FieldValue field_of_row(Listing& listing, std::size_t row, std::size_t field);

// The keys of a JSON row, in order, beside `schema` and `file`.
std::span<const std::string_view> row_keys();

struct RowStyle {
  bool offsets = false;                       // add storage.file_offset
  bool digest = false;                        // add sha256
  std::vector<std::string> only;              // these keys; empty = all
  std::string file;                           // for the key `file` of rows that stand alone
  bool standalone = false;                    // begin with schema and file
  std::function<void(std::uint64_t)> hashed;  // told of bytes that were hashed
};

// One row as an object. The error that was found while hashing, if any (the row carries it too).
std::optional<Error> write_row(JsonWriter& json, Listing& listing, std::size_t row, const RowStyle& style);

// SHA-256 over the elements in C order, little-endian; Unsupported for layouts without elements of their own.
Result<std::string> digest_of(const Listing& listing, std::uint32_t tensor,
                              const std::function<void(std::uint64_t)>& hashed);

// "30522 × 768", "scalar" for no dimensions.
std::string shape_for_people(std::span<const std::int64_t> sizes);

}  // namespace wick::cli
