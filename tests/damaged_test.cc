// SPDX-License-Identifier: Apache-2.0
// Every prefix of a fixture per container, and every single flipped bit of its header regions: an Error or a listing,
// never a crash, a hang or a read outside (the sanitized build runs this too).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "support/listing.h"

namespace wick {
namespace {

constexpr const char* kOnePerContainer[] = {
    "zip/tensor.pt",           "zip/no_root.pt",       "zip/deflated.pt",        "zip/quantized.pt",
    "legacy/tensor.pt",        "legacy/shared.pt",     "legacy/whole_module.pt", "pickle/p0_strided_float32.pkl",
    "pickle/p2_quantized.pkl", "pickle/p5_sparse.pkl", "pickle/several.pkl",     "wrapped/state_dict.pt.gz",
    "program/script.pt",       "program/mobile.ptl",   "program/package.pt",     "program/mobile_flatbuffer.ptl",
    "program/export.pt2",      "libtorch/tensors.pt",  "tar/tensors.tar",        "others/small.safetensors",
    "others/small.gguf",       "others/small.npy",     "others/small.npz",       "libtorch/parameters_flatbuffer.ptl",
};

// Small budgets: a damaged number must not make a test wait.
Limits small_limits() {
  Limits limits;
  limits.max_memory = std::uint64_t{16} << 20;
  limits.max_opcodes = 1'000'000;
  return limits;
}

constexpr std::size_t kEdge = 700;       // of a long file: its beginning and its end, where headers and directories are
constexpr std::size_t kPrefixes = 3000;  // of a long file: so many, evenly

class Damaged : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    bytes_ = support::read_fixture(GetParam());
    ASSERT_FALSE(bytes_.empty());
  }
  std::string read(std::span<const std::byte> bytes) {
    const auto start = std::chrono::steady_clock::now();
    std::string text = support::listing(borrow_memory(bytes), small_limits());
    slowest_ = std::max(slowest_, std::chrono::steady_clock::now() - start);
    return text;
  }
  std::vector<std::byte> bytes_;
  std::chrono::steady_clock::duration slowest_{};
};

TEST_P(Damaged, no_prefix_crashes_or_passes_for_the_whole) {
  const std::string whole = read(bytes_);
  const std::size_t step = std::max<std::size_t>(1, bytes_.size() / kPrefixes);
  std::size_t equal = 0;
  for (std::size_t length = 0; length < bytes_.size(); length += step) {
    const auto cut = std::span(bytes_).subspan(length);
    const bool only_padding = std::all_of(cut.begin(), cut.end(), [](std::byte b) { return b == std::byte{0}; });
    if (!only_padding && read(std::span(bytes_).first(length)) == whole) ++equal;
  }
  // Only what ends in something that nobody reads (a garbage tail, the last of several pickles) may be cut unseen.
  EXPECT_LE(equal, 64U);
  EXPECT_LT(slowest_, std::chrono::seconds(5));
}

TEST_P(Damaged, no_flipped_bit_of_a_header_crashes) {
  for (std::size_t at = 0; at < bytes_.size(); ++at) {
    if (at >= kEdge && at + kEdge < bytes_.size()) continue;
    for (int bit = 0; bit < 8; ++bit) {
      bytes_[at] ^= std::byte{1} << bit;
      EXPECT_FALSE(read(bytes_).empty());
      bytes_[at] ^= std::byte{1} << bit;
    }
  }
  EXPECT_LT(slowest_, std::chrono::seconds(5));
}

std::string readable(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryContainer, Damaged, testing::ValuesIn(kOnePerContainer), readable);

}  // namespace
}  // namespace wick
