// SPDX-License-Identifier: Apache-2.0
// Files that gzip, zlib, lzma, bz2 of CPython, zstd and libarchive wrote: tests/fixtures/archive and its script.
#include "archive/wrapper.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "archive/tar.h"
#include "archive/zip.h"
#include "zip_builder.h"

namespace wick::archive {
namespace {

using testing::to_bytes;
using testing::to_text;

io::SourcePtr fixture(const std::string& name) {
  const auto folder = std::filesystem::path(__FILE__).parent_path() / "../../tests/fixtures/archive";
  auto source = open_file((folder / name).string());
  EXPECT_TRUE(source.ok()) << name;
  return source.ok() ? *source : from_memory({});
}

std::string text_of(const io::SourcePtr& source) { return to_text(*io::read_all(*source, {})); }

std::string numbers() {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  return text;
}

struct Sample {
  const char* file;
  Wrapper wrapper;
};
std::vector<Sample> samples() {
  std::vector<Sample> all{{"numbers.gz", Wrapper::Gzip},
                          {"two.gz", Wrapper::Gzip},
                          {"numbers.zz", Wrapper::Zlib},
                          {"two.zst", Wrapper::Zstd},
                          {"numbers.zst", Wrapper::Zstd}};
#ifdef WICK_HAVE_XZ
  all.insert(all.end(), {{"numbers.xz", Wrapper::Xz}, {"two.xz", Wrapper::Xz}, {"numbers.lzma", Wrapper::Lzma}});
#endif
#ifdef WICK_HAVE_BZIP2
  all.insert(all.end(), {{"numbers.bz2", Wrapper::Bzip2}, {"two.bz2", Wrapper::Bzip2}});
#endif
  return all;
}

TEST(Wrapper, is_told_by_its_first_bytes) {
  for (const Sample& sample : samples())
    EXPECT_EQ(detect_wrapper(*io::read_head(*fixture(sample.file), 4096)), sample.wrapper) << sample.file;
  for (const std::string_view other :
       {"PK\3\4", "x^2 + y^2 = z^2, says the text", "BZh9 is no bzip2", "", "\x80\2}q\0."})
    EXPECT_FALSE(detect_wrapper(to_bytes(other)).has_value()) << other;
  EXPECT_FALSE(detect_wrapper(to_bytes(std::string(4096, '\0'))).has_value());
  EXPECT_FALSE(detect_wrapper(to_bytes("]\0\0\x81\0this is not lzma")).has_value());
}

TEST(Wrapper, gives_the_bytes_inside_and_joins_members) {
  for (const Sample& sample : samples()) {
    const auto inside = unwrap(fixture(sample.file), sample.wrapper, {}, "inside");
    ASSERT_TRUE(inside.ok()) << sample.file << ": " << inside.error().to_string();
    EXPECT_EQ(text_of(*inside), numbers()) << sample.file;
    EXPECT_EQ((*inside)->name(), "inside");
  }
}

TEST(Wrapper, gives_the_same_from_a_source_of_single_bytes) {
  for (const Sample& sample : samples())
    EXPECT_EQ(text_of(*unwrap(io::one_byte_at_a_time(fixture(sample.file)), sample.wrapper, {}, "")), numbers());
}

TEST(Wrapper, says_that_a_prefix_is_cut) {
  for (const Sample& sample : samples()) {
    if (std::string_view(sample.file).starts_with("two")) continue;  // a whole member is a whole file
    const std::string whole = text_of(fixture(sample.file));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto inside = unwrap(from_memory(to_bytes(whole.substr(0, length))), sample.wrapper, {}, "");
      ASSERT_FALSE(inside.ok()) << sample.file << length;
      EXPECT_EQ(inside.error().code(), ErrorCode::Truncated) << sample.file << length;
      EXPECT_EQ(inside.error().offset(), length);
    }
  }
}

TEST(Wrapper, gives_the_bytes_or_an_error_for_every_flipped_bit) {
  for (const Sample& sample : samples()) {
    const std::string whole = text_of(fixture(sample.file));
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += 7) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      const auto inside = unwrap(from_memory(to_bytes(flipped)), sample.wrapper, {.max_memory = 64 << 20}, "");
      // .lzma has no check of its own. The others do, except over parts that mean nothing for the content.
      EXPECT_TRUE(!inside.ok() || sample.wrapper == Wrapper::Lzma || (*inside)->size() <= numbers().size()) << bit;
    }
  }
}

TEST(Wrapper, refuses_bytes_behind_the_end_that_are_no_member) {
  for (const Sample& sample : samples()) {
    const std::string whole = text_of(fixture(sample.file));
    const auto with = [&](const std::string& tail) {
      return unwrap(from_memory(to_bytes(whole + tail)), sample.wrapper, {}, "");
    };
    EXPECT_TRUE(with(std::string(600, '\0')).ok()) << sample.file;
    const auto junk = with("junk behind");
    ASSERT_FALSE(junk.ok()) << sample.file;
    EXPECT_EQ(junk.error().code(), ErrorCode::Malformed);
    EXPECT_EQ(junk.error().offset(), whole.size()) << sample.file;
    EXPECT_FALSE(with(std::string(300'000, '\0') + "x").ok()) << sample.file;
    EXPECT_TRUE(with(std::string(600'000, '\0')).ok()) << sample.file;
  }
}

TEST(Wrapper, bounds_what_comes_out_by_memory_and_ratio) {
  for (const Sample& sample : samples()) {
    const auto inside = unwrap(fixture(sample.file), sample.wrapper, {.max_memory = 1000}, "");
    ASSERT_FALSE(inside.ok()) << sample.file;
    EXPECT_EQ(inside.error().code(), ErrorCode::Limit) << sample.file;
  }
  // 2 MiB of zeros as one raw block after another would be no bomb; as zstd blocks of one repeated byte they are.
  std::string bomb = std::string("\x28\xB5\x2F\xFD\x00\x58", 6);
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned header = (i == 63 ? 1U : 0U) | 1U << 1U | (128U << 10U) << 3U;  // last, RLE, 128 KiB
    bomb += static_cast<char>(header & 0xFF);
    bomb += static_cast<char>(header >> 8U & 0xFF);
    bomb += static_cast<char>(header >> 16U);
    bomb += '\0';
  }
  EXPECT_EQ((*unwrap(from_memory(to_bytes(bomb)), Wrapper::Zstd, {.max_ratio = 1'000'000}, ""))->size(), 8U << 20U);
  EXPECT_EQ(unwrap(from_memory(to_bytes(bomb)), Wrapper::Zstd, {}, "").error().code(), ErrorCode::Limit);
}

TEST(Wrapper, says_when_its_library_was_left_out) {
#ifndef WICK_HAVE_XZ
  EXPECT_EQ(unwrap(fixture("numbers.xz"), Wrapper::Xz, {}, "").error().code(), ErrorCode::Unsupported);
#endif
#ifndef WICK_HAVE_BZIP2
  EXPECT_EQ(unwrap(fixture("numbers.bz2"), Wrapper::Bzip2, {}, "").error().code(), ErrorCode::Unsupported);
#endif
#ifndef WICK_HAVE_7Z
  EXPECT_EQ(list_7z(fixture("numbers.7z"), {}).error().code(), ErrorCode::Unsupported);
#endif
}

#ifdef WICK_HAVE_7Z
TEST(SevenZip, lists_and_opens_members_with_their_names) {
  const io::SourcePtr source = fixture("numbers.7z");
  EXPECT_TRUE(looks_like_7z(*io::read_head(*source, 6)));
  const auto entries = list_7z(source, {});
  ASSERT_TRUE(entries.ok()) << entries.error().to_string();
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].name, "numbers");
  EXPECT_EQ((*entries)[1].name, "dir/k\xC3\xA4se");
  EXPECT_EQ((*entries)[1].size, numbers().size());
  const auto member = open_7z_entry(source, "dir/k\xC3\xA4se", {});
  ASSERT_TRUE(member.ok()) << member.error().to_string();
  EXPECT_EQ(text_of(*member), numbers());
  EXPECT_TRUE((*member)->name().ends_with("numbers.7z::dir/k\xC3\xA4se"));
}

TEST(SevenZip, says_what_is_missing_or_too_much) {
  const io::SourcePtr source = fixture("numbers.7z");
  EXPECT_EQ(open_7z_entry(source, "absent", {}).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(open_7z_entry(source, "numbers", {.max_memory = 100}).error().code(), ErrorCode::Limit);
  EXPECT_EQ(list_7z(source, {.max_members = 1}).error().code(), ErrorCode::Limit);
  EXPECT_FALSE(looks_like_7z(to_bytes("7z")));
}

TEST(SevenZip, survives_every_prefix_and_flipped_bits) {
  const std::string whole = text_of(fixture("numbers.7z"));
  for (std::size_t length = 0; length < whole.size(); length += 3)
    EXPECT_FALSE(list_7z(from_memory(to_bytes(whole.substr(0, length))), {}).ok()) << length;
  for (std::size_t bit = 0; bit < whole.size() * 8; bit += 5) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    (void)open_7z_entry(from_memory(to_bytes(flipped)), "numbers", {.max_memory = 64 << 20}).ok();
  }
}
#endif

TEST(Tar, reads_what_python_writes) {
  const std::string name = std::string(120, 'd') + "/" + std::string(90, 'f');
  for (const std::string format : {"ustar", "gnu", "pax"}) {
    const auto tar = read_tar(fixture(format + ".tar"), {});
    ASSERT_TRUE(tar.ok()) << format << tar.error().to_string();
    ASSERT_EQ(tar->entries.size(), 4U);
    EXPECT_EQ(tar->entries[0].name, "numbers");
    EXPECT_EQ(tar->entries[1].name, format == "ustar" ? name : name + name);
    EXPECT_EQ(tar->entries[2].name, "k\xC3\xA4se");
    EXPECT_EQ(tar->entries[3].type, '2');
    EXPECT_EQ(text_of(*open_entry(*tar, 1)), numbers());
    EXPECT_TRUE(tar->findings.empty()) << format;
  }
}

TEST(Zip, reads_what_python_writes) {
  const auto deflated = Zip::open(fixture("deflated.zip"), {});
  ASSERT_TRUE(deflated.ok());
  EXPECT_EQ(to_text(*(*deflated)->read(0, {})), numbers());
  EXPECT_EQ((*deflated)->find("r/k\xC3\xA4se"), 1U);
  EXPECT_EQ((*deflated)->comment(), "a comment");
  const auto streamed = Zip::open(fixture("streamed.zip"), {});
  ASSERT_TRUE(streamed.ok());
  for (const std::size_t i : {0U, 1U}) EXPECT_EQ(to_text(*(*streamed)->read(i, {})), numbers());
  EXPECT_TRUE((*streamed)->findings().empty());
  const auto methods = Zip::open(fixture("methods.zip"), {});
  ASSERT_TRUE(methods.ok());
  EXPECT_EQ(to_text(*(*methods)->read(0, {})), numbers());
  EXPECT_EQ((*methods)->read(1, {}).error().code(), ErrorCode::Unsupported);
  EXPECT_EQ((*methods)->entry(1).method, 12);
  EXPECT_EQ((*methods)->entry(2).method, 14);
}

}  // namespace
}  // namespace wick::archive
