// SPDX-License-Identifier: Apache-2.0
// Shard folders and distributed checkpoints as wick::open sees them: the readers of two floors together.
// Expected rows: torch and safetensors (tests/fixtures/make_format_fixtures.py).
#include <filesystem>

#include "formats/readers.h"
#include "open/formats.h"
#include "support/format_fixtures.h"
#include "torch/readers.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

class Copy {
 public:
  explicit Copy(const std::string& name) : path_(fs::path(testing::TempDir()) / ("wick_f_" + name)) {
    fs::remove_all(path_);
    fs::copy(test::fixture_path(name), path_, fs::copy_options::recursive);
  }
  ~Copy() {
    std::error_code failed;
    fs::remove_all(path_, failed);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }

 private:
  fs::path path_;
};

Result<checkpoint::Contents> read_shards(const std::string& path) {
  return formats::read_shards(path, Context{}, open_detail::read_file);
}

TEST(ShardFolder, reads_safetensors_and_bin_shards) {
  const auto wanted = test::expected("expected_shards.json")["files"];
  for (const auto& [name, facts] : wanted.items()) {
    ASSERT_TRUE(formats::is_shard_folder(test::fixture_path(name))) << name;
    const auto contents = read_shards(test::fixture_path(name));
    ASSERT_TRUE(contents) << contents.error().to_string();
    test::expect_rows(*contents, facts["tensors"], name);
    EXPECT_EQ(test::has_finding(*contents, "several-indexes"), name == "shards_both");
    EXPECT_FALSE(test::has_finding(*contents, "total-size")) << name;
    const auto places = checkpoint::find_places(*contents);
    ASSERT_TRUE(places);
    std::map<std::string, std::string> files;
    for (const auto& place : places->rows)
      files[checkpoint::name_of(*contents, *places, place.path)] = contents->find_more(place.tensor)->pieces.at(0).file;
    for (const auto& row : facts["tensors"])
      EXPECT_EQ(files[row["name"].get<std::string>()], row["file"].get<std::string>());
  }
}

TEST(ShardFolder, opens_by_its_index_file_too) {
  const auto contents = read_shards(test::fixture_path("shards_bin/pytorch_model.bin.index.json"));
  ASSERT_TRUE(contents) << contents.error().to_string();
  EXPECT_EQ(test::rows_of(*contents).size(), 4U);
}

TEST(ShardFolder, names_a_missing_shard_in_its_rows) {
  const Copy copy("shards_safetensors");
  fs::remove(copy.file("model-00002-of-00002.safetensors"));
  const auto contents = read_shards(copy.path());
  ASSERT_TRUE(contents) << contents.error().to_string();
  const auto rows = test::rows_of(*contents);
  ASSERT_EQ(rows.size(), 4U);
  for (const auto& row : rows)
    EXPECT_EQ(row.error.find("model-00002-of-00002.safetensors") != std::string::npos,
              row.name == "l.0.bias" || row.name == "head.weight")
        << row.name << ": " << row.error;
}

TEST(ShardFolder, tells_what_index_and_shards_disagree_on) {
  const Copy copy("shards_bin");
  copy.write("pytorch_model.bin.index.json",
             R"({"metadata":{"total_size":5},"weight_map":{"emb.weight":"pytorch_model-00001-of-00002.bin",)"
             R"("ghost":"pytorch_model-00002-of-00002.bin","away":"../../../etc/passwd","odd":7}})");
  const auto contents = read_shards(copy.path());
  ASSERT_TRUE(contents);
  std::map<std::string, std::string> errors;
  for (const auto& row : test::rows_of(*contents)) errors[row.name] = row.error;
  EXPECT_EQ(errors.size(), 7U);  // the rest of both shards is listed as well
  EXPECT_EQ(errors["emb.weight"], "");
  EXPECT_NE(errors["ghost"].find("pytorch_model-00002-of-00002.bin"), std::string::npos);
  EXPECT_NE(errors["away"].find("outside"), std::string::npos);
  EXPECT_NE(errors["odd"].find("no file"), std::string::npos);
  EXPECT_TRUE(test::has_finding(*contents, "not-in-index"));
}

TEST(ShardFolder, compares_the_total_size) {
  const Copy copy("shards_bin");
  copy.write("pytorch_model.bin.index.json",
             R"({"metadata":{"total_size":5},"weight_map":{"emb.weight":"pytorch_model-00001-of-00002.bin"}})");
  const auto contents = read_shards(copy.path());
  ASSERT_TRUE(contents);
  EXPECT_TRUE(test::has_finding(*contents, "total-size"));
}

TEST(DcpFolder, reads_safetensors_backed_checkpoints) {
  const auto wanted = test::expected("expected_dcp.json")["files"];
  for (const char* name : {"dcp_safetensors", "dcp_hf"}) {
    ASSERT_TRUE(torch::is_dcp_folder(test::fixture_path(name))) << name;
    const auto contents = torch::read_dcp_folder(test::fixture_path(name), Context{}, open_detail::read_file);
    ASSERT_TRUE(contents) << contents.error().to_string();
    test::expect_rows(*contents, wanted[name]["tensors"], name);
  }
}

}  // namespace
}  // namespace wick
