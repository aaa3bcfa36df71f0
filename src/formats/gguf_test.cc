// SPDX-License-Identifier: Apache-2.0
// Expected rows: the gguf package (tests/fixtures/make_format_fixtures.py).
#include "formats/readers.h"
#include "support/format_fixtures.h"
#include "tensor/dtype.h"

namespace wick::formats {
namespace {

TEST(Gguf, knows_every_type_of_the_package_with_its_block) {
  const auto wanted = test::expected("expected_gguf_types.json");
  for (const auto& type : wanted["types"]) {
    const auto dtype = tensor::find_by_ggml_type(type[1].get<int>());
    ASSERT_TRUE(dtype) << type[0];
    const auto& facts = facts_of(*dtype);
    EXPECT_EQ(facts.block_elements, type[2].get<std::uint32_t>()) << type[0];
    EXPECT_EQ(facts.block_bytes, type[3].get<std::uint32_t>()) << type[0];
    if (facts.ggml_type >= 0) {
      EXPECT_EQ(facts.name, "gguf." + type[0].get<std::string>());
    }
  }
}

// The value in the tree as JSON, for comparing with what the package read.
void expect_value(const checkpoint::Contents& contents, pickle::Value value, const nlohmann::json& wanted,
                  const std::string& key) {
  const auto& arena = contents.arena;
  switch (value.kind()) {
    case pickle::Kind::Str: EXPECT_EQ(arena.as_text(value), wanted.get<std::string>()) << key; break;
    case pickle::Kind::Bool: EXPECT_EQ(pickle::Arena::as_bool(value), wanted.get<bool>()) << key; break;
    case pickle::Kind::Int: EXPECT_EQ(pickle::Arena::as_int(value), wanted.get<std::int64_t>()) << key; break;
    case pickle::Kind::BigInt: EXPECT_GE(arena.as_text(value).size(), 8U) << key; break;
    case pickle::Kind::Float: EXPECT_EQ(arena.as_real(value), wanted.get<double>()) << key; break;
    case pickle::Kind::List: {
      const auto items = arena.items(value);
      ASSERT_EQ(items.size(), wanted.size()) << key;
      for (std::size_t i = 0; i < items.size(); ++i) expect_value(contents, items[i], wanted[i], key);
      break;
    }
    default: FAIL() << key;
  }
}

TEST(Gguf, reads_what_the_package_wrote) {
  const auto wanted = test::expected("expected_gguf.json");
  for (const auto& [file, facts] : wanted["files"].items()) {
    const auto probe = test::probe_fixture(file);
    ASSERT_TRUE(is_gguf(probe)) << file;
    const auto contents = read_gguf(probe);
    ASSERT_TRUE(contents) << contents.error().to_string();
    test::expect_rows(*contents, facts["tensors"], file);
    const auto metadata = contents->arena.find(contents->sections[0].root, "__metadata__");
    for (const auto& [key, value] : facts["values"].items()) {
      const auto there = contents->arena.find(metadata, key);
      ASSERT_FALSE(there.missing()) << file << ": " << key;
      expect_value(*contents, there, value, key);
    }
    EXPECT_EQ(contents->facts.metadata.size(), facts["values"].size());
    EXPECT_TRUE(contents->findings.empty()) << file << ": " << contents->findings[0].message;
  }
}

std::string metadata_text(const checkpoint::Contents& contents, const std::string& key) {
  for (const auto& [name, text] : contents.facts.metadata)
    if (name == key) return text;
  return "absent";
}

TEST(Gguf, shows_metadata_as_text_and_sums_arrays_up) {
  const auto contents = read_gguf(test::probe_fixture("v3.gguf"));
  ASSERT_TRUE(contents);
  EXPECT_EQ(metadata_text(*contents, "k.u64"), "18446744073709551615");
  EXPECT_EQ(metadata_text(*contents, "k.f32"), "0.1");
  EXPECT_EQ(metadata_text(*contents, "k.bool"), "true");
  EXPECT_EQ(metadata_text(*contents, "k.words"), "3 × str: <s>, </s>, hello");
  EXPECT_EQ(metadata_text(*contents, "k.numbers"), "100 × i32: 0, 1, 2, 3, 4, 5, 6, 7, ...");
  EXPECT_EQ(contents->facts.format_version, "3");
}

TEST(Gguf, tells_big_endian_by_its_version) {
  const auto contents = read_gguf(test::probe_fixture("v3_big.gguf"));
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->facts.byteorder, "big");
}

TEST(Gguf, gives_equal_rows_from_every_source) {
  test::expect_equal_sources("v3.gguf", [](const auto& probe) { return read_gguf(probe); });
}

// A file by hand: header fields little-endian.
class Bytes {
 public:
  Bytes& text(const std::string& s) { return number<std::uint64_t>(s.size()).raw(s); }
  Bytes& raw(const std::string& s) {
    for (const char c : s) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  template <class T>
  Bytes& number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFFU));
    return *this;
  }
  Bytes& header(std::uint64_t tensors, std::uint64_t pairs) {
    return raw("GGUF").number<std::uint32_t>(3).number(tensors).number(pairs);
  }
  Bytes& tensor(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t at) {
    text(name).number<std::uint32_t>(static_cast<std::uint32_t>(dims.size()));
    for (const auto dim : dims) number(dim);
    return number(type).number(at);
  }
  Bytes& data(std::size_t count) {
    bytes_.resize((bytes_.size() + 31) / 32 * 32 + count);
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

Result<checkpoint::Contents> read(const Bytes& bytes) { return read_gguf(test::probe_bytes(bytes.bytes())); }

TEST(Gguf, lists_bad_tensors_with_their_reasons) {
  const auto contents = read(Bytes()
                                 .header(6, 0)
                                 .tensor("good", {2}, 0, 0)
                                 .tensor("cut", {64}, 0, 32)
                                 .tensor("ragged", {33}, 2, 0)
                                 .tensor("strange", {1}, 200, 0)
                                 .tensor("wild", {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0, 0)
                                 .tensor("far", {1}, 0, ~std::uint64_t{0})
                                 .data(64));
  ASSERT_TRUE(contents) << contents.error().to_string();
  const auto rows = test::rows_of(*contents);
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0].error, "");
  EXPECT_NE(rows[1].error.find("256 bytes are needed, 32 are present"), std::string::npos) << rows[1].error;
  EXPECT_NE(rows[2].error.find("rows of 33 elements do not fill blocks of 32"), std::string::npos) << rows[2].error;
  EXPECT_NE(rows[3].error.find("GGML type 200"), std::string::npos) << rows[3].error;
  EXPECT_NE(rows[4].error.find("overflow"), std::string::npos) << rows[4].error;
  EXPECT_NE(rows[5].error.find("overflow"), std::string::npos) << rows[5].error;
}

TEST(Gguf, finds_overlaps_gaps_and_odd_offsets) {
  const auto overlap = read(Bytes().header(2, 0).tensor("a", {16}, 0, 0).tensor("b", {8}, 0, 32).data(64));
  ASSERT_TRUE(overlap);
  EXPECT_TRUE(test::has_finding(*overlap, "overlapping-tensors"));
  const auto gap = read(Bytes().header(1, 0).tensor("a", {8}, 0, 64).data(96));
  ASSERT_TRUE(gap);
  EXPECT_TRUE(test::has_finding(*gap, "gap-in-data"));
  const auto odd = read(Bytes().header(1, 0).tensor("a", {7}, 0, 4).data(32));
  ASSERT_TRUE(odd);
  EXPECT_TRUE(test::has_finding(*odd, "misaligned-tensor"));
}

TEST(Gguf, compares_counts_with_the_bytes_left_before_it_makes_anything) {
  for (const auto& bytes : {Bytes().header(~std::uint64_t{0}, 0), Bytes().header(1ULL << 40, 0),
                            Bytes().header(0, ~std::uint64_t{0}), Bytes().header(0, 1ULL << 33)}) {
    const auto contents = read(bytes);
    ASSERT_FALSE(contents);
    EXPECT_TRUE(contents.error().code() == ErrorCode::Truncated || contents.error().code() == ErrorCode::Malformed);
  }
  const auto array =
      read(Bytes().header(0, 1).text("k").number<std::uint32_t>(9).number<std::uint32_t>(0).number<std::uint64_t>(
          1ULL << 50));
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code(), ErrorCode::Truncated);
}

TEST(Gguf, refuses_arrays_nested_without_end_and_versions_it_does_not_know) {
  Bytes nested;
  nested.header(0, 1).text("k").number<std::uint32_t>(9);
  for (int i = 0; i < 1000; ++i) nested.number<std::uint32_t>(9).number<std::uint64_t>(1);
  const auto deep = read(nested);
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code(), ErrorCode::Limit);
  const auto future =
      read(Bytes().raw("GGUF").number<std::uint32_t>(4).number<std::uint64_t>(0).number<std::uint64_t>(0));
  ASSERT_FALSE(future);
  EXPECT_EQ(future.error().code(), ErrorCode::Unsupported);
}

TEST(Gguf, reads_a_header_longer_than_its_first_window) {
  Bytes bytes;
  bytes.header(1, 2).text("big").number<std::uint32_t>(8).text(std::string(3'000'000, 'x'));
  bytes.text("list").number<std::uint32_t>(9).number<std::uint32_t>(0).number<std::uint64_t>(100'000);
  bytes.raw(std::string(100'000, 'y'));
  bytes.tensor("t", {2}, 0, 0).data(8);
  const auto contents = read(bytes);
  ASSERT_TRUE(contents) << contents.error().to_string();
  EXPECT_EQ(test::rows_of(*contents).size(), 1U);
}

TEST(Gguf, survives_every_prefix_and_every_flipped_bit) {
  test::survive_damage(test::fixture_bytes("v3.gguf"), 700, is_gguf, read_gguf, 37);
  test::survive_damage(test::fixture_bytes("v1.gguf"), 120, is_gguf, read_gguf);
  test::survive_damage(test::fixture_bytes("aligned.gguf"), 320, is_gguf, read_gguf, 3);
}

}  // namespace
}  // namespace wick::formats
