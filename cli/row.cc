// SPDX-License-Identifier: Apache-2.0
#include "row.h"

#include <algorithm>
#include <cstring>

#include "base/cursor.h"
#include "base/digest.h"
#include "base/format.h"
#include "base/try.h"
#include "checkpoint/key_text.h"
#include "checkpoint/read_tensor.h"
#include "problem.h"

namespace wick::cli {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Layout;
using checkpoint::StorageRow;
using checkpoint::TensorMore;
using checkpoint::TensorRow;
using pickle::Kind;

enum class Field : std::size_t {
  Name,
  Record,
  Role,
  DType,
  Shape,
  Strides,
  Offset,
  Layout,
  Device,
  RequiresGrad,
  Bytes,
  Numel,
  Shares,
  Pieces,
  Parts,
  Quant,
  Error,
  StorageKey,
  StorageFile,
  StorageMember,
  StorageBytes,
  StorageUsed,
  StorageCompressed,
  StorageOffset,
  Sha256
};

constexpr FieldName kFields[] = {
    {"name", FieldType::Text},
    {"record", FieldType::Text},
    {"role", FieldType::Text},
    {"dtype", FieldType::Text},
    {"shape", FieldType::Text},
    {"strides", FieldType::Text},
    {"offset", FieldType::Number},
    {"layout", FieldType::Text},
    {"device", FieldType::Text},
    {"requires_grad", FieldType::Truth},
    {"bytes", FieldType::Number},
    {"numel", FieldType::Number},
    {"shares", FieldType::Number},
    {"pieces", FieldType::Number},
    {"parts", FieldType::Number},
    {"quant", FieldType::Text},
    {"error", FieldType::Text},
    {"storage.key", FieldType::Text},
    {"storage.file", FieldType::Text},
    {"storage.member", FieldType::Text},
    {"storage.bytes", FieldType::Number},
    {"storage.used_bytes", FieldType::Number},
    {"storage.compressed", FieldType::Truth},
    {"storage.file_offset", FieldType::Number},
    {"sha256", FieldType::Text},
};

constexpr std::string_view kKeys[] = {"name",   "record", "path",   "role",          "dtype", "shape",   "strides",
                                      "offset", "layout", "device", "requires_grad", "bytes", "storage", "shares",
                                      "pieces", "quant",  "parts",  "note",          "error", "sha256"};

constexpr std::size_t kMostShares = 64;       // names of others in one row; a million views on one storage stay linear
constexpr std::uint64_t kMostScales = 65536;  // of one quantized tensor in one row
constexpr int kDeepestParts = 4;              // parts of parts of ...

const TensorMore* more_of(const Contents& contents, const TensorRow& tensor) {
  return tensor.more == kNone ? nullptr : &contents.more[tensor.more];
}

std::string dims_text(std::span<const std::int64_t> dims) {
  std::string text;
  for (const std::int64_t dim : dims) text += fmt::format("{}{}", text.empty() ? "" : "x", dim);
  return text;
}

std::string key_of(const Contents& contents, const StorageRow& storage) {
  const pickle::Value key = storage.key;
  if (key.is(Kind::Str) || key.is(Kind::Py2Str)) return std::string(contents.arena.as_text(key));
  return checkpoint::key_repr(contents.arena, key);
}

const checkpoint::StorageOpener* opener_of(const Contents& contents, const StorageRow& storage) {
  return storage.opener == kNone ? nullptr : contents.openers[storage.opener].get();
}

FieldValue text_or_absent(std::string text) {
  if (text.empty()) return std::monostate();
  return text;
}

FieldValue storage_field(Listing& listing, const TensorRow& tensor, Field field) {
  if (tensor.storage == kNone) return std::monostate();
  const Contents& contents = listing.contents();
  const StorageRow& storage = contents.storages[tensor.storage];
  const auto* opener = opener_of(contents, storage);
  switch (field) {
    case Field::StorageKey: return storage.key.missing() ? FieldValue() : FieldValue(key_of(contents, storage));
    case Field::StorageFile: return opener == nullptr ? FieldValue() : text_or_absent(opener->file(storage.entry));
    case Field::StorageMember: return opener == nullptr ? FieldValue() : text_or_absent(opener->member(storage.entry));
    case Field::StorageBytes: return storage.bytes;
    case Field::StorageUsed: return listing.use().used_bytes(tensor.storage);
    case Field::StorageCompressed: return opener != nullptr && opener->compressed(storage.entry);
    case Field::StorageOffset: {
      if (opener == nullptr) return std::monostate();
      const auto offset = opener->file_offset(storage.entry);
      return offset ? FieldValue(*offset) : FieldValue();
    }
    default: return std::monostate();
  }
}

FieldValue counted(std::size_t count) {
  if (count == 0) return std::monostate();
  return std::uint64_t{count};
}

FieldValue rare_field(Listing& listing, std::size_t row, Field field) {
  const TensorRow& tensor = listing.tensor(row);
  const TensorMore* more = more_of(listing.contents(), tensor);
  switch (field) {
    case Field::Shares:
      return tensor.storage == kNone ? FieldValue() : counted(listing.use().rows_on(tensor.storage).size() - 1);
    case Field::Pieces: return more == nullptr ? FieldValue() : counted(more->pieces.size());
    case Field::Parts: return more == nullptr ? FieldValue() : counted(more->parts.size());
    case Field::Quant: return more == nullptr ? FieldValue() : text_or_absent(more->scheme);
    case Field::Error: {
      const Error* error = listing.contents().error_of(tensor);
      return error == nullptr ? FieldValue() : FieldValue(error->message());
    }
    case Field::Sha256: {
      auto digest = digest_of(listing, listing.place(row).tensor, {});
      return digest ? FieldValue(*digest) : FieldValue();
    }
    default: return storage_field(listing, tensor, field);
  }
}

// ---- JSON ----

// Writes the keys of one tensor; a row's own ones (name, path, role) come before, if it has any.
class RowWriter {
 public:
  RowWriter(JsonWriter& json, Listing& listing, const RowStyle& style)
      : json_(json), listing_(listing), style_(style) {}

  std::optional<Error> write(std::size_t row) {
    json_.open_object();
    if (style_.standalone && style_.only.empty()) json_.key("schema").text("wick.ls.row/1");
    if (style_.standalone && (style_.only.empty() || wants("file"))) json_.named_text("file", style_.file);
    if (wants("name")) json_.named_text("name", listing_.bare_name(row));
    if (wants("record") && !listing_.record(row).empty()) json_.named_text("record", listing_.record(row));
    if (wants("path")) write_path(row);
    if (wants("role")) write_role(listing_.place(row).role);
    const std::uint32_t tensor = listing_.place(row).tensor;
    write_tensor(tensor, static_cast<std::uint32_t>(row), 0);
    json_.close_object();
    return std::move(error_);
  }

 private:
  const Contents& contents() const { return listing_.contents(); }

  [[nodiscard]] bool wants(std::string_view key) const {
    return style_.only.empty() || std::find(style_.only.begin(), style_.only.end(), key) != style_.only.end();
  }

  void write_role(checkpoint::Role role) {
    json_.key("role");
    if (role == checkpoint::Role::Unknown)
      json_.null();
    else
      json_.text(checkpoint::name_of(role));
  }

  void write_path(std::size_t row) {
    json_.key("path").open_array();
    for (const auto& step : checkpoint::steps_to(listing_.places(), listing_.place(row).path)) write_step(step);
    json_.close_array();
  }

  void write_step(const checkpoint::PathNode& step) {
    const pickle::Arena& arena = contents().arena;
    if (step.key.is(Kind::Int)) {
      json_.number(pickle::Arena::as_int(step.key));
    } else if (step.key.missing() || step.key.is(Kind::Str) || step.key.is(Kind::Py2Str)) {
      json_.text(checkpoint::key_text(arena, step));
    } else {
      json_.open_object();
      json_.key("key").text(checkpoint::key_repr(arena, step.key));
      json_.close_object();
    }
  }

  void write_dims(std::string_view key, std::span<const std::int64_t> dims) {
    json_.key(key).open_array();
    for (const std::int64_t dim : dims) json_.number(dim);
    json_.close_array();
  }

  void write_tensor(std::uint32_t index, std::uint32_t row, int depth) {
    const TensorRow& tensor = contents().tensors[index];
    if (wants("dtype")) json_.named_text("dtype", dtype_text(contents(), tensor));
    if (wants("shape")) write_dims("shape", contents().sizes(tensor));
    const bool strided = tensor.layout == Layout::Strided || tensor.layout == Layout::Storage;
    if (wants("strides") && strided) write_dims("strides", contents().strides(tensor));
    if (wants("offset") && strided) json_.key("offset").number(tensor.offset);
    if (wants("layout")) json_.key("layout").text(checkpoint::name_of(tensor.layout));
    if (wants("device")) json_.named_text("device", contents().devices[tensor.device]);
    if (wants("requires_grad") && tensor.grad_known) json_.key("requires_grad").boolean(tensor.requires_grad);
    if (wants("bytes")) json_.key("bytes").number(contents().tensor_bytes(tensor));
    if (wants("storage")) write_storage(tensor);
    if (wants("shares") && row != kNone) write_shares(tensor, row);
    if (const TensorMore* more = more_of(contents(), tensor)) write_more(*more, depth);
    write_error_or_digest(index, tensor);
  }

  void write_storage(const TensorRow& tensor) {
    json_.key("storage");
    if (tensor.storage == kNone) return json_.null();
    const StorageRow& storage = contents().storages[tensor.storage];
    const auto* opener = opener_of(contents(), storage);
    json_.open_object();
    if (!storage.key.missing()) json_.named_text("key", key_of(contents(), storage));
    if (opener != nullptr) {
      if (const std::string file = opener->file(storage.entry); !file.empty()) json_.named_text("file", file);
      if (const std::string member = opener->member(storage.entry); !member.empty()) json_.named_text("member", member);
    }
    json_.key("bytes").number(storage.bytes);
    json_.key("used_bytes").number(listing_.use().used_bytes(tensor.storage));
    json_.key("compressed").boolean(opener != nullptr && opener->compressed(storage.entry));
    if (style_.offsets) write_file_offset(opener, storage);
    json_.close_object();
  }

  void write_file_offset(const checkpoint::StorageOpener* opener, const StorageRow& storage) {
    json_.key("file_offset");
    if (opener == nullptr) return json_.null();
    auto offset = opener->file_offset(storage.entry);
    if (offset) return json_.number(*offset);
    json_.null();
    // Unsupported says that the bytes have no one place (pieces, a record inside a compressed one): no failure.
    if (offset.error().code() != ErrorCode::Unsupported && !error_) error_ = std::move(offset).error();
  }

  void write_shares(const TensorRow& tensor, std::uint32_t row) {
    if (tensor.storage == kNone) return;
    const auto rows = listing_.use().rows_on(tensor.storage);
    if (rows.size() < 2) return;
    json_.key("shares").open_array();
    std::size_t written = 0;
    for (const std::uint32_t other : rows) {
      if (other == row) continue;
      if (++written > kMostShares) break;
      json_.text(listing_.name(other));
    }
    json_.close_array();
    if (rows.size() - 1 > kMostShares) json_.key("shares_more").number(rows.size() - 1 - kMostShares);
  }

  void write_more(const TensorMore& more, int depth) {
    if (wants("pieces") && !more.pieces.empty()) write_pieces(more);
    if (wants("quant") && !more.scheme.empty()) write_quant(more);
    if (wants("parts") && !more.parts.empty() && depth < kDeepestParts) write_parts(more, depth);
    if (wants("note") && !more.note.empty()) json_.named_text("note", more.note);
  }

  void write_pieces(const TensorMore& more) {
    json_.key("pieces").open_array();
    for (const TensorMore::ShardPiece& piece : more.pieces) {
      json_.open_object();
      json_.named_text("file", piece.file);
      json_.named_text("member", piece.member);
      json_.key("bytes").number(piece.bytes);
      write_dims("start", piece.start);
      write_dims("shape", piece.shape);
      json_.close_object();
    }
    json_.close_array();
  }

  void write_quant(const TensorMore& more) {
    json_.key("quant").open_object();
    json_.named_text("scheme", more.scheme);
    json_.key("scale");
    if (more.scales == kNone)
      json_.real(more.scale);
    else
      write_values(more.scales);
    json_.key("zero_point");
    if (more.zero_points == kNone)
      json_.number(more.zero_point);
    else
      write_values(more.zero_points);
    if (more.scales != kNone) json_.key("axis").number(more.axis);
    json_.close_object();
  }

  // The scales of a per-channel tensor, few and small; null when they can not be read.
  void write_values(std::uint32_t index) {
    const TensorRow& tensor = contents().tensors[index];
    const auto count = contents().numel(tensor);
    const DType dtype = tensor.dtype;
    const bool known =
        dtype == DType::Float64 || dtype == DType::Float32 || dtype == DType::Int64 || dtype == DType::Int32;
    if (!known || !count || *count > kMostScales) return json_.null();
    auto bytes = checkpoint::read_elements(contents(), index);
    if (!bytes) return json_.null();
    const std::size_t item = facts_of(dtype).bits / 8;
    json_.open_array();
    for (std::size_t at = 0; at + item <= bytes->size(); at += item) {
      const std::byte* element = bytes->data() + at;
      if (dtype == DType::Float64) json_.element(load_le<double>(element));
      if (dtype == DType::Float32) json_.element(static_cast<double>(load_le<float>(element)));
      if (dtype == DType::Int64) json_.element_integer(load_le<std::int64_t>(element));
      if (dtype == DType::Int32) json_.element_integer(load_le<std::int32_t>(element));
    }
    json_.close_array();
  }

  void write_parts(const TensorMore& more, int depth) {
    json_.key("parts").open_object();
    for (const auto& [name, tensor] : more.parts) {
      json_.key(name).open_object();  // names of our own: "indices", "values"
      write_tensor(tensor, kNone, depth + 1);
      json_.close_object();
    }
    json_.close_object();
  }

  void write_error_or_digest(std::uint32_t index, const TensorRow& tensor) {
    std::optional<Error> error;
    if (const Error* known = contents().error_of(tensor)) error = *known;
    std::string digest;
    if (style_.digest && !error) {
      auto made = digest_of(listing_, index, style_.hashed);
      if (made)
        digest = *std::move(made);
      else if (made.error().code() != ErrorCode::Unsupported)
        error = std::move(made).error();
    }
    if (error && wants("error")) write_error(json_, *error);
    if (error) error_ = std::move(error);
    if (!style_.digest || !wants("sha256")) return;
    json_.key("sha256");
    if (digest.empty())
      json_.null();
    else
      json_.text(digest);
  }

  JsonWriter& json_;
  Listing& listing_;
  const RowStyle& style_;
  std::optional<Error> error_;
};

}  // namespace

std::span<const FieldName> row_fields() { return kFields; }
std::span<const std::string_view> row_keys() { return kKeys; }

FieldValue field_of_row(Listing& listing, std::size_t row, std::size_t field) {
  const Contents& contents = listing.contents();
  const TensorRow& tensor = listing.tensor(row);
  switch (static_cast<Field>(field)) {
    case Field::Name: return listing.name(row);
    case Field::Record: return text_or_absent(std::string(listing.record(row)));
    case Field::Role: return text_or_absent(std::string(checkpoint::name_of(listing.place(row).role)));
    case Field::DType: return dtype_text(contents, tensor);
    case Field::Shape: return dims_text(contents.sizes(tensor));
    case Field::Strides: return dims_text(contents.strides(tensor));
    case Field::Offset: return tensor.offset;
    case Field::Layout: return std::string(checkpoint::name_of(tensor.layout));
    case Field::Device: return contents.devices[tensor.device];
    case Field::RequiresGrad: return tensor.grad_known ? FieldValue(tensor.requires_grad) : FieldValue();
    case Field::Bytes: return contents.tensor_bytes(tensor);
    case Field::Numel: {
      const auto count = contents.numel(tensor);
      return count ? FieldValue(*count) : FieldValue();
    }
    default: return rare_field(listing, row, static_cast<Field>(field));
  }
}

std::optional<Error> write_row(JsonWriter& json, Listing& listing, std::size_t row, const RowStyle& style) {
  return RowWriter(json, listing, style).write(row);
}

Result<std::string> digest_of(const Listing& listing, std::uint32_t tensor,
                              const std::function<void(std::uint64_t)>& hashed) {
  Sha256 sha;
  WICK_CHECK(
      checkpoint::stream_elements(listing.contents(), tensor, [&](std::span<const std::byte> bytes) -> Result<void> {
        sha.update(bytes);
        if (hashed) hashed(bytes.size());
        return {};
      }));
  return Sha256::hex(sha.finish());
}

std::string shape_for_people(std::span<const std::int64_t> sizes) {
  if (sizes.empty()) return "scalar";
  std::string text;
  for (const std::int64_t size : sizes) text += fmt::format("{}{}", text.empty() ? "" : " \u00d7 ", size);
  return text;
}

}  // namespace wick::cli
