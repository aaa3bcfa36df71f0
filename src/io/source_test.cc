// SPDX-License-Identifier: Apache-2.0
#include "io/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/cursor.h"

namespace wick {
namespace {

class Source : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("wick_source_" + std::to_string(::getpid()));
    std::ofstream(path_, std::ios::binary) << "0123456789";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static std::string read(const ByteSource& source, std::uint64_t offset, std::size_t length) {
    std::vector<std::byte> bytes(length);
    const auto done = source.read_at(offset, bytes);
    return done ? std::string(as_text(bytes)) : std::string(name_of(done.error().code()));
  }
  std::filesystem::path path_;
};

TEST_F(Source, gives_equal_bytes_by_pread_mapping_memory_and_single_bytes) {
  const auto file = *open_file(path_.string());
  const auto mapped = *map_file(path_.string());
  const auto memory = from_memory(*io::read_all(*file, {}));
  const auto slow = io::one_byte_at_a_time(file);
  const auto part = *io::slice(file, 2, 6, "part");
  for (const auto& source : {file, mapped, memory, slow}) {
    EXPECT_EQ(source->size(), 10U);
    EXPECT_EQ(read(*source, 3, 4), "3456");
    EXPECT_EQ(read(*source, 9, 2), "truncated");
    EXPECT_EQ(read(*source, ~std::uint64_t{0}, 1), "truncated");
    EXPECT_EQ(read(*source, 10, 0), "");
  }
  EXPECT_EQ(read(*part, 0, 6), "234567");
  EXPECT_EQ(read(*part, 1, 6), "truncated");
}

TEST_F(Source, maps_just_the_range_a_view_asks_for) {
  const auto file = *open_file(path_.string());
  ByteView view = *file->view(4, 3);
  EXPECT_EQ(as_text(view.bytes), "456");
  const auto part = *io::slice(file, 2, 6, "part");
  view = *part->view(1, 2);  // the first view's pages go, the file stays open through `part`
  EXPECT_EQ(as_text(view.bytes), "34");
  EXPECT_FALSE(file->view(8, 3));
  EXPECT_FALSE(io::one_byte_at_a_time(file)->view(0, 1));
}

TEST_F(Source, tells_that_a_file_shrank) {
  const auto file = *open_file(path_.string());
  std::filesystem::resize_file(path_, 5);
  EXPECT_EQ(read(*file, 4, 3), "truncated");
}

TEST_F(Source, tells_that_a_file_was_changed) {
  const auto file = *open_file(path_.string());
  std::ofstream(path_, std::ios::binary | std::ios::app) << "more";
  EXPECT_EQ(read(*file, 0, 3), "mismatch");
  EXPECT_FALSE(file->view(0, 3));
}

TEST_F(Source, refuses_folders_fifos_and_what_is_not_there) {
  EXPECT_EQ(open_file("/").error().message(), "is a folder");
  EXPECT_EQ(open_file(path_.string() + ".no").error().code(), ErrorCode::NotFound);
  const std::string fifo = path_.string() + ".fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(open_file(fifo).error().message(), "is not a regular file");  // and does not wait for a writer
  std::filesystem::remove(fifo);
}

TEST_F(Source, compares_a_length_with_the_limit_before_it_allocates) {
  Limits limits;
  limits.max_memory = 9;
  const auto file = *open_file(path_.string());
  EXPECT_EQ(io::read_all(*file, limits).error().code(), ErrorCode::Limit);
  EXPECT_EQ(io::read_range(*file, 0, 9, limits)->size(), 9U);
  EXPECT_EQ(io::read_head(*file, 100)->size(), 10U);
}

}  // namespace
}  // namespace wick
