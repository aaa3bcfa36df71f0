// SPDX-License-Identifier: Apache-2.0
// Expected values: reference behaviour of torch 2.13 on the same hand-made files (docs/formats/torch-zip.md), and the
// bytes written here.
#include "torch/readers.h"
#include "torch_pickles.h"

namespace wick::torch {
namespace {

using namespace wick::testing;  // NOLINT(google-build-using-namespace)
using std::string_literals::operator""s;

Rows read_zip(const std::string& file) {
  const auto probe = probe_of(file);
  EXPECT_TRUE(is_torch_zip(probe));
  return Rows(read_torch_zip(probe));
}

TEST(TorchZip, reads_names_shapes_and_bytes) {
  const auto rows = read_zip(save_zip(dict({str("a"), floats(str("0"), 2), str("b"), floats(str("1"), 1)}),
                                      {{"data/0", "abcdefgh"}, {"data/1", "ijkl"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(rows.elements("a"), "abcdefgh");
  EXPECT_EQ(rows.elements("b"), "ijkl");
  EXPECT_EQ(rows.contents().facts.persistent_ids, 2U);
  EXPECT_EQ(rows.contents().facts.persistent_ids_used, 2U);
  EXPECT_EQ(rows.contents().facts.format_version, "3");
  EXPECT_EQ(rows.contents().facts.root_folder, "archive");
}

TEST(TorchZip, keeps_a_shared_storage_one_row) {
  const auto rows = read_zip(save_zip(dict({str("a"), tensor_v2(storage("FloatStorage", str("0"), 2), 0, {1}, {1}),
                                            str("b"), tensor_v2(storage("FloatStorage", str("0"), 2), 1, {1}, {1})}),
                                      {{"data/0", "abcdefgh"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.contents().storages.size(), 1U);
  EXPECT_EQ(rows.elements("b"), "efgh");
}

TEST(TorchZip, takes_keys_that_are_bytes_or_numbers) {
  const auto rows = read_zip(save_zip(dict({str("a"), floats(py2_str("0"), 1), str("b"), floats("K\1", 1)}),
                                      {{"data/0", "abcd"}, {"data/1", "efgh"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("a"), "abcd");
  EXPECT_EQ(rows.elements("b"), "efgh");
}

TEST(TorchZip, names_a_missing_record_in_its_tensor_alone) {
  const auto rows =
      read_zip(save_zip(dict({str("a"), floats(str("0"), 1), str("b"), floats(str("7"), 3)}), {{"data/0", "abcd"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.error_of("a"), "");
  EXPECT_EQ(rows.elements("a"), "abcd");
  EXPECT_EQ(rows.error_of("b"), "storage '7': there is no record archive/data/7 (12 bytes are declared)");
}

TEST(TorchZip, names_a_short_record_with_both_numbers) {
  const auto rows = read_zip(save_zip(dict({str("a"), floats(str("0"), 3)}), {{"data/0", "abcd"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.error_of("a"), "storage '0': record archive/data/0 holds 4 bytes, 12 are declared");
  EXPECT_EQ(rows.elements("a").substr(0, 6), "error:");
}

TEST(TorchZip, reads_a_long_record_and_says_so) {
  const auto rows = read_zip(save_zip(dict({str("a"), floats(str("0"), 1)}), {{"data/0", "abcdefgh"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("a"), "abcd");
  EXPECT_TRUE(rows.has_finding("storage-longer"));
}

TEST(TorchZip, needs_no_record_for_an_empty_storage) {
  const auto rows = read_zip(save_zip(dict({str("a"), floats(str("0"), 0)}), {}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.error_of("a"), "");
  EXPECT_EQ(rows.elements("a"), "");
}

TEST(TorchZip, refuses_the_second_type_of_one_key) {
  const auto rows = read_zip(save_zip(
      dict({str("a"), floats(str("0"), 2), str("b"), tensor_v2(storage("LongStorage", str("0"), 1), 0, {1}, {1})}),
      {{"data/0", "abcdefgh"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.error_of("a"), "");
  EXPECT_EQ(rows.error_of("b"), "storage '0' is named as int64 here and as float32 before: one key with two dtypes");
}

TEST(TorchZip, refuses_views_that_leave_their_storage) {
  const auto whole = [](std::int64_t offset, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
    return tensor_v2(storage("FloatStorage", str("0"), 2), offset, sizes, strides);
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const auto rows = read_zip(save_zip(
      dict({str("offset"), whole(1, {2}, {1}), str("negative"), whole(-1, {1}, {1}), str("size"), whole(0, {-1}, {1}),
            str("stride"), whole(0, {2}, {-1}), str("product"), whole(0, {kHuge, kHuge}, {1, 1}), str("ranks"),
            whole(0, {1, 1}, {1}), str("empty"), whole(99, {0, 3}, {3, 1}), str("good"), whole(0, {2}, {1})}),
      {{"data/0", "abcdefgh"}}));
  ASSERT_TRUE(rows.ok());
  for (const char* name : {"offset", "negative", "size", "stride", "product", "ranks"})
    EXPECT_NE(rows.error_of(name), "") << name;
  EXPECT_EQ(rows.error_of("empty"), "");  // needs no byte, wherever it points
  EXPECT_EQ(rows.elements("good"), "abcdefgh");
}

TEST(TorchZip, never_drops_a_tensor_whose_storage_is_none) {
  const auto rows = read_zip(save_zip(dict({str("a"), tensor_v2("K\5", 0, {1}, {1})}), {}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.error_of("a"), "its storage is an integer, not a storage");
}

TEST(TorchZip, counts_ids_whose_fields_are_wrong) {
  const auto bad =
      persistent(tuple({str("storage"), global("torch", "FloatStorage"), str("0"), str("cpu"), integer(-4)}));
  const auto rows = read_zip(save_zip(dict({str("a"), tensor_v2(bad, 0, {1}, {1})}), {{"data/0", "abcd"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.error_of("a"), "storage '0': its number of elements -4 is negative");
  EXPECT_EQ(rows.contents().facts.persistent_ids, 1U);
}

TEST(TorchZip, lists_a_storage_saved_on_its_own) {
  const auto rows = read_zip(save_zip(dict({str("s"), storage("FloatStorage", str("0"), 2), str("u"),
                                            persistent(tuple({str("storage"), global("torch.storage", "UntypedStorage"),
                                                              str("1"), str("cpu"), integer(3)}))}),
                                      {{"data/0", "abcdefgh"}, {"data/1", "xyz"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.row("s").layout, checkpoint::Layout::Storage);
  EXPECT_EQ(rows.row("s").dtype, DType::Float32);
  EXPECT_EQ(rows.elements("s"), "abcdefgh");
  EXPECT_EQ(rows.row("u").dtype, DType::UInt8);
  EXPECT_EQ(rows.elements("u"), "xyz");
}

TEST(TorchZip, swaps_a_big_endian_archive_by_the_tensors_own_type) {
  const auto v3 = reduce(
      global("torch._utils", "_rebuild_tensor_v3"),
      {persistent(tuple({str("storage"), global("torch.storage", "UntypedStorage"), str("1"), str("cpu"), integer(4)})),
       integer(0), dims({2}), dims({1}), kFalse, kNoHooks, global("torch", "uint16")});
  const auto complex = tensor_v2(storage("ComplexFloatStorage", str("2"), 1), 0, {1}, {1});
  const auto rows =
      read_zip(save_zip(dict({str("f"), floats(str("0"), 1), str("v3"), v3, str("c"), complex}),
                        {{"byteorder", "big"}, {"data/0", "abcd"}, {"data/1", "wxyz"}, {"data/2", "abcdefgh"}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.contents().facts.byteorder, "big");
  EXPECT_EQ(rows.elements("f"), "dcba");
  EXPECT_EQ(rows.elements("v3"), "xwzy");
  EXPECT_EQ(rows.elements("c"), "dcbahgfe");
}

TEST(TorchZip, finds_its_root_wherever_it_is) {
  for (const std::string root : {"", "a/b/", " lead/", "ARCHIVE/"}) {
    const auto rows = read_zip(save_zip(dict({str("a"), floats(str("0"), 1)}), {{"data/0", "abcd"}}, root));
    ASSERT_TRUE(rows.ok()) << root;
    EXPECT_EQ(rows.elements("a"), "abcd") << root;
  }
}

TEST(TorchZip, reads_upper_case_names_as_torch_does) {
  ZipBuilder zip;
  zip.add("ARCHIVE/DATA.PKL", pickle_of(dict({str("a"), floats(str("0"), 1)})));
  zip.add("ARCHIVE/DATA/0", "abcd");
  zip.add("ARCHIVE/VERSION", "3\r\n");
  const auto rows = read_zip(zip.finish());
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("a"), "abcd");
  EXPECT_EQ(rows.contents().facts.format_version, "3");
}

TEST(TorchZip, reads_deflated_records) {
  ZipBuilder zip;
  ZipField deflated;
  deflated.method = 8;
  zip.add("x/data.pkl", pickle_of(dict({str("a"), floats(str("0"), 1)})), deflated);
  zip.add("x/data/0", "abcd", deflated);
  zip.add("x/version", "3\n");
  const auto rows = read_zip(zip.finish());
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("a"), "abcd");
  EXPECT_EQ(rows.contents().facts.compressed, 2U);
  EXPECT_EQ(rows.contents().facts.compressed_storages, 1U);
}

TEST(TorchZip, tells_records_outside_its_root_and_records_nobody_asks_for) {
  ZipBuilder zip;
  zip.add("x/data.pkl", pickle_of("}"));
  zip.add("x/version", "3\n");
  zip.add("x/data/9", "left");
  zip.add("__MACOSX/x", "junk");
  const auto rows = read_zip(zip.finish());
  ASSERT_TRUE(rows.ok());
  EXPECT_TRUE(rows.has_finding("outside-root"));
  EXPECT_EQ(rows.contents().facts.extra_members, (std::vector<std::string>{"x/data/9", "__MACOSX/x"}));
}

TEST(TorchZip, says_that_the_inputs_of_a_trace_were_never_saved) {
  ZipBuilder zip;
  zip.add("x/data.pkl", pickle_of("}"));
  zip.add("x/constants.pkl", pickle_of(")"));
  zip.add("x/traced_inputs.pkl", pickle_of(dict({str("forward"), floats(str("0"), 6)})));
  zip.add("x/traced_inputs/0", "");
  zip.add("x/version", "3\n");
  const auto rows = read_zip(zip.finish());
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.contents().kind, FileKind::TorchScript);
  EXPECT_EQ(rows.error_of("forward"), "");
  EXPECT_EQ(rows.elements("forward"),
            "error: its record is empty, as torch writes it here: the 24 bytes were never saved");
}

TEST(TorchZip, reads_constants_from_their_own_folder) {
  ZipBuilder zip;
  zip.add("x/data.pkl", pickle_of(dict({str("a"), floats(str("0"), 1)})));
  zip.add("x/data/0", "abcd");
  zip.add("x/constants/0", "efgh");
  zip.add("x/constants.pkl", pickle_of(tuple({floats(str("0"), 1)})));
  zip.add("x/version", "3\n");
  const auto rows = read_zip(zip.finish());
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("a"), "abcd");
  EXPECT_EQ(rows.elements("0"), "efgh");
}

TEST(TorchZip, leaves_data_pkl_of_others_alone) {
  ZipBuilder zip;
  zip.add("photos/data.pkl", pickle_of("}"));
  zip.add("photos/1.png", "png");
  EXPECT_FALSE(is_torch_zip(probe_of(zip.finish())));
}

TEST(Distcp, reads_archives_one_after_the_other) {
  const std::string one = save_zip(floats(str("0"), 1), {{"data/0", "abcd"}});
  const std::string two = save_zip(floats(str("0"), 1), {{"data/0", "efgh"}});
  const auto probe = probe_of(one + two);
  ASSERT_TRUE(is_distcp(probe));
  const Rows rows(read_distcp(probe));
  ASSERT_TRUE(rows.ok()) << rows.error().to_string();
  EXPECT_EQ(rows.elements("0"), "abcd");
  EXPECT_EQ(rows.elements("1"), "efgh");
  EXPECT_FALSE(is_distcp(probe_of(one)));
}

TEST(Package, finds_storages_by_number) {
  ZipBuilder zip;
  zip.add("p/.data/0.storage", "abcd");
  zip.add("p/model/model.pkl", pickle_of(dict({str("w"), floats("K\0"s, 1)})));
  zip.add("p/.data/extern_modules", "");
  zip.add("p/.data/version", "6\n");
  const auto probe = probe_of(zip.finish());
  ASSERT_TRUE(is_package(probe));
  const Rows rows(read_package(probe));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.elements("w"), "abcd");
  EXPECT_EQ(rows.contents().sections[0].record, "model/model.pkl");
}

}  // namespace
}  // namespace wick::torch
