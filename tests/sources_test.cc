// SPDX-License-Identifier: Apache-2.0
// One file gives one listing, wherever its bytes come from; and a file that changes under the reader is an error.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "checkpoint/read_tensor.h"
#include "support/listing.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

TEST(Sources, memory_pread_mapped_and_one_byte_at_a_time_give_equal_results) {
  const auto names = support::fixture_files();
  ASSERT_GT(names.size(), 200U);
  std::size_t refused = 0;
  for (const std::string& name : names) {
    const std::string path = support::fixtures_folder() + "/" + name;
    const std::string memory = support::listing(from_memory(support::read_fixture(name)), {});
    auto file = open_file(path);
    auto mapped = map_file(path);
    ASSERT_TRUE(file.ok() && mapped.ok()) << name;
    EXPECT_EQ(support::listing(*file, {}), memory) << name;
    EXPECT_EQ(support::listing(*mapped, {}), memory) << name;
    EXPECT_EQ(support::listing(io::one_byte_at_a_time(*file), {}), memory) << name;
    refused += memory.find(" tensors of kind ") == std::string::npos ? 1U : 0U;
  }
  EXPECT_EQ(refused, 0U);
}

// A copy of a fixture that may be damaged while it is open.
class Changing : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "wick_changing_" + std::to_string(::getpid()) + "_" +
            fs::path(GetParam()).filename().string();
    fs::copy_file(support::fixtures_folder() + "/" + GetParam(), path_, fs::copy_options::overwrite_existing);
    auto source = open_file(path_);
    ASSERT_TRUE(source.ok());
    auto loaded = open_detail::load(*source, path_, {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    loaded_ = *loaded;
    ASSERT_FALSE(loaded_->all.rows.empty());
  }
  void TearDown() override { fs::remove(path_); }
  [[nodiscard]] std::size_t tensors_that_can_be_read() const {
    std::size_t good = 0;
    for (const auto& place : loaded_->all.rows)
      if (loaded_->contents.tensor_bytes(loaded_->contents.tensors[place.tensor]) > 0)  // the empty ones need no bytes
        good += checkpoint::read_elements(loaded_->contents, place.tensor).ok() ? 1U : 0U;
    return good;
  }
  std::string path_;
  open_detail::LoadedPtr loaded_;
};

TEST_P(Changing, a_file_that_shrinks_is_an_error_and_never_a_signal) {
  fs::resize_file(path_, 10);
  EXPECT_EQ(tensors_that_can_be_read(), 0U);
}

TEST_P(Changing, a_file_that_is_written_over_is_noticed) {
  std::ofstream(path_, std::ios::binary | std::ios::app) << "more";
  fs::last_write_time(path_, fs::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(tensors_that_can_be_read(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Containers, Changing,
                         testing::Values("zip/strided_float32.pt", "zip/deflated.pt", "legacy/shared.pt"),
                         [](const auto& which) { return "file" + std::to_string(which.index); });

}  // namespace
}  // namespace wick
