// SPDX-License-Identifier: Apache-2.0
// Expected rows: torch.export.load (tests/fixtures/make_format_fixtures.py).
#include "support/format_fixtures.h"
#include "torch/export_program.h"
#include "torch/readers.h"

namespace wick::torch {
namespace {

nlohmann::json joined(const nlohmann::json& facts) {
  nlohmann::json rows = nlohmann::json::array();
  for (const char* part : {"tensors", "constants", "sample_inputs"})
    for (const auto& row : facts[part]) rows.push_back(row);
  return rows;
}

TEST(Export, reads_the_pt2_archive_and_the_old_zip) {
  const auto wanted = test::expected("expected_pt2.json")["files"];
  for (const auto& [file, facts] : wanted.items()) {
    const auto probe = test::probe_fixture(file);
    ASSERT_TRUE(is_export(probe)) << file;
    const auto contents = read_export(probe);
    ASSERT_TRUE(contents) << contents.error().to_string();
    test::expect_rows(*contents, joined(facts), file);
    EXPECT_EQ(contents->facts.records.count("torch_version"), 1U) << file;
    EXPECT_TRUE(contents->findings.empty()) << file;
  }
}

TEST(Export, keeps_tied_and_viewed_weights_on_one_storage) {
  const auto contents = read_export(test::probe_fixture("tied.pt2"));
  ASSERT_TRUE(contents);
  const auto places = checkpoint::find_places(*contents);
  ASSERT_TRUE(places);
  std::map<std::string, checkpoint::TensorRow> rows;
  std::map<std::string, checkpoint::Role> roles;
  for (const auto& place : places->rows) {
    rows[checkpoint::name_of(*contents, *places, place.path)] = contents->tensors[place.tensor];
    roles[checkpoint::name_of(*contents, *places, place.path)] = place.role;
  }
  EXPECT_EQ(rows["a.weight"].storage, rows["b.weight"].storage);
  EXPECT_EQ(rows["scale"].offset, 4U);
  EXPECT_EQ(contents->storages[rows["scale"].storage].bytes, 48U);
  EXPECT_EQ(roles["a.weight"], checkpoint::Role::Parameter);
  EXPECT_EQ(roles["scale"], checkpoint::Role::Buffer);
  EXPECT_EQ(roles["factor"], checkpoint::Role::Constant);
  EXPECT_TRUE(rows["hidden"].is_buffer);
}

TEST(Export, reads_only_what_it_needs_of_a_program) {
  const auto program = read_exported_program(
      R"({"graph_module":{"graph":{"nodes":[{"buffer":{"persistent":false,"buffer_name":"no"}}]},"signature":{"input_specs":[)"
      R"({"parameter":{"parameter_name":"w"}},{"buffer":{"arg":{"name":"b"},"buffer_name":"kept","persistent":true}},)"
      R"({"buffer":{"persistent":false,"buffer_name":"left_out"}}]}},"schema_version":{"major":8,"minor":2},"torch_version":"2.6.0"})");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->torch_version, "2.6.0");
  EXPECT_EQ(program->schema_major, 8);
  EXPECT_EQ(program->non_persistent, (std::set<std::string, std::less<>>{"left_out"}));
}

TEST(Export, gives_equal_rows_from_every_source) {
  test::expect_equal_sources("tied.pt2", [](const auto& probe) { return read_export(probe); });
}

TEST(Export, survives_prefixes_and_flipped_bits) {
  const auto whole = test::fixture_bytes("tied.pt2");
  test::survive_damage(whole, whole.size(), is_export, read_export, 211);
}

}  // namespace
}  // namespace wick::torch
