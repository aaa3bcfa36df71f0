// SPDX-License-Identifier: Apache-2.0
// Raw deflate streams of known size, by libdeflate. RFC 1951.
#include <libdeflate.h>

#include <memory>

#include "archive/zip.h"
#include "base/try.h"

namespace wick::archive {
namespace {

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

// Inflation is free of charge up to here, so that small records of zeros are no bombs.
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 20;

Result<void> check_size(std::uint64_t deflated, std::uint64_t size, const Limits& limits) {
  WICK_CHECK(check_memory(limits, size, "inflating this"));
  if (size <= kFreeBytes || (size - kFreeBytes) / limits.max_ratio <= deflated) return {};
  return fail(ErrorCode::Limit, "{} compressed bytes are said to hold {}, more than {} for each (--max-ratio)",
              deflated, size, limits.max_ratio);
}

}  // namespace

Result<std::vector<std::byte>> inflate_raw(std::span<const std::byte> deflated, std::uint64_t size,
                                           const Limits& limits) {
  WICK_CHECK(check_size(deflated.size(), size, limits));
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) return Error(ErrorCode::Limit, "not enough memory to inflate");
  std::vector<std::byte> inflated(static_cast<std::size_t>(size));
  std::size_t consumed = 0;
  std::size_t produced = 0;
  std::byte none{};  // libdeflate wants a place to write to even for nothing
  switch (libdeflate_deflate_decompress_ex(decompressor.get(), deflated.data(), deflated.size(),
                                           inflated.empty() ? &none : inflated.data(), inflated.size(), &consumed,
                                           &produced)) {
    case LIBDEFLATE_SUCCESS: break;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      return fail(ErrorCode::Mismatch, "the deflate stream holds more than the {} bytes declared", size);
    case LIBDEFLATE_SHORT_OUTPUT:
    case LIBDEFLATE_BAD_DATA:
      return fail(ErrorCode::Malformed, "the {} bytes are no valid deflate stream", deflated.size());
  }
  if (produced != size)
    return fail(ErrorCode::Mismatch, "the deflate stream holds {} bytes, {} are declared", produced, size);
  if (consumed != deflated.size())
    return fail(ErrorCode::Mismatch, "the deflate stream ends after {} of {} bytes", consumed, deflated.size());
  return inflated;
}

}  // namespace wick::archive
