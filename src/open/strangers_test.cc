// SPDX-License-Identifier: Apache-2.0
// Bytes written by hand from each format's own specification.
#include <gtest/gtest.h>

#include <string>

#include "base/cursor.h"
#include "open/formats.h"

namespace wick::open_detail {
namespace {

using namespace std::string_literals;

std::pair<FileKind, Error> name(const std::string& text) {
  const auto bytes = as_bytes_of(text);
  auto probe = checkpoint::probe(from_memory({bytes.begin(), bytes.end()}), "x.bin", {});
  FileKind kind = FileKind::Unknown;
  Error error = name_the_stranger(*probe, kind);
  return {kind, error};
}

TEST(Strangers, are_named_for_what_they_are) {
  const std::pair<std::string, FileKind> kCases[] = {
      {"", FileKind::Empty},
      {"<!DOCTYPE html><html>", FileKind::Html},
      {"\n  <HTML>", FileKind::Html},
      {"<?xml version=\"1.0\"?><Error><Code>AccessDenied", FileKind::Html},
      {"\x89HDF\r\n\x1a\n....", FileKind::Hdf5},
      {"\x1c\0\0\0ET12\0\0\0\0"s, FileKind::ExecuTorch},
      {"\x1c\0\0\0TFL3\0\0\0\0"s, FileKind::TfLite},
      {"\4\0\0\0\1\0\0\0\3\0\0\0V 1\x12\0\0\0torch.DoubleTensor"s, FileKind::Torch7},
      {"\3\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\5\0\0\0hello"s, FileKind::Torch7},
      {"4\n1\n3\nV 1\n18\ntorch.DoubleTensor", FileKind::Torch7},
      {"\x08\x07\x12\x07pytorch\x1a\x05"s, FileKind::Onnx},
      {"\x08\x01\x12\x30\x0a\x07serve\x00"s, FileKind::TensorFlow},
      {"hello world\n", FileKind::Text},
      {"\x80\xff\x00\x17"s, FileKind::Unknown},
      {"\x89PNG\r\n\x1a\n", FileKind::Unknown},
  };
  for (const auto& [bytes, kind] : kCases) {
    const auto [found, error] = name(bytes);
    EXPECT_EQ(found, kind) << bytes;
    EXPECT_EQ(error.slug(), name_of(kind)) << bytes;
    EXPECT_FALSE(error.message().empty());
    EXPECT_EQ(error.where().front(), "x.bin");
  }
}

TEST(Strangers, of_git_lfs_tell_the_real_size_and_digest) {
  const auto [kind, error] = name(
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 440473133\n");
  EXPECT_EQ(kind, FileKind::GitLfsPointer);
  EXPECT_NE(error.message().find("440,473,133 bytes"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("4d7a214614ab2935"), std::string::npos);
  EXPECT_NE(error.next().find("git lfs pull"), std::string::npos);
}

}  // namespace
}  // namespace wick::open_detail
