// SPDX-License-Identifier: Apache-2.0
#include "archive/decoder.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/try.h"
#ifdef WICK_HAVE_XZ
#include <lzma.h>
#endif
#ifdef WICK_HAVE_BZIP2
#include <bzlib.h>
#endif

namespace wick::archive {
namespace {

// The libraries count in 32 bits, and want pointers to change.
unsigned piece(std::size_t bytes) { return static_cast<unsigned>(std::min<std::size_t>(bytes, 1U << 30U)); }
template <class T>
T* pointer(std::span<const std::byte> bytes) {
  return static_cast<T*>(const_cast<void*>(static_cast<const void*>(bytes.data())));
}

Error out_of_memory() { return Error(ErrorCode::Limit, "not enough memory to decompress"); }

class ZlibDecoder final : public Decoder {
 public:
  // 15 bits of window; 16 more asks zlib for a gzip header.
  explicit ZlibDecoder(bool gzip) : ready_(inflateInit2(&stream_, gzip ? 31 : 15) == Z_OK) {}
  ~ZlibDecoder() override {
    if (ready_) inflateEnd(&stream_);
  }
  [[nodiscard]] bool ready() const { return ready_; }

  Result<Step> step(std::span<const std::byte> in, std::span<std::byte> out) override {
    stream_.next_in = pointer<Bytef>(in);
    stream_.avail_in = piece(in.size());
    stream_.next_out = pointer<Bytef>(out);
    stream_.avail_out = piece(out.size());
    const unsigned offered = stream_.avail_in;
    const unsigned room = stream_.avail_out;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    const Step step{offered - stream_.avail_in, room - stream_.avail_out, code == Z_STREAM_END};
    switch (code) {
      case Z_OK:
      case Z_STREAM_END:
      case Z_BUF_ERROR: return step;  // no progress: more input is wanted
      case Z_NEED_DICT: return Error(ErrorCode::Unsupported, "a preset dictionary is wanted, which is not in the file");
      case Z_MEM_ERROR: return out_of_memory();
      default:
        return fail(ErrorCode::Malformed, "{}", stream_.msg != nullptr ? stream_.msg : "invalid compressed data");
    }
  }
  Result<void> restart() override {
    if (inflateReset(&stream_) != Z_OK) return Error(ErrorCode::Bug, "zlib can not be reset");
    return {};
  }

 private:
  z_stream stream_{};
  bool ready_;
};

class ZstdDecoder final : public Decoder {
 public:
  explicit ZstdDecoder(const Limits& limits) : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) return;
    // The largest window the format can ask for is 2^31; what max_memory does not allow is refused by name.
    const int bits = static_cast<int>(std::bit_width(std::max<std::uint64_t>(limits.max_memory, 1U << 10U))) - 1;
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, std::min(bits, 31));
  }
  [[nodiscard]] bool ready() const { return context_ != nullptr; }

  Result<Step> step(std::span<const std::byte> in, std::span<std::byte> out) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t code = ZSTD_decompressStream(context_.get(), &output, &input);
    if (ZSTD_isError(code) != 0) {
      const std::string_view name = ZSTD_getErrorName(code);
      if (name.find("memory") != std::string_view::npos) return fail(ErrorCode::Limit, "{} (--max-memory)", name);
      return fail(name.find("ictionary") != std::string_view::npos ? ErrorCode::Unsupported : ErrorCode::Malformed,
                  "{}", name);
    }
    return Step{input.pos, output.pos, code == 0};
  }
  Result<void> restart() override {
    ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
    return {};
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
};

#ifdef WICK_HAVE_XZ
class LzmaDecoder final : public Decoder {
 public:
  LzmaDecoder(bool xz, const Limits& limits) : xz_(xz), memory_(std::max<std::uint64_t>(limits.max_memory, 1)) {
    start();
  }
  ~LzmaDecoder() override { lzma_end(&stream_); }
  [[nodiscard]] bool ready() const { return started_ == LZMA_OK; }

  Result<Step> step(std::span<const std::byte> in, std::span<std::byte> out) override {
    stream_.next_in = pointer<const std::uint8_t>(in);
    stream_.avail_in = in.size();
    stream_.next_out = pointer<std::uint8_t>(out);
    stream_.avail_out = out.size();
    const lzma_ret code = lzma_code(&stream_, LZMA_RUN);
    const Step step{in.size() - stream_.avail_in, out.size() - stream_.avail_out, code == LZMA_STREAM_END};
    switch (code) {
      case LZMA_OK:
      case LZMA_STREAM_END:
      case LZMA_BUF_ERROR: return step;
      case LZMA_MEM_ERROR: return out_of_memory();
      case LZMA_MEMLIMIT_ERROR:
        return fail(ErrorCode::Limit, "its window needs {} bytes of memory, {} are allowed (--max-memory)",
                    lzma_memusage(&stream_), memory_);
      case LZMA_OPTIONS_ERROR: return Error(ErrorCode::Unsupported, "a filter or option this liblzma does not know");
      case LZMA_FORMAT_ERROR: return Error(ErrorCode::Malformed, "the header is none");
      default: return Error(ErrorCode::Malformed, "invalid compressed data");
    }
  }
  Result<void> restart() override {
    start();
    return ready() ? Result<void>() : Result<void>(out_of_memory());
  }

 private:
  void start() { started_ = xz_ ? lzma_stream_decoder(&stream_, memory_, 0) : lzma_alone_decoder(&stream_, memory_); }

  bool xz_;
  std::uint64_t memory_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  lzma_ret started_ = LZMA_OK;
};
#endif

#ifdef WICK_HAVE_BZIP2
class Bzip2Decoder final : public Decoder {
 public:
  Bzip2Decoder() : ready_(BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK) {}
  ~Bzip2Decoder() override {
    if (ready_) BZ2_bzDecompressEnd(&stream_);
  }
  [[nodiscard]] bool ready() const { return ready_; }

  Result<Step> step(std::span<const std::byte> in, std::span<std::byte> out) override {
    stream_.next_in = pointer<char>(in);
    stream_.avail_in = piece(in.size());
    stream_.next_out = pointer<char>(out);
    stream_.avail_out = piece(out.size());
    const unsigned offered = stream_.avail_in;
    const unsigned room = stream_.avail_out;
    const int code = BZ2_bzDecompress(&stream_);
    if (code == BZ_MEM_ERROR) return out_of_memory();
    if (code != BZ_OK && code != BZ_STREAM_END) return Error(ErrorCode::Malformed, "invalid compressed data");
    return Step{offered - stream_.avail_in, room - stream_.avail_out, code == BZ_STREAM_END};
  }
  Result<void> restart() override {
    BZ2_bzDecompressEnd(&stream_);
    stream_ = {};
    ready_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK;
    return ready_ ? Result<void>() : Result<void>(out_of_memory());
  }

 private:
  bz_stream stream_{};
  bool ready_;
};
#endif

template <class T, class... Args>
Result<std::unique_ptr<Decoder>> make(Args&&... args) {
  auto decoder = std::make_unique<T>(std::forward<Args>(args)...);
  if (!decoder->ready()) return out_of_memory();
  return std::unique_ptr<Decoder>(std::move(decoder));
}

}  // namespace

Result<std::unique_ptr<Decoder>> make_decoder(Wrapper wrapper, const Limits& limits) {
  switch (wrapper) {
    case Wrapper::Gzip: return make<ZlibDecoder>(true);
    case Wrapper::Zlib: return make<ZlibDecoder>(false);
    case Wrapper::Zstd: return make<ZstdDecoder>(limits);
#ifdef WICK_HAVE_XZ
    case Wrapper::Xz: return make<LzmaDecoder>(true, limits);
    case Wrapper::Lzma: return make<LzmaDecoder>(false, limits);
#endif
#ifdef WICK_HAVE_BZIP2
    case Wrapper::Bzip2: return make<Bzip2Decoder>();
#endif
    default: break;
  }
  return fail(ErrorCode::Unsupported, "this wick was built without {}", name_of(wrapper))
      .advise("decompress it first, or build wick with WICK_WITH_XZ and WICK_WITH_BZIP2");
}

}  // namespace wick::archive
