// SPDX-License-Identifier: Apache-2.0
#include "archive/zip_head.h"

#include <zlib.h>

#include <algorithm>

#include "base/checked.h"

namespace wick::archive {
namespace {

constexpr std::size_t kChunk = 16384;

// zlib's state, freed whatever happens.
struct Inflater {
  z_stream stream{};
  bool ready = false;
  Inflater() { ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

Result<std::vector<std::byte>> inflate_head(const io::SourcePtr& source, std::uint64_t offset, std::uint64_t compressed,
                                            std::size_t count) {
  Inflater inflater;
  if (!inflater.ready) return Error(ErrorCode::Bug, "zlib could not be prepared");
  std::vector<std::byte> out(count);
  std::vector<std::byte> in;
  z_stream& stream = inflater.stream;
  stream.next_out = static_cast<Bytef*>(static_cast<void*>(out.data()));
  stream.avail_out = static_cast<uInt>(count);
  while (stream.avail_out > 0) {
    if (stream.avail_in == 0) {
      in.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, compressed)));
      if (in.empty()) return fail_at(ErrorCode::Truncated, offset, "the compressed bytes end too early");
      WICK_CHECK(source->read_at(offset, in));
      offset += in.size();
      compressed -= in.size();
      stream.next_in = static_cast<Bytef*>(static_cast<void*>(in.data()));
      stream.avail_in = static_cast<uInt>(in.size());
    }
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) break;
    if (status != Z_OK) return fail_at(ErrorCode::Malformed, offset, "the compressed bytes are damaged");
  }
  out.resize(count - stream.avail_out);
  return out;
}

}  // namespace

Result<std::vector<std::byte>> read_entry_head(const Zip& zip, std::size_t index, std::size_t count) {
  const ZipEntry entry = zip.entry(index);
  if ((entry.flags & 1U) != 0) return Error(ErrorCode::Unsupported, "the member is encrypted");
  if (entry.method != 0 && entry.method != 8)
    return fail(ErrorCode::Unsupported, "compression method {} is none that wick reads", entry.method);
  WICK_TRY(const std::uint64_t offset, zip.data_offset(index));
  if (!lies_within(offset, entry.compressed, zip.source()->size()))
    return fail_at(ErrorCode::Truncated, offset, "{} bytes wanted here, the file has {} in all", entry.compressed,
                   zip.source()->size());
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(count, entry.size));
  if (entry.method == 8) return inflate_head(zip.source(), offset, entry.compressed, wanted);
  std::vector<std::byte> head(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, entry.compressed)));
  WICK_CHECK(zip.source()->read_at(offset, head));
  return head;
}

}  // namespace wick::archive
