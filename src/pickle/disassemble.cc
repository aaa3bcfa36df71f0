// SPDX-License-Identifier: Apache-2.0
// Source of truth: CPython's Lib/pickletools.py (3.11), whose genops this follows.
#include "pickle/disassemble.h"

#include <bit>

#include "base/cursor.h"
#include "base/python_number.h"
#include "base/text.h"
#include "base/try.h"
#include "pickle/integers.h"
#include "pickle/lines.h"
#include "pickle/opcodes.h"

namespace wick::pickle {

namespace {

// Decimal digits take time with the square of their number; Python itself refuses to print more than these.
constexpr std::size_t kMaxIntegerBytes = 1786;  // 4,300 digits

std::string integer_text(std::string_view twos_complement) {
  if (twos_complement.size() <= kMaxIntegerBytes) return python_big_integer(twos_complement);
  return fmt::format("<int of {} bytes>", twos_complement.size());
}

std::string integer_text(const Result<IntLine>& line) {
  if (line->is_bool) return line->value != 0 ? "True" : "False";
  return line->small ? std::to_string(line->value) : integer_text(line->bytes);
}

// pickletools shows Python 2's str as latin-1.
std::string quote_latin1(std::string_view bytes) {
  std::string utf8;
  utf8.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) utf8.push_back(static_cast<char>(0xC0U | byte >> 6));
    utf8.push_back(static_cast<char>(byte < 0x80 ? byte : 0x80U | (byte & 0x3FU)));
  }
  return python_quote(utf8);
}

template <class Length>
Result<std::string_view> counted(Cursor& cursor) {
  WICK_TRY(const Length length, cursor.read_le<Length>("length"));
  if constexpr (std::is_signed_v<Length>)
    if (length < 0) return fail(ErrorCode::Malformed, "negative length {}", length);
  return cursor.read_text(static_cast<std::uint64_t>(length), "argument");
}

template <class Number>
Result<std::string> number(Cursor& cursor) {
  WICK_TRY(const Number value, cursor.read_le<Number>("number"));
  return fmt::format("{}", value);
}

template <class Length>
Result<std::string> long_integer(Cursor& cursor) {
  WICK_TRY(const std::string_view bytes, counted<Length>(cursor));
  return integer_text(minimal_twos_complement(as_bytes_of(bytes)));
}

template <class Length, std::string (*Quote)(std::string_view)>
Result<std::string> text(Cursor& cursor) {
  WICK_TRY(const std::string_view bytes, counted<Length>(cursor));
  return Quote(bytes);
}

std::string quote_byte_array(std::string_view bytes) { return "bytearray(" + python_quote_bytes(bytes) + ")"; }

Result<std::string> big_endian_float(Cursor& cursor) {
  WICK_TRY(const std::uint64_t swapped, cursor.read_u64("number"));
  return python_float(std::bit_cast<double>(__builtin_bswap64(swapped)));
}

// GLOBAL and INST: pickletools undoes escapes in each of the two lines and joins them with a blank.
Result<std::string> two_lines(Cursor& cursor) {
  WICK_TRY(const std::string_view module, cursor.read_line("module"));
  WICK_TRY(const std::string_view name, cursor.read_line("name"));
  WICK_TRY(const std::string module_text, decode_escapes(module));
  WICK_TRY(const std::string name_text, decode_escapes(name));
  return quote_latin1(module_text + " " + name_text);
}

Result<std::string> line_text(Cursor& cursor, Argument argument) {
  WICK_TRY(const std::string_view line, cursor.read_line("argument"));
  if (argument == Argument::IntLine || argument == Argument::LongLine) {
    const auto parsed = argument == Argument::IntLine ? parse_int_line(line) : parse_long_line(line);
    return parsed ? Result<std::string>(integer_text(parsed)) : Result<std::string>(parsed.error());
  }
  if (argument == Argument::FloatLine) {
    WICK_TRY(const double value, parse_float_line(line));
    return python_float(value);
  }
  if (argument == Argument::UnicodeLine) {
    WICK_TRY(const std::string decoded, parse_unicode_line(line));
    return python_quote(decoded);
  }
  WICK_TRY(const std::string decoded,
           argument == Argument::QuotedLine ? parse_quoted_line(line) : decode_escapes(line));
  return quote_latin1(decoded);
}

Result<std::string> argument_text(Cursor& cursor, Argument argument) {
  switch (argument) {
    case Argument::None: return std::string();
    case Argument::UInt1: return number<std::uint8_t>(cursor);
    case Argument::UInt2: return number<std::uint16_t>(cursor);
    case Argument::UInt4: return number<std::uint32_t>(cursor);
    case Argument::UInt8: return number<std::uint64_t>(cursor);
    case Argument::Int4: return number<std::int32_t>(cursor);
    case Argument::Float8: return big_endian_float(cursor);
    case Argument::Long1: return long_integer<std::uint8_t>(cursor);
    case Argument::Long4: return long_integer<std::int32_t>(cursor);
    case Argument::String1: return text<std::uint8_t, quote_latin1>(cursor);
    case Argument::String4: return text<std::int32_t, quote_latin1>(cursor);
    case Argument::Bytes1: return text<std::uint8_t, python_quote_bytes>(cursor);
    case Argument::Bytes4: return text<std::uint32_t, python_quote_bytes>(cursor);
    case Argument::Bytes8: return text<std::uint64_t, python_quote_bytes>(cursor);
    case Argument::ByteArray8: return text<std::uint64_t, quote_byte_array>(cursor);
    case Argument::Unicode1: return text<std::uint8_t, python_quote>(cursor);
    case Argument::Unicode4: return text<std::uint32_t, python_quote>(cursor);
    case Argument::Unicode8: return text<std::uint64_t, python_quote>(cursor);
    case Argument::IntLine:
    case Argument::LongLine:
    case Argument::FloatLine:
    case Argument::StringLine:
    case Argument::QuotedLine:
    case Argument::UnicodeLine: return line_text(cursor, argument);
    case Argument::TwoLines: return two_lines(cursor);
  }
  return fail(ErrorCode::Bug, "an argument of no kind");
}

}  // namespace

Result<std::uint64_t> disassemble(std::span<const std::byte> bytes, std::uint64_t base, const Limits& limits,
                                  const std::function<bool(const Instruction&)>& take) {
  Cursor cursor(bytes, base);
  Instruction instruction;
  for (std::uint64_t count = 0;; ++count) {
    instruction.offset = cursor.position();
    if (count >= limits.max_opcodes)
      return fail_at(ErrorCode::Limit, cursor.offset(), "the pickle has more than {} opcodes (--max-opcodes)",
                     limits.max_opcodes);
    if (cursor.at_end())
      return fail_at(ErrorCode::Truncated, cursor.offset(), "the pickle ends after {} opcodes without STOP", count);
    WICK_TRY(instruction.code, cursor.read_u8("opcode"));
    const OpcodeFacts& facts = facts_of_opcode(instruction.code);
    if (facts.name.empty())
      return fail_at(ErrorCode::Malformed, base + instruction.offset, "byte 0x{:02x} is no pickle opcode",
                     instruction.code);
    auto argument = argument_text(cursor, facts.argument);
    if (!argument)
      return fail_at(argument.error().code(), base + instruction.offset, "{}: {}", facts.name,
                     argument.error().message());
    instruction.name = facts.name;
    instruction.has_argument = facts.argument != Argument::None;
    instruction.argument = *std::move(argument);
    if (!take(instruction) || facts.name == "STOP") return cursor.position();
  }
}

}  // namespace wick::pickle
