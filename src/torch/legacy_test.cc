// SPDX-License-Identifier: Apache-2.0
// Expected values: torch.serialization._legacy_load (docs/formats/torch-legacy.md) and the bytes written here.
#include "torch/readers.h"
#include "torch_pickles.h"

namespace wick::torch {
namespace {

using namespace wick::testing;  // NOLINT(google-build-using-namespace)

Rows read_stream(const std::string& file) {
  const auto probe = probe_of(file);
  EXPECT_TRUE(is_legacy(probe));
  return Rows(read_legacy(probe));
}

std::string legacy_floats(std::string_view key, std::int64_t count, const std::string& view = kNothing) {
  return tensor_v2(legacy_storage("FloatStorage", key, count, view), 0, {count}, {1});
}

TEST(Legacy, reads_storages_in_the_order_of_the_key_list) {
  const auto rows = read_stream(legacy_save(dict({str("a"), legacy_floats("10", 1), str("b"), legacy_floats("9", 2)}),
                                            {{"10", 1, "abcd"}, {"9", 2, "efghijkl"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("a"), "abcd");
  EXPECT_EQ(rows.elements("b"), "efghijkl");
  EXPECT_TRUE(rows.contents().findings.empty());
}

TEST(Legacy, reads_a_part_of_a_storage_as_a_storage) {
  const std::string view = tuple({str("part"), integer(1), integer(1)});
  const auto part = tensor_v2(legacy_storage("FloatStorage", "0", 3, view), 0, {1}, {1});
  const auto rows = read_stream(
      legacy_save(dict({str("part"), part, str("whole"), legacy_floats("0", 3)}), {{"0", 3, "abcdefghijkl"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("part"), "efgh");
  EXPECT_EQ(rows.elements("whole"), "abcdefghijkl");
}

TEST(Legacy, refuses_a_part_outside_its_storage) {
  const std::string view = tuple({str("part"), integer(2), integer(2)});
  const auto part = tensor_v2(legacy_storage("FloatStorage", "0", 3, view), 0, {1}, {1});
  const auto rows = read_stream(legacy_save(dict({str("part"), part}), {{"0", 3, "abcdefghijkl"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.error_of("part"), "a part of 8 bytes at 8 of a storage of 12");
}

TEST(Legacy, reads_what_is_there_of_a_stream_that_is_cut) {
  std::string file = legacy_save(
      dict({str("a"), legacy_floats("0", 1), str("b"), legacy_floats("1", 2), str("c"), legacy_floats("2", 1)}),
      {{"0", 1, "abcd"}, {"1", 2, "efghijkl"}, {"2", 1, "mnop"}});
  file.resize(file.size() - 12 - 2);  // storage 2 with its count, and 2 bytes of storage 1
  const auto rows = read_stream(file);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("a"), "abcd");
  EXPECT_EQ(rows.error_of("b"), "storage '1' wants 8 bytes here, 6 are left");
  EXPECT_NE(rows.error_of("c"), "");
  EXPECT_TRUE(rows.has_finding("storages-cut"));
}

TEST(Legacy, names_a_count_that_is_not_the_declared_one_and_goes_on) {
  const auto rows = read_stream(legacy_save(dict({str("a"), legacy_floats("0", 2), str("b"), legacy_floats("1", 1)}),
                                            {{"0", 1, "abcd"}, {"1", 1, "efgh"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.error_of("a"), "storage '0' holds 4 bytes, 8 are declared");
  EXPECT_EQ(rows.elements("b"), "efgh");
}

TEST(Legacy, reads_untyped_storages_that_torch_can_write_but_not_read) {
  const auto id = persistent(
      tuple({str("storage"), global("torch.storage", "UntypedStorage"), str("0"), str("cpu"), integer(4), kNothing}));
  const auto v3 = reduce(global("torch._utils", "_rebuild_tensor_v3"),
                         {id, integer(0), dims({2}), dims({1}), kFalse, kNoHooks, global("torch", "uint16")});
  const auto rows = read_stream(legacy_save(dict({str("a"), v3}), {{"0", 4, "abcd"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.row("a").dtype, DType::UInt16);
  EXPECT_EQ(rows.elements("a"), "abcd");
}

TEST(Legacy, takes_classes_with_their_source_for_what_they_are) {
  const auto module =
      persistent(tuple({str("module"), global("__main__", "Net"), str("net.py"), str("class Net: pass")}));
  const auto object = new_object(module, {}, dict({str("w"), legacy_floats("0", 1)}));
  const auto rows = read_stream(legacy_save(object, {{"0", 1, "abcd"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("w"), "abcd");
  EXPECT_EQ(rows.contents().facts.persistent_ids, 1U);
  EXPECT_EQ(rows.contents().facts.persistent_ids_used, 1U);
}

TEST(Legacy, tells_bytes_behind_the_last_storage) {
  const auto rows = read_stream(legacy_save(dict({str("a"), legacy_floats("0", 1)}), {{"0", 1, "abcd"}}) + "more");
  ASSERT_TRUE(rows.ok());
  EXPECT_TRUE(rows.has_finding("trailing-bytes"));
}

TEST(Legacy, ends_every_prefix_in_an_error_or_a_finding) {
  const std::string file = legacy_save(dict({str("a"), legacy_floats("0", 1)}), {{"0", 1, "abcd"}});
  for (std::size_t length = 15; length < file.size(); ++length) {
    const auto probe = probe_of(file.substr(0, length));
    if (!is_legacy(probe)) continue;
    const Rows rows(read_legacy(probe));
    EXPECT_TRUE(!rows.ok() || rows.has_finding("storages-cut")) << length;
  }
}

// ---- saves inside pickles ----

std::string as_bytes(const std::string& file) {
  return reduce(global("torch.storage", "_load_from_bytes"), {bytes(file)});
}

TEST(PlainPickle, reads_storages_that_are_saves_of_their_own) {
  const std::string save = legacy_save(legacy_storage("FloatStorage", "0", 2), {{"0", 2, "abcdefgh"}});
  const auto probe = probe_of(pickle_of(dict({str("a"), tensor_v2(as_bytes(save), 0, {2}, {1})})));
  ASSERT_TRUE(is_pickle(probe));
  const Rows rows(read_plain_pickle(probe));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("a"), "abcdefgh");
  EXPECT_EQ(rows.names().size(), 1U);
  EXPECT_EQ(rows.contents().facts.persistent_ids, 1U);
  EXPECT_EQ(rows.contents().facts.persistent_ids_used, 1U);
}

TEST(PlainPickle, goes_down_any_depth_of_saves_without_recursion) {
  std::string save = legacy_save(legacy_floats("0", 1), {{"0", 1, "abcd"}});
  constexpr int kDepth = 2000;
  for (int i = 0; i < kDepth; ++i) save = legacy_save(as_bytes(save), {});
  const Rows rows(read_plain_pickle(probe_of(pickle_of(dict({str("a"), as_bytes(save)})))));
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows.contents().tensors.size(), 1U);
  Limits shallow;
  shallow.max_depth = 100;
  const auto refused = read_plain_pickle(probe_of(pickle_of(dict({str("a"), as_bytes(save)})), shallow));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::Limit);
}

TEST(PlainPickle, reads_zips_inside_and_stops_at_the_limit_of_nesting) {
  std::string save = save_zip(floats(str("0"), 1), {{"data/0", "abcd"}});
  const Rows one(read_plain_pickle(probe_of(pickle_of(dict({str("a"), as_bytes(save)})))));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one.elements("a"), "abcd");
  for (int i = 0; i < 10; ++i) save = save_zip(as_bytes(save), {});
  const Rows many(read_plain_pickle(probe_of(pickle_of(dict({str("a"), as_bytes(save)})))));
  ASSERT_TRUE(many.ok());
  EXPECT_EQ(many.error_of("a"), "archives are nested in pickles deeper than 8 levels (--max-nesting)");
}

TEST(PlainPickle, lists_a_nested_save_that_can_not_be_read) {
  const Rows rows(read_plain_pickle(probe_of(pickle_of(dict({str("a"), as_bytes("nonsense")})))));
  ASSERT_TRUE(rows.ok());
  EXPECT_NE(rows.error_of("a"), "");
  EXPECT_TRUE(rows.has_finding("nested-save"));
}

TEST(PlainPickle, reads_several_in_a_row_by_number) {
  const std::string save = legacy_save(legacy_storage("FloatStorage", "0", 1), {{"0", 1, "abcd"}});
  const std::string one = pickle_of(dict({str("a"), tensor_v2(as_bytes(save), 0, {1}, {1})}));
  const Rows rows(read_plain_pickle(probe_of(one + one)));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.names(), (std::vector<std::string>{"0.a", "1.a"}));
}

TEST(PlainPickle, takes_no_text_for_a_pickle) {
  for (const char* text : {"In the beginning\n", "(hello)\n", "Norm", "]", "label,value\n1,2\n", "version https://git"})
    EXPECT_FALSE(is_pickle(probe_of(text))) << text;
  EXPECT_TRUE(is_pickle(probe_of("(dp0\nS'a'\np1\nI1\ns.")));
}

}  // namespace
}  // namespace wick::torch
