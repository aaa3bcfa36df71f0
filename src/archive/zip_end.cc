// SPDX-License-Identifier: Apache-2.0
#include "archive/zip_end.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "archive/zip_format.h"
#include "base/checked.h"
#include "base/cursor.h"

namespace wick::archive {
namespace {

using namespace zip_format;

// Most archives end with the end record; only those with a comment or bytes behind them need the whole window, which
// is as far as zipfile and torch's reader look.
constexpr std::uint64_t kFirstWindow = 4096;
constexpr std::uint64_t kWholeWindow = end::kFixed + end::kLargestComment;

Result<bool> has_signature(const ByteSource& source, std::uint64_t at, std::uint32_t signature) {
  std::array<std::byte, 4> bytes{};
  if (!lies_within(at, bytes.size(), source.size())) return false;
  WICK_CHECK(source.read_at(at, bytes));
  return load_le<std::uint32_t>(bytes.data()) == signature;
}

// One end record, as far as it has been followed.
struct Candidate {
  ZipEnd end;
  std::uint64_t directory_end = 0;  // where the directory must end: the zip64 record, or the end record
  std::uint64_t named_directory = 0;
  std::uint64_t comment_bytes = 0;  // declared
  std::uint32_t disk = 0;
  std::uint32_t directory_disk = 0;
  bool saturated = false;
  bool whole = false;  // nothing before it, directory exactly where it is named
};

Result<Candidate> read_end_record(const ByteSource& source, std::uint64_t at) {
  std::array<std::byte, end::kFixed> raw{};
  WICK_CHECK(source.read_at(at, raw));
  Candidate found;
  found.end.record = found.directory_end = at;
  found.disk = load_le<std::uint16_t>(&raw[end::kDisk]);
  found.directory_disk = load_le<std::uint16_t>(&raw[end::kDirectoryDisk]);
  found.end.count = load_le<std::uint16_t>(&raw[end::kCount]);
  found.end.count_may_wrap = true;
  found.end.directory_bytes = load_le<std::uint32_t>(&raw[end::kDirectoryBytes]);
  found.named_directory = load_le<std::uint32_t>(&raw[end::kDirectory]);
  found.saturated = found.end.count == kSaturated16 || found.end.directory_bytes == kSaturated32 ||
                    found.named_directory == kSaturated32;
  found.comment_bytes = load_le<std::uint16_t>(&raw[end::kCommentBytes]);
  found.end.archive_end = std::min(at + end::kFixed + found.comment_bytes, source.size());
  return found;
}

// The zip64 record in front of the locator. It is looked for right before the locator first: behind other bytes, the
// offset the locator names may lead into an archive that lies in front.
Result<std::optional<std::uint64_t>> find_end64(const ByteSource& source, std::uint64_t locator_at,
                                                std::uint64_t named) {
  const std::uint64_t adjacent = locator_at >= end64::kFixed ? locator_at - end64::kFixed : named;
  for (const std::uint64_t at : {adjacent, named}) {
    if (!lies_within(at, end64::kFixed, locator_at)) continue;
    std::array<std::byte, end64::kFixed> raw{};
    WICK_CHECK(source.read_at(at, raw));
    if (load_le<std::uint32_t>(raw.data()) != kEnd64Signature) continue;
    const auto counted = load_le<std::uint64_t>(&raw[end64::kRecordBytes]);
    if (counted == locator_at - at - end64::kUncounted) return std::optional<std::uint64_t>(at);
  }
  return std::optional<std::uint64_t>();
}

// Takes the numbers of the zip64 record when there is one. As zipfile and torch's reader do, it is believed even where
// the old fields would have been wide enough; a contradiction is told.
Result<void> follow_locator(const ByteSource& source, Candidate& found) {
  const std::uint64_t record = found.end.record;
  if (record < locator::kFixed) return {};
  std::array<std::byte, locator::kFixed> raw{};
  WICK_CHECK(source.read_at(record - locator::kFixed, raw));
  if (load_le<std::uint32_t>(raw.data()) != kLocatorSignature) return {};
  const auto named = load_le<std::uint64_t>(&raw[locator::kRecord]);
  WICK_TRY(const auto at, find_end64(source, record - locator::kFixed, named));
  if (!at && found.saturated)
    return fail_at(ErrorCode::Malformed, record - locator::kFixed,
                   "the zip64 locator names offset {}, where no zip64 end record is", named);
  if (!at) {
    found.end.findings.push_back({"locator-without-record",
                                  fmt::format("a zip64 locator names offset {}, where no record is", named), "",
                                  record - locator::kFixed});
    return {};
  }
  std::array<std::byte, end64::kFixed> wide{};
  WICK_CHECK(source.read_at(*at, wide));
  const auto count = load_le<std::uint64_t>(&wide[end64::kCount]);
  const auto bytes = load_le<std::uint64_t>(&wide[end64::kDirectoryBytes]);
  const auto directory = load_le<std::uint64_t>(&wide[end64::kDirectory]);
  const bool agree = (found.end.count == kSaturated16 || found.end.count == count) &&
                     (found.end.directory_bytes == kSaturated32 || found.end.directory_bytes == bytes) &&
                     (found.named_directory == kSaturated32 || found.named_directory == directory);
  if (!agree)
    found.end.findings.push_back(
        {"end-records-disagree",
         fmt::format("the zip64 end record says {} entries in {} bytes at {}, the old one {} in {} at {}", count, bytes,
                     directory, found.end.count, found.end.directory_bytes, found.named_directory),
         "", *at});
  found.disk = load_le<std::uint32_t>(&wide[end64::kDisk]);
  found.directory_disk = load_le<std::uint32_t>(&wide[end64::kDirectoryDisk]);
  found.end.count = count;
  found.end.count_may_wrap = false;
  found.end.directory_bytes = bytes;
  found.named_directory = directory;
  found.directory_end = *at;
  return {};
}

// Where the directory really is. Bytes in front of the archive shift it; something between directory and end record
// (a signature) does not. What lies at the place decides.
Result<void> place_directory(const ByteSource& source, Candidate& found) {
  ZipEnd& end = found.end;
  if (!lies_within(found.named_directory, end.directory_bytes, found.directory_end))
    return fail_at(ErrorCode::Malformed, end.record,
                   "the central directory is said to be {} bytes at {}, and must end by {}", end.directory_bytes,
                   found.named_directory, found.directory_end);
  const std::uint64_t gap = found.directory_end - found.named_directory - end.directory_bytes;
  end.base = gap;
  end.directory = found.named_directory + gap;
  found.whole = gap == 0;
  if (end.directory_bytes == 0) return {};
  WICK_TRY(const bool shifted, has_signature(source, end.directory, kDirectorySignature));
  if (shifted) return {};
  found.whole = false;
  WICK_TRY(const bool in_place, has_signature(source, found.named_directory, kDirectorySignature));
  if (!in_place)
    return fail_at(ErrorCode::Malformed, end.directory,
                   "no central directory entry begins here, where the end record at "
                   "{} leads",
                   end.record);
  end.base = 0;
  end.directory = found.named_directory;
  end.findings.push_back({"directory-gap", fmt::format("{} bytes lie between central directory and end record", gap),
                          "", end.directory + end.directory_bytes});
  return {};
}

Result<Candidate> follow(const ByteSource& source, std::uint64_t at) {
  WICK_TRY(Candidate found, read_end_record(source, at));
  WICK_CHECK(follow_locator(source, found));
  if (found.disk != 0 || found.directory_disk != 0)
    return fail_at(ErrorCode::Unsupported, at, "this is volume {} of an archive in several files", found.disk + 1);
  WICK_CHECK(place_directory(source, found));
  return found;
}

// An end record is taken from the back, as all readers do; but one that lies in the comment of an archive that is whole
// and reaches to the end of the source, or in bytes behind a whole one, is not an archive's of its own.
struct Search {
  std::optional<Candidate> best;
  std::optional<Error> refusal;  // of the last one, when none can be followed
  std::uint64_t passed = 0;      // end records behind the best one

  // Whether `found`, which lies in front of the best one so far, is the better one.
  [[nodiscard]] bool is_better(const Candidate& found, std::uint64_t size) const {
    if (!best) return true;
    if (best->whole || !found.whole) return false;
    const bool is_concatenated = best->end.base == found.end.archive_end;
    return found.end.archive_end == size || !is_concatenated;
  }
};

Result<void> search_window(const ByteSource& source, std::uint64_t window, Search& search) {
  const std::uint64_t bytes = std::min(window, source.size());
  std::vector<std::byte> tail(static_cast<std::size_t>(bytes));
  WICK_CHECK(source.read_at(source.size() - bytes, tail));
  if (tail.size() < end::kFixed) return {};
  std::uint64_t seen = 0;
  for (std::size_t i = tail.size() - end::kFixed + 1; i-- > 0;) {
    if (load_le<std::uint32_t>(&tail[i]) != kEndSignature) continue;
    auto candidate = follow(source, source.size() - bytes + i);
    ++seen;
    if (!candidate && candidate.error().code() == ErrorCode::Io) return std::move(candidate).error();
    if (!candidate && !search.refusal) search.refusal = std::move(candidate).error();
    if (!candidate || !search.is_better(*candidate, source.size())) continue;
    search.best = *std::move(candidate);
    search.passed = seen - 1;
    if (search.best->whole) return {};
  }
  return {};
}

// Of the record that was chosen alone: 64 KiB of signatures would mean reading 64 KiB for each of them.
Result<void> read_comment(const ByteSource& source, Candidate& found) {
  const std::uint64_t start = found.end.record + end::kFixed;
  std::vector<std::byte> comment(static_cast<std::size_t>(found.end.archive_end - start));
  WICK_CHECK(source.read_at(start, comment));
  found.end.comment = as_text(comment);
  if (comment.size() < found.comment_bytes)
    found.end.findings.push_back(
        {"comment-cut", fmt::format("the comment has {} of its {} bytes", comment.size(), found.comment_bytes), "",
         found.end.record + end::kCommentBytes});
  return {};
}

// True when another archive ends exactly where this one begins (`cat a.zip b.zip`, the items of a .distcp).
Result<bool> follows_an_archive(const ByteSource& source, std::uint64_t base) {
  const std::uint64_t bytes = std::min(base, kWholeWindow);
  std::vector<std::byte> before(static_cast<std::size_t>(bytes));
  WICK_CHECK(source.read_at(base - bytes, before));
  for (std::size_t i = 0; i + end::kFixed <= before.size(); ++i)
    if (load_le<std::uint32_t>(&before[i]) == kEndSignature &&
        load_le<std::uint16_t>(&before[i + end::kCommentBytes]) == before.size() - i - end::kFixed)
      return true;
  return false;
}

}  // namespace

Result<ZipEnd> find_zip_end(const ByteSource& source) {
  Search search;
  WICK_CHECK(search_window(source, kFirstWindow, search));
  if (!(search.best && search.best->whole)) {
    search = {};
    WICK_CHECK(search_window(source, kWholeWindow, search));
  }
  if (!search.best && search.refusal) return *std::move(search.refusal);
  if (!search.best)
    return fail_at(ErrorCode::Truncated, source.size(),
                   "no end of the zip directory in the {} bytes present: the end of the file is missing", source.size())
        .advise("download or copy the file again");
  WICK_CHECK(read_comment(source, *search.best));
  ZipEnd end = std::move(search.best->end);
  if (end.base > 0) {
    // A cut archive whose last whole record is an archive itself would otherwise be taken for that record.
    WICK_TRY(const bool local_first, has_signature(source, 0, kLocalSignature));
    WICK_TRY(const bool concatenated, follows_an_archive(source, end.base));
    if (local_first && !concatenated)
      return fail_at(ErrorCode::Truncated, source.size(),
                     "the only end record in the {} bytes present belongs to an archive inside, at {}: the end of the "
                     "file is missing",
                     source.size(), end.base)
          .advise("download or copy the file again");
  }
  if (search.passed > 0)
    end.findings.push_back({"end-record-behind",
                            fmt::format("{} more end records lie behind the one that is used; other readers may take "
                                        "those",
                                        search.passed),
                            "", end.record});
  return end;
}

}  // namespace wick::archive
