// SPDX-License-Identifier: Apache-2.0
// Expected rows: numpy (tests/fixtures/make_format_fixtures.py).
#include "formats/npy_header.h"
#include "formats/readers.h"
#include "support/format_fixtures.h"

namespace wick::formats {
namespace {

Result<checkpoint::Contents> read_either(const checkpoint::Probe& probe) {
  return is_npy(probe) ? read_npy(probe) : read_npz(probe);
}

TEST(Numpy, reads_what_numpy_wrote) {
  const auto wanted = test::expected("expected_numpy.json");
  for (const auto& [file, facts] : wanted["files"].items()) {
    const auto probe = test::probe_fixture(file);
    ASSERT_EQ(is_npy(probe), facts["kind"] == "npy") << file;
    ASSERT_EQ(is_npz(probe), facts["kind"] == "npz") << file;
    const auto contents = read_either(probe);
    ASSERT_TRUE(contents) << file << ": " << contents.error().to_string();
    auto& arrays = facts["tensors"];
    if (!facts.contains("objects")) test::expect_rows(*contents, arrays, file);
    EXPECT_TRUE(contents->findings.empty()) << file;
  }
}

TEST(Numpy, reads_object_arrays_as_inert_values_beside_plain_ones) {
  const auto contents = read_npz(test::probe_fixture("objects.npz"));
  ASSERT_TRUE(contents);
  const auto root = contents->sections[0].root;
  for (const char* name : {"mixed", "named"}) {
    const auto value = contents->arena.find(root, name);
    EXPECT_TRUE(value.is(pickle::Kind::Object)) << name;
  }
  EXPECT_FALSE(contents->facts.classes.empty());
  const auto rows = test::rows_of(*contents);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].name, "plain");
}

TEST(Numpy, gives_equal_rows_from_every_source) {
  test::expect_equal_sources("npy_fortran.npy", read_either);
  test::expect_equal_sources("deflated.npz", read_either);
}

std::vector<std::byte> npy(const std::string& header, std::size_t data) {
  std::string text(kNpyMagic);
  text += std::string("\x01\x00", 2);
  text.push_back(static_cast<char>(header.size() & 0xFFU));
  text.push_back(static_cast<char>(header.size() >> 8));
  text += header + std::string(data, '\0');
  std::vector<std::byte> bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

TEST(Numpy, lists_an_array_that_is_cut_or_overflows_with_its_reason) {
  const auto cut = read_npy(test::probe_bytes(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", 15)));
  ASSERT_TRUE(cut);
  EXPECT_NE(test::rows_of(*cut)[0].error.find("16 bytes of elements are needed, 15 are present"), std::string::npos);
  const auto wild = read_npy(test::probe_bytes(
      npy("{'descr': '<f8', 'fortran_order': True, 'shape': (4611686018427387904, 4611686018427387904)}", 8)));
  ASSERT_TRUE(wild);
  EXPECT_NE(test::rows_of(*wild)[0].error.find("overflow"), std::string::npos);
}

TEST(Numpy, refuses_headers_numpy_refuses) {
  const char* const bad[] = {
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}",
      "{'descr': '<z4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': 4, 'fortran_order': False, 'shape': (1,)}",
      "{'descr': [('a',)], 'fortran_order': False, 'shape': (1,)}",
      "{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}}",
      "['descr']",
      "",
  };
  for (const char* header : bad) {
    const auto contents = read_npy(test::probe_bytes(npy(header, 64)));
    ASSERT_FALSE(contents) << header;
    EXPECT_EQ(contents.error().code(), ErrorCode::Malformed) << header;
  }
}

TEST(PythonLiteral, parses_what_repr_writes) {
  const auto tree = parse_literal(R"( {'a': [1, -2, (3,), (4)], "b": None, 'c\n\x41\u4e2d': True, 7: ()} )");
  ASSERT_TRUE(tree) << tree.error().to_string();
  const auto& root = tree->nodes[tree->root];
  ASSERT_EQ(root.kind, Literal::Kind::Dict);
  ASSERT_EQ(root.items.size(), 8U);
  const auto& list = tree->nodes[root.items[1]];
  ASSERT_EQ(list.items.size(), 4U);
  EXPECT_EQ(tree->nodes[list.items[1]].integer, -2);
  EXPECT_EQ(tree->nodes[list.items[2]].kind, Literal::Kind::Tuple);
  EXPECT_EQ(tree->nodes[list.items[3]].kind, Literal::Kind::Int);
  EXPECT_EQ(tree->nodes[root.items[4]].text, "c\nA\u4e2d");
}

TEST(PythonLiteral, refuses_what_is_none) {
  for (const char* text : {"", "1 2", "[1 2]", "{1}", "{1: 2", "{1: }", "{: 1}", "(,)", "[1,,2]", "]", "[)", "'a",
                           "'\\q'", "f()", "99999999999999999999", "{1: 2: 3}", "a", "--1"})
    EXPECT_FALSE(parse_literal(text)) << text;
  EXPECT_EQ(parse_literal(std::string(100'000, '[')).error().code(), ErrorCode::Limit);
}

TEST(NumpyType, measures_structures) {
  const std::string text = "[('a', '<i4'), (('t', 'b'), [('x', '>f8', (2, 3)), ('y', '|O')]), ('', '|V3')]";
  const auto tree = parse_literal(text);
  ASSERT_TRUE(tree);
  const auto type = parse_descr(*tree, tree->root, text);
  ASSERT_TRUE(type);
  EXPECT_EQ(type->item_bytes, 4U + 48U + 8U + 3U);
  EXPECT_TRUE(type->has_objects);
  EXPECT_FALSE(parse_type_string("<U99999999999999999999"));
  EXPECT_FALSE(parse_type_string("<U9999999999999999999"));
}

TEST(Numpy, survives_every_prefix_and_every_flipped_bit) {
  test::survive_damage(test::fixture_bytes("npy_struct.npy"), 128, is_npy, read_npy);
  test::survive_damage(test::fixture_bytes("npy_objects.npy"), 311, is_npy, read_npy);
  test::survive_damage(test::fixture_bytes("objects.npz"), 1117, is_npz, read_npz, 11);
}

}  // namespace
}  // namespace wick::formats
