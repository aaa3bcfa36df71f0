// SPDX-License-Identifier: Apache-2.0
// Expected rows: the safetensors package (tests/fixtures/make_format_fixtures.py). Hostile headers: by hand, after the
// package's own rules.
#include "formats/readers.h"
#include "support/format_fixtures.h"

namespace wick::formats {
namespace {

using test::rows_of;

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(header.size() >> (8 * i) & 0xFFU);
  for (std::size_t i = 0; i < header.size(); ++i) bytes[8 + i] = static_cast<std::byte>(header[i]);
  return bytes;
}

Result<checkpoint::Contents> read_header(const std::string& header, std::size_t data_bytes) {
  const auto probe = test::probe_bytes(file_of(header, data_bytes));
  EXPECT_TRUE(is_safetensors(probe)) << header;
  return read_safetensors(probe);
}

TEST(Safetensors, reads_what_the_package_wrote) {
  const auto wanted = test::expected("expected_safetensors.json");
  for (const auto& [file, facts] : wanted["files"].items()) {
    const auto probe = test::probe_fixture(file);
    ASSERT_TRUE(is_safetensors(probe)) << file;
    const auto contents = read_safetensors(probe);
    ASSERT_TRUE(contents) << contents.error().to_string();
    test::expect_rows(*contents, facts["tensors"], file);
    std::map<std::string, std::string> metadata(contents->facts.metadata.begin(), contents->facts.metadata.end());
    EXPECT_EQ(metadata, (facts["metadata"].get<std::map<std::string, std::string>>())) << file;
    EXPECT_TRUE(contents->findings.empty()) << file;
  }
}

TEST(Safetensors, gives_equal_rows_from_every_source) {
  test::expect_equal_sources("dtypes.safetensors", [](const auto& probe) { return read_safetensors(probe); });
}

TEST(Safetensors, says_how_much_of_the_header_is_missing) {
  auto bytes = file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 0);
  bytes.resize(bytes.size() - 10);
  const auto probe = test::probe_bytes(bytes);
  ASSERT_TRUE(is_safetensors(probe));
  const auto contents = read_safetensors(probe);
  ASSERT_FALSE(contents);
  EXPECT_EQ(contents.error().code(), ErrorCode::Truncated);
}

TEST(Safetensors, lists_a_tensor_whose_bytes_are_cut_off_with_an_error) {
  const auto contents = read_header(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
      4);
  ASSERT_TRUE(contents);
  const auto rows = rows_of(*contents);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].error, "");
  EXPECT_NE(rows[1].error.find("bytes 2 to 6 of the data are needed, 4 are present"), std::string::npos)
      << rows[1].error;
}

TEST(Safetensors, finds_overlaps_gaps_and_trailing_bytes) {
  const auto overlap = read_header(
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
      4);
  ASSERT_TRUE(overlap);
  EXPECT_TRUE(test::has_finding(*overlap, "overlapping-tensors"));
  const auto gap = read_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})", 4);
  ASSERT_TRUE(gap);
  EXPECT_TRUE(test::has_finding(*gap, "gap-in-data"));
  const auto trailing = read_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 4);
  ASSERT_TRUE(trailing);
  EXPECT_TRUE(test::has_finding(*trailing, "trailing-bytes"));
}

TEST(Safetensors, keeps_the_last_of_two_tensors_with_one_name_and_says_so) {
  const auto contents = read_header(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}})",
      2);
  ASSERT_TRUE(contents);
  const auto rows = rows_of(*contents);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].dtype, "int8");
  EXPECT_TRUE(test::has_finding(*contents, "duplicate-key"));
}

// Each description is bad in one way; the file opens, that tensor carries the reason, and its neighbour is whole.
struct BadTensor {
  const char* description;
  const char* reason;
};
class SafetensorsBadTensor : public testing::TestWithParam<BadTensor> {};

TEST_P(SafetensorsBadTensor, is_listed_with_its_reason) {
  const auto contents = read_header(
      fmt::format(R"({{"good":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}},"bad":{}}})", GetParam().description),
      16);
  ASSERT_TRUE(contents) << contents.error().to_string();
  const auto rows = rows_of(*contents);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].error, "");
  EXPECT_NE(rows[1].error.find(GetParam().reason), std::string::npos) << rows[1].error;
}

INSTANTIATE_TEST_SUITE_P(
    Descriptions, SafetensorsBadTensor,
    testing::Values(
        BadTensor{R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", "need 8 bytes, data_offsets hold 4"},
        BadTensor{R"({"dtype":"F99","shape":[1],"data_offsets":[0,4]})", "'F99' is none that wick knows"},
        BadTensor{R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", "a negative number"},
        BadTensor{R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})", "no 64-bit integer"},
        BadTensor{R"({"dtype":"F32","shape":"x","data_offsets":[0,4]})", "shape is text"},
        BadTensor{R"({"dtype":"F32","shape":[[1]],"data_offsets":[0,4]})", "a list"},
        BadTensor{R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]})", "overflow"},
        BadTensor{R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})", "63 bits"},
        BadTensor{R"({"dtype":"F32","shape":[1],"data_offsets":[8,4]})", "end at 4 before they begin at 8"},
        BadTensor{R"({"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]})",
                  "present"},
        BadTensor{R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", "hold 1 numbers, 2 are needed"},
        BadTensor{R"({"dtype":"F32","shape":[1],"data_offsets":[0,1,2,3]})", "hold more than 2 numbers"},
        BadTensor{R"({"dtype":"F32","shape":[1]})", "hold 0 numbers"},
        BadTensor{R"({"dtype":"F32","data_offsets":[0,4]})", "no shape"},
        BadTensor{R"({"shape":[1],"data_offsets":[0,4]})", "no dtype"}, BadTensor{R"({})", "no dtype"},
        BadTensor{R"(5)", "its description is a number"},
        BadTensor{R"([{"dtype":"F32"}])", "its description is a list"},
        BadTensor{R"(null)", "its description is null"}));

TEST(Safetensors, skips_fields_it_does_not_know_whatever_is_in_them) {
  const auto contents = read_header(
      R"({"a":{"x":{"shape":[9],"y":[{"dtype":"I8"}]},"dtype":"U8","shape":[1],"data_offsets":[0,1],"z":[[[1]]]}})", 1);
  ASSERT_TRUE(contents);
  const auto rows = rows_of(*contents);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].error, "");
  EXPECT_EQ(rows[0].shape, std::vector<std::int64_t>{1});
}

TEST(Safetensors, refuses_a_header_that_is_no_object_or_no_json) {
  EXPECT_FALSE(is_safetensors(test::probe_bytes(file_of("[1, 2, 3]", 4))));
  const auto broken = read_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})", 1);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code(), ErrorCode::Malformed);
  EXPECT_GE(broken.error().offset().value_or(0), 8U);
}

TEST(Safetensors, finds_metadata_that_is_no_text) {
  const auto contents = read_header(R"({"__metadata__":{"a":1,"b":"x"}})", 0);
  ASSERT_TRUE(contents);
  EXPECT_TRUE(test::has_finding(*contents, "metadata-not-text"));
  ASSERT_EQ(contents->facts.metadata.size(), 1U);
  EXPECT_EQ(contents->facts.metadata[0].second, "x");
}

TEST(Safetensors, survives_every_prefix_and_every_flipped_bit) {
  test::survive_damage(test::fixture_bytes("subbyte.safetensors"), 216, is_safetensors, read_safetensors);
}

}  // namespace
}  // namespace wick::formats
