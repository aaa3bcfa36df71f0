// SPDX-License-Identifier: Apache-2.0
// RFC 1952 (gzip), RFC 1950 (zlib), the .xz and .lzma format descriptions of XZ Utils, bzip2, RFC 8878 (zstd).
#include "archive/wrapper.h"

#include <algorithm>
#include <bit>

#include "archive/decoder.h"
#include "base/cursor.h"
#include "base/try.h"

namespace wick::archive {
namespace {

using namespace std::string_view_literals;

bool looks_like_zlib(std::span<const std::byte> head) {
  if (head.size() < 6) return false;
  const auto cmf = std::to_integer<unsigned>(head[0]);
  const auto flags = std::to_integer<unsigned>(head[1]);
  if ((cmf & 0xFU) != 8 || cmf >> 4U > 7 || (cmf * 256 + flags) % 31 != 0 || (flags & 0x20U) != 0) return false;
  // Two bytes such as "x^" begin texts as well: what follows must decode.
  auto decoder = make_decoder(Wrapper::Zlib, {});
  std::byte out[4096];
  return decoder.ok() && (*decoder)->step(head.first(std::min<std::size_t>(head.size(), 512)), out).ok();
}

// 13 bytes: properties, dictionary size, size or all ones. The conditions are those of xz's own is_format_lzma, and the
// first byte of the range coder is 0.
bool looks_like_lzma(std::span<const std::byte> head) {
  if (head.size() < 18 || head[0] >= std::byte{225} || head[13] != std::byte{0}) return false;
  const unsigned properties = std::to_integer<unsigned>(head[0]) % 45;
  if (properties % 9 + properties / 9 > 4) return false;
  const auto window = load_le<std::uint32_t>(&head[1]);
  const bool power = std::has_single_bit(window) || window == 0xFFFFFFFF;
  const bool between = std::has_single_bit(window / 3) && window % 3 == 0;  // 2^n + 2^(n-1)
  if (window < 4096 || !(power || between)) return false;
  const auto size = load_le<std::uint64_t>(&head[5]);
  return size == ~std::uint64_t{0} || size < std::uint64_t{1} << 38U;
}

constexpr std::size_t kInPiece = std::size_t{256} << 10;
constexpr std::size_t kOutPiece = std::size_t{256} << 10;
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 20;  // before the ratio counts

class Unwrapping {
 public:
  Unwrapping(const ByteSource& source, Wrapper wrapper, const Limits& limits)
      : source_(source), wrapper_(wrapper), limits_(limits), in_(kInPiece), out_(kOutPiece) {}

  Result<std::vector<std::byte>> run() {
    WICK_TRY(decoder_, make_decoder(wrapper_, limits_));
    bool ended = false;
    while (true) {
      WICK_CHECK(refill());
      if (ended && have().empty()) return std::move(all_);
      if (ended) {
        WICK_TRY(const bool another, begin_another());
        if (!another) return std::move(all_);
        ended = false;
      }
      auto step = decoder_->step(have(), out_);
      if (!step) return std::move(step).error().at(offset());
      used_ += step->consumed;
      all_.insert(all_.end(), out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(step->produced));
      WICK_CHECK(check_budget());
      ended = step->ended;
      if (!ended && step->consumed == 0 && step->produced == 0 && read_ == source_.size() && !grew_)
        return fail_at(ErrorCode::Truncated, source_.size(),
                       "the {} stream has no end in the {} bytes present; {} bytes came out of it", name_of(wrapper_),
                       source_.size(), all_.size());
      grew_ = false;
    }
  }

 private:
  [[nodiscard]] std::span<const std::byte> have() const { return std::span(in_).subspan(used_, filled_ - used_); }
  [[nodiscard]] std::uint64_t offset() const { return read_ - (filled_ - used_); }

  // Reads on when all was used, or when the decoder could do nothing with what little was left.
  Result<void> refill() {
    const std::size_t left = filled_ - used_;
    if (read_ == source_.size() || left > kInPiece / 2) return {};
    std::move(in_.begin() + static_cast<std::ptrdiff_t>(used_), in_.begin() + static_cast<std::ptrdiff_t>(filled_),
              in_.begin());
    used_ = 0;
    filled_ = left;
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(kInPiece - left, source_.size() - read_));
    WICK_CHECK(source_.read_at(read_, std::span(in_).subspan(left, more)));
    filled_ += more;
    read_ += more;
    grew_ = true;
    return {};
  }

  // Behind a member: another one (its first bytes tell), or zeros, as tapes pad and xz may between its streams.
  Result<bool> begin_another() {
    WICK_TRY(const bool padded, skip_zeros());
    if (have().empty()) return false;
    const bool may_follow = wrapper_ != Wrapper::Zlib && wrapper_ != Wrapper::Lzma;
    if (!may_follow || (padded && wrapper_ != Wrapper::Xz) || detect_wrapper(have()) != wrapper_)
      return fail_at(ErrorCode::Malformed, offset(), "{} bytes follow the end of the {} stream",
                     source_.size() - offset(), name_of(wrapper_));
    WICK_CHECK(decoder_->restart());
    return true;
  }

  Result<bool> skip_zeros() {
    bool any = false;
    while (!have().empty() && have().front() == std::byte{0}) {
      any = true;
      const auto rest = have();
      const auto other = std::find_if(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; });
      used_ += static_cast<std::size_t>(other - rest.begin());
      WICK_CHECK(refill());
    }
    return any;
  }

  Result<void> check_budget() {
    if (auto fits = check_memory(limits_, all_.size(), "decompressing this"); !fits)
      return std::move(fits).error().at(offset());
    if (all_.size() <= kFreeBytes || (all_.size() - kFreeBytes) / limits_.max_ratio <= offset()) return {};
    return fail_at(ErrorCode::Limit, offset(), "{} compressed bytes hold {} or more, above {} for each (--max-ratio)",
                   offset(), all_.size(), limits_.max_ratio);
  }

  const ByteSource& source_;
  Wrapper wrapper_;
  const Limits& limits_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
  std::size_t used_ = 0;    // of in_
  std::size_t filled_ = 0;  // of in_
  std::uint64_t read_ = 0;  // of the source
  bool grew_ = false;
  std::vector<std::byte> all_;
};

}  // namespace

std::optional<Wrapper> detect_wrapper(std::span<const std::byte> head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("\x1F\x8B\x08"sv)) return Wrapper::Gzip;
  if (text.starts_with("\xFD\x37zXZ\0"sv)) return Wrapper::Xz;
  if (text.starts_with("\x28\xB5\x2F\xFD"sv)) return Wrapper::Zstd;
  // A zstd frame to be skipped, 0x184D2A50 to 5F.
  if (text.size() >= 4 && (load_le<std::uint32_t>(head.data()) & 0xFFFFFFF0U) == 0x184D2A50U) return Wrapper::Zstd;
  if (text.size() >= 10 && text.starts_with("BZh") && text[3] >= '1' && text[3] <= '9' &&
      (text.substr(4, 6) == "1AY&SY" || text.substr(4, 6) == "\x17\x72\x45\x38\x50\x90"))
    return Wrapper::Bzip2;
  if (looks_like_zlib(head)) return Wrapper::Zlib;
  if (looks_like_lzma(head)) return Wrapper::Lzma;
  return std::nullopt;
}

std::string_view name_of(Wrapper wrapper) {
  switch (wrapper) {
    case Wrapper::Gzip: return "gzip";
    case Wrapper::Zlib: return "zlib";
    case Wrapper::Xz: return "xz";
    case Wrapper::Lzma: return "lzma";
    case Wrapper::Bzip2: return "bzip2";
    case Wrapper::Zstd: return "zstd";
  }
  return "unknown";
}

Result<io::SourcePtr> unwrap(const io::SourcePtr& source, Wrapper wrapper, const Limits& limits, std::string name) {
  WICK_TRY(auto bytes, Unwrapping(*source, wrapper, limits).run());
  return from_memory(std::move(bytes), std::move(name));
}

}  // namespace wick::archive
