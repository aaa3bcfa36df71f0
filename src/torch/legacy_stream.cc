// SPDX-License-Identifier: Apache-2.0
#include "torch/legacy_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>

#include "base/checked.h"
#include "base/cursor.h"
#include "torch/storage_id.h"

namespace wick::torch {

using checkpoint::kNone;
using checkpoint::StorageRow;
using pickle::Kind;
using pickle::Value;

namespace {

// 0x1950a86a20f9469cfc6c, two's complement little-endian.
constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::int64_t kProtocolVersion = 1001;

// ---- where a stream lies ----

class SourceStream final : public StreamBytes {
 public:
  SourceStream(io::SourcePtr source, std::uint64_t begin)
      : source_(std::move(source)), begin_(begin), opener_(std::make_shared<SourceRanges>(source_)) {}
  [[nodiscard]] std::uint64_t size() const override { return source_->size() - begin_; }
  Result<pickle::Pickle> read_pickle(std::uint64_t offset, checkpoint::Contents& contents) override {
    WICK_TRY(auto read, pickle::read_pickle_at(*source_, begin_ + offset, contents.arena, contents.limits));
    read.begin -= begin_;
    read.end -= begin_;
    return read;
  }
  // Storages are often small and counts lie between them: a window spares a call for each.
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) override {
    const bool inside = offset >= window_at_ && lies_within(offset - window_at_, into.size(), window_.size());
    if (!inside) {
      if (!lies_within(offset, into.size(), size()))
        return fail_at(ErrorCode::Truncated, begin_ + offset, "{} bytes wanted here, the file ends at {}", into.size(),
                       source_->size());
      window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, size() - offset)));
      window_at_ = offset;
      WICK_CHECK(source_->read_at(begin_ + offset, window_));
    }
    std::memcpy(into.data(), window_.data() + (offset - window_at_), into.size());
    return {};
  }
  std::uint32_t add_range(std::uint64_t offset, std::uint64_t length) override {
    return opener_->add(begin_ + offset, length);
  }
  std::uint32_t add_part(std::uint32_t entry, std::uint64_t offset, std::uint64_t length) override {
    return opener_->add_part(entry, offset, length);
  }
  [[nodiscard]] std::shared_ptr<const checkpoint::StorageOpener> opener() const override { return opener_; }

 private:
  static constexpr std::uint64_t kWindow = 4096;
  io::SourcePtr source_;
  std::uint64_t begin_;
  std::shared_ptr<SourceRanges> opener_;
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
};

class MemoryStream final : public StreamBytes {
 public:
  explicit MemoryStream(std::span<const std::byte> bytes) : bytes_(bytes), opener_(std::make_shared<OwnedBytes>()) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  Result<pickle::Pickle> read_pickle(std::uint64_t offset, checkpoint::Contents& contents) override {
    if (offset > bytes_.size()) return Error(ErrorCode::Truncated, "the stream ends before this pickle");
    // The bytes live as long as the arena, so byte strings in them need no copy: nesting costs no memory twice.
    return pickle::read_pickle(bytes_.subspan(static_cast<std::size_t>(offset)), offset, contents.arena,
                               contents.limits, same_lifetime_);
  }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) override {
    if (!lies_within(offset, into.size(), bytes_.size()))
      return fail_at(ErrorCode::Truncated, offset, "{} bytes wanted here, the stream has {}", into.size(),
                     bytes_.size());
    std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }
  std::uint32_t add_range(std::uint64_t offset, std::uint64_t length) override {
    return opener_->borrow(bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)));
  }
  std::uint32_t add_part(std::uint32_t entry, std::uint64_t offset, std::uint64_t length) override {
    return opener_->borrow_part(entry, offset, length);
  }
  [[nodiscard]] std::shared_ptr<const checkpoint::StorageOpener> opener() const override { return opener_; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<OwnedBytes> opener_;
  std::shared_ptr<const void> same_lifetime_ = std::make_shared<const int>(0);
};

// ---- the storages ----

// A storage of the stream, or a named part of one.
struct View {
  std::uint32_t storage = 0;  // its own row
  std::uint32_t root = 0;     // the row it is a part of
  std::uint64_t offset = 0;   // bytes
};

class LegacyStorages {
 public:
  LegacyStorages(checkpoint::Contents& contents, StreamBytes& bytes) : contents_(contents), bytes_(bytes) {
    opener_ = static_cast<std::uint32_t>(contents.openers.size());
    contents.openers.push_back(bytes.opener());
  }

  // One row for each key, named before any byte of it is looked at: part 6 counts elements of these types.
  void name_all(const std::vector<Value>& persistent_ids) {
    rows_.reserve(persistent_ids.size());
    for (const Value id : persistent_ids) rows_.push_back(name_one(id));
  }

  // Parts 5 and 6. Returns where the last storage ends.
  Result<std::uint64_t> place_all(Value keys, std::uint64_t at) {
    if (!keys.is(Kind::List) && !keys.is(Kind::Tuple))
      return Error(ErrorCode::Malformed, "the list of storage keys is no list");
    for (const Value key : contents_.arena.items(keys)) {
      const auto text = key_text(key);
      const auto found = text ? known_.find(*text) : known_.end();
      if (found == known_.end()) {
        stopped_ =
            fail(ErrorCode::Malformed, "storage key '{}' of the stream is named by no tensor", text.value_or("?"));
        break;
      }
      auto end = place(found->second, *text, at);
      if (!end) {
        stopped_ = std::move(end).error();
        break;
      }
      at = *end;
    }
    settle();
    return at;
  }

  // The list of keys itself can not be read: nothing of the storages can be placed.
  void stop(Error error) {
    stopped_ = std::move(error);
    settle();
  }

  std::vector<std::uint32_t> take_rows() { return std::move(rows_); }
  [[nodiscard]] bool big_endian() const { return big_endian_; }
  [[nodiscard]] const std::optional<Error>& stopped() const { return stopped_; }

 private:
  std::optional<std::string> key_text(Value key) const {
    if (const auto text = text_of(contents_.arena, key)) return std::string(*text);
    if (key.is(Kind::Int)) return std::to_string(pickle::Arena::as_int(key));
    return std::nullopt;
  }

  std::uint32_t add_row(const StorageId& id, Value key, std::uint64_t declared) {
    StorageRow row;
    row.key = key;
    row.declared = declared;
    row.device = id.device;
    row.dtype = id.type.dtype;
    row.untyped = id.type.untyped;
    contents_.storages.push_back(row);
    placed_.resize(contents_.storages.size(), false);
    return static_cast<std::uint32_t>(contents_.storages.size() - 1);
  }

  std::uint32_t broken_row(Error error) {
    StorageRow row;
    row.error = static_cast<std::uint32_t>(contents_.errors.size());
    contents_.errors.push_back(std::move(error));
    contents_.storages.push_back(row);
    placed_.resize(contents_.storages.size(), true);
    return static_cast<std::uint32_t>(contents_.storages.size() - 1);
  }

  std::uint32_t name_one(Value persistent_id) {
    auto read = ids_.read(contents_, persistent_id);
    if (!read) return broken_row(std::move(read).error());
    if (!*read) return name_class(persistent_id);
    const StorageId& id = **read;
    auto [root, is_new] = known_.try_emplace(std::string(id.key_text), 0);
    if (is_new) root->second = add_row(id, id.key, id.declared);
    if (!id.is_view) return root->second;
    auto [view, view_is_new] = views_by_key_.try_emplace(std::string(id.view_key_text), 0);
    if (view_is_new) view->second = name_view(id, root->second);
    return view->second;
  }

  std::uint32_t name_view(const StorageId& id, std::uint32_t root) {
    const std::uint64_t item = id.type.untyped ? 1 : storage_item_bytes(id.type.dtype);
    const auto offset = checked_mul(id.view_offset, item, "view offset");
    const auto length = checked_mul(id.view_numel, item, "view size");
    if (!offset) return broken_row(offset.error());
    if (!length) return broken_row(length.error());
    const std::uint32_t row = add_row(id, id.view_key, *length);
    views_.push_back({row, root, *offset});
    return row;
  }

  // ('module', class, source file, source): torch reads the class; the source is for people.
  std::uint32_t name_class(Value persistent_id) {
    const Value pid = contents_.arena.pid(persistent_id);
    if (!pid.is(Kind::Tuple)) return kNone;
    const auto fields = contents_.arena.items(pid);
    if (fields.size() < 2 || text_of(contents_.arena, fields[0]) != "module") return kNone;
    contents_.mean_same(persistent_id, fields[1]);
    return kNone;
  }

  Result<std::uint64_t> read_count(const StorageRow& row, std::uint64_t item, std::uint64_t at) {
    std::array<std::byte, 8> raw{};
    WICK_CHECK(bytes_.read(at, raw));
    const auto count = load_le<std::uint64_t>(raw.data());
    const std::uint64_t swapped = __builtin_bswap64(count);
    // Hosts of other byte order wrote everything in theirs, before torch settled on one.
    if (row.declared != 0 && count != row.declared / item && swapped == row.declared / item) {
      big_endian_ = true;
      return swapped;
    }
    return count;
  }

  Result<std::uint64_t> place(std::uint32_t index, const std::string& key, std::uint64_t at) {
    const std::uint64_t item =
        contents_.storages[index].untyped ? 1 : storage_item_bytes(contents_.storages[index].dtype);
    WICK_TRY(const std::uint64_t count, read_count(contents_.storages[index], item, at));
    StorageRow& row = contents_.storages[index];
    const std::uint64_t begin = at + 8;  // read_count has read them
    WICK_TRY(const std::uint64_t length, checked_mul(count, item, "storage size"));
    placed_[index] = true;
    const std::uint64_t left = bytes_.size() - begin;
    row.bytes = std::min(length, left);
    row.opener = opener_;
    row.entry = bytes_.add_range(begin, row.bytes);
    row.swapped = big_endian_;
    if (length > left)
      return fail_at(ErrorCode::Truncated, begin, "storage '{}' wants {} bytes here, {} are left", key, length, left);
    if (length != row.declared)
      set_error(index, fail_at(ErrorCode::Mismatch, at, "storage '{}' holds {} bytes, {} are declared", key, length,
                               row.declared));
    return begin + length;
  }

  void set_error(std::uint32_t index, Error error) {
    StorageRow& row = contents_.storages[index];
    if (row.error != kNone) return;
    row.error = static_cast<std::uint32_t>(contents_.errors.size());
    contents_.errors.push_back(std::move(error));
  }

  // Storages that were not reached, then the parts of others.
  void settle() {
    for (const auto& [key, index] : known_) {
      const StorageRow& row = contents_.storages[index];
      if (placed_[index] && row.bytes >= row.declared) continue;
      if (row.declared == 0 && !stopped_) continue;
      if (stopped_)
        set_error(index, placed_[index]
                             ? Error(*stopped_)
                             : fail(ErrorCode::Truncated, "storage '{}' is not there: {}", key, stopped_->message()));
      else
        set_error(index, fail(ErrorCode::NotFound, "storage '{}' is not among the storages of the stream", key));
    }
    for (const View& view : views_) place_view(view);
  }

  void place_view(const View& view) {
    const StorageRow root = contents_.storages[view.root];
    StorageRow& row = contents_.storages[view.storage];
    if (root.error != kNone) {
      row.error = root.error;
      return;
    }
    if (!lies_within(view.offset, row.declared, root.bytes)) {
      set_error(view.storage, fail(ErrorCode::Malformed, "a part of {} bytes at {} of a storage of {}", row.declared,
                                   view.offset, root.bytes));
      return;
    }
    row.bytes = row.declared;
    row.opener = opener_;
    row.swapped = root.swapped;
    row.entry = bytes_.add_part(root.entry, view.offset, row.bytes);
  }

  checkpoint::Contents& contents_;
  StreamBytes& bytes_;
  StorageIds ids_;
  std::uint32_t opener_ = 0;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::unordered_map<std::string, std::uint32_t> views_by_key_;
  std::vector<View> views_;
  std::vector<bool> placed_;         // by storage row
  std::vector<std::uint32_t> rows_;  // by persistent id, in order
  bool big_endian_ = false;
  std::optional<Error> stopped_;
};

Result<std::uint64_t> read_preamble(checkpoint::Contents& contents, StreamBytes& bytes) {
  WICK_TRY(const auto magic, bytes.read_pickle(0, contents));
  if (!magic.root.is(Kind::BigInt) || contents.arena.as_text(magic.root) != kMagic)
    return Error(ErrorCode::Malformed, "the first pickle is not torch's magic number");
  WICK_TRY(const auto protocol, bytes.read_pickle(magic.end, contents));
  if (!protocol.root.is(Kind::Int) || pickle::Arena::as_int(protocol.root) != kProtocolVersion)
    return fail_at(ErrorCode::Unsupported, protocol.begin, "the stream's protocol is not {}", kProtocolVersion);
  WICK_TRY(const auto system, bytes.read_pickle(protocol.end, contents));
  return system.end;
}

}  // namespace

std::unique_ptr<StreamBytes> stream_of(io::SourcePtr source, std::uint64_t begin) {
  return std::make_unique<SourceStream>(std::move(source), begin);
}
std::unique_ptr<StreamBytes> stream_of(std::span<const std::byte> bytes) {
  return std::make_unique<MemoryStream>(bytes);
}

bool begins_as_legacy(std::span<const std::byte> head) {
  // LONG1 10 magic STOP; protocol 0 and 1 write it as LONG in decimal; 4 and 5 put a FRAME before it.
  constexpr std::string_view kBinary("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 13);
  constexpr std::string_view kDecimal("L119547037146038801333356L\n.");
  std::string_view text = as_text(head.first(std::min<std::size_t>(head.size(), 64)));
  if (text.starts_with("\x80") && text.size() > 2) text.remove_prefix(2);
  if (text.starts_with("\x95") && text.size() > 9) text.remove_prefix(9);
  return text.starts_with(kBinary) || text.starts_with(kDecimal);
}

Result<LegacySave> open_legacy(checkpoint::Contents& contents, StreamBytes& bytes) {
  LegacySave legacy;
  WICK_TRY(std::uint64_t at, read_preamble(contents, bytes));
  legacy.save.first_object = contents.arena.object_count();
  WICK_TRY(legacy.object, bytes.read_pickle(at, contents));
  legacy.save.end_object = contents.arena.object_count();
  legacy.save.root = legacy.object.root;
  legacy.save.persistent_ids = std::move(legacy.object.persistent_ids);
  LegacyStorages storages(contents, bytes);
  storages.name_all(legacy.save.persistent_ids);
  legacy.end = legacy.object.end;
  auto list = bytes.read_pickle(legacy.object.end, contents);
  if (list) {
    WICK_TRY(legacy.end, storages.place_all(list->root, list->end));
  } else {
    storages.stop(std::move(list).error());
  }
  if (storages.stopped())
    contents.findings.push_back({"storages-cut", storages.stopped()->message(), {}, storages.stopped()->offset()});
  legacy.big_endian = storages.big_endian();
  legacy.save.storage_of_id = [rows = storages.take_rows(), next = std::size_t{0}](checkpoint::Contents&,
                                                                                   Value) mutable {
    return next < rows.size() ? rows[next++] : kNone;
  };
  return legacy;
}

}  // namespace wick::torch
