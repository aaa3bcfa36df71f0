// SPDX-License-Identifier: Apache-2.0
// Builds zip archives byte by byte, wrong ones too: every field can be set to what it should not be. Layout: APPNOTE
// 6.3.10, written out here once more so that the reader's own constants are not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wick::testing {

inline void put16(std::string& out, std::uint64_t value) {
  out += static_cast<char>(value & 0xFF);
  out += static_cast<char>(value >> 8U & 0xFF);
}
inline void put32(std::string& out, std::uint64_t value) {
  put16(out, value & 0xFFFF);
  put16(out, value >> 16U);
}
inline void put64(std::string& out, std::uint64_t value) {
  put32(out, value & 0xFFFFFFFF);
  put32(out, value >> 32U);
}

// CRC-32 of IEEE 802.3, bit by bit.
inline std::uint32_t plain_crc(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

// Raw deflate in stored blocks: valid, and needs no compressor.
inline std::string plain_deflate(std::string_view bytes) {
  std::string out;
  do {
    const std::string_view block = bytes.substr(0, 65535);
    bytes.remove_prefix(block.size());
    out += static_cast<char>(bytes.empty() ? 1 : 0);
    put16(out, block.size());
    put16(out, ~block.size() & 0xFFFF);
    out += block;
  } while (!bytes.empty());
  return out;
}

// What to write for one entry; what is not set is right.
struct ZipField {
  std::uint64_t method = 0;
  std::uint64_t flags = 0;
  // of the directory; the local header tells the truth
  std::optional<std::uint64_t> crc{}, compressed{}, size{}, header{};
  std::string local_extra{}, extra{}, comment{};
  std::optional<std::string> local_name{};
  bool zip64 = false;  // numbers of the directory in the zip64 extra
  bool in_directory = true;
};

struct ZipEndField {
  std::string comment{}, after{};
  std::string gap{};  // between directory and end record
  std::optional<std::uint64_t> count{}, directory_bytes{}, directory{}, comment_bytes{};
  std::uint64_t disk = 0;
  bool zip64 = false;
  bool saturate = false;  // the old record says "see zip64" everywhere
};

class ZipBuilder {
 public:
  explicit ZipBuilder(std::string before = {}) : bytes_(std::move(before)) {}

  // Returns where the entry's bytes begin.
  std::uint64_t add(std::string_view name, std::string_view content, const ZipField& field = {}) {
    const std::uint64_t header = bytes_.size();
    const std::string stored = field.method == 8 ? plain_deflate(content) : std::string(content);
    const std::string_view local_name = field.local_name ? std::string_view(*field.local_name) : name;
    bytes_ += "PK\3\4";
    put16(bytes_, 20);
    put16(bytes_, field.flags);
    put16(bytes_, field.method);
    put32(bytes_, 0x00210000);
    put32(bytes_, plain_crc(content));
    put32(bytes_, stored.size());
    put32(bytes_, content.size());
    put16(bytes_, local_name.size());
    put16(bytes_, field.local_extra.size());
    bytes_ += local_name;
    bytes_ += field.local_extra;
    const std::uint64_t data = bytes_.size();
    bytes_ += stored;
    if (field.in_directory) add_to_directory(name, content, stored.size(), header, field);
    return data;
  }

  [[nodiscard]] std::string finish(const ZipEndField& end = {}) const {
    std::string out = bytes_ + directory_ + end.gap;
    const std::uint64_t count = end.count.value_or(count_);
    const std::uint64_t size = end.directory_bytes.value_or(directory_.size());
    const std::uint64_t directory = end.directory.value_or(bytes_.size());
    if (end.zip64) {
      const std::uint64_t record = out.size();
      out += "PK\6\6";
      put64(out, 44);
      put32(out, 45 << 16 | 45);
      put32(out, end.disk);
      put32(out, end.disk);
      put64(out, count);
      put64(out, count);
      put64(out, size);
      put64(out, directory);
      out += "PK\6\7";
      put32(out, 0);
      put64(out, record);
      put32(out, 1);
    }
    out += "PK\5\6";
    put16(out, end.disk);
    put16(out, end.disk);
    put16(out, end.saturate ? 0xFFFF : count);
    put16(out, end.saturate ? 0xFFFF : count);
    put32(out, end.saturate ? 0xFFFFFFFF : size);
    put32(out, end.saturate ? 0xFFFFFFFF : directory);
    put16(out, end.comment_bytes.value_or(end.comment.size()));
    return out + end.comment + end.after;
  }

 private:
  void add_to_directory(std::string_view name, std::string_view content, std::uint64_t stored, std::uint64_t header,
                        const ZipField& field) {
    std::string extra;
    if (field.zip64) {
      put16(extra, 1);
      put16(extra, 24);
      put64(extra, field.size.value_or(content.size()));
      put64(extra, field.compressed.value_or(stored));
      put64(extra, field.header.value_or(header));
    }
    extra += field.extra;
    directory_ += "PK\1\2";
    put32(directory_, 20 << 16 | 20);
    put16(directory_, field.flags);
    put16(directory_, field.method);
    put32(directory_, 0x00210000);
    put32(directory_, field.crc.value_or(plain_crc(content)));
    put32(directory_, field.zip64 ? 0xFFFFFFFF : field.compressed.value_or(stored));
    put32(directory_, field.zip64 ? 0xFFFFFFFF : field.size.value_or(content.size()));
    put16(directory_, name.size());
    put16(directory_, extra.size());
    put16(directory_, field.comment.size());
    put16(directory_, 0);
    put16(directory_, 0);
    put32(directory_, 0);
    put32(directory_, field.zip64 ? 0xFFFFFFFF : field.header.value_or(header));
    directory_ += name;
    directory_ += extra;
    directory_ += field.comment;
    ++count_;
  }

  std::string bytes_;
  std::string directory_;
  std::uint64_t count_ = 0;
};

inline std::vector<std::byte> to_bytes(std::string_view text) {
  const auto* start = static_cast<const std::byte*>(static_cast<const void*>(text.data()));
  return {start, start + text.size()};
}
inline std::string to_text(std::span<const std::byte> bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

}  // namespace wick::testing
