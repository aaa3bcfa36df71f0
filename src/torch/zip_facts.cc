// SPDX-License-Identifier: Apache-2.0
#include "torch/zip_facts.h"

#include <algorithm>
#include <array>

#include "base/cursor.h"

namespace wick::torch {

using archive::ZipEntry;

namespace {

constexpr std::uint64_t kLongestText = 4096;
constexpr std::array<std::string_view, 9> kTextRecords{"version",
                                                       ".data/version",
                                                       "byteorder",
                                                       ".format_version",
                                                       ".storage_alignment",
                                                       "torch_version",
                                                       ".data/serialization_id",
                                                       ".data/python_version",
                                                       ".data/extern_modules"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

void check_version(checkpoint::Contents& contents) {
  const std::string& version = contents.facts.format_version;
  if (version.empty()) {
    contents.findings.push_back({"version-missing", "no version record: torch refuses such an archive", {}, {}});
    return;
  }
  const auto number = decimal(version);
  if (!number || *number < 1 || *number > 10)
    contents.findings.push_back(
        {"version-unknown", fmt::format("version is '{}', torch reads 1 to 10", version.substr(0, 40)), {}, {}});
}

void check_byteorder(checkpoint::Contents& contents) {
  const auto found = contents.facts.records.find("byteorder");
  if (found == contents.facts.records.end()) return;
  const std::string_view order = trimmed(found->second);
  if (order == "big") contents.facts.byteorder = "big";
  if (found->second != "big" && found->second != "little")
    contents.findings.push_back(
        {"byteorder",
         fmt::format("byteorder is '{}': torch takes only little and big, to the letter", order.substr(0, 40)),
         {},
         {}});
}

// Where torch's writer began the data of `entry`: just before its descriptor and the next header. No local header is
// read. Nothing when the two entries are not neighbours written that way.
bool is_aligned(const ZipEntry& entry, const ZipEntry& next, std::uint64_t alignment) {
  constexpr std::uint64_t kDescriptor = 16;
  constexpr std::uint64_t kDescriptor64 = 24;
  for (const std::uint64_t descriptor : {kDescriptor, kDescriptor64}) {
    const std::uint64_t after = entry.compressed + descriptor;
    if (next.header < entry.header || next.header - entry.header < after) continue;
    const std::uint64_t start = next.header - after;
    if (start >= entry.header + 30 + entry.name.size() && start % alignment == 0) return true;
  }
  return false;
}

// torch aligns every record to 64 unless .storage_alignment says otherwise. A sample tells.
std::uint64_t guess_alignment(const archive::Zip& zip, const ZipStorages& storages) {
  constexpr std::uint64_t kUsual = 64;
  constexpr std::size_t kSample = 32;
  std::size_t seen = 0;
  for (std::size_t i = 0; i + 1 < zip.size() && seen < kSample; ++i) {
    const ZipEntry entry = zip.entry(i);
    const bool described = (entry.flags & 8U) != 0;
    if (!storages.is_used(static_cast<std::uint32_t>(i)) || entry.size == 0) continue;
    if (!described || !is_aligned(entry, zip.entry(i + 1), kUsual)) return 0;
    ++seen;
  }
  return seen == 0 ? 0 : kUsual;
}

}  // namespace

void read_text_records(checkpoint::Contents& contents, const archive::Zip& zip, const ZipRoot& root) {
  for (const std::string_view name : kTextRecords) {
    const auto entry = root.entry(zip, name);
    if (!entry || zip.entry(*entry).size > kLongestText) continue;
    auto bytes = zip.read(*entry, contents.limits, false);
    if (!bytes) {
      contents.findings.push_back({"record", bytes.error().message(), std::string(name), bytes.error().offset()});
      continue;
    }
    contents.facts.records.emplace(name, as_text(*bytes));
  }
  const auto& records = contents.facts.records;
  for (const std::string_view name : {".data/version", "version"}) {
    const auto found = records.find(std::string(name));
    if (found == records.end()) continue;
    contents.facts.format_version = trimmed(found->second);
    break;
  }
  check_version(contents);
  check_byteorder(contents);
  if (const auto found = records.find(".storage_alignment"); found != records.end())
    contents.facts.alignment = decimal(trimmed(found->second)).value_or(0);
}

void read_directory_facts(checkpoint::Contents& contents, const archive::Zip& zip, const ZipRoot& root,
                          const ZipStorages& storages, KnownRecord known) {
  checkpoint::ContainerFacts& facts = contents.facts;
  std::uint64_t outside = 0;
  std::string first_outside;
  for (std::size_t i = 0; i < zip.size(); ++i) {
    const ZipEntry entry = zip.entry(i);
    if (entry.is_folder) continue;
    if (entry.crc != 0) {
      ++facts.crc_present;
    } else if (entry.size != 0) {
      ++facts.crc_omitted;
    }
    if (entry.method != 0) ++facts.compressed;
    if (storages.is_used(static_cast<std::uint32_t>(i))) continue;
    if (!entry.name.starts_with(root.prefix())) {
      if (outside++ == 0) first_outside = entry.name;
      facts.extra_members.emplace_back(entry.name);
    } else if (!known(entry.name.substr(root.prefix().size()))) {
      facts.extra_members.emplace_back(entry.name);
    }
  }
  if (outside != 0)
    contents.findings.push_back(
        {"outside-root",
         fmt::format("{} records lie outside the folder '{}', which torch refuses: '{}' is the first", outside,
                     root.folder(), first_outside),
         first_outside,
         {}});
  if (facts.alignment == 0 && facts.records.count(".storage_alignment") == 0)
    facts.alignment = guess_alignment(zip, storages);
}

}  // namespace wick::torch
