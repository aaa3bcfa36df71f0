// SPDX-License-Identifier: Apache-2.0
// Reads zips, tars, 7z archives and compressed wrappers that hold other files: what is in them, and which members are
// model files. docs/formats/archives.md.
#include <algorithm>
#include <string>
#include <vector>

#include "archive/tar.h"
#include "archive/wrapper.h"
#include "archive/zip_head.h"
#include "base/checked.h"
#include "base/text.h"
#include "checkpoint/zip_members.h"
#include "formats/readers.h"
#include "wire/json.h"

namespace wick::formats {
namespace {

using checkpoint::Contents;
using checkpoint::Member;
using checkpoint::MemberList;

constexpr std::size_t kHeadBytes = 4096;           // what a probe looks at first
constexpr std::uint64_t kManifestBytes = 1 << 20;  // of a .mar manifest that is shown
constexpr std::string_view kManifest = "MAR-INF/MANIFEST.json";

// ---- lists of members ----

class TarMembers final : public MemberList {
 public:
  TarMembers(archive::Tar tar, std::string method) : tar_(std::move(tar)), method_(std::move(method)) {}
  [[nodiscard]] std::uint64_t size() const override { return tar_.entries.size(); }
  [[nodiscard]] Member at(std::uint64_t index) const override {
    const auto& entry = tar_.entries[static_cast<std::size_t>(index)];
    Member member;
    member.name = entry.name;
    member.size = entry.size;
    member.compressed = entry.size;
    member.method = method_;
    member.header = entry.offset >= 512 ? entry.offset - 512 : 0;
    return member;
  }
  [[nodiscard]] Result<io::SourcePtr> open(std::string_view name, const Limits&) const override {
    for (std::size_t i = tar_.entries.size(); i-- > 0;)  // as tar itself: the last of one name counts
      if (tar_.entries[i].name == name && is_file(i)) return archive::open_entry(tar_, i);
    return fail(ErrorCode::NotFound, "the archive has no member '{}'", escape_for_display(name));
  }
  [[nodiscard]] bool is_file(std::size_t index) const {
    const char type = tar_.entries[index].type;
    return type == '0' || type == '\0' || type == '7';
  }
  [[nodiscard]] const archive::Tar& tar() const { return tar_; }

 private:
  archive::Tar tar_;
  std::string method_;
};

class SevenZipMembers final : public MemberList {
 public:
  SevenZipMembers(io::SourcePtr source, std::vector<archive::SevenZipEntry> entries)
      : source_(std::move(source)), entries_(std::move(entries)) {}
  [[nodiscard]] std::uint64_t size() const override { return entries_.size(); }
  [[nodiscard]] Member at(std::uint64_t index) const override {
    Member member;
    member.name = entries_[static_cast<std::size_t>(index)].name;
    member.size = entries_[static_cast<std::size_t>(index)].size;
    member.method = "7z";
    return member;
  }
  [[nodiscard]] Result<io::SourcePtr> open(std::string_view name, const Limits& limits) const override {
    return archive::open_7z_entry(source_, name, limits);
  }

 private:
  io::SourcePtr source_;
  std::vector<archive::SevenZipEntry> entries_;
};

// What a compressed wrapper holds: one file.
class WrappedMember final : public MemberList {
 public:
  WrappedMember(io::SourcePtr inner, std::string name, std::uint64_t compressed, std::string_view method)
      : inner_(std::move(inner)), name_(std::move(name)), compressed_(compressed), method_(method) {}
  [[nodiscard]] std::uint64_t size() const override { return 1; }
  [[nodiscard]] Member at(std::uint64_t) const override {
    Member member;
    member.name = name_;
    member.size = inner_->size();
    member.compressed = compressed_;
    member.method = method_;
    return member;
  }
  [[nodiscard]] Result<io::SourcePtr> open(std::string_view name, const Limits&) const override {
    if (name != name_) return fail(ErrorCode::NotFound, "the file holds '{}' alone", escape_for_display(name_));
    return inner_;
  }

 private:
  io::SourcePtr inner_;
  std::string name_;
  std::uint64_t compressed_;
  std::string method_;
};

// A deflated zip entry of which mostly the first bytes are wanted: those are there, the rest is inflated when asked for
// and not kept.
class PeekedEntry final : public ByteSource {
 public:
  PeekedEntry(std::shared_ptr<const archive::Zip> zip, std::size_t index, std::vector<std::byte> head,
              const Limits& limits)
      : zip_(std::move(zip)), index_(index), head_(std::move(head)), limits_(limits), name_(zip_->entry(index).name) {}
  [[nodiscard]] std::uint64_t size() const override { return zip_->entry(index_).size; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Result<void> read(std::span<const Read> pieces) const override {
    const bool in_head = std::all_of(pieces.begin(), pieces.end(), [&](const Read& piece) {
      return lies_within(piece.offset, piece.into.size(), head_.size());
    });
    if (in_head) return copy(pieces, head_);
    WICK_TRY(const auto whole, zip_->read(index_, limits_, false));
    return copy(pieces, whole);
  }

 private:
  static Result<void> copy(std::span<const Read> pieces, std::span<const std::byte> from) {
    for (const Read& piece : pieces) {
      if (!lies_within(piece.offset, piece.into.size(), from.size()))
        return fail_at(ErrorCode::Truncated, piece.offset, "{} bytes wanted here, the member has {} in all",
                       piece.into.size(), from.size());
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(piece.offset), piece.into.size(), piece.into.begin());
    }
    return {};
  }

  std::shared_ptr<const archive::Zip> zip_;
  std::size_t index_;
  std::vector<std::byte> head_;
  Limits limits_;
  std::string name_;
};

// ---- the reader ----

class ArchiveReader {
 public:
  ArchiveReader(const checkpoint::Probe& probe, IsModel is_model) : probe_(probe), is_model_(is_model) {
    contents_.name = probe.name;
    contents_.kind = FileKind::Archive;
    contents_.source = probe.source;
    contents_.limits = probe.context.limits;
    inner_ = probe.context;
    ++inner_.nesting;
  }
  Result<Contents> read();

 private:
  Result<void> read_zip();
  Result<void> read_tar(const io::SourcePtr& source, std::string method);
  Result<void> read_7z();
  Result<void> read_wrapper(archive::Wrapper wrapper);
  void offer(const io::SourcePtr& source, const std::string& name);
  Result<io::SourcePtr> peek(std::size_t index);
  void read_manifest();

  const checkpoint::Probe& probe_;
  IsModel is_model_;
  Context inner_;
  Contents contents_;
};

void ArchiveReader::offer(const io::SourcePtr& source, const std::string& name) {
  if (source->size() == 0 || inner_.nesting > inner_.limits.max_nesting) return;
  if (is_model_(source, name, inner_)) contents_.model_members.push_back(name);
}

Result<io::SourcePtr> ArchiveReader::peek(std::size_t index) {
  const archive::ZipEntry entry = probe_.zip->entry(index);
  if (entry.method == 0) return probe_.zip->open_entry(index, inner_.limits);
  WICK_TRY(auto head, archive::read_entry_head(*probe_.zip, index, kHeadBytes));
  return io::SourcePtr(std::make_shared<PeekedEntry>(probe_.zip, index, std::move(head), inner_.limits));
}

Result<void> ArchiveReader::read_zip() {
  contents_.members = checkpoint::zip_member_list(probe_.zip);
  contents_.findings = probe_.zip->findings();
  auto& facts = contents_.facts;
  for (std::size_t index = 0; index < probe_.zip->size(); ++index) {
    const archive::ZipEntry entry = probe_.zip->entry(index);
    if (entry.is_folder) continue;
    if (entry.method != 0) ++facts.compressed;
    if (entry.crc != 0) ++facts.crc_present;
    if (entry.crc == 0 && entry.size != 0) ++facts.crc_omitted;
    const auto source = peek(index);
    if (source)
      offer(*source, std::string(entry.name));
    else
      contents_.findings.push_back(
          {"unreadable-member", source.error().message(), std::string(entry.name), source.error().offset()});
  }
  read_manifest();
  return {};
}

// TorchServe's .mar: the manifest says what model it is.
void ArchiveReader::read_manifest() {
  const auto index = probe_.zip->find(kManifest);
  if (!index || probe_.zip->entry(*index).size > kManifestBytes) return;
  const auto bytes = probe_.zip->read(*index, inner_.limits);
  if (!bytes) return;
  const auto manifest =
      wire::parse_json({static_cast<const char*>(static_cast<const void*>(bytes->data())), bytes->size()});
  if (!manifest) {
    contents_.findings.push_back(
        {"unreadable-manifest", manifest.error().message(), std::string(kManifest), manifest.error().offset()});
    return;
  }
  const auto note = [&](const std::string& key, const wire::Json& value) {
    if (value.as_string())
      contents_.facts.metadata.emplace_back(key, *value.as_string());
    else if (value.as_int())
      contents_.facts.metadata.emplace_back(key, std::to_string(*value.as_int()));
  };
  for (const auto& [key, value] : manifest->members) {
    note(key, value);
    for (const auto& [inner, deeper] : value.members) note(key + "." + inner, deeper);
  }
}

Result<void> ArchiveReader::read_tar(const io::SourcePtr& source, std::string method) {
  WICK_TRY(archive::Tar tar, archive::read_tar(source, inner_.limits));
  contents_.findings = tar.findings;
  const auto members = std::make_shared<TarMembers>(std::move(tar), std::move(method));
  contents_.members = members;
  for (std::size_t i = 0; i < members->tar().entries.size(); ++i) {
    if (!members->is_file(i)) continue;
    const auto entry = archive::open_entry(members->tar(), i);
    if (entry) offer(*entry, members->tar().entries[i].name);
  }
  return {};
}

Result<void> ArchiveReader::read_7z() {
  WICK_TRY(auto entries, archive::list_7z(probe_.source, inner_.limits));
  for (const auto& entry : entries) {
    const auto source = archive::open_7z_entry(probe_.source, entry.name, inner_.limits);
    if (source)
      offer(*source, entry.name);
    else
      contents_.findings.push_back(
          {"unreadable-member", source.error().message(), entry.name, source.error().offset()});
  }
  contents_.members = std::make_shared<SevenZipMembers>(probe_.source, std::move(entries));
  return {};
}

// The name of what is inside: the wrapper's own without its ending ("x.pth.gz" holds "x.pth").
std::string inner_name(std::string_view name) {
  const std::size_t folder = name.find_last_of('/');
  if (folder != std::string_view::npos) name.remove_prefix(folder + 1);
  const std::size_t member = name.rfind("::");
  if (member != std::string_view::npos) name.remove_prefix(member + 2);
  const std::string lower = to_lower(name);
  for (const std::string_view end : {".gz", ".xz", ".bz2", ".zst", ".zstd", ".lzma", ".zlib", ".z"})
    if (lower.size() > end.size() && lower.ends_with(end)) return std::string(name.substr(0, name.size() - end.size()));
  for (const std::string_view end : {".tgz", ".txz", ".tbz2", ".tbz", ".tzst"})
    if (lower.size() > end.size() && lower.ends_with(end))
      return std::string(name.substr(0, name.size() - end.size())) + ".tar";
  return name.empty() ? "contents" : std::string(name);
}

// The tar of torch 0.1 is a model itself and no archive of files.
bool is_torch_tar(const archive::Tar& tar) {
  const auto has = [&](std::string_view name) {
    return std::any_of(tar.entries.begin(), tar.entries.end(), [&](const archive::TarEntry& entry) {
      return entry.name == name || entry.name == fmt::format("./{}", name);
    });
  };
  return has("pickle") && has("storages") && has("tensors");
}

Result<void> ArchiveReader::read_wrapper(archive::Wrapper wrapper) {
  const std::string name = inner_name(probe_.name);
  WICK_TRY(const auto inner,
           archive::unwrap(probe_.source, wrapper, inner_.limits, probe_.source->name() + "::" + name));
  WICK_TRY(const auto head, io::read_head(*inner, kHeadBytes));
  if (archive::looks_like_tar(head)) {
    const auto tar = archive::read_tar(inner, inner_.limits);
    if (tar && !is_torch_tar(*tar)) return read_tar(inner, fmt::format("tar in {}", archive::name_of(wrapper)));
  }
  contents_.members = std::make_shared<WrappedMember>(inner, name, probe_.source->size(), archive::name_of(wrapper));
  offer(inner, name);
  return {};
}

Result<Contents> ArchiveReader::read() {
  if (probe_.zip != nullptr) {
    WICK_CHECK(read_zip());
  } else if (archive::looks_like_7z(probe_.head)) {
    WICK_CHECK(read_7z());
  } else if (archive::looks_like_tar(probe_.head)) {
    WICK_CHECK(read_tar(probe_.source, "tar"));
  } else if (const auto wrapper = archive::detect_wrapper(probe_.head)) {
    WICK_CHECK(read_wrapper(*wrapper));
  } else {
    return Error(ErrorCode::Bug, "this is no archive");
  }
  contents_.sections.push_back({"", contents_.arena.dict(), checkpoint::Role::Unknown});
  return std::move(contents_);
}

}  // namespace

bool is_archive(const checkpoint::Probe& probe) {
  return probe.zip != nullptr || archive::looks_like_7z(probe.head) || archive::looks_like_tar(probe.head) ||
         archive::detect_wrapper(probe.head).has_value();
}

Result<Contents> read_archive(const checkpoint::Probe& probe, IsModel is_model) {
  return ArchiveReader(probe, is_model).read();
}

}  // namespace wick::formats
