// SPDX-License-Identifier: Apache-2.0
// Zip archives as hostile input: the central directory in memory, local headers read only when bytes are wanted.
// Format: docs/formats/zip.md, APPNOTE 6.3.10, reference of PyTorch's own reader in docs/formats/torch-zip.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/finding.h"
#include "io/source.h"

namespace wick::archive {

// One central directory entry, sizes and offsets with zip64 resolved. `name` is valid while the Zip lives.
struct ZipEntry {
  std::string_view name;
  std::uint64_t compressed = 0;  // bytes in the archive
  std::uint64_t size = 0;        // bytes when inflated
  std::uint64_t header = 0;      // absolute offset of the local header in the source (bytes before the archive counted)
  std::uint32_t crc = 0;
  std::uint16_t method = 0;  // 0 stored, 8 deflated; others can be listed but not read
  std::uint16_t flags = 0;   // bit 0 encrypted, bit 3 descriptor, bit 11 UTF-8 name
  bool is_folder = false;    // name ends in '/'
};

// Immutable and safe from several threads; keeps its source alive. Errors about one entry have its name as where().
class Zip {
 public:
  // Reads the end records and the central directory (and nothing else). Accepts a comment, bytes before and after the
  // archive (told in findings()), zip64, and up to limits.max_members entries. Truncated when no end record is there,
  // with the number of bytes present.
  static Result<std::shared_ptr<const Zip>> open(io::SourcePtr source, const Limits& limits);
  ~Zip();

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] ZipEntry entry(std::size_t index) const;
  // Index of the entry with exactly this name; the last one in the directory when a name is there twice (as zipfile
  // does).
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const;
  // The same without regard to ASCII case, as torch's reader looks names up.
  [[nodiscard]] std::optional<std::uint32_t> find_ignoring_case(std::string_view name) const;

  // Whether header and bytes can lie where the directory puts them, by the directory alone: nothing is read.
  [[nodiscard]] Result<void> check_entry(std::size_t index) const;
  // Absolute offset of the entry's first byte. Reads one local header; Malformed when it is none, Mismatch when it
  // names something else.
  [[nodiscard]] Result<std::uint64_t> data_offset(std::size_t index) const;
  // The whole record, inflated. Checks lengths always, the CRC when `check_crc` and there is one (0 = left out, as
  // torch can do): Mismatch. Limit above max_memory or max_ratio, Unsupported for encrypted entries and methods other
  // than 0 and 8.
  [[nodiscard]] Result<std::vector<std::byte>> read(std::size_t index, const Limits& limits,
                                                    bool check_crc = true) const;
  // A stored entry as a source of its own (no copy); a deflated one inflated into memory. Named "<source name>::<entry
  // name>".
  [[nodiscard]] Result<io::SourcePtr> open_entry(std::size_t index, const Limits& limits) const;

  [[nodiscard]] const io::SourcePtr& source() const;
  [[nodiscard]] std::string_view comment() const;
  [[nodiscard]] std::uint64_t bytes_before() const;  // junk before the first local header
  [[nodiscard]] std::uint64_t bytes_after() const;   // bytes after the end record and its comment
  // What is odd: bytes before or after, duplicate names, names that differ only in case, encrypted entries, wrong
  // counts.
  [[nodiscard]] const Findings& findings() const;

 private:
  struct State;
  explicit Zip(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Inflates `count` raw deflate bytes to exactly `size` bytes. Malformed when the stream ends elsewhere, Limit by ratio
// or memory.
Result<std::vector<std::byte>> inflate_raw(std::span<const std::byte> deflated, std::uint64_t size,
                                           const Limits& limits);

}  // namespace wick::archive
