// SPDX-License-Identifier: Apache-2.0
// Where bytes come from. Metadata, verification and conversion read by pread; mapping is for views a caller asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/error.h"
#include "wick/export.h"

namespace wick {

// Bytes that are already somewhere, and what keeps them there.
struct ByteView {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// An immutable run of bytes that is read by range. Every const call is safe from several threads at once. Always held
// by shared_ptr.
class WICK_API ByteSource : public std::enable_shared_from_this<ByteSource> {
 public:
  // One piece of a list of reads: `into.size()` bytes starting at byte `offset` of the source.
  struct Read {
    std::uint64_t offset = 0;
    std::span<std::byte> into;
  };

  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Length in bytes when it was opened; it never changes during the life of the source.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // What a person calls it: the path as given, "FILE::member", or "" for memory.
  [[nodiscard]] virtual const std::string& name() const = 0;
  // Fills every piece completely or fails: Truncated when the bytes are not there (also when a file shrank since it was
  // opened), Mismatch when the file was changed meanwhile, Io when the system refuses.
  [[nodiscard]] virtual Result<void> read(std::span<const Read> pieces) const = 0;
  // The bytes [offset, offset+length) without a copy. A source of open_file maps just that range when it is asked; the
  // view keeps what it shows alive. Unsupported when this source can not (it says why), Truncated when the range is
  // outside.
  [[nodiscard]] virtual Result<ByteView> view(std::uint64_t offset, std::uint64_t length) const;

  // One read. Same errors as read().
  [[nodiscard]] Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const;
};

// Opens a regular file for pread. Errors: NotFound, Io (a folder, no permission ...). `path` is UTF-8 or the system's
// own bytes.
WICK_API Result<std::shared_ptr<const ByteSource>> open_file(const std::string& path);

// Maps a regular file read-only as a whole, so that many views share one mapping. If another process truncates the file
// while it (or a view) is mapped, touching the lost pages raises SIGBUS as with any mapping; read() never touches
// mapped pages.
WICK_API Result<std::shared_ptr<const ByteSource>> map_file(const std::string& path);

// Bytes the caller already has. The first copies nothing and owns the vector; the second borrows: the caller keeps
// `bytes` alive for as long as anything opened from it.
WICK_API std::shared_ptr<const ByteSource> from_memory(std::vector<std::byte> bytes, std::string name = {});
WICK_API std::shared_ptr<const ByteSource> borrow_memory(std::span<const std::byte> bytes, std::string name = {});

}  // namespace wick
