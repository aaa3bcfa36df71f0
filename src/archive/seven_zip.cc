// SPDX-License-Identifier: Apache-2.0
// 7z by libarchive, with that one format and no filter enabled: some of its filters start programs.
#include "archive/wrapper.h"

#include <algorithm>
#include <memory>

#include "base/cursor.h"
#include "base/try.h"

#ifdef WICK_HAVE_7Z
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#endif

namespace wick::archive {

bool looks_like_7z(std::span<const std::byte> head) {
  return as_text(head).starts_with(std::string_view("7z\xBC\xAF\x27\x1C", 6));
}

#ifndef WICK_HAVE_7Z

namespace {
Error left_out() {
  return Error(ErrorCode::Unsupported, "this wick was built without 7z")
      .advise("unpack it first, or build wick with WICK_WITH_7Z");
}
}  // namespace

Result<std::vector<SevenZipEntry>> list_7z(const io::SourcePtr& /*source*/, const Limits& /*limits*/) {
  return left_out();
}
Result<io::SourcePtr> open_7z_entry(const io::SourcePtr& /*source*/, std::string_view /*entry*/,
                                    const Limits& /*limits*/) {
  return left_out();
}

#else

namespace {

// libarchive turns 7z's UTF-16 names into the locale's letters; for this thread, and as long as this lives, UTF-8.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = uselocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (utf8_ == nullptr) return;
    uselocale(before_);
    freelocale(utf8_);
  }

 private:
  locale_t utf8_;
  locale_t before_ = nullptr;
};

class Reader {
 public:
  Reader(io::SourcePtr source, const Limits& limits) : source_(std::move(source)), limits_(limits), buffer_(64 << 10) {}

  Result<void> open() {
    archive_.reset(archive_read_new());
    if (!archive_) return Error(ErrorCode::Limit, "not enough memory to open it");
    ::archive* a = archive_.get();
    archive_read_support_format_7zip(a);
    archive_read_set_callback_data(a, this);
    archive_read_set_read_callback(a, read);
    archive_read_set_seek_callback(a, seek);
    if (archive_read_open1(a) != ARCHIVE_OK) return refusal();
    return {};
  }

  // The next entry, nullptr behind the last. Whatever lies before it is decompressed: hence the budget.
  Result<archive_entry*> next() {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(archive_.get(), &entry);
    if (code == ARCHIVE_EOF) return static_cast<archive_entry*>(nullptr);
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return refusal();
    if (archive_entry_is_encrypted(entry) != 0) return Error(ErrorCode::Unsupported, "the archive is encrypted");
    if (++entries_ > limits_.max_members)
      return fail(ErrorCode::Limit, "more than {} entries (--max-members)", limits_.max_members);
    const auto size = static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(entry)));
    if (__builtin_add_overflow(total_, size, &total_) ||
        (total_ > kFreeBytes && (total_ - kFreeBytes) / limits_.max_ratio > source_->size()))
      return fail(ErrorCode::Limit, "{} bytes are said to hold {} or more, above {} for each (--max-ratio)",
                  source_->size(), total_, limits_.max_ratio);
    return entry;
  }

  Result<std::vector<std::byte>> read_entry(std::uint64_t size) {
    WICK_CHECK(check_memory(limits_, size, "decompressing this"));
    std::vector<std::byte> bytes;
    while (true) {
      const std::size_t done = bytes.size();
      bytes.resize(done + kPiece);
      const la_ssize_t got = archive_read_data(archive_.get(), &bytes[done], kPiece);
      if (got < 0) return refusal();
      bytes.resize(done + static_cast<std::size_t>(got));
      if (bytes.size() > size) return fail(ErrorCode::Mismatch, "more bytes come out than the {} declared", size);
      if (got > 0) continue;
      if (bytes.size() < size)
        return fail(ErrorCode::Truncated, "{} of the {} bytes declared came out", bytes.size(), size);
      return bytes;
    }
  }

 private:
  static constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 20;
  static constexpr std::size_t kPiece = std::size_t{256} << 10;
  struct Free {
    void operator()(::archive* a) const { archive_read_free(a); }
  };

  static la_ssize_t read(::archive* /*a*/, void* self, const void** bytes) {
    auto& reader = *static_cast<Reader*>(self);
    const std::uint64_t left = reader.source_->size() - reader.at_;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, reader.buffer_.size()));
    *bytes = reader.buffer_.data();
    if (auto done = reader.source_->read_at(reader.at_, std::span(reader.buffer_).first(count)); !done) {
      reader.failure_ = std::move(done).error();
      return ARCHIVE_FATAL;
    }
    reader.at_ += count;
    return static_cast<la_ssize_t>(count);
  }

  static la_int64_t seek(::archive* /*a*/, void* self, la_int64_t offset, int whence) {
    auto& reader = *static_cast<Reader*>(self);
    const auto size = static_cast<la_int64_t>(reader.source_->size());
    const la_int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_END ? size : static_cast<la_int64_t>(reader.at_);
    if (offset < -from || offset > size - from) return ARCHIVE_FATAL;
    reader.at_ = static_cast<std::uint64_t>(from + offset);
    return from + offset;
  }

  Error refusal() {
    if (failure_) return *std::move(failure_);
    const char* text = archive_error_string(archive_.get());
    const std::string_view reason = text != nullptr ? text : "it can not be read";
    const auto says = [reason](std::string_view word) { return reason.find(word) != std::string_view::npos; };
    const ErrorCode code = says("runcated")                                                  ? ErrorCode::Truncated
                           : says("nsupported") || says("ncrypted") || says("not supported") ? ErrorCode::Unsupported
                           : says("allocate memory")                                         ? ErrorCode::Limit
                                                                                             : ErrorCode::Malformed;
    return fail(code, "7z: {}", reason);
  }

  Utf8Locale locale_;
  io::SourcePtr source_;
  const Limits& limits_;
  std::vector<std::byte> buffer_;
  std::uint64_t at_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t entries_ = 0;
  std::optional<Error> failure_;
  std::unique_ptr<::archive, Free> archive_;
};

std::string name_of_entry(archive_entry* entry) {
  if (const char* name = archive_entry_pathname_utf8(entry); name != nullptr) return name;
  if (const char* name = archive_entry_pathname(entry); name != nullptr) return name;
  return {};
}

std::uint64_t size_of_entry(archive_entry* entry) {
  return static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(entry)));
}

}  // namespace

Result<std::vector<SevenZipEntry>> list_7z(const io::SourcePtr& source, const Limits& limits) {
  Reader reader(source, limits);
  WICK_CHECK(reader.open());
  std::vector<SevenZipEntry> entries;
  while (true) {
    WICK_TRY(archive_entry * entry, reader.next());
    if (entry == nullptr) return entries;
    if (archive_entry_filetype(entry) == AE_IFREG) entries.push_back({name_of_entry(entry), size_of_entry(entry)});
  }
}

Result<io::SourcePtr> open_7z_entry(const io::SourcePtr& source, std::string_view entry, const Limits& limits) {
  Reader reader(source, limits);
  WICK_CHECK(reader.open());
  while (true) {
    WICK_TRY(archive_entry * found, reader.next());
    if (found == nullptr) return fail(ErrorCode::NotFound, "no member of that name").inside(entry);
    if (archive_entry_filetype(found) != AE_IFREG || name_of_entry(found) != entry) continue;
    auto bytes = reader.read_entry(size_of_entry(found));
    if (!bytes) return std::move(bytes).error().inside(entry);
    return from_memory(*std::move(bytes), fmt::format("{}::{}", source->name(), entry));
  }
}

#endif

}  // namespace wick::archive
