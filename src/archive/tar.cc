// SPDX-License-Identifier: Apache-2.0
#include "archive/tar.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "base/cursor.h"

namespace wick::archive {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kLargestText = std::uint64_t{16} << 20;  // of a PAX header or long name; real ones hold a path

// Fields of a header block: offset and length, POSIX.1-2017 pax, "ustar Interchange Format".
struct Field {
  std::size_t at;
  std::size_t length;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 8}, kPrefix{345, 155};
constexpr std::size_t kType = 156;
constexpr std::size_t kGnuSparseMore = 482;   // in a header of type S: a block of more ranges follows
constexpr std::size_t kGnuSparseAgain = 504;  // the same in such a block

using Block = std::array<std::byte, kBlock>;

std::string_view text_of(std::span<const std::byte> block, Field field) {
  return as_text(block.subspan(field.at, field.length));
}

std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

// Octal digits after spaces, ended by NUL, space or the field; or, with the top bit set, base 256 (GNU).
std::optional<std::uint64_t> number_of(std::string_view field) {
  std::uint64_t value = 0;
  if (!field.empty() && static_cast<std::uint8_t>(field.front()) == 0x80) {
    for (const char c : field.substr(1)) {
      if (value >> 56U != 0) return std::nullopt;
      value = value << 8U | static_cast<std::uint8_t>(c);
    }
    return value;
  }
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  for (const char c : field) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7' || value >> 61U != 0) return std::nullopt;
    value = value << 3U | static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// The sum of the block's bytes with the checksum field as spaces. Old writers took the bytes as signed.
bool checksum_holds(std::span<const std::byte> block) {
  const std::string_view field = text_of(block, kChecksum);
  if (field.find_first_of("01234567") == std::string_view::npos) return false;
  const auto declared = number_of(field);
  if (!declared) return false;
  std::uint64_t plain = 0;
  std::int64_t with_sign = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool blank = i >= kChecksum.at && i < kChecksum.at + kChecksum.length;
    const auto byte = blank ? std::uint8_t{' '} : std::to_integer<std::uint8_t>(block[i]);
    plain += byte;
    with_sign += static_cast<std::int8_t>(byte);
  }
  return *declared == plain || (with_sign >= 0 && *declared == static_cast<std::uint64_t>(with_sign));
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// What PAX and GNU headers say about the entry that follows them.
struct Ahead {
  std::optional<std::string> name;
  std::optional<std::uint64_t> size;
  bool sparse = false;
};

// "25 path=some/long/name\n": the length counts itself and the line end.
Result<void> read_pax_record(Cursor& cursor, Ahead& ahead) {
  const std::uint64_t start = cursor.offset();
  std::uint64_t length = 0;
  std::size_t digits = 0;
  for (;; ++digits) {
    WICK_TRY(const std::uint8_t c, cursor.read_u8("PAX record length"));
    if (c == ' ' && digits > 0) break;
    if (c < '0' || c > '9' || digits > 18) return fail_at(ErrorCode::Malformed, start, "a PAX record without length");
    length = length * 10 + (c - std::uint64_t{'0'});
  }
  if (length < digits + 3 || length - digits - 1 > cursor.remaining())
    return fail_at(ErrorCode::Malformed, start, "a PAX record of {} bytes, {} are left", length,
                   cursor.remaining() + digits + 1);
  WICK_TRY(std::string_view record, cursor.read_text(length - digits - 1, "PAX record"));
  const std::size_t equals = record.find('=');
  if (record.back() != '\n' || equals == std::string_view::npos)
    return fail_at(ErrorCode::Malformed, start, "a PAX record without '=' or line end");
  const std::string_view key = record.substr(0, equals);
  const std::string_view value = record.substr(equals + 1, record.size() - equals - 2);
  if (key.starts_with("GNU.sparse.")) ahead.sparse = true;
  if (key == "path" && !ahead.sparse) ahead.name = value;
  if (key == "GNU.sparse.name") ahead.name = value;
  if (key != "size") return {};
  std::uint64_t size = 0;
  for (const char c : value) {
    if (c < '0' || c > '9' || size > (~std::uint64_t{0} - 9) / 10)
      return fail_at(ErrorCode::Malformed, start, "a PAX size that is no number");
    size = size * 10 + static_cast<std::uint64_t>(c - '0');
  }
  ahead.size = size;
  return {};
}

class Walk {
 public:
  Walk(io::SourcePtr source, const Limits& limits) : limits_(limits) { tar_.source = std::move(source); }

  Result<Tar> run() {
    while (true) {
      WICK_TRY(const bool more, step());
      if (!more) return std::move(tar_);
    }
  }

 private:
  [[nodiscard]] std::uint64_t left() const { return tar_.source->size() - at_; }

  void tell(const char* code, std::string message) { tar_.findings.push_back({code, std::move(message), "", at_}); }

  // One header with what follows it. False at the end.
  Result<bool> step() {
    if (left() == 0) {
      if (at_ == 0) return Error(ErrorCode::Truncated, "an empty file is no tar archive");
      tell("no-end-mark", "the archive ends without its two empty blocks");
      return false;
    }
    if (left() < kBlock)
      return fail_at(ErrorCode::Truncated, at_, "a header needs {} bytes, {} are left", kBlock, left());
    Block block{};
    WICK_CHECK(tar_.source->read_at(at_, block));
    if (is_zero(block)) return finish();
    if (!checksum_holds(block))
      return fail_at(ErrorCode::Malformed, at_, "no tar header is here: its checksum does not hold");
    const auto size = number_of(text_of(block, kSize));
    if (!size) return fail_at(ErrorCode::Malformed, at_ + kSize.at, "the size is no number");
    header_at_ = at_;
    at_ += kBlock;
    return take(block, *size);
  }

  Result<bool> take(const Block& block, std::uint64_t size) {
    const char type = static_cast<char>(block[kType]);
    switch (type) {
      case 'x':
      case 'g':  // for all that follow
        WICK_CHECK(read_pax(size, type == 'g' ? global_ : ahead_));
        return true;
      case 'L': {
        WICK_TRY(std::string name, read_text(size));
        ahead_.name = std::string(until_nul(name));
        return true;
      }
      case 'K':  // a long link target, which nobody asks for
        WICK_CHECK(skip(size));
        return true;
      default: WICK_CHECK(add(block, type, size)); return true;
    }
  }

  Result<void> add(const Block& block, char type, std::uint64_t declared) {
    if (tar_.entries.size() >= limits_.max_members)
      return fail_at(ErrorCode::Limit, header_at_, "more than {} entries (--max-members)", limits_.max_members);
    TarEntry entry;
    entry.name = ahead_.name ? *std::move(ahead_.name) : global_.name ? *global_.name : name_in(block);
    entry.type = type == '\0' || type == '7' ? '0' : type;
    if (type == '\0' && entry.name.ends_with('/')) entry.type = '5';  // before ustar, the name told folders
    const bool has_bytes = entry.type != '1' && entry.type != '2' && entry.type != '3' && entry.type != '4' &&
                           entry.type != '5' && entry.type != '6';
    entry.size = has_bytes ? ahead_.size.value_or(global_.size.value_or(declared)) : 0;
    if (ahead_.sparse || global_.sparse) entry.type = 'S';
    if (type == 'S') WICK_CHECK(skip_sparse_ranges(block));
    if (entry.type == '5' && entry.name.size() > 1 && entry.name.ends_with('/')) entry.name.pop_back();
    ahead_ = {};
    entry.offset = at_;
    if (entry.size > left())
      return fail_at(ErrorCode::Truncated, at_, "{} bytes are declared, {} are left", entry.size, left())
          .inside(entry.name);
    if (!is_known(entry.type))
      tell("unknown-entry-type", fmt::format("entry type {:#04x} is read as a file",
                                             static_cast<unsigned>(static_cast<std::uint8_t>(entry.type))));
    WICK_CHECK(skip(entry.size));
    tar_.entries.push_back(std::move(entry));
    return {};
  }

  static bool is_known(char type) { return std::string_view("0123456SVMD").find(type) != std::string_view::npos; }

  static std::string name_in(const Block& block) {
    const std::string_view name = until_nul(text_of(block, kName));
    const std::string_view prefix = until_nul(text_of(block, kPrefix));
    // GNU's magic is "ustar  ": it keeps times where POSIX has the prefix. Before ustar there was none.
    const bool posix = text_of(block, kMagic).substr(0, 6) == std::string_view("ustar\0", 6);
    if (!posix || prefix.empty()) return std::string(name);
    return fmt::format("{}/{}", prefix, name);
  }

  Result<void> skip_sparse_ranges(const Block& header) {
    bool more = header[kGnuSparseMore] != std::byte{0};
    while (more) {
      if (left() < kBlock) return fail_at(ErrorCode::Truncated, at_, "a sparse map is cut off");
      std::array<std::byte, 1> flag{};
      WICK_CHECK(tar_.source->read_at(at_ + kGnuSparseAgain, flag));
      more = flag[0] != std::byte{0};
      at_ += kBlock;
    }
    return {};
  }

  // Over `size` bytes and what fills their last block; that filling may be missing at the very end.
  Result<void> skip(std::uint64_t size) {
    if (size > left()) return fail_at(ErrorCode::Truncated, at_, "{} bytes are declared, {} are left", size, left());
    at_ += size;
    at_ += std::min<std::uint64_t>((kBlock - size % kBlock) % kBlock, left());
    return {};
  }

  Result<std::string> read_text(std::uint64_t size) {
    if (size > kLargestText)
      return fail_at(ErrorCode::Limit, header_at_, "an extended header of {} bytes, at most {} are read", size,
                     kLargestText);
    const std::uint64_t start = at_;
    WICK_CHECK(skip(size));
    WICK_TRY(const auto bytes, io::read_range(*tar_.source, start, size, limits_));
    return std::string(as_text(bytes));
  }

  Result<void> read_pax(std::uint64_t size, Ahead& into) {
    const std::uint64_t start = at_;
    WICK_TRY(const std::string text, read_text(size));
    Cursor cursor(as_bytes_of(text), start);
    while (!cursor.at_end()) {
      if (is_zero(as_bytes_of(text).subspan(cursor.position()))) return {};  // some writers fill with NULs
      WICK_CHECK(read_pax_record(cursor, into));
    }
    return {};
  }

  // At an empty block. One is enough for all readers; writers fill up to 20 with zeros.
  Result<bool> finish() {
    if (at_ == 0) return fail_at(ErrorCode::Malformed, 0, "no tar header is here: the block is empty");
    const std::uint64_t mark = at_;
    at_ += std::min<std::uint64_t>(2 * kBlock, left());
    if (at_ - mark < 2 * kBlock) tell("no-end-mark", "the archive ends with one empty block instead of two");
    std::vector<std::byte> rest(static_cast<std::size_t>(std::min<std::uint64_t>(left(), std::uint64_t{1} << 20)));
    WICK_CHECK(tar_.source->read_at(at_, rest));
    if (!is_zero(rest)) tell("trailing-bytes", fmt::format("{} bytes follow the end of the archive", left()));
    return false;
  }

  const Limits& limits_;
  Tar tar_;
  std::uint64_t at_ = 0;
  std::uint64_t header_at_ = 0;
  Ahead ahead_;   // of the next entry
  Ahead global_;  // of all entries
};

}  // namespace

bool looks_like_tar(std::span<const std::byte> head) {
  if (head.size() < kBlock) return false;
  const auto block = head.first(kBlock);
  return checksum_holds(block) && number_of(text_of(block, kSize)).has_value();
}

Result<Tar> read_tar(io::SourcePtr source, const Limits& limits) { return Walk(std::move(source), limits).run(); }

Result<io::SourcePtr> open_entry(const Tar& tar, std::size_t index) {
  if (index >= tar.entries.size()) return fail(ErrorCode::NotFound, "entry {} of {}", index, tar.entries.size());
  const TarEntry& entry = tar.entries[index];
  if (entry.type == 'S') return Error(ErrorCode::Unsupported, "the entry is a sparse file").inside(entry.name);
  return io::slice(tar.source, entry.offset, entry.size, fmt::format("{}::{}", tar.source->name(), entry.name));
}

}  // namespace wick::archive
