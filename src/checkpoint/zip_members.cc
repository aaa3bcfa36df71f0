// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/zip_members.h"

#include "base/checked.h"

namespace wick::checkpoint {

std::uint32_t ZipPartOpener::add(std::uint32_t index, std::uint64_t skip, std::uint64_t length) {
  parts_.push_back({index, skip, length});
  return static_cast<std::uint32_t>(parts_.size() - 1);
}

Result<tensor::StoragePtr> ZipPartOpener::open(std::uint32_t entry) const {
  if (entry >= parts_.size()) return fail(ErrorCode::Bug, "part {} of {} wanted", entry, parts_.size());
  const Part part = parts_[entry];
  const archive::ZipEntry record = zip_->entry(part.index);
  if (!lies_within(part.skip, part.length, record.size))
    return fail(ErrorCode::Truncated, "bytes {} to {} of '{}' wanted, it has {}", part.skip, part.skip + part.length,
                record.name, record.size);
  if (record.method == 0 && (record.flags & 1U) == 0) {
    WICK_TRY(const std::uint64_t offset, zip_->data_offset(part.index));
    return tensor::range_storage(zip_->source(), offset + part.skip, part.length);
  }
  return tensor::derived_storage(
      part.length, "deflated", [zip = zip_, limits = limits_, part]() -> Result<std::vector<std::byte>> {
        WICK_TRY(auto bytes, zip->read(part.index, limits));
        if (part.skip == 0 && part.length == bytes.size()) return bytes;
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(part.skip);
        return std::vector<std::byte>(begin, begin + static_cast<std::ptrdiff_t>(part.length));
      });
}

std::string ZipPartOpener::member(std::uint32_t entry) const {
  return entry < parts_.size() ? std::string(zip_->entry(parts_[entry].index).name) : std::string();
}

bool ZipPartOpener::compressed(std::uint32_t entry) const {
  return entry < parts_.size() && zip_->entry(parts_[entry].index).method != 0;
}

Result<std::uint64_t> ZipPartOpener::file_offset(std::uint32_t entry) const {
  if (entry >= parts_.size()) return fail(ErrorCode::Bug, "part {} of {} wanted", entry, parts_.size());
  WICK_TRY(const std::uint64_t offset, zip_->data_offset(parts_[entry].index));
  // Of a deflated record the place where its compressed bytes begin: a part of it has none of its own.
  return compressed(entry) ? offset : offset + parts_[entry].skip;
}

namespace {

class ZipMemberList final : public MemberList {
 public:
  explicit ZipMemberList(std::shared_ptr<const archive::Zip> zip) : zip_(std::move(zip)) {}
  [[nodiscard]] std::uint64_t size() const override { return zip_->size(); }
  [[nodiscard]] Member at(std::uint64_t index) const override {
    const archive::ZipEntry entry = zip_->entry(static_cast<std::size_t>(index));
    Member member;
    member.name = entry.name;
    member.size = entry.size;
    member.compressed = entry.compressed;
    member.crc = entry.crc;
    member.has_crc = entry.crc != 0 || entry.size == 0;
    member.method = entry.method == 0   ? "stored"
                    : entry.method == 8 ? "deflated"
                                        : fmt::format("method {}", entry.method);
    member.header = entry.header;
    return member;
  }
  [[nodiscard]] Result<io::SourcePtr> open(std::string_view name, const Limits& limits) const override {
    const auto index = zip_->find(name);
    if (!index) return fail(ErrorCode::NotFound, "the archive has no member '{}'", name);
    return zip_->open_entry(*index, limits);
  }

 private:
  std::shared_ptr<const archive::Zip> zip_;
};

}  // namespace

std::shared_ptr<const MemberList> zip_member_list(std::shared_ptr<const archive::Zip> zip) {
  return std::make_shared<ZipMemberList>(std::move(zip));
}

}  // namespace wick::checkpoint
