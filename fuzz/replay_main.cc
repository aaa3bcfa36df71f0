// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over files: seeds and past crashes, as a test, with any compiler. Arguments are files or folders;
// a folder that is not there counts as empty.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

int main(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    const std::filesystem::path given = arguments[i];
    if (std::filesystem::is_regular_file(given)) files.push_back(given);
    if (!std::filesystem::is_directory(given)) continue;
    for (const auto& found : std::filesystem::recursive_directory_iterator(given))
      if (found.is_regular_file()) files.push_back(found.path());
  }
  std::sort(files.begin(), files.end());
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    // A copy of exactly this size, so that AddressSanitizer sees a read behind it.
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  }
  std::printf("%zu files replayed\n", files.size());
  return 0;
}
