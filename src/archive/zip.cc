// SPDX-License-Identifier: Apache-2.0
#include "archive/zip.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>

#include "archive/name_table.h"
#include "archive/zip_end.h"
#include "archive/zip_format.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "base/text.h"

namespace wick::archive {

using namespace zip_format;

namespace {

// Differs between runs, so that no file can be made against it.
std::uint64_t make_seed(const void* place) {
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return now * 0x9E3779B97F4A7C15 ^ std::hash<const void*>{}(place);
}

}  // namespace

struct Walk;

struct Zip::State {
  io::SourcePtr source;
  ZipEnd end;
  std::vector<std::byte> directory;  // as it is in the file: names and numbers are read from it when asked for
  std::vector<std::uint32_t> rows;   // where each entry begins in it
  NameTable names{Case::Kept, 0};
  NameTable folded{Case::Ignored, 0};  // empty when no name holds a capital: then lowering what is asked for will do
  bool has_folded = false;
  std::uint64_t first_header = 0;
  std::uint64_t seed = make_seed(this);

  void index_names(Walk& walk);
  void index_folded_names(Walk& walk);
  void tell_what_lies_around();

  [[nodiscard]] std::string_view name(std::size_t index) const {
    const std::size_t at = rows[index];
    return as_text(std::span(directory).subspan(at + directory::kFixed,
                                                load_le<std::uint16_t>(&directory[at + directory::kNameBytes])));
  }
};

// What is seen while the directory is walked, told once at the end.
struct Walk {
  std::uint64_t encrypted = 0;
  std::uint64_t bad_zip64 = 0;
  std::uint64_t outside = 0;
  std::uint64_t with_nul = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t case_twins = 0;
  std::uint64_t overlapping = 0;
  std::uint64_t first_header = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last_end = 0;  // of the entries so far, when they come in order
  bool in_order = true;
  bool capitals = false;
  std::string_view duplicate, twin, bad, outsider;  // an example of each
};

namespace {

// Sizes and offset that do not fit 32 bits: each is in the extra only if its old field is saturated, in this order.
// False when the extra is there and too short; the fields then stay saturated, and reading the entry fails.
bool resolve_zip64(std::span<const std::byte> extra, ZipEntry& entry) {
  if (entry.size != kSaturated32 && entry.compressed != kSaturated32 && entry.header != kSaturated32) return true;
  Cursor fields(extra);
  while (fields.remaining() >= 4) {
    const std::uint16_t id = *fields.read_u16("extra id");
    const std::uint16_t bytes = *fields.read_u16("extra size");
    const auto body = fields.read_bytes(bytes, "extra field");
    if (!body) return false;
    if (id != kZip64Extra) continue;
    Cursor wide(*body);
    for (std::uint64_t* value : {&entry.size, &entry.compressed, &entry.header}) {
      if (*value != kSaturated32) continue;
      const auto resolved = wide.read_u64("zip64 field");
      if (!resolved) return false;
      *value = *resolved;
    }
    return true;
  }
  return true;  // no zip64 extra: the numbers are what they are
}

struct ParsedEntry {
  ZipEntry entry;
  std::size_t bytes = 0;  // of the directory entry
  bool zip64_ok = true;
};

// `at` is known to begin an entry that lies within the directory.
ParsedEntry parse_entry(std::span<const std::byte> directory, std::size_t at, std::uint64_t base) {
  const std::byte* raw = &directory[at];
  const std::size_t name_bytes = load_le<std::uint16_t>(raw + directory::kNameBytes);
  const std::size_t extra_bytes = load_le<std::uint16_t>(raw + directory::kExtraBytes);
  ParsedEntry parsed;
  parsed.bytes = directory::kFixed + name_bytes + extra_bytes + load_le<std::uint16_t>(raw + directory::kCommentBytes);
  ZipEntry& entry = parsed.entry;
  entry.name = as_text(directory.subspan(at + directory::kFixed, name_bytes));
  entry.compressed = load_le<std::uint32_t>(raw + directory::kCompressed);
  entry.size = load_le<std::uint32_t>(raw + directory::kSize);
  entry.header = load_le<std::uint32_t>(raw + directory::kHeader);
  entry.crc = load_le<std::uint32_t>(raw + directory::kCrc);
  entry.method = load_le<std::uint16_t>(raw + directory::kMethod);
  entry.flags = load_le<std::uint16_t>(raw + directory::kFlags);
  entry.is_folder = entry.name.ends_with('/');
  parsed.zip64_ok = resolve_zip64(directory.subspan(at + directory::kFixed + name_bytes, extra_bytes), entry);
  if (__builtin_add_overflow(entry.header, base, &entry.header)) entry.header = ~std::uint64_t{0};
  return parsed;
}

// True when an entry begins at `at` and all of it is there.
bool entry_fits(std::span<const std::byte> directory, std::size_t at) {
  if (directory.size() - at < directory::kFixed) return false;
  const std::byte* raw = &directory[at];
  if (load_le<std::uint32_t>(raw) != kDirectorySignature) return false;
  const std::size_t variable = std::size_t{load_le<std::uint16_t>(raw + directory::kNameBytes)} +
                               load_le<std::uint16_t>(raw + directory::kExtraBytes) +
                               load_le<std::uint16_t>(raw + directory::kCommentBytes);
  return variable <= directory.size() - at - directory::kFixed;
}

// The least an entry takes in front of the directory: its local extra is not known without reading it.
std::uint64_t least_bytes(const ZipEntry& entry) {
  return local::kFixed + entry.name.size() + std::min(entry.compressed, std::uint64_t{1} << 62U);
}

void look_at(const ParsedEntry& parsed, std::uint64_t directory_at, Walk& walk) {
  const ZipEntry& entry = parsed.entry;
  if ((entry.flags & kEncryptedFlags) != 0) ++walk.encrypted;
  if (!parsed.zip64_ok && walk.bad_zip64++ == 0) walk.bad = entry.name;
  if (!lies_within(entry.header, least_bytes(entry), directory_at)) {
    if (walk.outside++ == 0) walk.outsider = entry.name;
    return;
  }
  walk.first_header = std::min(walk.first_header, entry.header);
  if (entry.header < walk.last_end) walk.in_order = false;
  walk.last_end = entry.header + least_bytes(entry);
}

// Entries that share bytes: how bombs and quines are built, and never what a writer of models does.
template <class EntryAt>
std::uint64_t count_overlaps(std::size_t count, std::uint64_t directory_at, const EntryAt& entry_at) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  ranges.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const ZipEntry entry = entry_at(i);
    if (lies_within(entry.header, least_bytes(entry), directory_at))
      ranges.emplace_back(entry.header, entry.header + least_bytes(entry));
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t overlaps = 0;
  std::uint64_t end = 0;
  for (const auto& [from, to] : ranges) {
    if (from < end) ++overlaps;
    end = std::max(end, to);
  }
  return overlaps;
}

std::string example(std::string_view name) { return escape_for_display(name.substr(0, 200)); }

void tell(const Walk& walk, const ZipEnd& end, std::uint64_t entries, Findings& findings) {
  const auto add = [&findings](const char* code, std::string message, std::string_view member = {}) {
    findings.push_back({code, std::move(message), std::string(member), {}});
  };
  const bool wraps = end.count_may_wrap && (entries & 0xFFFFU) == end.count;
  if (entries != end.count && !wraps)
    add("wrong-entry-count",
        fmt::format("the end record counts {} entries, the directory holds {}", end.count, entries));
  if (walk.duplicates > 0)
    add("duplicate-names",
        fmt::format("{} names are there more than once, such as {}; the last one is taken", walk.duplicates,
                    example(walk.duplicate)),
        walk.duplicate);
  if (walk.case_twins > 0)
    add("names-differ-in-case",
        fmt::format("{} names differ from another only in case, such as {}", walk.case_twins, example(walk.twin)),
        walk.twin);
  if (walk.encrypted > 0) add("encrypted-entries", fmt::format("{} entries are encrypted", walk.encrypted));
  if (walk.with_nul > 0)
    add("name-with-nul", fmt::format("{} names hold a NUL, where other readers end them", walk.with_nul));
  if (walk.bad_zip64 > 0)
    add("bad-zip64-extra",
        fmt::format("{} entries have a zip64 extra that is too short, such as {}", walk.bad_zip64, example(walk.bad)),
        walk.bad);
  if (walk.outside > 0)
    add("entries-outside",
        fmt::format("{} entries reach beyond the bytes in front of the directory, such as {}", walk.outside,
                    example(walk.outsider)),
        walk.outsider);
  if (walk.overlapping > 0)
    add("overlapping-entries", fmt::format("{} entries share bytes with another one", walk.overlapping));
}

// The place of such an error is the entry; offsets in the archive are in its message.
Error inside_entry(Error error, const ZipEntry& entry) { return std::move(error).inside(entry.name); }

}  // namespace

Zip::Zip(std::unique_ptr<State> state) : state_(std::move(state)) {}
Zip::~Zip() = default;

namespace {

// Where each entry begins. The directory's own bytes decide how many there are, as in zipfile; the count is only
// compared.
Result<std::vector<std::uint32_t>> find_rows(std::span<const std::byte> directory, const ZipEnd& end,
                                             const Limits& limits, Findings& findings) {
  std::vector<std::uint32_t> rows;
  rows.reserve(std::min<std::uint64_t>(end.count, directory.size() / directory::kFixed));
  std::size_t at = 0;
  while (at < directory.size()) {
    if (!entry_fits(directory, at)) {
      if (rows.size() < end.count)
        return fail_at(ErrorCode::Malformed, end.directory + at,
                       "entry {} of {} of the central directory is cut off or is none", rows.size() + 1, end.count);
      findings.push_back({"directory-tail",
                          fmt::format("{} bytes follow the last entry of the directory", directory.size() - at), "",
                          end.directory + at});
      break;
    }
    if (rows.size() >= limits.max_members)
      return fail_at(ErrorCode::Limit, end.directory + at, "more than {} entries (--max-members)", limits.max_members);
    rows.push_back(static_cast<std::uint32_t>(at));
    const std::byte* raw = &directory[at];
    at += directory::kFixed + std::size_t{load_le<std::uint16_t>(raw + directory::kNameBytes)} +
          load_le<std::uint16_t>(raw + directory::kExtraBytes) + load_le<std::uint16_t>(raw + directory::kCommentBytes);
  }
  return rows;
}

}  // namespace

void Zip::State::index_names(Walk& walk) {
  const auto name_of = [this](std::uint32_t index) { return name(index); };
  const auto count = static_cast<std::uint32_t>(rows.size());
  names = NameTable(Case::Kept, seed);
  names.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ParsedEntry parsed = parse_entry(directory, rows[i], end.base);
    look_at(parsed, end.directory, walk);
    walk.capitals = walk.capitals || has_capital(parsed.entry.name);
    if (parsed.entry.name.find('\0') != std::string_view::npos) ++walk.with_nul;
    if (names.put(parsed.entry.name, i, name_of) && walk.duplicates++ == 0) walk.duplicate = parsed.entry.name;
  }
}

void Zip::State::index_folded_names(Walk& walk) {
  const auto name_of = [this](std::uint32_t index) { return name(index); };
  const auto count = static_cast<std::uint32_t>(rows.size());
  has_folded = true;
  folded = NameTable(Case::Ignored, seed);
  folded.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto old = folded.put(name(i), i, name_of);
    if (old && name(*old) != name(i) && walk.case_twins++ == 0) walk.twin = name(i);
  }
}

void Zip::State::tell_what_lies_around() {
  if (first_header > 0)
    end.findings.push_back(
        {"bytes-before-archive", fmt::format("{} bytes lie before the archive", first_header), "", 0});
  if (const std::uint64_t after = source->size() - end.archive_end; after > 0)
    end.findings.push_back(
        {"trailing-bytes", fmt::format("{} bytes follow the end of the archive", after), "", end.archive_end});
}

Result<std::shared_ptr<const Zip>> Zip::open(io::SourcePtr source, const Limits& limits) {
  auto state = std::make_unique<State>();
  State& s = *state;
  s.source = std::move(source);
  WICK_TRY(s.end, find_zip_end(*s.source));
  if (s.end.directory_bytes > std::numeric_limits<std::uint32_t>::max())  // rows are 32 bits
    return fail_at(ErrorCode::Unsupported, s.end.directory, "a central directory of {} bytes", s.end.directory_bytes);
  WICK_CHECK(check_memory(limits, s.end.directory_bytes, "the zip directory"));
  WICK_TRY(s.directory, io::read_range(*s.source, s.end.directory, s.end.directory_bytes, limits));
  WICK_TRY(s.rows, find_rows(s.directory, s.end, limits, s.end.findings));

  Walk walk;
  s.index_names(walk);
  if (walk.capitals) s.index_folded_names(walk);
  if (!walk.in_order)
    walk.overlapping = count_overlaps(s.rows.size(), s.end.directory, [&s](std::size_t i) {
      return parse_entry(s.directory, s.rows[i], s.end.base).entry;
    });
  s.first_header = walk.first_header == std::numeric_limits<std::uint64_t>::max() ? s.end.base : walk.first_header;
  tell(walk, s.end, s.rows.size(), s.end.findings);
  s.tell_what_lies_around();
  return std::shared_ptr<const Zip>(new Zip(std::move(state)));
}

std::size_t Zip::size() const { return state_->rows.size(); }
ZipEntry Zip::entry(std::size_t index) const {
  return parse_entry(state_->directory, state_->rows[index], state_->end.base).entry;
}

std::optional<std::uint32_t> Zip::find(std::string_view name) const {
  return state_->names.find(name, [this](std::uint32_t index) { return state_->name(index); });
}

std::optional<std::uint32_t> Zip::find_ignoring_case(std::string_view name) const {
  if (const auto exact = find(name)) return exact;
  if (!state_->has_folded) return find(to_lower(name));
  return state_->folded.find(name, [this](std::uint32_t index) { return state_->name(index); });
}

Result<void> Zip::check_entry(std::size_t index) const {
  const ZipEntry e = entry(index);
  if (!lies_within(e.header, local::kFixed + e.name.size(), state_->end.directory))
    return inside_entry(fail(ErrorCode::Malformed, "its local header is said to be at {}, the directory begins at {}",
                             e.header, state_->end.directory),
                        e);
  if (!lies_within(e.header + local::kFixed + e.name.size(), e.compressed, state_->end.directory))
    return inside_entry(fail(ErrorCode::Malformed, "{} bytes are declared, at most {} lie before the directory",
                             e.compressed, state_->end.directory - e.header - local::kFixed - e.name.size()),
                        e);
  return {};
}

Result<std::uint64_t> Zip::data_offset(std::size_t index) const {
  WICK_CHECK(check_entry(index));
  const ZipEntry e = entry(index);
  // check_entry has shown that header and name lie within the source.
  std::vector<std::byte> header(local::kFixed + e.name.size());
  WICK_CHECK(state_->source->read_at(e.header, header));
  if (load_le<std::uint32_t>(header.data()) != kLocalSignature)
    return inside_entry(fail(ErrorCode::Malformed, "no local header is at {}, where the directory puts it", e.header),
                        e);
  const std::size_t name_bytes = load_le<std::uint16_t>(&header[local::kNameBytes]);
  const std::string_view name = as_text(std::span(header).subspan(local::kFixed));
  if (name_bytes != e.name.size() || name != e.name)
    return inside_entry(fail(ErrorCode::Mismatch, "the local header names something else, {} bytes beginning with {}",
                             name_bytes, example(name)),
                        e);
  const std::uint16_t method = load_le<std::uint16_t>(&header[local::kMethod]);
  if (method != e.method)  // torch believes one in one place and the other in another (docs/formats/zip.md)
    return inside_entry(
        fail(ErrorCode::Mismatch, "its local header says method {}, the directory {}", method, e.method), e);
  const std::uint64_t data = e.header + header.size() + load_le<std::uint16_t>(&header[local::kExtraBytes]);
  if (!lies_within(data, e.compressed, state_->end.directory))
    return inside_entry(fail(ErrorCode::Malformed, "{} bytes are declared at {}, the directory begins at {}",
                             e.compressed, data, state_->end.directory),
                        e);
  return data;
}

namespace {

Result<void> check_readable(const ZipEntry& entry) {
  if ((entry.flags & kEncryptedFlags) != 0)
    return inside_entry(Error(ErrorCode::Unsupported, "the entry is encrypted"), entry);
  if ((entry.flags & kPatchFlag) != 0)
    return inside_entry(Error(ErrorCode::Unsupported, "the entry is a patch to another file"), entry);
  if (entry.method != kStored && entry.method != kDeflated)
    return inside_entry(fail(ErrorCode::Unsupported, "compression method {} (0 and 8 can be read)", entry.method),
                        entry);
  if (entry.method == kStored && entry.compressed != entry.size)
    return inside_entry(fail(ErrorCode::Mismatch, "a stored entry says {} bytes in the archive and {} outside",
                             entry.compressed, entry.size),
                        entry);
  return {};
}

}  // namespace

Result<std::vector<std::byte>> Zip::read(std::size_t index, const Limits& limits, bool check_crc) const {
  const ZipEntry e = entry(index);
  WICK_CHECK(check_readable(e));
  WICK_TRY(const std::uint64_t data, data_offset(index));
  auto bytes = io::read_range(*state_->source, data, e.compressed, limits);
  if (bytes && e.method == kDeflated) bytes = inflate_raw(*bytes, e.size, limits);
  if (!bytes) return inside_entry(std::move(bytes).error(), e);
  // torch can leave CRCs out: then the field is 0 (set_crc32_options, skip_data). Such a record is not called damaged.
  if (!check_crc || e.crc == 0) return bytes;
  const std::uint32_t crc = libdeflate_crc32(0, bytes->data(), bytes->size());
  if (crc != e.crc)
    return inside_entry(
        fail(ErrorCode::Mismatch, "the CRC of its bytes is {:08x}, the directory says {:08x}", crc, e.crc), e);
  return bytes;
}

Result<io::SourcePtr> Zip::open_entry(std::size_t index, const Limits& limits) const {
  const ZipEntry e = entry(index);
  WICK_CHECK(check_readable(e));
  std::string name = fmt::format("{}::{}", state_->source->name(), e.name);
  if (e.method == kStored) {
    WICK_TRY(const std::uint64_t data, data_offset(index));
    return io::slice(state_->source, data, e.compressed, std::move(name));
  }
  WICK_TRY(auto bytes, read(index, limits));
  return from_memory(std::move(bytes), std::move(name));
}

const io::SourcePtr& Zip::source() const { return state_->source; }
std::string_view Zip::comment() const { return state_->end.comment; }
std::uint64_t Zip::bytes_before() const { return state_->first_header; }
std::uint64_t Zip::bytes_after() const { return state_->source->size() - state_->end.archive_end; }
const Findings& Zip::findings() const { return state_->end.findings; }

}  // namespace wick::archive
