// SPDX-License-Identifier: Apache-2.0
// Reads a torch.distributed.checkpoint folder as one checkpoint: `.metadata` with .distcp files (torch.save items or
// safetensors), or shards of HuggingFaceStorageWriter. Format: docs/formats/dcp.md.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "archive/wrapper.h"
#include "base/checked.h"
#include "base/text.h"
#include "checkpoint/places.h"
#include "checkpoint/ranges.h"
#include "checkpoint/read_tensor.h"
#include "io/relative.h"
#include "pickle/machine.h"
#include "torch/dcp_chunks.h"
#include "torch/dcp_metadata.h"
#include "torch/dcp_tree.h"
#include "torch/meaning.h"
#include "torch/readers.h"
#include "wire/json.h"

namespace wick::torch {
namespace {

namespace fs = std::filesystem;
using checkpoint::Contents;
using checkpoint::kNone;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

constexpr std::string_view kMetadata = ".metadata";
constexpr std::string_view kSharding = "DCP_SHARDING_INFO";
constexpr std::string_view kZstdTransform = "stream.zstd/1";
constexpr std::uint64_t kMostComparisons = 20'000'000;  // of chunks with each other, for one checkpoint

std::string join_path(const std::string& folder, const std::string& file) { return (fs::path(folder) / file).string(); }

// Tensors of one file by their fqn.
struct OpenedFile {
  Contents contents;
  std::map<std::string, std::uint32_t> rows;
};

Result<std::shared_ptr<const OpenedFile>> name_rows(Contents contents) {
  auto opened = std::make_shared<OpenedFile>();
  opened->contents = std::move(contents);
  WICK_TRY(const auto places, checkpoint::find_places(opened->contents));
  for (const auto& place : places.rows)
    opened->rows.emplace(checkpoint::name_of(opened->contents, places, place.path), place.tensor);
  return std::shared_ptr<const OpenedFile>(std::move(opened));
}

Result<void> expect_chunk(const Contents& contents, std::uint32_t tensor, DType dtype, const DcpChunk& chunk) {
  const auto& row = contents.tensors[tensor];
  if (row.dtype != dtype)
    return fail(ErrorCode::Mismatch, "the chunk is {}, .metadata says {}", name_of(row.dtype), name_of(dtype));
  const auto sizes = contents.sizes(row);
  if (!std::equal(sizes.begin(), sizes.end(), chunk.shape.begin(), chunk.shape.end()))
    return Error(ErrorCode::Mismatch, "the chunk has other sizes than .metadata says");
  return {};
}

// The chunk's storage when its elements are all of it from the start, in C order, unswapped.
Result<tensor::StoragePtr> open_if_plain(const Contents& contents, std::uint32_t tensor) {
  const auto& row = contents.tensors[tensor];
  const auto wanted = checkpoint::c_order_strides(contents.sizes(row));
  const auto strides = contents.strides(row);
  const bool plain = row.layout == checkpoint::Layout::Strided && row.offset == 0 && !row.conj && !row.neg &&
                     std::equal(strides.begin(), strides.end(), wanted.begin(), wanted.end());
  if (!plain) return tensor::StoragePtr();
  WICK_TRY(auto storage, checkpoint::open_storage(contents, tensor));
  return storage->size() == contents.tensor_bytes(row) ? storage : tensor::StoragePtr();
}

// ---- items of .distcp files ----

class DistcpItems final : public ChunkSource {
 public:
  DistcpItems(std::string folder, Context context, OpenFile open_file)
      : folder_(std::move(folder)), context_(std::move(context)), open_file_(open_file) {}
  std::uint32_t add(DcpPlace place) {
    places_.push_back(std::move(place));
    return static_cast<std::uint32_t>(places_.size() - 1);
  }

  // The item as it was before the transforms, as a source of its own.
  [[nodiscard]] Result<io::SourcePtr> open_item(std::uint32_t place) const;
  [[nodiscard]] Result<std::vector<std::byte>> read(const std::string& fqn, DType dtype, const DcpChunk& chunk,
                                                    std::uint32_t place) const override;
  [[nodiscard]] Result<tensor::StoragePtr> open_whole(const std::string& fqn, DType dtype, const DcpChunk& chunk,
                                                      std::uint32_t place) const override;
  [[nodiscard]] std::string file(std::uint32_t place) const override { return places_[place].file; }

 private:
  struct Found {
    std::shared_ptr<const OpenedFile> file;
    std::uint32_t tensor = 0;
  };
  [[nodiscard]] Result<Found> find(const std::string& fqn, DType dtype, const DcpChunk& chunk,
                                   std::uint32_t place) const;
  [[nodiscard]] Result<Found> find_inside(const std::string& fqn, std::uint32_t place) const;

  std::string folder_;
  Context context_;
  OpenFile open_file_;
  std::vector<DcpPlace> places_;
};

Result<io::SourcePtr> DistcpItems::open_item(std::uint32_t index) const {
  const DcpPlace& place = places_[index];
  if (!io::stays_inside(place.file))
    return fail(ErrorCode::Malformed, ".metadata names '{}', which is outside its folder",
                escape_for_display(place.file));
  WICK_TRY(const auto whole, open_file(join_path(folder_, place.file)));
  if (!lies_within(place.offset, place.length, whole->size()))
    return fail_at(ErrorCode::Truncated, place.offset, "{} bytes wanted here, the file has {} in all", place.length,
                   whole->size());
  WICK_TRY(auto item, io::slice(whole, place.offset, place.length, place.file));
  for (auto transform = place.transforms.rbegin(); transform != place.transforms.rend(); ++transform) {
    if (*transform != kZstdTransform)
      return fail(ErrorCode::Unsupported, "the transform '{}' is none that wick undoes",
                  escape_for_display(*transform));
    WICK_TRY(item, archive::unwrap(item, archive::Wrapper::Zstd, context_.limits, place.file));
  }
  return item;
}

// An item is a torch.save archive of one tensor; in a safetensors file the name tells the place.
Result<DistcpItems::Found> DistcpItems::find_inside(const std::string& fqn, std::uint32_t place) const {
  WICK_TRY(const auto item, open_item(place));
  WICK_TRY(const auto probe, checkpoint::probe(item, item->name(), context_));
  if (is_torch_zip(probe) || is_legacy(probe)) {
    WICK_TRY(auto contents, is_torch_zip(probe) ? read_torch_zip(probe) : read_legacy(probe));
    auto opened = std::make_shared<OpenedFile>();
    opened->contents = std::move(contents);
    if (opened->contents.sections.empty()) return Error(ErrorCode::Malformed, "the item holds no value");
    const Value root = opened->contents.resolve(opened->contents.sections[0].root);
    const auto meaning = opened->contents.meaning(root);
    if (meaning.what != checkpoint::Meaning::What::Tensor)
      return Error(ErrorCode::Malformed, "the item holds no tensor");
    return Found{std::move(opened), meaning.index};
  }
  WICK_TRY(auto contents, open_file_(join_path(folder_, places_[place].file), context_));
  WICK_TRY(auto opened, name_rows(std::move(contents)));
  const auto row = opened->rows.find(fqn);
  if (row == opened->rows.end()) return Error(ErrorCode::NotFound, "the file has no tensor of this name");
  return Found{opened, row->second};
}

Result<DistcpItems::Found> DistcpItems::find(const std::string& fqn, DType dtype, const DcpChunk& chunk,
                                             std::uint32_t place) const {
  auto found = find_inside(fqn, place);
  if (!found) return std::move(found).error().inside(file(place));
  if (auto fits = expect_chunk(found->file->contents, found->tensor, dtype, chunk); !fits)
    return std::move(fits).error().inside(file(place));
  return found;
}

Result<std::vector<std::byte>> DistcpItems::read(const std::string& fqn, DType dtype, const DcpChunk& chunk,
                                                 std::uint32_t place) const {
  WICK_TRY(const Found found, find(fqn, dtype, chunk, place));
  return checkpoint::read_elements(found.file->contents, found.tensor);
}

Result<tensor::StoragePtr> DistcpItems::open_whole(const std::string& fqn, DType dtype, const DcpChunk& chunk,
                                                   std::uint32_t place) const {
  WICK_TRY(const Found found, find(fqn, dtype, chunk, place));
  return open_if_plain(found.file->contents, found.tensor);
}

// ---- the reader of .metadata ----

Contents new_contents(const std::string& folder, const Context& context) {
  Contents contents;
  contents.name = folder;
  contents.kind = FileKind::TorchDcp;
  contents.limits = context.limits;
  return contents;
}

Value add_failed(Contents& contents, Error error) {
  checkpoint::TensorRow row;
  row.dtype = DType::NumpyOther;
  const std::uint32_t tensor = contents.add_tensor(row);
  contents.set_error(tensor, std::move(error));
  return checkpoint::tensor_leaf(contents, tensor);
}

// The row of a chunked tensor with its pieces; `source` names the files of its places.
std::uint32_t add_chunked(Contents& contents, ChunkOpener& opener, const ChunkSource& source, ChunkedTensor tensor,
                          std::optional<bool> requires_grad) {
  const std::uint32_t storage = checkpoint::add_storage(contents, 0, 0, tensor.bytes, tensor.dtype);
  const std::uint32_t row = checkpoint::add_packed_tensor(contents, tensor.dtype, tensor.size, storage);
  contents.tensors[row].requires_grad = requires_grad.value_or(false);
  contents.tensors[row].grad_known = requires_grad.has_value();
  auto& more = contents.more_of(row);
  for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
    const auto& chunk = tensor.chunks[i];
    const auto bytes = checkpoint::packed_size(tensor.dtype, chunk.shape);
    more.pieces.push_back({source.file(tensor.places[i]), "", bytes ? *bytes : 0, chunk.start, chunk.shape});
  }
  contents.storages[storage].entry = opener.add(std::move(tensor));
  return row;
}

class MetadataReader {
 public:
  MetadataReader(const std::string& folder, const Context& context, OpenFile open_file)
      : folder_(folder),
        contents_(new_contents(folder, context)),
        items_(std::make_shared<DistcpItems>(folder, context, open_file)),
        opener_(std::make_shared<ChunkOpener>(items_, context.limits)) {}
  Result<Contents> read();

 private:
  Result<DcpMetadata> read_metadata();
  Value tensor_of(const DcpEntry& entry);
  Result<ChunkedTensor> chunked(const DcpEntry& entry);
  Result<std::uint32_t> place_of(const std::string& key, std::string_view what);
  Result<void> check_place(const DcpPlace& place);
  Value object_of(const DcpEntry& entry);

  std::string folder_;
  Contents contents_;
  std::shared_ptr<DistcpItems> items_;
  std::shared_ptr<ChunkOpener> opener_;
  DcpMetadata metadata_;
  std::map<std::string, std::optional<std::uint64_t>> file_sizes_;
  std::uint64_t comparisons_ = kMostComparisons;
};

Result<DcpMetadata> MetadataReader::read_metadata() {
  WICK_TRY(contents_.source, open_file(join_path(folder_, std::string(kMetadata))));
  WICK_TRY(auto bytes, io::read_all(*contents_.source, contents_.limits));
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  WICK_TRY(const auto pickle, pickle::read_pickle(*owner, 0, contents_.arena, contents_.limits, owner));
  contents_.facts.pickle_protocol = pickle.protocol;
  contents_.facts.classes = pickle.globals;
  return parse_dcp_metadata(contents_.arena, pickle.root);
}

Result<void> MetadataReader::check_place(const DcpPlace& place) {
  if (!io::stays_inside(place.file))
    return fail(ErrorCode::Malformed, ".metadata names '{}', which is outside its folder",
                escape_for_display(place.file));
  auto known = file_sizes_.find(place.file);
  if (known == file_sizes_.end()) {
    std::error_code failed;
    const std::uint64_t size = fs::file_size(join_path(folder_, place.file), failed);
    known = file_sizes_.emplace(place.file, failed ? std::nullopt : std::optional(size)).first;
  }
  if (!known->second) return fail(ErrorCode::NotFound, "{} is not in the folder", escape_for_display(place.file));
  if (!lies_within(place.offset, place.length, *known->second))
    return fail_at(ErrorCode::Truncated, place.offset, "{} bytes are needed here, {} has {} in all", place.length,
                   escape_for_display(place.file), *known->second);
  return {};
}

Result<std::uint32_t> MetadataReader::place_of(const std::string& key, std::string_view what) {
  const auto place = metadata_.places.find(key);
  if (place == metadata_.places.end()) return fail(ErrorCode::NotFound, "storage_data has no place for {}", what);
  WICK_CHECK(check_place(place->second));
  return items_->add(place->second);
}

Result<ChunkedTensor> MetadataReader::chunked(const DcpEntry& entry) {
  ChunkedTensor tensor{entry.fqn, *entry.dtype, entry.size, entry.chunks, {}, 0};
  WICK_TRY(tensor.bytes, checkpoint::packed_size(tensor.dtype, entry.size));
  if (facts_of(tensor.dtype).block_bytes == 0)
    return fail(ErrorCode::Unsupported, "chunks of {} fill no whole bytes", name_of(tensor.dtype));
  WICK_CHECK(check_cover(entry.size, entry.chunks, comparisons_));
  for (const DcpChunk& chunk : entry.chunks) {
    std::string at = "the chunk at [";
    for (std::size_t i = 0; i < chunk.start.size(); ++i) at += fmt::format("{}{}", i == 0 ? "" : ", ", chunk.start[i]);
    WICK_TRY(const std::uint32_t place, place_of(place_key(entry.fqn, &chunk.start), at + "]"));
    tensor.places.push_back(place);
  }
  return tensor;
}

Value MetadataReader::tensor_of(const DcpEntry& entry) {
  auto tensor = entry.error ? Result<ChunkedTensor>(Error(*entry.error)) : chunked(entry);
  if (tensor)
    return checkpoint::tensor_leaf(contents_,
                                   add_chunked(contents_, *opener_, *items_, *std::move(tensor), entry.requires_grad));
  // What is known is told all the same: dtype and sizes.
  const std::uint32_t row =
      checkpoint::add_packed_tensor(contents_, entry.dtype.value_or(DType::NumpyOther), entry.size, kNone);
  contents_.set_error(row, std::move(tensor).error());
  return checkpoint::tensor_leaf(contents_, row);
}

Value MetadataReader::object_of(const DcpEntry& entry) {
  const auto read = [&]() -> Result<Value> {
    WICK_TRY(const std::uint32_t place, place_of(place_key(entry.fqn, nullptr), "this object"));
    WICK_TRY(const auto item, items_->open_item(place));
    auto value = read_nested_save(contents_, item);
    if (!value) return std::move(value).error().inside(items_->file(place));
    return value;
  };
  auto value = read();
  return value ? *value : add_failed(contents_, std::move(value).error());
}

Result<Contents> MetadataReader::read() {
  contents_.openers.push_back(opener_);
  auto metadata = read_metadata();
  if (!metadata) return std::move(metadata).error().inside(join_path(folder_, std::string(kMetadata)));
  metadata_ = *std::move(metadata);
  contents_.facts.format_version = metadata_.version;
  DcpTree tree(contents_.arena);
  for (const DcpEntry& entry : metadata_.entries) {
    const Value value = entry.is_tensor ? tensor_of(entry) : object_of(entry);
    if (!tree.put(entry.fqn, entry.path, value))
      contents_.findings.push_back(
          {"colliding-path",
           fmt::format("the path of '{}' is taken by another entry or empty; it is listed under its flat name",
                       escape_for_display(entry.fqn)),
           std::string(kMetadata), std::nullopt});
  }
  contents_.sections.push_back({"", tree.build(), checkpoint::Role::Unknown});
  contents_.arena.drop_duplicate_keys();
  return std::move(contents_);
}

// ---- shards of HuggingFaceStorageWriter.save_distributed ----

class SafetensorsShards final : public ChunkSource {
 public:
  std::uint32_t add(std::shared_ptr<const OpenedFile> file, std::uint32_t tensor, std::string name) {
    parts_.push_back({std::move(file), tensor, std::move(name)});
    return static_cast<std::uint32_t>(parts_.size() - 1);
  }
  [[nodiscard]] Result<std::vector<std::byte>> read(const std::string&, DType dtype, const DcpChunk& chunk,
                                                    std::uint32_t place) const override {
    const Part& part = parts_[place];
    if (auto fits = expect_chunk(part.file->contents, part.tensor, dtype, chunk); !fits)
      return std::move(fits).error().inside(part.name);
    return checkpoint::read_elements(part.file->contents, part.tensor);
  }
  [[nodiscard]] Result<tensor::StoragePtr> open_whole(const std::string&, DType, const DcpChunk&,
                                                      std::uint32_t place) const override {
    return open_if_plain(parts_[place].file->contents, parts_[place].tensor);
  }
  [[nodiscard]] std::string file(std::uint32_t place) const override { return parts_[place].name; }

 private:
  struct Part {
    std::shared_ptr<const OpenedFile> file;
    std::uint32_t tensor = 0;
    std::string name;
  };
  std::vector<Part> parts_;
};

// shard-00001-model-00001-of-00002.safetensors, in order of name.
std::vector<std::string> shard_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("shard-") && name.ends_with(".safetensors")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ShardReader {
 public:
  ShardReader(const std::string& folder, const Context& context, OpenFile open_file)
      : folder_(folder), context_(context), open_file_(open_file), contents_(new_contents(folder, context)) {}
  Result<Contents> read();

 private:
  Result<void> read_file(const std::string& name);
  Value tensor_of(const std::string& fqn);

  std::string folder_;
  Context context_;
  OpenFile open_file_;
  Contents contents_;
  std::shared_ptr<SafetensorsShards> parts_ = std::make_shared<SafetensorsShards>();
  std::shared_ptr<ChunkOpener> opener_;
  std::map<std::string, ChunkedTensor> tensors_;
  std::vector<std::string> order_;
  std::map<std::string, Error> errors_;
  std::uint64_t comparisons_ = kMostComparisons;
};

// __metadata__ holds {fqn: {"saved_offsets": [...]}} as text: where each shard's tensor begins in the whole.
Result<void> ShardReader::read_file(const std::string& name) {
  WICK_TRY(auto contents, open_file_(join_path(folder_, name), context_));
  std::string sharding;
  for (const auto& [key, text] : contents.facts.metadata)
    if (key == kSharding) sharding = text;
  WICK_TRY(const wire::Json json, wire::parse_json(sharding.empty() ? "{}" : sharding));
  WICK_TRY(const auto file, name_rows(std::move(contents)));
  for (const auto& [fqn, row] : file->rows) {
    const auto& tensor = file->contents.tensors[row];
    const wire::Json* offsets = json.find(fqn) != nullptr ? json.find(fqn)->find("saved_offsets") : nullptr;
    DcpChunk chunk;
    const auto sizes = file->contents.sizes(tensor);
    chunk.shape.assign(sizes.begin(), sizes.end());
    if (offsets != nullptr)
      for (const auto& item : offsets->items) chunk.start.push_back(item.as_int().value_or(-1));
    if (tensors_.count(fqn) == 0) {
      order_.push_back(fqn);
      tensors_[fqn] = {fqn, tensor.dtype, chunk.shape, {}, {}, 0};
    }
    ChunkedTensor& whole = tensors_[fqn];
    const bool bad = chunk.start.size() != chunk.shape.size() || whole.size.size() != chunk.shape.size() ||
                     std::any_of(chunk.start.begin(), chunk.start.end(), [](std::int64_t at) { return at < 0; });
    if (bad || whole.dtype != tensor.dtype) {
      errors_.emplace(fqn, fail(ErrorCode::Malformed, "{} gives no offsets for it that fit its other chunks",
                                escape_for_display(name)));
      continue;
    }
    if (const Error* error = file->contents.error_of(tensor)) errors_.emplace(fqn, Error(*error).inside(name));
    for (std::size_t d = 0; d < chunk.shape.size(); ++d) {  // the whole reaches as far as its furthest chunk
      std::int64_t end = 0;
      if (__builtin_add_overflow(chunk.start[d], chunk.shape[d], &end))
        errors_.emplace(fqn, Error(ErrorCode::Malformed, "the end of a chunk overflows"));
      else
        whole.size[d] = std::max(whole.size[d], end);
    }
    whole.places.push_back(parts_->add(file, row, name));
    whole.chunks.push_back(std::move(chunk));
  }
  return {};
}

Value ShardReader::tensor_of(const std::string& fqn) {
  ChunkedTensor& tensor = tensors_[fqn];
  const auto check = [&]() -> Result<void> {
    if (const auto error = errors_.find(fqn); error != errors_.end()) return Error(error->second);
    WICK_TRY(tensor.bytes, checkpoint::packed_size(tensor.dtype, tensor.size));
    if (facts_of(tensor.dtype).block_bytes == 0)
      return fail(ErrorCode::Unsupported, "chunks of {} fill no whole bytes", name_of(tensor.dtype));
    return check_cover(tensor.size, tensor.chunks, comparisons_);
  };
  if (auto fits = check(); !fits) {
    const std::uint32_t row = checkpoint::add_packed_tensor(contents_, tensor.dtype, tensor.size, kNone);
    contents_.set_error(row, std::move(fits).error());
    return checkpoint::tensor_leaf(contents_, row);
  }
  return checkpoint::tensor_leaf(contents_, add_chunked(contents_, *opener_, *parts_, std::move(tensor), std::nullopt));
}

Result<Contents> ShardReader::read() {
  opener_ = std::make_shared<ChunkOpener>(parts_, context_.limits);
  contents_.openers.push_back(opener_);
  const auto files = shard_files(folder_);
  for (const std::string& name : files)
    if (auto read = read_file(name); !read) return std::move(read).error().inside(name);
  WICK_TRY(contents_.source, open_file(join_path(folder_, files.front())));
  std::vector<Value> pairs;
  for (const std::string& fqn : order_) {
    pairs.push_back(contents_.arena.text(Kind::Str, fqn));
    pairs.push_back(tensor_of(fqn));
  }
  const Value root = contents_.arena.dict();
  contents_.arena.set_items(root, pairs);
  contents_.sections.push_back({"", root, checkpoint::Role::Unknown});
  return std::move(contents_);
}

bool has_metadata(const std::string& folder) {
  const auto source = open_file(join_path(folder, std::string(kMetadata)));
  if (!source) return false;
  const auto head = io::read_head(**source, 2);
  return head && head->size() == 2 && (*head)[0] == std::byte{0x80};
}

bool has_sharded_safetensors(const std::string& folder) {
  const auto files = shard_files(folder);
  if (files.empty()) return false;
  const auto source = open_file(join_path(folder, files.front()));
  if (!source) return false;
  const auto head = io::read_head(**source, 65536);
  if (!head) return false;
  const std::string_view text(static_cast<const char*>(static_cast<const void*>(head->data())), head->size());
  return text.find(kSharding) != std::string_view::npos;
}

}  // namespace

bool is_dcp_folder(const std::string& folder) { return has_metadata(folder) || has_sharded_safetensors(folder); }

Result<Contents> read_dcp_folder(const std::string& folder, const Context& context, OpenFile open_file) {
  if (has_metadata(folder)) return MetadataReader(folder, context, open_file).read();
  if (has_sharded_safetensors(folder)) return ShardReader(folder, context, open_file).read();
  return Error(ErrorCode::NotFound, "the folder has neither a .metadata pickle nor sharded safetensors files");
}

}  // namespace wick::torch
