// SPDX-License-Identifier: Apache-2.0
// Archives are made by hand or taken from the fixtures; what counts as a model is the test's own rule.
#include "formats/readers.h"
#include "support/format_fixtures.h"

#include <zlib.h>

namespace wick::formats {
namespace {

// The test's rule: npy and npz are models, anything else is not.
bool is_numpy(const io::SourcePtr& source, const std::string& name, const Context& context) {
  const auto probe = checkpoint::probe(source, name, context);
  return probe && (is_npy(*probe) || is_npz(*probe));
}

std::vector<std::byte> gzip_of(const std::vector<std::byte>& bytes) {
  std::vector<std::byte> out(bytes.size() + 1024);
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = static_cast<Bytef*>(static_cast<void*>(const_cast<std::byte*>(bytes.data())));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = static_cast<Bytef*>(static_cast<void*>(out.data()));
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

// A ustar archive of regular files, checksums included.
std::vector<std::byte> tar_of(const std::vector<std::pair<std::string, std::vector<std::byte>>>& files) {
  std::string text;
  for (const auto& [name, bytes] : files) {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    header.replace(100, 8, std::string("0000644\0", 8));
    header.replace(124, 12, fmt::format("{:011o}", bytes.size()) + '\0');
    header.replace(136, 12, std::string("00000000000\0", 12));
    header.replace(148, 8, "        ");
    header[156] = '0';
    header.replace(257, 8, std::string("ustar\00000", 8));
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
    text += header;
    for (const std::byte byte : bytes) text.push_back(static_cast<char>(byte));
    text.resize((text.size() + 511) / 512 * 512);
  }
  text.resize(text.size() + 1024);
  std::vector<std::byte> bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

checkpoint::Contents read(const io::SourcePtr& source, const std::string& name) {
  const auto probe = checkpoint::probe(source, name, Context{});
  EXPECT_TRUE(probe);
  EXPECT_TRUE(is_archive(*probe)) << name;
  auto contents = read_archive(*probe, is_numpy);
  EXPECT_TRUE(contents) << contents.error().to_string();
  return contents ? *std::move(contents) : checkpoint::Contents{};
}

using Names = std::vector<std::string>;

TEST(Archive, opens_a_lone_wrapper_as_one_member_named_after_it) {
  const auto contents = read(from_memory(gzip_of(test::fixture_bytes("npy_f4.npy"))), "folder/weights.npy.gz");
  EXPECT_EQ(contents.model_members, (Names{"weights.npy"}));
  const auto member = contents.members->open("weights.npy", Limits{});
  ASSERT_TRUE(member);
  EXPECT_EQ((*member)->size(), test::fixture_bytes("npy_f4.npy").size());
  EXPECT_FALSE(contents.members->open("other", Limits{}));
}

TEST(Archive, lists_a_wrapped_tar_by_its_own_members) {
  const auto tar =
      tar_of({{"a.npy", test::fixture_bytes("npy_f4.npy")}, {"read.me", std::vector<std::byte>(20, std::byte{'x'})}});
  for (const auto& bytes : {tar, gzip_of(tar)}) {
    const auto contents = read(from_memory(bytes), "model.tar.gz");
    ASSERT_EQ(contents.members->size(), 2U);
    EXPECT_EQ(contents.members->at(1).name, "read.me");
    EXPECT_EQ(contents.model_members, (Names{"a.npy"}));
  }
}

TEST(Archive, tells_model_members_of_a_zip_by_their_bytes) {
  const auto source = open_file(test::fixture_path("objects.npz"));
  ASSERT_TRUE(source);
  const auto contents = read(*source, "objects.zip");  // asked as an archive, an npz is a zip of npy files
  EXPECT_EQ(contents.model_members, (Names{"plain.npy", "mixed.npy", "named.npy"}));
  const auto deflated = open_file(test::fixture_path("deflated.npz"));
  ASSERT_TRUE(deflated);
  EXPECT_EQ(read(*deflated, "x.zip").model_members.size(), read(*deflated, "x.zip").members->size());
}

TEST(Archive, does_not_look_into_members_below_the_nesting_limit) {
  Context context;
  context.limits.max_nesting = 2;
  context.nesting = 2;
  const auto probe = checkpoint::probe(from_memory(gzip_of(test::fixture_bytes("npy_f4.npy"))), "a.gz", context);
  ASSERT_TRUE(probe);
  const auto contents = read_archive(*probe, is_numpy);
  ASSERT_TRUE(contents);
  EXPECT_TRUE(contents->model_members.empty());
}

TEST(Archive, bounds_what_it_unpacks) {
  Limits limits;
  limits.max_memory = 1 << 20;
  const auto probe = test::probe_bytes(gzip_of(std::vector<std::byte>(8 << 20)), limits);
  const auto contents = read_archive(probe, is_numpy);
  ASSERT_FALSE(contents);
  EXPECT_EQ(contents.error().code(), ErrorCode::Limit);
}

}  // namespace
}  // namespace wick::formats
