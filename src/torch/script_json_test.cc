// SPDX-License-Identifier: Apache-2.0
// The fixture is by hand, after torch's import_legacy.cpp (tests/fixtures/make_format_fixtures.py).
#include "support/format_fixtures.h"
#include "torch/readers.h"

namespace wick::torch {
namespace {

TEST(ScriptJson, reads_parameters_buffers_and_attributes) {
  const auto wanted = test::expected("expected_script_json.json")["files"]["script_json.pt"];
  const auto probe = test::probe_fixture("script_json.pt");
  ASSERT_TRUE(is_script_json(probe));
  const auto contents = read_script_json(probe);
  ASSERT_TRUE(contents) << contents.error().to_string();
  test::expect_rows(*contents, wanted["tensors"], "script_json.pt");
  EXPECT_EQ(contents->facts.records.at("producerVersion"), "1.2");
}

TEST(ScriptJson, gives_equal_rows_from_every_source) {
  test::expect_equal_sources("script_json.pt", [](const auto& probe) { return read_script_json(probe); });
}

TEST(ScriptJson, survives_prefixes_and_flipped_bits) {
  const auto whole = test::fixture_bytes("script_json.pt");
  test::survive_damage(whole, whole.size(), is_script_json, read_script_json, 7);
}

}  // namespace
}  // namespace wick::torch
