// SPDX-License-Identifier: Apache-2.0
// Tar archives made block by block after POSIX.1-2017 pax and the GNU tar manual; tests/fixtures/archive holds some
// that Python's tarfile wrote.
#include "archive/tar.h"

#include <gtest/gtest.h>

#include "zip_builder.h"

namespace wick::archive {
namespace {

using testing::to_bytes;
using testing::to_text;

struct Header {
  std::string name;
  char type = '0';
  std::string magic = std::string(
      "ustar\0"
      "00",
      8);
  std::string prefix{};
  std::string size{};  // as it is in the field, when not octal
};

std::string octal(std::uint64_t value, int digits) {
  std::string out(static_cast<std::size_t>(digits), '0');
  for (auto c = out.rbegin(); c != out.rend(); ++c, value >>= 3U) *c = static_cast<char>('0' + (value & 7U));
  return out;
}

void sign(std::string& block) {
  block.replace(148, 8, 8, ' ');
  std::uint64_t sum = 0;
  for (const char c : block) sum += static_cast<std::uint8_t>(c);
  block.replace(148, 8, octal(sum, 6) + std::string("\0 ", 2));
}

std::string entry(const Header& header, std::string_view content) {
  std::string block(512, '\0');
  block.replace(0, header.name.size(), header.name);
  block.replace(100, 8, std::string("0000644\0", 8));
  const std::string size = header.size.empty() ? octal(content.size(), 11) : header.size;
  block.replace(124, size.size(), size);
  block[156] = header.type;
  block.replace(257, header.magic.size(), header.magic);
  block.replace(345, header.prefix.size(), header.prefix);
  sign(block);
  block += content;
  block.resize((block.size() + 511) / 512 * 512);
  return block;
}

std::string pax(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;  // space, '=', line end
  std::size_t length = rest + 1;
  while (length != rest + std::to_string(length).size()) ++length;
  return std::to_string(length) + " " + std::string(key) + "=" + std::string(value) + "\n";
}

const std::string kEnd(1024, '\0');

Result<Tar> read_bytes(const std::string& bytes, const Limits& limits = {}) {
  return read_tar(from_memory(to_bytes(bytes), "t.tar"), limits);
}

std::string content_of(const Tar& tar, std::size_t index) {
  const auto source = open_entry(tar, index);
  return source.ok() ? to_text(*io::read_all(**source, {})) : "(" + source.error().to_string() + ")";
}

TEST(Tar, lists_files_and_folders_with_their_bytes) {
  const std::string bytes =
      entry({"dir/", '5'}, "") + entry({"dir/a"}, "hello") + entry({"b"}, std::string(512, 'x')) + kEnd;
  const auto tar = read_bytes(bytes);
  ASSERT_TRUE(tar.ok()) << tar.error().to_string();
  ASSERT_EQ(tar->entries.size(), 3U);
  EXPECT_EQ(tar->entries[0].name, "dir");
  EXPECT_EQ(tar->entries[0].type, '5');
  EXPECT_EQ(tar->entries[1].offset, 1024U);
  EXPECT_EQ(content_of(*tar, 1), "hello");
  EXPECT_EQ(content_of(*tar, 2), std::string(512, 'x'));
  EXPECT_EQ((*open_entry(*tar, 1))->name(), "t.tar::dir/a");
  EXPECT_TRUE(tar->findings.empty());
  EXPECT_TRUE(looks_like_tar(to_bytes(bytes)));
}

TEST(Tar, reads_old_tars_without_magic) {
  Header old{"storages", '\0', ""};
  const std::string bytes = entry(old, "abc") + entry({"d/", '\0', ""}, "") + kEnd;
  EXPECT_TRUE(looks_like_tar(to_bytes(bytes)));
  const auto tar = read_bytes(bytes);
  ASSERT_TRUE(tar.ok());
  EXPECT_EQ(tar->entries[0].type, '0');
  EXPECT_EQ(content_of(*tar, 0), "abc");
  EXPECT_EQ(tar->entries[1].type, '5');
}

TEST(Tar, joins_prefix_and_name_only_where_posix_does) {
  const std::string gnu("ustar  \0", 8);
  const auto tar = read_bytes(entry({"name", '0',
                                     std::string("ustar\0"
                                                 "00",
                                                 8),
                                     "some/prefix"},
                                    "") +
                              entry({"name", '0', gnu, "12345670"}, "") + kEnd);
  EXPECT_EQ(tar->entries[0].name, "some/prefix/name");
  EXPECT_EQ(tar->entries[1].name, "name");
}

TEST(Tar, takes_long_names_of_gnu_and_pax) {
  const std::string name = std::string(150, 'd') + "/" + std::string(150, 'f');
  const auto tar = read_bytes(entry({"././@LongLink", 'L'}, name + '\0') + entry({"short"}, "1") +
                              entry({"././@LongLink", 'K'}, name) + entry({"next"}, "2") +
                              entry({"PaxHeader", 'x'}, pax("mtime", "1.5") + pax("path", name)) + entry({"cut"}, "3") +
                              entry({"plain"}, "4") + kEnd);
  ASSERT_TRUE(tar.ok()) << tar.error().to_string();
  ASSERT_EQ(tar->entries.size(), 4U);
  EXPECT_EQ(tar->entries[0].name, name);
  EXPECT_EQ(tar->entries[1].name, "next");
  EXPECT_EQ(tar->entries[2].name, name);
  EXPECT_EQ(content_of(*tar, 2), "3");
  EXPECT_EQ(tar->entries[3].name, "plain");
}

TEST(Tar, takes_sizes_of_pax_and_of_base_256) {
  Header wide{"w"};
  wide.size = std::string("\x80\0\0\0\0\0\0\0\0\0\0\x05", 12);
  Header lying{"p"};
  lying.size = "00000000000";
  const auto tar = read_bytes(entry(wide, "12345") + entry({"PaxHeader", 'x'}, pax("size", "3")) + entry(lying, "abc") +
                              entry({"g", 'g'}, pax("comment", "x")) + entry({"z"}, "z") + kEnd);
  ASSERT_TRUE(tar.ok()) << tar.error().to_string();
  EXPECT_EQ(content_of(*tar, 0), "12345");
  EXPECT_EQ(content_of(*tar, 1), "abc");
  EXPECT_EQ(content_of(*tar, 2), "z");
}

TEST(Tar, skips_no_bytes_behind_links_and_folders) {
  Header link{"l", '2'};
  link.size = "00000001000";  // tarfile ignores it as well
  const auto tar = read_bytes(entry(link, "") + entry({"a"}, "x") + kEnd);
  ASSERT_TRUE(tar.ok());
  EXPECT_EQ(tar->entries[0].size, 0U);
  EXPECT_EQ(content_of(*tar, 1), "x");
}

TEST(Tar, lists_sparse_files_and_refuses_to_open_them) {
  const auto tar = read_bytes(entry({"PaxHeader", 'x'}, pax("GNU.sparse.major", "1") + pax("GNU.sparse.name", "real")) +
                              entry({"GNUSparseFile.0/real"}, "x") + entry({"s", 'S'}, "y") + kEnd);
  ASSERT_EQ(tar->entries.size(), 2U);
  EXPECT_EQ(tar->entries[0].name, "real");
  EXPECT_EQ(open_entry(*tar, 0).error().code(), ErrorCode::Unsupported);
  EXPECT_EQ(open_entry(*tar, 1).error().code(), ErrorCode::Unsupported);
  EXPECT_EQ(open_entry(*tar, 2).error().code(), ErrorCode::NotFound);
}

TEST(Tar, tells_a_missing_end_mark_bytes_behind_it_and_unknown_types) {
  const std::string one = entry({"a"}, "x");
  EXPECT_EQ(read_bytes(one)->findings.at(0).code, "no-end-mark");
  EXPECT_EQ(read_bytes(one + std::string(512, '\0'))->findings.at(0).code, "no-end-mark");
  EXPECT_TRUE(read_bytes(one + std::string(10240, '\0'))->findings.empty());
  EXPECT_EQ(read_bytes(one + kEnd + one)->findings.at(0).code, "trailing-bytes");
  EXPECT_EQ(read_bytes(entry({"a", 'Q'}, "x") + kEnd)->findings.at(0).code, "unknown-entry-type");
}

TEST(Tar, refuses_a_header_whose_checksum_does_not_hold) {
  std::string bytes = entry({"a"}, "x") + entry({"b"}, "y") + kEnd;
  bytes[1024] = 'c';
  const auto tar = read_bytes(bytes);
  EXPECT_EQ(tar.error().code(), ErrorCode::Malformed);
  EXPECT_EQ(tar.error().offset(), 1024U);
  bytes[0] = 'c';
  EXPECT_FALSE(looks_like_tar(to_bytes(bytes)));
  EXPECT_FALSE(looks_like_tar(to_bytes(std::string(512, '\0'))));
  EXPECT_FALSE(looks_like_tar(to_bytes(std::string(511, 'x'))));
}

TEST(Tar, accepts_a_checksum_of_signed_bytes) {
  std::string bytes = entry({"\xE9t\xE9"}, "x");
  const std::uint64_t sum = std::stoull(bytes.substr(148, 6), nullptr, 8) - 2 * 256;
  bytes.replace(148, 6, octal(sum, 6));
  EXPECT_TRUE(looks_like_tar(to_bytes(bytes)));
}

TEST(Tar, says_how_much_of_an_entry_is_missing) {
  const std::string whole = entry({"a"}, std::string(1000, 'x')) + entry({"b"}, "y") + kEnd;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto tar = read_bytes(whole.substr(0, length));
    // Readable: an entry whose last block is not filled up, and an archive that only lacks its end mark.
    const std::size_t entries = length >= 2049 ? 2 : 1;
    if ((length >= 1512 && length <= 1536) || (length >= 2049 && length <= 2560) || length >= 3072) {
      ASSERT_TRUE(tar.ok()) << length << tar.error().to_string();
      EXPECT_EQ(tar->entries.size(), entries) << length;
      EXPECT_EQ(tar->findings.size(), 1U) << length;
    } else {
      ASSERT_FALSE(tar.ok()) << length;
      EXPECT_EQ(tar.error().code(), ErrorCode::Truncated) << length;
    }
  }
}

TEST(Tar, refuses_pax_records_that_lie) {
  for (const std::string_view record :
       {"999 path=x\n", "7 path=x\n", "0 a=b\n", "x", "5 ab\n\n", "99999999999999999999 a=b\n", "6 a=bc",
        "11 size=1x\n", "30 size=99999999999999999999\n"}) {
    const auto tar = read_bytes(entry({"p", 'x'}, record) + entry({"a"}, "") + kEnd);
    ASSERT_FALSE(tar.ok()) << record;
    EXPECT_TRUE(tar.error().code() == ErrorCode::Malformed || tar.error().code() == ErrorCode::Truncated) << record;
  }
}

TEST(Tar, bounds_long_names_and_entries) {
  Header huge{"h", 'x'};
  huge.size = "77777777777";
  EXPECT_EQ(read_bytes(entry(huge, "")).error().code(), ErrorCode::Limit);
  Limits one;
  one.max_members = 1;
  EXPECT_EQ(read_bytes(entry({"a"}, "") + entry({"b"}, "") + kEnd, one).error().code(), ErrorCode::Limit);
}

TEST(Tar, survives_every_flipped_bit_of_signed_headers) {
  const std::string whole = entry({"PaxHeader", 'x'}, pax("path", "long")) + entry({"S", 'S'}, "x") +
                            entry({"L", 'L'}, "name") + entry({"a"}, "x") + kEnd;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    if (bit / 8 % 512 >= 360) continue;  // the rest is zeros
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    std::string block = flipped.substr(bit / 8 / 512 * 512, 512);
    sign(block);  // so that the flip is not stopped by the checksum alone
    flipped.replace(bit / 8 / 512 * 512, 512, block);
    const auto tar = read_bytes(flipped);
    for (std::size_t i = 0; tar.ok() && i < tar->entries.size(); ++i) (void)open_entry(*tar, i).ok();
  }
}

}  // namespace
}  // namespace wick::archive
