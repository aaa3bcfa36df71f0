// SPDX-License-Identifier: Apache-2.0
// Number formats: IEEE 754 half, bfloat16, and the OCP 8-bit, 6-bit and 4-bit floats as c10/util/Float8_*.h of torch
// has them; numpy strings as numpy/core/src/multiarray writes them.
#include "element.h"

#include <cmath>
#include <limits>

#include "base/cursor.h"
#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "checkpoint/read_tensor.h"

namespace wick::cli {
namespace {

using checkpoint::kNone;
using checkpoint::Layout;

constexpr std::uint64_t kNear = std::uint64_t{64} << 20U;  // spans up to this are read at once
constexpr std::uint64_t kWindow = std::uint64_t{1} << 20U;

// A small binary float. `finite`: no infinities; NaN is what `nan` says.
struct FloatFormat {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum class Special : std::uint8_t { Ieee, OnlyAllOnes, OnlyNegativeZero, None } special;
};
using Special = FloatFormat::Special;
constexpr FloatFormat kFloats[] = {
    {DType::Float16, 5, 10, 15, Special::Ieee},
    {DType::BFloat16, 8, 7, 127, Special::Ieee},
    {DType::Float8E5M2, 5, 2, 15, Special::Ieee},
    {DType::Float8E4M3FN, 4, 3, 7, Special::OnlyAllOnes},
    {DType::Float8E5M2FNUZ, 5, 2, 16, Special::OnlyNegativeZero},
    {DType::Float8E4M3FNUZ, 4, 3, 8, Special::OnlyNegativeZero},
    {DType::F4, 2, 1, 1, Special::None},
    {DType::F6E2M3, 2, 3, 1, Special::None},
    {DType::F6E3M2, 3, 2, 3, Special::None},
};

double decode(const FloatFormat& format, std::uint32_t bits) {
  const std::uint32_t mantissa_mask = (1U << static_cast<unsigned>(format.mantissa_bits)) - 1;
  const std::uint32_t exponent_mask = (1U << static_cast<unsigned>(format.exponent_bits)) - 1;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const std::uint32_t exponent = (bits >> static_cast<unsigned>(format.mantissa_bits)) & exponent_mask;
  const bool negative = ((bits >> static_cast<unsigned>(format.mantissa_bits + format.exponent_bits)) & 1U) != 0;
  const double sign = negative ? -1.0 : 1.0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.special == Special::OnlyNegativeZero && negative && exponent == 0 && mantissa == 0) return nan;
  if (exponent == exponent_mask) {
    if (format.special == Special::Ieee) return mantissa != 0 ? nan : sign * std::numeric_limits<double>::infinity();
    if (format.special == Special::OnlyAllOnes && mantissa == mantissa_mask) return nan;
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - format.bias - format.mantissa_bits);
  const auto whole = static_cast<double>(mantissa | (mantissa_mask + 1));
  return sign * std::ldexp(whole, static_cast<int>(exponent) - format.bias - format.mantissa_bits);
}

Element real(double value, bool is_float) {
  Element element;
  element.kind = Element::Kind::Real;
  element.real = value;
  element.is_float = is_float;
  return element;
}
Element complex(double re, double im, bool is_float) {
  Element element = real(re, is_float);
  element.kind = Element::Kind::Complex;
  element.imaginary = im;
  return element;
}
Element integer(std::int64_t value) {
  Element element;
  element.integer = value;
  return element;
}
Element natural(std::uint64_t value) {
  Element element;
  element.kind = Element::Kind::Unsigned;
  element.natural = value;
  return element;
}
Element text_element(std::string text) {
  Element element;
  element.kind = Element::Kind::Text;
  element.text = std::move(text);
  return element;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text = "0x";
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6U));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | (code >> 12U));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | ((code >> 18U) & 7U));
    out += static_cast<char>(0x80U | ((code >> 12U) & 0x3FU));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

bool is_signed(DType dtype) {
  switch (dtype) {
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
    case DType::QInt8:
    case DType::QInt32: return true;
    default: return false;
  }
}

Element decode_integer(DType dtype, std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8U) | static_cast<std::uint64_t>(bytes[i]);
  if (!is_signed(dtype)) return natural(value);
  const auto unused = static_cast<unsigned>(64 - 8 * bytes.size());
  return integer(static_cast<std::int64_t>(value << unused) >> unused);
}

}  // namespace

double decode_float(DType dtype, std::uint32_t bits) {
  if (dtype == DType::Float8E8M0FNU)  // an exponent alone; all ones is NaN
    return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
  for (const FloatFormat& format : kFloats)
    if (format.dtype == dtype) return decode(format, bits);
  return std::numeric_limits<double>::quiet_NaN();
}

Result<ElementReader> ElementReader::make(const checkpoint::Contents& contents, std::uint32_t tensor) {
  ElementReader reader;
  reader.contents_ = &contents;
  reader.row_ = &contents.tensors[tensor];
  const checkpoint::TensorRow& row = *reader.row_;
  if (row.layout != Layout::Strided && row.layout != Layout::Storage) {
    std::string parts;
    if (row.more != kNone)
      for (const auto& [name, part] : contents.more[row.more].parts)
        parts += fmt::format("{}{}", parts.empty() ? "" : ", ", name);
    return fail(ErrorCode::Unsupported, "a {} tensor has no elements of its own{}{}", checkpoint::name_of(row.layout),
                parts.empty() ? "" : "; it is made of ", parts);
  }
  const DTypeFacts& facts = facts_of(row.dtype);
  if (facts.block_elements > 1)
    return fail(ErrorCode::Unsupported, "{} holds blocks of {} elements in {} bytes, which are not turned into numbers",
                facts.name, facts.block_elements, facts.block_bytes);
  reader.bits_ = facts.bits;
  if (row.dtype == DType::NumpyOther && row.more != kNone) {
    reader.bits_ = contents.more[row.more].item_bytes * 8;
    reader.numpy_type_ = contents.more[row.more].numpy_type;
  }
  if (const Error* error = contents.error_of(row)) return *error;
  if (row.is_meta) return Error(ErrorCode::Unsupported, "a meta tensor has no values: none were saved");
  if (reader.bits_ == 0) return fail(ErrorCode::Unsupported, "elements of {} have no size", facts.name);
  if (contents.numel(row).value_or(0) > 0) {
    WICK_TRY(reader.storage_, checkpoint::open_storage(contents, tensor));
  }
  return reader;
}

bool ElementReader::is_real() const {
  return row_->dtype == DType::Float32 || row_->dtype == DType::Float64 || row_->dtype == DType::Float8E8M0FNU ||
         !std::isnan(decode_float(row_->dtype, 0));
}

void ElementReader::expect(std::uint64_t first, std::uint64_t last) {
  const std::uint64_t span = (last - first + 1) * ((bits_ + 7) / 8);
  window_size_ = span <= kNear ? span : kWindow;
}

Result<std::span<const std::byte>> ElementReader::bytes_at(std::uint64_t offset, std::size_t count) {
  const bool held = offset >= window_begin_ && offset + count <= window_begin_ + window_.size();
  if (!held) {
    const std::uint64_t size = storage_->size();
    if (offset > size || count > size - offset)
      return fail(ErrorCode::Truncated, "element bytes {} to {} lie beyond the storage's {} bytes", offset,
                  offset + count, size);
    const std::uint64_t length = std::min(std::max<std::uint64_t>(window_size_, count), size - offset);
    window_.resize(static_cast<std::size_t>(length));
    window_begin_ = offset;
    if (auto read = storage_->read(offset, window_); !read) {
      window_.clear();
      return std::move(read).error();
    }
  }
  return std::span<const std::byte>(window_).subspan(static_cast<std::size_t>(offset - window_begin_), count);
}

Result<Element> ElementReader::at(std::uint64_t index) {
  if (bits_ % 8 == 0) {
    WICK_TRY(const auto bytes, bytes_at(index * (bits_ / 8), bits_ / 8));
    return decode(bytes);
  }
  // Elements of 2, 4 or 6 bits, packed from the low bits up; one may lie in two bytes.
  const std::uint64_t bit = index * bits_;
  const auto shift = static_cast<unsigned>(bit % 8);
  WICK_TRY(const auto bytes, bytes_at(bit / 8, shift + bits_ > 8 ? 2 : 1));
  std::uint32_t value = static_cast<std::uint32_t>(bytes[0]);
  if (bytes.size() > 1) value |= static_cast<std::uint32_t>(bytes[1]) << 8U;
  value = (value >> shift) & ((1U << bits_) - 1);
  if (is_real()) return real(decode_float(row_->dtype, value), true);
  return natural(value);
}

Element ElementReader::decode(std::span<const std::byte> bytes) const {
  const double sign = row_->neg ? -1.0 : 1.0;
  const double imaginary_sign = row_->conj ? -sign : sign;
  const auto small = [&](std::size_t at) { return decode_float(DType::Float16, load_le<std::uint16_t>(&bytes[at])); };
  switch (row_->dtype) {
    case DType::Float32: return real(sign * static_cast<double>(load_le<float>(bytes.data())), true);
    case DType::Float64: return real(sign * load_le<double>(bytes.data()), false);
    case DType::Complex32: return complex(sign * small(0), imaginary_sign * small(2), true);
    case DType::Complex64:
      return complex(sign * static_cast<double>(load_le<float>(bytes.data())),
                     imaginary_sign * static_cast<double>(load_le<float>(&bytes[4])), true);
    case DType::Complex128:
      return complex(sign * load_le<double>(bytes.data()), imaginary_sign * load_le<double>(&bytes[8]), false);
    case DType::Float4E2M1FNx2: {  // two of them in a byte, the lower half first
      const auto pair = static_cast<std::uint32_t>(bytes[0]);
      return text_element(
          fmt::format("({}, {})", decode_float(DType::F4, pair & 15U), decode_float(DType::F4, pair >> 4U)));
    }
    case DType::NumpyOther: return decode_numpy(bytes);
    case DType::Bool: {
      Element truth = natural(bytes[0] != std::byte{0} ? 1 : 0);
      truth.kind = Element::Kind::Truth;
      return truth;
    }
    default: break;
  }
  if (is_real()) {
    const std::uint32_t raw =
        bytes.size() == 1 ? static_cast<std::uint32_t>(bytes[0]) : load_le<std::uint16_t>(bytes.data());
    return real(sign * decode_float(row_->dtype, raw), true);
  }
  return decode_integer(row_->dtype, bytes);
}

// "<U5" text, "|S3" bytes, "<M8[ns]" and "<m8[s]" counts; anything else as hexadecimal bytes.
Element ElementReader::decode_numpy(std::span<const std::byte> bytes) const {
  std::string_view type = numpy_type_;
  const bool big = type.starts_with('>');
  if (!type.empty() && std::string_view("<>|=").find(type.front()) != std::string_view::npos) type.remove_prefix(1);
  if (type.starts_with('S')) {
    std::string_view text = as_text(bytes);
    while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
    return text_element(python_quote_bytes(text));
  }
  if (type.starts_with('U')) {
    std::string text;
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::uint32_t code = load_le<std::uint32_t>(&bytes[at]);
      if (big) code = __builtin_bswap32(code);
      append_utf8(text, std::min<std::uint32_t>(code, 0x10FFFF));
    }
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text_element(python_quote(text));
  }
  if ((type.starts_with('M') || type.starts_with('m')) && bytes.size() == 8) {
    std::uint64_t raw = load_le<std::uint64_t>(bytes.data());
    if (big) raw = __builtin_bswap64(raw);
    if (raw == std::uint64_t{1} << 63U) return text_element("NaT");
    return integer(static_cast<std::int64_t>(raw));
  }
  return text_element(hex(bytes));
}

}  // namespace wick::cli
