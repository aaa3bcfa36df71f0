// SPDX-License-Identifier: Apache-2.0
// Expected values: torch.serialization.legacy_load (docs/formats/torch-tar.md) and the bytes written here.
#include "torch/readers.h"
#include "torch_pickles.h"

namespace wick::torch {
namespace {

using namespace wick::testing;  // NOLINT(google-build-using-namespace)

std::string octal(std::uint64_t value, std::size_t digits) {
  std::string out(digits, '0');
  for (std::size_t i = digits; i > 0 && value != 0; value >>= 3U) out[--i] = static_cast<char>('0' + (value & 7U));
  return out;
}

std::string member(const std::string& name, const std::string& content) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(124, 11, octal(content.size(), 11));
  header.replace(136, 11, octal(0, 11));
  header.replace(148, 8, "        ");
  header[156] = '0';
  header.replace(257, 6, std::string("ustar\0", 6));
  header.replace(263, 2, "00");
  std::uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 8, octal(sum, 6) + std::string("\0 ", 2));
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

std::string number(std::uint64_t value) {
  std::string out;
  put64(out, value);
  return out;
}

// Two storages (one a part of the other) and two tensors, as 0.1 wrote them.
std::string old_tar(const std::string& root) {
  const std::string storages =
      pickle_of(integer(1)) + pickle_of(tuple({integer(11), str("cpu"), global("torch", "FloatStorage")})) + number(3) +
      "abcdefghijkl" + pickle_of(list({tuple({integer(12), integer(11), integer(1), integer(2)})}));
  const auto tensor = [](std::int64_t key, std::int64_t from, std::uint64_t size, std::uint64_t offset) {
    return pickle_of(tuple({integer(key), integer(from), global("torch", "FloatTensor")})) + number(1) + number(size) +
           number(1) + number(offset);
  };
  return member("sys_info", pickle_of("}")) + member("storages", storages) +
         member("tensors", pickle_of(integer(3)) + tensor(21, 11, 3, 0) + tensor(22, 12, 1, 1) + tensor(23, 99, 1, 0)) +
         member("pickle", pickle_of(root)) + std::string(1024, '\0');
}

TEST(TorchTar, reads_tensors_parts_of_storages_and_what_is_missing) {
  const auto probe = probe_of(old_tar(dict({str("a"), persistent(integer(21)), str("b"), persistent(str("22")),
                                            str("c"), persistent(integer(23)), str("d"), persistent(integer(24))})));
  ASSERT_TRUE(is_torch_tar(probe));
  const Rows rows(read_torch_tar(probe));
  ASSERT_TRUE(rows.ok()) << rows.error().to_string();
  EXPECT_EQ(rows.elements("a"), "abcdefghijkl");
  EXPECT_EQ(rows.elements("b"), "ijkl");
  EXPECT_EQ(rows.error_of("c"), "storage 99 is not there");
  EXPECT_EQ(rows.error_of("d"), "tensor 24 is not there");
  EXPECT_EQ(rows.contents().facts.persistent_ids, 4U);
}

TEST(TorchTar, ends_every_cut_in_an_error) {
  const std::string file = old_tar(dict({str("a"), persistent(integer(21))}));
  for (std::size_t length = 0; length < file.size() - 1024 - 512; length += 64) {
    const auto probe = probe_of(file.substr(0, length));
    EXPECT_FALSE(is_torch_tar(probe) && read_torch_tar(probe).ok()) << length;
  }
}

}  // namespace
}  // namespace wick::torch
