// SPDX-License-Identifier: Apache-2.0
// What the tests of one format share: the committed fixtures and their expected rows, which the format's own package
// wrote (tests/fixtures/make_format_fixtures.py), against what a reader makes of them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/digest.h"
#include "checkpoint/places.h"
#include "checkpoint/probe.h"
#include "checkpoint/read_tensor.h"

namespace wick::test {

inline std::string fixture_path(const std::string& name) {
  const std::string here = __FILE__;
  return here.substr(0, here.rfind("/support/")) + "/fixtures/formats/" + name;
}

inline std::vector<std::byte> fixture_bytes(const std::string& name) {
  std::ifstream file(fixture_path(name), std::ios::binary);
  EXPECT_TRUE(file.good()) << fixture_path(name);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

inline nlohmann::json expected(const std::string& name) {
  std::ifstream file(fixture_path(name));
  EXPECT_TRUE(file.good()) << fixture_path(name);
  return nlohmann::json::parse(file);
}

inline checkpoint::Probe probe_of(io::SourcePtr source, const Limits& limits = {}) {
  Context context;
  context.limits = limits;
  auto probe = checkpoint::probe(std::move(source), "test", context);
  EXPECT_TRUE(probe) << probe.error().to_string();
  return probe ? *std::move(probe) : checkpoint::Probe{};
}
inline checkpoint::Probe probe_bytes(std::vector<std::byte> bytes, const Limits& limits = {}) {
  return probe_of(from_memory(std::move(bytes)), limits);
}
inline checkpoint::Probe probe_fixture(const std::string& name) {
  auto source = open_file(fixture_path(name));
  EXPECT_TRUE(source) << source.error().to_string();
  return probe_of(*source);
}

// One tensor as a person sees it.
struct Row {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::string sha256;
  std::string error;
};

inline std::vector<Row> rows_of(const checkpoint::Contents& contents, bool with_bytes = true) {
  std::vector<Row> rows;
  const auto places = checkpoint::find_places(contents);
  EXPECT_TRUE(places) << places.error().to_string();
  if (!places) return rows;
  for (const auto& place : places->rows) {
    const auto& tensor = contents.tensors[place.tensor];
    Row row;
    row.name = checkpoint::name_of(contents, *places, place.path);
    row.dtype = name_of(tensor.dtype);
    if (tensor.dtype == DType::NumpyOther) {
      const auto* more = contents.find_more(place.tensor);
      row.dtype = more != nullptr ? more->numpy_type : "";
    }
    const auto sizes = contents.sizes(tensor);
    const auto strides = contents.strides(tensor);
    row.shape.assign(sizes.begin(), sizes.end());
    row.strides.assign(strides.begin(), strides.end());
    if (const Error* error = contents.error_of(tensor)) {
      row.error = error->to_string();
    } else if (with_bytes) {
      const auto bytes = checkpoint::read_elements(contents, place.tensor);
      row.sha256 = bytes ? sha256_hex(*bytes) : bytes.error().to_string();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

inline void expect_rows(const checkpoint::Contents& contents, const nlohmann::json& wanted, const std::string& file) {
  const auto rows = rows_of(contents);
  ASSERT_EQ(rows.size(), wanted.size()) << file;
  std::map<std::string, const Row*> by_name;
  for (const Row& row : rows) by_name[row.name] = &row;
  for (const auto& want : wanted) {
    const std::string name = want["name"];
    ASSERT_TRUE(by_name.count(name)) << file << ": " << name;
    const Row& row = *by_name[name];
    EXPECT_EQ(row.error, "") << file << ": " << name;
    EXPECT_EQ(row.dtype, want["dtype"].get<std::string>()) << file << ": " << name;
    EXPECT_EQ(row.shape, want["shape"].get<std::vector<std::int64_t>>()) << file << ": " << name;
    EXPECT_EQ(row.strides, want["strides"].get<std::vector<std::int64_t>>()) << file << ": " << name;
    EXPECT_EQ(row.sha256, want["sha256"].get<std::string>()) << file << ": " << name;
  }
}

inline bool has_finding(const checkpoint::Contents& contents, const std::string& code) {
  for (const auto& finding : contents.findings)
    if (finding.code == code) return true;
  return false;
}

// Reads every prefix and every single-bit flip of the first `header` bytes. Whatever comes out must be an error or rows
// that can be walked and read; the sanitizers see the rest.
template <class Matches, class Read>
void survive_damage(const std::vector<std::byte>& whole, std::size_t header, Matches matches, Read read,
                    std::size_t step = 1) {
  const auto look = [&](std::vector<std::byte> bytes) {
    Limits limits;
    limits.max_memory = 64 << 20;
    const auto probe = probe_bytes(std::move(bytes), limits);
    if (!matches(probe)) return;
    auto contents = read(probe);
    if (contents) rows_of(*contents);
  };
  for (std::size_t length = 0; length < whole.size(); length += step)
    look(std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
  for (std::size_t bit = 0; bit < std::min(header, whole.size()) * 8; bit += step) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    look(std::move(bytes));
  }
}

// Memory, pread and one byte at a time give equal rows.
template <class Read>
void expect_equal_sources(const std::string& fixture, Read read) {
  const auto from_file = read(probe_fixture(fixture));
  const auto memory = read(probe_bytes(fixture_bytes(fixture)));
  const auto slow = read(probe_of(io::one_byte_at_a_time(from_memory(fixture_bytes(fixture)))));
  ASSERT_TRUE(from_file && memory && slow) << fixture;
  const auto a = rows_of(*from_file);
  for (const auto* other : {&*memory, &*slow}) {
    const auto b = rows_of(*other);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].name, b[i].name);
      EXPECT_EQ(a[i].sha256, b[i].sha256);
      EXPECT_EQ(a[i].error, b[i].error);
    }
  }
}

}  // namespace wick::test
