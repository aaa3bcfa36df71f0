// SPDX-License-Identifier: Apache-2.0
// Expected rows: torch.distributed.checkpoint's own state (tests/fixtures/make_format_fixtures.py).
#include <filesystem>

#include "support/format_fixtures.h"
#include "torch/dcp_chunks.h"
#include "torch/dcp_tree.h"
#include "torch/readers.h"

namespace wick::torch {
namespace {

namespace fs = std::filesystem;

// This floor does not know the safetensors reader; tests/formats has the tests that need it.
Result<checkpoint::Contents> open_nothing(const std::string& path, const Context&) {
  return fail(ErrorCode::Unsupported, "{} was asked for", path);
}

checkpoint::Contents read_fixture(const std::string& name) {
  EXPECT_TRUE(is_dcp_folder(test::fixture_path(name))) << name;
  auto contents = read_dcp_folder(test::fixture_path(name), Context{}, open_nothing);
  EXPECT_TRUE(contents) << name << ": " << contents.error().to_string();
  return contents ? *std::move(contents) : checkpoint::Contents{};
}

// A copy of a fixture's folder that a test may damage.
class Copy {
 public:
  explicit Copy(const std::string& name) : path_(fs::path(testing::TempDir()) / ("wick_" + name)) {
    fs::remove_all(path_);
    fs::copy(test::fixture_path(name), path_, fs::copy_options::recursive);
  }
  ~Copy() {
    std::error_code failed;
    fs::remove_all(path_, failed);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(Dcp, reads_what_torch_wrote_with_one_rank_and_with_three) {
  const auto wanted = test::expected("expected_dcp.json")["files"];
  for (const auto& [name, facts] : wanted.items()) {
    if (name == "dcp_safetensors" || name == "dcp_hf") continue;  // tests/formats: they need the safetensors reader
    const auto contents = read_fixture(name);
    test::expect_rows(contents, facts["tensors"], name);
    const auto root = contents.sections[0].root;
    EXPECT_EQ(pickle::Arena::as_int(contents.resolve(contents.arena.find(root, "epoch"))), 7) << name;
  }
}

TEST(Dcp, rebuilds_nested_dicts_and_lists) {
  const auto contents = read_fixture("dcp");
  const auto& arena = contents.arena;
  const auto optim = arena.find(contents.sections[0].root, "optim");
  const auto states = arena.find(optim, "state");
  ASSERT_TRUE(states.is(pickle::Kind::List));
  ASSERT_EQ(arena.items(states).size(), 2U);
  EXPECT_EQ(pickle::Arena::as_int(contents.resolve(arena.find(arena.items(states)[1], "step"))), 4);
}

TEST(Dcp, tells_the_pieces_of_a_sharded_tensor) {
  const auto contents = read_fixture("dcp_ranks");
  const auto places = checkpoint::find_places(contents);
  ASSERT_TRUE(places);
  for (const auto& place : places->rows) {
    if (checkpoint::name_of(contents, *places, place.path) != "sharded.rows") continue;
    const auto* more = contents.find_more(place.tensor);
    ASSERT_NE(more, nullptr);
    ASSERT_GE(more->pieces.size(), 3U);
    EXPECT_EQ(more->pieces[0].file, "__0_0.distcp");
    EXPECT_EQ(more->pieces[1].start, (std::vector<std::int64_t>{2, 0}));
    EXPECT_EQ(more->pieces[1].shape, (std::vector<std::int64_t>{2, 4}));
    return;
  }
  FAIL() << "sharded.rows is not listed";
}

TEST(Dcp, names_the_missing_file_in_the_rows_that_need_it) {
  const Copy copy("dcp_ranks");
  fs::remove(copy.path() / "__1_0.distcp");
  const auto contents = read_dcp_folder(copy.path().string(), Context{}, open_nothing);
  ASSERT_TRUE(contents) << contents.error().to_string();
  std::size_t failed = 0;
  std::size_t whole = 0;
  for (const auto& row : test::rows_of(*contents)) {
    if (row.error.empty()) ++whole;
    if (row.error.find("__1_0.distcp") != std::string::npos) ++failed;
    if (row.name == "sharded.rows") {
      EXPECT_NE(row.error, "");
    }
  }
  EXPECT_GE(failed, 2U);
  EXPECT_GE(whole, 2U);
}

TEST(Dcp, names_the_cut_file_in_the_rows_that_need_it) {
  const Copy copy("dcp");
  fs::resize_file(copy.path() / "__0_0.distcp", fs::file_size(copy.path() / "__0_0.distcp") / 2);
  const auto contents = read_dcp_folder(copy.path().string(), Context{}, open_nothing);
  ASSERT_TRUE(contents);
  std::size_t failed = 0;
  for (const auto& row : test::rows_of(*contents)) failed += row.error.find("__0_0.distcp") != std::string::npos;
  EXPECT_GE(failed, 1U);
}

TEST(Dcp, says_when_a_chunk_is_not_what_the_metadata_says) {
  const Copy copy("dcp_many");
  // Every file becomes a copy of one: bytes are there, and for most tensors they are the wrong ones.
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(copy.path()))
    if (entry.path().extension() == ".distcp") files.push_back(entry.path());
  const auto bytes = test::fixture_bytes("dcp_many/__0_9.distcp");
  for (const auto& file : files)
    std::ofstream(file, std::ios::binary)
        .write(static_cast<const char*>(static_cast<const void*>(bytes.data())),
               static_cast<std::streamsize>(bytes.size()));
  const auto damaged = read_dcp_folder(copy.path().string(), Context{}, open_nothing);
  ASSERT_TRUE(damaged);
  std::size_t wrong = 0;
  for (const auto& row : test::rows_of(*damaged)) wrong += !row.error.empty() || row.sha256.size() != 64;
  EXPECT_GE(wrong, 2U);
}

TEST(Dcp, survives_a_damaged_metadata) {
  const Copy copy("dcp");
  const auto whole = test::fixture_bytes("dcp/.metadata");
  const auto look = [&](const std::vector<std::byte>& bytes) {
    std::ofstream(copy.path() / ".metadata", std::ios::binary)
        .write(static_cast<const char*>(static_cast<const void*>(bytes.data())),
               static_cast<std::streamsize>(bytes.size()));
    const auto contents = read_dcp_folder(copy.path().string(), Context{}, open_nothing);
    if (contents) test::rows_of(*contents);
  };
  for (std::size_t length = 0; length < whole.size(); length += 97)
    look({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
  for (std::size_t bit = 0; bit < whole.size() * 8; bit += 131) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    look(bytes);
  }
}

TEST(DcpChunks, must_cover_a_tensor_once) {
  std::uint64_t budget = 1000;
  const std::vector<std::int64_t> size{4, 4};
  EXPECT_TRUE(check_cover(size, {{{0, 0}, {2, 4}}, {{2, 0}, {2, 4}}}, budget));
  EXPECT_TRUE(check_cover(size, {{{0, 0}, {4, 4}}, {{4, 0}, {0, 4}}}, budget));
  EXPECT_FALSE(check_cover(size, {{{0, 0}, {2, 4}}}, budget));
  EXPECT_FALSE(check_cover(size, {{{0, 0}, {2, 4}}, {{1, 0}, {2, 4}}}, budget));
  EXPECT_FALSE(check_cover(size, {{{0, 0}, {4, 5}}}, budget));
  EXPECT_FALSE(check_cover(size, {{{5, 0}, {0, 4}}, {{0, 0}, {4, 4}}}, budget));
  budget = 0;
  EXPECT_EQ(check_cover(size, {{{0, 0}, {4, 2}}, {{0, 2}, {4, 2}}}, budget).error().code(), ErrorCode::Limit);
}

TEST(DcpTree, keeps_entries_whose_paths_collide) {
  pickle::Arena arena;
  DcpTree tree(arena);
  const auto text = [&](const char* s) { return arena.text(pickle::Kind::Str, s); };
  const std::vector<pickle::Value> a{text("a")};
  const std::vector<pickle::Value> ab{text("a"), text("b")};
  EXPECT_TRUE(tree.put("a", arena.tuple(a), arena.integer(1)));
  EXPECT_FALSE(tree.put("a.b", arena.tuple(ab), arena.integer(2)));
  EXPECT_FALSE(tree.put("empty", arena.tuple({}), arena.integer(3)));
  const auto root = tree.build();
  EXPECT_EQ(pickle::Arena::as_int(arena.find(root, "a")), 1);
  EXPECT_EQ(pickle::Arena::as_int(arena.find(root, "a.b")), 2);
  EXPECT_EQ(pickle::Arena::as_int(arena.find(root, "empty")), 3);
}

}  // namespace
}  // namespace wick::torch
