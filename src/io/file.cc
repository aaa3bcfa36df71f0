// SPDX-License-Identifier: Apache-2.0
// Regular files by pread and by mapping (POSIX). A file that shrinks or changes while it is read is an Error, never a
// signal, for everything that goes through read(); only view() of a mapped file touches mapped pages.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/checked.h"
#include "io/source.h"

namespace wick {
namespace {

Error refused(std::string_view what, int number) {
  const ErrorCode code = number == ENOENT || number == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Io;
  return fail(code, "{}: {}", what, std::generic_category().message(number));
}

// What must stay the same between two looks at one open file.
struct Identity {
  std::uint64_t size = 0;
  struct timespec modified {};
  friend bool operator==(const Identity& a, const Identity& b) {
    return a.size == b.size && a.modified.tv_sec == b.modified.tv_sec && a.modified.tv_nsec == b.modified.tv_nsec;
  }
};

Identity identity_of(const struct stat& status) { return {static_cast<std::uint64_t>(status.st_size), status.st_mtim}; }

class FileSource final : public ByteSource {
 public:
  FileSource(int descriptor, Identity identity, std::string name)
      : descriptor_(descriptor), identity_(identity), name_(std::move(name)) {}
  ~FileSource() override {
    if (mapping_ != nullptr) ::munmap(mapping_, static_cast<std::size_t>(identity_.size));
    ::close(descriptor_);
  }

  [[nodiscard]] std::uint64_t size() const override { return identity_.size; }
  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] Result<void> read(std::span<const Read> pieces) const override {
    for (const Read& piece : pieces) WICK_CHECK(read_piece(piece));
    return {};
  }

  [[nodiscard]] Result<ByteView> view(std::uint64_t offset, std::uint64_t length) const override {
    if (!lies_within(offset, length, identity_.size))
      return fail_at(ErrorCode::Truncated, offset, "{} bytes wanted here, the file has {} in all", length,
                     identity_.size);
    if (length == 0) return ByteView{};
    if (mapping_ != nullptr)
      return ByteView{{static_cast<const std::byte*>(mapping_) + offset, static_cast<std::size_t>(length)},
                      shared_from_this()};
    return map_range(offset, length);
  }

  Result<void> map() {
    if (identity_.size == 0) return {};
    void* mapping = ::mmap(nullptr, static_cast<std::size_t>(identity_.size), PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (mapping == MAP_FAILED) return refused("can not map it", errno);
    mapping_ = mapping;
    return {};
  }

 private:
  // Maps the pages that hold the range; the view's owner unmaps them.
  [[nodiscard]] Result<ByteView> map_range(std::uint64_t offset, std::uint64_t length) const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !(identity_of(status) == identity_))
      return fail_at(ErrorCode::Mismatch, offset, "the file was changed since it was opened");
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t lead = offset % page;
    const auto mapped = static_cast<std::size_t>(lead + length);
    void* pages = ::mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE, descriptor_, static_cast<off_t>(offset - lead));
    if (pages == MAP_FAILED) return refused("can not map it", errno);
    std::shared_ptr<const void> owner(pages, [mapped](void* p) { ::munmap(p, mapped); });
    return ByteView{{static_cast<const std::byte*>(pages) + lead, static_cast<std::size_t>(length)}, std::move(owner)};
  }

  [[nodiscard]] Result<void> read_piece(const Read& piece) const {
    if (!lies_within(piece.offset, piece.into.size(), identity_.size))
      return fail_at(ErrorCode::Truncated, piece.offset, "{} bytes wanted here, the file has {} in all",
                     piece.into.size(), identity_.size);
    std::size_t done = 0;
    while (done < piece.into.size()) {
      const ssize_t got = ::pread(descriptor_, piece.into.data() + done, piece.into.size() - done,
                                  static_cast<off_t>(piece.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return refused("can not read it", errno).at(piece.offset + done);
      if (got == 0)
        return fail_at(ErrorCode::Truncated, piece.offset + done,
                       "the file became shorter than the {} bytes it had when it was opened", identity_.size);
      done += static_cast<std::size_t>(got);
    }
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0 && !(identity_of(status) == identity_))
      return fail_at(ErrorCode::Mismatch, piece.offset, "the file was changed while it was being read");
    return {};
  }

  int descriptor_;
  Identity identity_;
  std::string name_;
  void* mapping_ = nullptr;
};

Result<std::shared_ptr<FileSource>> open_regular(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: a FIFO must not hang us
  if (descriptor < 0) return refused("can not open it", errno).inside(path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return Error(ErrorCode::Io, S_ISDIR(status.st_mode) ? "is a folder" : "is not a regular file").inside(path);
  }
  return std::make_shared<FileSource>(descriptor, identity_of(status), path);
}

}  // namespace

Result<std::shared_ptr<const ByteSource>> open_file(const std::string& path) {
  WICK_TRY(auto file, open_regular(path));
  return std::shared_ptr<const ByteSource>(std::move(file));
}

Result<std::shared_ptr<const ByteSource>> map_file(const std::string& path) {
  WICK_TRY(auto file, open_regular(path));
  if (auto mapped = file->map(); !mapped) return std::move(mapped).error().inside(path);
  return std::shared_ptr<const ByteSource>(std::move(file));
}

}  // namespace wick
