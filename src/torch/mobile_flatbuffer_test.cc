// SPDX-License-Identifier: Apache-2.0
// Expected rows: torch (tests/fixtures/make_format_fixtures.py), from the same modules it wrote as flatbuffers.
#include <set>

#include "support/format_fixtures.h"
#include "torch/readers.h"

namespace wick::torch {
namespace {

TEST(MobileFlatbuffer, reads_what_torch_wrote) {
  const auto wanted = test::expected("expected_ptmf.json");
  const auto probe = test::probe_fixture("outer.ff.ptl");
  ASSERT_TRUE(is_mobile_flatbuffer(probe));
  const auto contents = read_mobile_flatbuffer(probe);
  ASSERT_TRUE(contents) << contents.error().to_string();
  test::expect_rows(*contents, wanted["files"]["outer.ff.ptl"]["tensors"], "outer.ff.ptl");
}

TEST(MobileFlatbuffer, gives_the_names_of_its_zip_form) {
  const auto flat = read_mobile_flatbuffer(test::probe_fixture("outer.ff.ptl"));
  const auto zip = read_torch_zip(test::probe_fixture("outer.ptl"));
  ASSERT_TRUE(flat && zip);
  std::map<std::string, std::string> in_zip;
  for (const auto& row : test::rows_of(*zip)) in_zip[row.name] = row.sha256;
  for (const auto& row : test::rows_of(*flat)) {
    ASSERT_TRUE(in_zip.count(row.name)) << row.name;
    EXPECT_EQ(in_zip[row.name], row.sha256) << row.name;
  }
}

TEST(MobileFlatbuffer, reads_quantizers) {
  const auto wanted = test::expected("expected_ptmf.json")["files"]["quantized.ff.ptl"]["quant"];
  const auto contents = read_mobile_flatbuffer(test::probe_fixture("quantized.ff.ptl"));
  ASSERT_TRUE(contents) << contents.error().to_string();
  const auto places = checkpoint::find_places(*contents);
  ASSERT_TRUE(places);
  std::set<std::string> seen;
  for (const auto& place : places->rows) {
    const std::string name = checkpoint::name_of(*contents, *places, place.path);
    if (!wanted.contains(name)) continue;
    seen.insert(name);
    const auto* more = contents->find_more(place.tensor);
    ASSERT_NE(more, nullptr);
    EXPECT_EQ(more->scheme, wanted[name]["scheme"].get<std::string>());
    EXPECT_EQ(name_of(contents->tensors[place.tensor].dtype), wanted[name]["dtype"].get<std::string>());
    const auto bytes = checkpoint::read_elements(*contents, place.tensor);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    EXPECT_EQ(sha256_hex(*bytes), wanted[name]["sha256"].get<std::string>());
    if (name == "q") {
      EXPECT_EQ(more->scale, wanted[name]["scale"].get<double>());
      EXPECT_EQ(more->zero_point, wanted[name]["zero_point"].get<std::int64_t>());
    } else {
      ASSERT_NE(more->scales, checkpoint::kNone);
      EXPECT_EQ(contents->tensors[more->scales].dtype, DType::Float64);
    }
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(MobileFlatbuffer, keeps_the_sources) {
  const auto contents = read_mobile_flatbuffer(test::probe_fixture("outer.ff.ptl"));
  ASSERT_TRUE(contents);
  EXPECT_FALSE(contents->sources.empty());
  EXPECT_EQ(contents->facts.format_version, "9");
}

TEST(MobileFlatbuffer, gives_equal_rows_from_every_source) {
  test::expect_equal_sources("outer.ff.ptl", [](const auto& probe) { return read_mobile_flatbuffer(probe); });
}

TEST(MobileFlatbuffer, survives_every_prefix_and_flipped_bit) {
  const auto whole = test::fixture_bytes("quantized.ff.ptl");
  test::survive_damage(whole, whole.size(), is_mobile_flatbuffer, read_mobile_flatbuffer, 13);
}

}  // namespace
}  // namespace wick::torch
