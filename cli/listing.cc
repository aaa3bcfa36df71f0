// SPDX-License-Identifier: Apache-2.0
#include "listing.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"

namespace wick::cli {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Places;
using checkpoint::TensorRow;
using pickle::Kind;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// [begin, end) bytes of a storage.
struct Cover {
  std::uint32_t storage;
  std::uint64_t begin;
  std::uint64_t end;
};

// The bytes a view spans, from its first element to its last; nothing for tensors that are empty or wrong.
std::optional<Cover> cover_of(const Contents& contents, const TensorRow& row) {
  if (row.storage == kNone || contents.error_of(row) != nullptr) return std::nullopt;
  const std::uint64_t bytes = contents.storages[row.storage].bytes;
  const std::uint32_t bits = facts_of(row.dtype).bits;
  if (bits == 0) return Cover{row.storage, 0, bytes};  // block types fill their storage
  const auto sizes = contents.sizes(row);
  const auto strides = contents.strides(row);
  if (strides.size() != sizes.size()) return Cover{row.storage, 0, bytes};
  std::uint64_t last = row.offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return std::nullopt;
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(sizes[i] - 1), static_cast<std::uint64_t>(strides[i]),
                               &reach))
      return std::nullopt;
    if (__builtin_add_overflow(last, reach, &last)) return std::nullopt;
  }
  if (last > (std::uint64_t{1} << 56U)) return std::nullopt;
  const std::uint64_t begin = row.offset * bits / 8;
  const std::uint64_t end = std::min(bytes, ((last + 1) * bits + 7) / 8);
  if (begin >= end) return std::nullopt;
  return Cover{row.storage, begin, end};
}

}  // namespace

std::optional<Encoding> find_encoding(std::string_view word) {
  if (word.empty() || word == "utf-8") return Encoding::Utf8;
  if (word == "latin1") return Encoding::Latin1;
  if (word == "bytes") return Encoding::Bytes;
  return std::nullopt;
}

std::string decode_python2(std::string_view bytes, Encoding encoding) {
  if (encoding == Encoding::Utf8 || is_ascii(bytes)) return std::string(bytes);
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else if (encoding == Encoding::Latin1) {
      text += static_cast<char>(0xC0U | (byte >> 6U));
      text += static_cast<char>(0x80U | (byte & 0x3FU));
    } else {
      constexpr std::string_view kHex = "0123456789abcdef";
      text += "\\x";
      text += kHex[byte >> 4U];
      text += kHex[byte & 15U];
    }
  }
  return text;
}

StorageUse::StorageUse(const Contents& contents, const Places& places)
    : used_(contents.storages.size(), 0), first_(contents.storages.size(), kNone), next_(places.rows.size(), kNone) {
  std::vector<Cover> covers;
  covers.reserve(places.rows.size());
  for (std::size_t i = places.rows.size(); i-- > 0;) {
    const TensorRow& row = contents.tensors[places.rows[i].tensor];
    if (row.storage == kNone) continue;
    next_[i] = first_[row.storage];
    first_[row.storage] = static_cast<std::uint32_t>(i);
    if (const auto cover = cover_of(contents, row)) covers.push_back(*cover);
  }
  std::sort(covers.begin(), covers.end(), [](const Cover& a, const Cover& b) {
    return a.storage != b.storage ? a.storage < b.storage : a.begin < b.begin;
  });
  std::uint32_t storage = kNone;
  std::uint64_t counted = 0;  // bytes below this are counted already
  for (const Cover& cover : covers) {
    if (cover.storage != storage) counted = 0;
    storage = cover.storage;
    const std::uint64_t begin = std::max(cover.begin, counted);
    if (cover.end > begin) used_[storage] += cover.end - begin;
    counted = std::max(counted, cover.end);
  }
}

std::vector<std::uint32_t> StorageUse::rows_on(std::uint32_t storage) const {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = first_[storage]; row != kNone; row = next_[row]) rows.push_back(row);
  return rows;
}

Result<Listing> Listing::make(open_detail::LoadedPtr loaded, std::string_view root, Encoding encoding) {
  Listing listing;
  listing.encoding_ = encoding;
  listing.loaded_ = std::move(loaded);
  if (root.empty() || root == ".") {
    listing.places_ = &listing.loaded_->all;
  } else if (root == "auto") {
    listing.places_ = &listing.loaded_->automatic.places;
  } else {
    WICK_TRY(Places branch, open_detail::places_under(*listing.loaded_, root));
    listing.branch_ = std::make_shared<const Places>(std::move(branch));
    listing.places_ = listing.branch_.get();
  }
  return listing;
}

std::string Listing::name(std::size_t row) const {
  return record(row).empty() ? bare_name(row) : std::string(record(row)) + ":" + bare_name(row);
}

std::string Listing::bare_name(std::size_t row) const {
  const std::uint32_t path = place(row).path;
  std::string name = checkpoint::name_of(contents(), *places_, path);
  if (encoding_ == Encoding::Utf8 || is_ascii(name)) return name;
  for (std::uint32_t node = path; node != kNone; node = places_->nodes[node].parent)
    if (places_->nodes[node].key.is(Kind::Py2Str)) return decode_python2(name, encoding_);
  return name;
}

std::string_view Listing::record(std::size_t row) const { return contents().sections[place(row).section].record; }

const StorageUse& Listing::use() {
  if (!use_) use_ = std::make_unique<StorageUse>(contents(), *places_);
  return *use_;
}

std::string dtype_text(const Contents& contents, const TensorRow& tensor) {
  if (tensor.dtype == DType::NumpyOther && tensor.more != kNone && !contents.more[tensor.more].numpy_type.empty())
    return contents.more[tensor.more].numpy_type;
  return std::string(name_of(tensor.dtype));
}

}  // namespace wick::cli
