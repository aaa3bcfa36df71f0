// SPDX-License-Identifier: Apache-2.0
// Zip archives made byte by byte (tests/zip_builder.h). What is expected of the odd ones is docs/formats/zip.md.
#include "archive/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/text.h"
#include "zip_builder.h"

namespace wick::archive {
namespace {

using namespace std::string_view_literals;
using testing::put16;
using testing::put64;
using testing::to_bytes;
using testing::to_text;
using testing::ZipBuilder;
using testing::ZipEndField;
using testing::ZipField;
using ZipPtr = std::shared_ptr<const Zip>;

Result<ZipPtr> open_bytes(std::string_view bytes, const Limits& limits = {}) {
  return Zip::open(from_memory(to_bytes(bytes), "t.zip"), limits);
}

ZipPtr must_open(std::string_view bytes) {
  auto zip = open_bytes(bytes);
  EXPECT_TRUE(zip.ok()) << zip.error().to_string();
  return zip.ok() ? *zip : nullptr;
}

std::string must_read(const Zip& zip, std::string_view name) {
  const auto index = zip.find(name);
  if (!index) return "(no such entry)";
  const auto bytes = zip.read(*index, {});
  return bytes.ok() ? to_text(*bytes) : "(" + bytes.error().to_string() + ")";
}

std::set<std::string> codes_of(const Zip& zip) {
  std::set<std::string> codes;
  for (const Finding& finding : zip.findings()) codes.insert(finding.code);
  return codes;
}

ErrorCode open_code(std::string_view bytes, const Limits& limits = {}) {
  const auto zip = open_bytes(bytes, limits);
  EXPECT_FALSE(zip.ok());
  return zip.ok() ? ErrorCode::Bug : zip.error().code();
}

ErrorCode read_code(std::string_view bytes, const Limits& limits = {}) {
  const auto read = must_open(bytes)->read(0, limits);
  EXPECT_FALSE(read.ok());
  return read.ok() ? ErrorCode::Bug : read.error().code();
}

// The 911-byte file of torch 1.13 in the format reference: FB padding, flags 0x0808, descriptors, zip64 end records.
std::string torch_like() {
  ZipBuilder zip;
  ZipField padded;
  padded.flags = 0x0808;
  padded.local_extra = "FB\x14\0ZZZZZZZZZZZZZZZZZZZZ"sv;
  zip.add("x/data.pkl", std::string(220, 'p'), padded);
  zip.add("x/data/0", "twelve bytes");
  zip.add("x/data/1", "");
  zip.add("x/version", "3\n");
  return zip.finish({.zip64 = true});
}

TEST(Zip, lists_and_reads_stored_entries_in_directory_order) {
  ZipBuilder builder;
  const std::uint64_t at = builder.add("archive/data.pkl", "AAAA");
  builder.add("archive/data/0", "0123456789");
  builder.add("archive/data/", "");
  const ZipPtr zip = must_open(builder.finish());
  ASSERT_EQ(zip->size(), 3U);
  EXPECT_EQ(zip->entry(0).name, "archive/data.pkl");
  EXPECT_EQ(zip->entry(1).size, 10U);
  EXPECT_EQ(zip->entry(1).compressed, 10U);
  EXPECT_EQ(zip->entry(1).crc, 0xA684C7C6U);  // zlib.crc32(b"0123456789")
  EXPECT_FALSE(zip->entry(1).is_folder);
  EXPECT_TRUE(zip->entry(2).is_folder);
  EXPECT_EQ(*zip->data_offset(0), at);
  EXPECT_EQ(must_read(*zip, "archive/data/0"), "0123456789");
  EXPECT_TRUE(zip->findings().empty());
}

TEST(Zip, reads_the_layout_torch_writes) {
  const ZipPtr zip = must_open(torch_like());
  ASSERT_EQ(zip->size(), 4U);
  EXPECT_EQ(*zip->data_offset(0), 64U);  // 30 + 10 + 24, as in the reference's worked layout
  EXPECT_EQ(must_read(*zip, "x/version"), "3\n");
  EXPECT_EQ(zip->entry(3).crc, 0x55679ED1U);  // from the same table
  EXPECT_EQ(must_read(*zip, "x/data/1"), "");
  EXPECT_TRUE(zip->findings().empty());
}

TEST(Zip, opens_an_empty_archive) {
  const ZipPtr zip = must_open(ZipBuilder().finish());
  EXPECT_EQ(zip->size(), 0U);
  EXPECT_FALSE(zip->find("x").has_value());
  EXPECT_FALSE(zip->find_ignoring_case("X").has_value());
}

TEST(Zip, inflates_deflated_entries) {
  ZipBuilder builder;
  builder.add("a", std::string(100'000, 'q'), {.method = 8});
  builder.add("empty", "", {.method = 8});
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_EQ(zip->entry(0).method, 8);
  EXPECT_EQ(must_read(*zip, "a"), std::string(100'000, 'q'));
  EXPECT_EQ(must_read(*zip, "empty"), "");
}

TEST(Zip, gives_stored_entries_as_slices_and_deflated_ones_as_memory) {
  ZipBuilder builder;
  builder.add("s", "stored");
  builder.add("d", "deflated", {.method = 8});
  const ZipPtr zip = must_open(builder.finish());
  const auto stored = zip->open_entry(0, {});
  const auto deflated = zip->open_entry(1, {});
  ASSERT_TRUE(stored.ok() && deflated.ok());
  EXPECT_EQ((*stored)->name(), "t.zip::s");
  EXPECT_EQ((*deflated)->name(), "t.zip::d");
  EXPECT_EQ(to_text(*io::read_all(**stored, {})), "stored");
  EXPECT_EQ(to_text(*io::read_all(**deflated, {})), "deflated");
}

TEST(Zip, takes_any_name) {
  ZipBuilder builder;
  const std::string_view names[] = {"",     " root/data.pkl", "a\\b",     "/abs",         "../up",
                                    "a\nb", "caf\xC3\xA9",    "\xFF\xFE", "data.pkl\0x"sv};
  for (const auto name : names) builder.add(name, name);
  const ZipPtr zip = must_open(builder.finish());
  for (const auto name : names) EXPECT_EQ(must_read(*zip, name), name);
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"name-with-nul"});
}

TEST(Zip, finds_names_whatever_their_case) {
  ZipBuilder builder;
  builder.add("ARCHIVE/DATA.PKL", "upper");
  builder.add("archive/[data.pkl", "x");
  builder.add("archive/a-name-of-more-than-eight-bytes", "long");
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_FALSE(zip->find("archive/data.pkl").has_value());
  EXPECT_EQ(zip->find_ignoring_case("archive/Data.pkl"), 0U);
  EXPECT_EQ(zip->find_ignoring_case("ARCHIVE/A-NAME-OF-MORE-THAN-EIGHT-BYTES"), 2U);
  EXPECT_FALSE(zip->find_ignoring_case("archive/{data.pkl").has_value());  // '{' is no capital '['
  EXPECT_TRUE(zip->findings().empty());
}

TEST(Zip, finds_capitals_in_an_archive_without_any) {
  ZipBuilder builder;
  builder.add("archive/data.pkl", "x");
  EXPECT_EQ(must_open(builder.finish())->find_ignoring_case("Archive/DATA.pkl"), 0U);
}

TEST(Zip, takes_the_last_of_duplicate_names_and_tells) {
  ZipBuilder builder;
  builder.add("a", "first");
  builder.add("b", "other");
  builder.add("a", "last");
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_EQ(zip->size(), 3U);
  EXPECT_EQ(must_read(*zip, "a"), "last");
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"duplicate-names"});
}

TEST(Zip, tells_names_that_differ_only_in_case) {
  ZipBuilder builder;
  builder.add("r/data.pkl", "lower");
  builder.add("r/DATA.PKL", "upper");
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_EQ(zip->find_ignoring_case("r/data.pkl"), 0U);  // the exact one first
  EXPECT_EQ(zip->find_ignoring_case("r/DATA.PKL"), 1U);
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"names-differ-in-case"});
}

TEST(Zip, stays_quick_with_many_names_that_fold_to_one) {
  ZipBuilder builder;
  for (unsigned i = 0; i < 20'000; ++i) {
    std::string name(16, 'a');
    for (unsigned bit = 0; bit < 16; ++bit)
      if ((i >> bit & 1U) != 0) name[bit] = 'A';
    builder.add(name, "");
  }
  EXPECT_EQ(must_open(builder.finish())->size(), 20'000U);
}

TEST(Zip, accepts_a_comment) {
  ZipBuilder builder;
  builder.add("a", "x");
  const ZipPtr zip = must_open(builder.finish({.comment = std::string(65535, 'c')}));
  EXPECT_EQ(zip->comment(), std::string(65535, 'c'));
  EXPECT_EQ(zip->bytes_after(), 0U);
  EXPECT_TRUE(zip->findings().empty());
}

TEST(Zip, accepts_bytes_before_that_the_offsets_count) {
  ZipBuilder builder("GIF89a-prefix-junk");
  builder.add("a", "x");
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_EQ(zip->bytes_before(), 18U);
  EXPECT_EQ(must_read(*zip, "a"), "x");
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"bytes-before-archive"});
}

TEST(Zip, accepts_bytes_before_that_the_offsets_do_not_count) {
  for (const bool zip64 : {false, true}) {
    ZipBuilder builder;
    builder.add("a", "x");
    builder.add("b", "yy");
    const ZipPtr zip = must_open("GIF89a-prefix" + builder.finish({.zip64 = zip64, .saturate = zip64}));
    EXPECT_EQ(zip->bytes_before(), 13U);
    EXPECT_EQ(must_read(*zip, "a"), "x");
    EXPECT_EQ(must_read(*zip, "b"), "yy");
    EXPECT_EQ(zip->entry(0).header, 13U);
  }
}

TEST(Zip, accepts_bytes_after) {
  const ZipPtr zip = must_open(torch_like() + std::string(50'000, 'x'));
  EXPECT_EQ(zip->bytes_after(), 50'000U);
  EXPECT_EQ(must_read(*zip, "x/version"), "3\n");
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"trailing-bytes"});
}

TEST(Zip, takes_the_last_of_concatenated_archives) {
  ZipBuilder a;
  a.add("a", "from a");
  ZipBuilder b;
  b.add("a", "from b");
  for (const bool zip64 : {false, true}) {  // of equal layout: the zip64 locator of b leads into a
    const ZipEndField end{.zip64 = zip64, .saturate = zip64};
    const ZipPtr zip = must_open(a.finish(end) + b.finish(end));
    EXPECT_EQ(must_read(*zip, "a"), "from b");
    EXPECT_EQ(codes_of(*zip), std::set<std::string>{"bytes-before-archive"});
  }
}

TEST(Zip, does_not_take_an_archive_inside_a_cut_one_for_the_whole) {
  ZipBuilder inner;
  inner.add("data.pkl", "inner");
  const std::string whole = inner.finish();
  ZipBuilder outer;
  const std::uint64_t at = outer.add("policy.pth", whole);
  outer.add("more", "bytes");
  const std::string cut = outer.finish().substr(0, static_cast<std::size_t>(at) + whole.size());
  EXPECT_EQ(open_code(cut), ErrorCode::Truncated);
  EXPECT_EQ(open_code(cut + "PK\3\4"), ErrorCode::Truncated);
}

TEST(Zip, sees_through_an_end_record_in_the_comment) {
  ZipBuilder builder;
  builder.add("a", "x");
  const ZipPtr zip = must_open(builder.finish({.comment = "see " + ZipBuilder().finish()}));
  EXPECT_EQ(must_read(*zip, "a"), "x");
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"end-record-behind"});
}

TEST(Zip, tells_a_comment_that_is_cut) {
  ZipBuilder builder;
  builder.add("a", "x");
  const ZipPtr zip = must_open(builder.finish({.comment = "short", .comment_bytes = 9}));
  EXPECT_EQ(zip->comment(), "short");
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"comment-cut"});
}

TEST(Zip, stays_quick_with_end_records_everywhere) {
  std::string bytes = "PK\3\4";
  for (int i = 0; i < 20'000; ++i) bytes += "PK\5\6";
  EXPECT_FALSE(open_bytes(bytes).ok());
}

TEST(Zip, reads_zip64_numbers) {
  ZipBuilder builder;
  builder.add("first", "not me");
  builder.add("a", "wide", {.zip64 = true});
  const ZipPtr zip = must_open(builder.finish({.zip64 = true, .saturate = true}));
  EXPECT_EQ(zip->size(), 2U);
  EXPECT_EQ(zip->entry(1).size, 4U);
  EXPECT_EQ(must_read(*zip, "a"), "wide");
}

TEST(Zip, takes_from_the_zip64_extra_only_what_is_saturated) {
  std::string extra;
  put16(extra, 0x5455);  // a timestamp first
  put16(extra, 1);
  extra += 'x';
  put16(extra, 1);
  put16(extra, 8);
  put64(extra, 0);  // header offset only, as torch writes for a small record late in a big file
  ZipBuilder builder;
  builder.add("a", "wide", {.header = 0xFFFFFFFF, .extra = extra});
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_EQ(zip->entry(0).header, 0U);
  EXPECT_EQ(must_read(*zip, "a"), "wide");
}

TEST(Zip, keeps_the_others_when_one_zip64_extra_is_too_short) {
  std::string extra;
  put16(extra, 1);
  put16(extra, 4);
  extra += "abcd";
  ZipBuilder builder;
  builder.add("bad", "x", {.size = 0xFFFFFFFF, .extra = extra});
  builder.add("good", "y");
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_FALSE(zip->read(0, {}).ok());
  EXPECT_EQ(must_read(*zip, "good"), "y");
  EXPECT_TRUE(codes_of(*zip).count("bad-zip64-extra"));
}

TEST(Zip, ignores_a_zip64_record_without_a_locator) {
  ZipBuilder inner;
  inner.add("in", "x");
  const std::string nested = inner.finish({.zip64 = true});
  ZipBuilder builder;
  builder.add("a.pt", nested);
  const ZipPtr zip = must_open(builder.finish());
  ASSERT_EQ(zip->size(), 1U);
  EXPECT_EQ(must_read(*zip, "a.pt"), nested);
}

TEST(Zip, refuses_saturated_numbers_whose_zip64_record_is_missing) {
  ZipBuilder builder;
  builder.add("a", "x");
  std::string bytes = builder.finish({.zip64 = true, .saturate = true});
  bytes[bytes.find("PK\6\6")] = 'Q';
  EXPECT_EQ(open_code(bytes), ErrorCode::Malformed);
}

TEST(Zip, tells_when_the_two_end_records_disagree) {
  ZipBuilder builder;
  builder.add("a", "x");
  builder.add("b", "y");
  std::string bytes = builder.finish({.zip64 = true});
  bytes[bytes.size() - 22 + 10] = 1;
  const ZipPtr zip = must_open(bytes);
  EXPECT_EQ(zip->size(), 2U);
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"end-records-disagree"});
}

TEST(Zip, tells_a_wrong_count_and_lists_what_the_directory_holds) {
  ZipBuilder builder;
  builder.add("a", "x");
  builder.add("b", "y");
  const ZipPtr zip = must_open(builder.finish({.count = 1}));
  EXPECT_EQ(zip->size(), 2U);
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"wrong-entry-count"});
}

TEST(Zip, accepts_a_count_that_wrapped_at_16_bits) {
  ZipBuilder builder;
  for (int i = 0; i < 65'538; ++i) builder.add(std::to_string(i), "");
  const ZipPtr zip = must_open(builder.finish());  // written as 2
  EXPECT_EQ(zip->size(), 65'538U);
  EXPECT_TRUE(zip->findings().empty());
}

TEST(Zip, refuses_a_directory_with_fewer_entries_than_counted) {
  ZipBuilder builder;
  builder.add("a", "x");
  EXPECT_EQ(open_code(builder.finish({.directory_bytes = 46})), ErrorCode::Malformed);
  std::string bytes = builder.finish();
  bytes[bytes.find("PK\1\2") + 28] = 50;  // a name longer than the directory
  EXPECT_EQ(open_code(bytes), ErrorCode::Malformed);
}

TEST(Zip, refuses_a_directory_outside_the_file) {
  ZipBuilder builder;
  builder.add("a", "x");
  EXPECT_EQ(open_code(builder.finish({.directory = 0x7FFFFFFF})), ErrorCode::Malformed);
  EXPECT_EQ(open_code(builder.finish({.directory_bytes = 0xFFFFFFFF})), ErrorCode::Malformed);
  EXPECT_EQ(open_code(builder.finish({.directory = 0xFFFFFFFFFFFFFFF0U, .zip64 = true})), ErrorCode::Malformed);
}

TEST(Zip, accepts_bytes_between_directory_and_end_record) {
  ZipBuilder builder;
  builder.add("a", "x");
  const ZipPtr zip = must_open(builder.finish({.gap = "PK\5\5 a signature"}));
  EXPECT_EQ(must_read(*zip, "a"), "x");
  EXPECT_EQ(codes_of(*zip), std::set<std::string>{"directory-gap"});
}

TEST(Zip, refuses_a_volume_of_several) {
  ZipBuilder builder;
  builder.add("a", "x");
  EXPECT_EQ(open_code(builder.finish({.disk = 1})), ErrorCode::Unsupported);
}

TEST(Zip, checks_the_crc_unless_it_was_left_out) {
  ZipBuilder builder;
  builder.add("left out", "x", {.crc = 0});
  builder.add("wrong", "x", {.crc = 1});
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_EQ(must_read(*zip, "left out"), "x");
  ASSERT_FALSE(zip->read(1, {}).ok());
  EXPECT_EQ(zip->read(1, {}).error().code(), ErrorCode::Mismatch);
  EXPECT_EQ(zip->read(1, {}).error().where(), std::vector<std::string>{"wrong"});
  EXPECT_EQ(to_text(*zip->read(1, {}, false)), "x");
}

TEST(Zip, refuses_what_it_can_not_read_by_name) {
  for (const unsigned flag : {0x1U, 0x40U, 0x2000U}) {
    ZipBuilder encrypted;
    encrypted.add("a", "x", {.flags = flag});
    EXPECT_EQ(read_code(encrypted.finish()), ErrorCode::Unsupported);
    EXPECT_TRUE(codes_of(*must_open(encrypted.finish())).count("encrypted-entries"));
  }
  ZipBuilder patch;
  patch.add("a", "x", {.flags = 0x20});
  EXPECT_EQ(read_code(patch.finish()), ErrorCode::Unsupported);
  ZipBuilder bzip2;
  bzip2.add("a", "x", {.method = 12});
  EXPECT_EQ(read_code(bzip2.finish()), ErrorCode::Unsupported);
  EXPECT_EQ(must_open(bzip2.finish())->entry(0).method, 12);
}

TEST(Zip, refuses_lengths_that_contradict_each_other) {
  ZipBuilder stored;
  stored.add("a", "seventeen bytes..", {.compressed = 5});
  EXPECT_EQ(read_code(stored.finish()), ErrorCode::Mismatch);
  ZipBuilder longer;
  longer.add("a", "0123456789", {.method = 8, .size = 9});
  EXPECT_EQ(read_code(longer.finish()), ErrorCode::Mismatch);
  ZipBuilder shorter;
  shorter.add("a", "0123456789", {.method = 8, .size = 11});
  EXPECT_EQ(read_code(shorter.finish()), ErrorCode::Mismatch);
  ZipBuilder cut;
  cut.add("a", "0123456789", {.method = 8, .compressed = 7});
  EXPECT_EQ(read_code(cut.finish()), ErrorCode::Malformed);
}

TEST(Zip, refuses_an_entry_that_runs_into_the_directory) {
  ZipBuilder builder;
  builder.add("a", "x", {.compressed = 100, .size = 100});
  builder.add("b", "y");
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_FALSE(zip->check_entry(0).ok());
  EXPECT_EQ(zip->open_entry(0, {}).error().code(), ErrorCode::Malformed);
  EXPECT_TRUE(zip->check_entry(1).ok());
  EXPECT_EQ(must_read(*zip, "b"), "y");
  EXPECT_TRUE(codes_of(*zip).count("entries-outside"));
}

TEST(Zip, refuses_an_entry_whose_local_header_is_none_or_names_another) {
  ZipBuilder builder;
  builder.add("archive/data.pkl", "x", {.local_name = "archive/evil.xxx"});
  EXPECT_EQ(read_code(builder.finish()), ErrorCode::Mismatch);
  ZipBuilder astray;
  astray.add("a", "x", {.header = 1});
  EXPECT_EQ(read_code(astray.finish()), ErrorCode::Malformed);
  ZipBuilder beyond;
  beyond.add("a", "x", {.header = 0xFFFFFFFFFFFFFFFF, .zip64 = true});
  EXPECT_EQ(read_code(beyond.finish()), ErrorCode::Malformed);
}

TEST(Zip, refuses_an_entry_whose_two_headers_name_different_methods) {
  ZipBuilder builder;
  builder.add("a", "x", {.method = 8, .compressed = 6, .size = 6});
  std::string bytes = builder.finish();
  bytes[bytes.find("PK\1\2") + 10] = 0;
  EXPECT_EQ(read_code(bytes), ErrorCode::Mismatch);
}

TEST(Zip, tells_entries_that_share_bytes) {
  ZipBuilder builder;
  builder.add("a", "one");
  builder.add("b", "two", {.header = 0});
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_TRUE(codes_of(*zip).count("overlapping-entries"));
  EXPECT_FALSE(zip->read(1, {}).ok());
}

TEST(Zip, accepts_entries_in_any_order) {
  ZipBuilder builder;
  builder.add("b", "two", {.in_directory = false});
  builder.add("a", "one");
  builder.add("b", "twofold", {.crc = 0, .compressed = 3, .size = 3, .header = 0});
  const ZipPtr zip = must_open(builder.finish());
  EXPECT_EQ(must_read(*zip, "b"), "two");
  EXPECT_FALSE(codes_of(*zip).count("overlapping-entries"));
}

TEST(Zip, bounds_inflation_by_ratio_and_memory_before_it_allocates) {
  ZipBuilder builder;
  builder.add("bomb", "x", {.method = 8, .size = 0xFFFFFF00});
  EXPECT_EQ(read_code(builder.finish()), ErrorCode::Limit);
  Limits small;
  small.max_memory = 10;
  ZipBuilder big;
  big.add("a", std::string(1000, 'x'), {.method = 8});
  const auto zip = open_bytes(big.finish());
  EXPECT_EQ((*zip)->read(0, small).error().code(), ErrorCode::Limit);
  EXPECT_EQ(open_code(big.finish(), small), ErrorCode::Limit);
}

TEST(Zip, bounds_the_number_of_entries) {
  ZipBuilder builder;
  builder.add("a", "x");
  builder.add("b", "x");
  Limits two;
  two.max_members = 2;
  EXPECT_TRUE(open_bytes(builder.finish(), two).ok());
  Limits one;
  one.max_members = 1;
  EXPECT_EQ(open_code(builder.finish(), one), ErrorCode::Limit);
}

TEST(Zip, says_that_every_prefix_is_cut) {
  const std::string whole = torch_like();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto zip = open_bytes(std::string_view(whole).substr(0, length));
    ASSERT_FALSE(zip.ok()) << length;
    EXPECT_EQ(zip.error().code(), ErrorCode::Truncated) << length;
  }
}

// Opens and reads all there is; what comes out must be the bytes, or an error.
void use_all_of(std::string_view bytes, const std::set<std::string>& allowed) {
  const auto zip = open_bytes(bytes, {.max_memory = 1 << 20});
  if (!zip.ok()) return;
  for (std::size_t i = 0; i < (*zip)->size(); ++i) {
    const ZipEntry entry = (*zip)->entry(i);
    const auto read = (*zip)->read(i, {.max_memory = 1 << 20});
    EXPECT_TRUE(!read.ok() || entry.crc == 0 || allowed.count(to_text(*read))) << i;
    (void)(*zip)->find_ignoring_case(entry.name);
    (void)(*zip)->open_entry(i, {.max_memory = 1 << 20}).ok();
  }
}

TEST(Zip, survives_every_single_flipped_bit) {
  ZipBuilder builder;
  builder.add("a/data.pkl", "stored");
  builder.add("a/code.py", "deflated, and longer", {.method = 8});
  builder.add("a/wide", "zip64", {.zip64 = true});
  const std::string whole = builder.finish({.comment = "c", .zip64 = true});
  const std::set<std::string> contents{"stored", "deflated, and longer", "zip64", ""};
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    use_all_of(flipped, contents);
  }
}

TEST(Zip, gives_the_same_from_every_source) {
  const std::string bytes = "junk" + torch_like() + "more";
  const auto memory = from_memory(to_bytes(bytes), "t.zip");
  const auto by_one = Zip::open(io::one_byte_at_a_time(memory), {});
  const ZipPtr at_once = must_open(bytes);
  ASSERT_TRUE(by_one.ok());
  ASSERT_EQ((*by_one)->size(), at_once->size());
  for (std::size_t i = 0; i < at_once->size(); ++i) {
    EXPECT_EQ((*by_one)->entry(i).header, at_once->entry(i).header);
    EXPECT_EQ(*(*by_one)->read(i, {}), *at_once->read(i, {}));
  }
}

TEST(NameTable, lowers_ascii_capitals_alone) {
  for (unsigned value = 0; value < 256; ++value) {
    const std::string one(1, static_cast<char>(value));
    ZipBuilder builder;
    builder.add(one, "");
    const auto zip = must_open(builder.finish());
    EXPECT_EQ(zip->find_ignoring_case(to_lower(one)).has_value(), true) << value;
    const char other = static_cast<char>(value ^ 0x20U);
    const bool letter = std::isalpha(static_cast<int>(value)) != 0 && value < 128;
    EXPECT_EQ(zip->find_ignoring_case(std::string(1, other)).has_value(), letter) << value;
  }
}

}  // namespace
}  // namespace wick::archive
