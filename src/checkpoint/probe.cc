// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/probe.h"

#include <algorithm>
#include <array>

#include "archive/tar.h"
#include "base/try.h"

namespace wick::checkpoint {
namespace {

constexpr std::size_t kHead = 4096;
constexpr std::uint64_t kTail = 65'557;  // an end record and the longest comment
constexpr std::array<std::byte, 4> kLocalHeader{std::byte{'P'}, std::byte{'K'}, std::byte{3}, std::byte{4}};
constexpr std::array<std::byte, 4> kEndRecord{std::byte{'P'}, std::byte{'K'}, std::byte{5}, std::byte{6}};

bool begins_with(std::span<const std::byte> bytes, std::span<const std::byte> prefix) {
  return bytes.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

// Bytes may lie before an archive (self-extracting files): then only its end tells.
Result<bool> has_end_record(const ByteSource& source) {
  const std::uint64_t length = std::min(kTail, source.size());
  std::vector<std::byte> tail(static_cast<std::size_t>(length));
  WICK_CHECK(source.read_at(source.size() - length, tail));
  return std::search(tail.begin(), tail.end(), kEndRecord.begin(), kEndRecord.end()) != tail.end();
}

}  // namespace

Result<Probe> probe(io::SourcePtr source, std::string name, const Context& context) {
  Probe seen;
  WICK_TRY(seen.head, io::read_head(*source, kHead));
  seen.name = std::move(name);
  seen.context = context;
  const bool starts_as_zip = begins_with(seen.head, kLocalHeader) || begins_with(seen.head, kEndRecord);
  bool maybe_zip = starts_as_zip;
  // A tar whose last member is a zip ends as one: what a file begins with counts for more.
  if (!maybe_zip && !archive::looks_like_tar(seen.head)) {
    WICK_TRY(maybe_zip, has_end_record(*source));
  }
  if (maybe_zip) {
    auto zip = archive::Zip::open(source, context.limits);
    if (zip)
      seen.zip = *std::move(zip);
    else if (starts_as_zip)
      seen.zip_error = std::move(zip).error();
  }
  seen.source = std::move(source);
  return seen;
}

}  // namespace wick::checkpoint
