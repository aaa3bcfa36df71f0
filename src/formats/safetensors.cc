// SPDX-License-Identifier: Apache-2.0
// Reads safetensors: u64 header length, JSON header, tensor bytes. Rules: docs/formats/safetensors.md, which follows
// the safetensors crate 0.8 (Metadata::validate); what breaks a rule without hiding a tensor is a finding.
#include <algorithm>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/cursor.h"
#include "base/text.h"
#include "checkpoint/ranges.h"
#include "formats/readers.h"
#include "tensor/dtype.h"
#include "wire/json.h"

namespace wick::formats {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using pickle::Kind;
using pickle::Value;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the crate refuses more (HeaderTooLarge)
constexpr std::size_t kMostFindings = 20;                // of one kind; a hostile header can make millions
constexpr std::string_view kMetadataKey = "__metadata__";

// Where the bytes of a tensor lie, relative to the data section.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t tensor = 0;
};

// One tensor as its JSON object describes it.
struct Entry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::uint64_t> offsets;
  bool has_shape = false;
  std::string problem;  // what in its description can not be used

  void clear() {
    dtype.clear();
    shape.clear();
    offsets.clear();
    has_shape = false;
    problem.clear();
  }
};

// The header's events -> rows of `contents`.
class HeaderEvents final : public wire::JsonEvents {
 public:
  HeaderEvents(Contents& contents, std::uint64_t data_start, std::uint64_t data_bytes)
      : contents_(contents),
        data_start_(data_start),
        data_bytes_(data_bytes),
        opener_(std::make_shared<checkpoint::RangeOpener>(contents.source)),
        opener_index_(static_cast<std::uint32_t>(contents.openers.size())) {}

  bool on_null() override { return odd_scalar("null"); }
  bool on_bool(bool) override { return odd_scalar("a boolean"); }
  bool on_int(std::int64_t) override { return odd_scalar("a negative number"); }
  bool on_float(double, std::string_view) override { return odd_scalar("a number that is no 64-bit integer"); }
  bool on_uint(std::uint64_t value) override;
  bool on_string(std::string& value) override;
  bool on_key(std::string& value) override;
  bool on_object(bool begin) override;
  bool on_array(bool begin) override;

  // Makes the section's root. To be called once, after the last event.
  Result<void> finish();

 private:
  enum class Field : std::uint8_t { None, DType, Shape, Offsets, Other };

  bool odd_scalar(std::string_view what);
  bool refuse(std::string message);
  void complain(std::string message);
  void add_tensor();
  void check_extent(std::uint32_t tensor);
  [[nodiscard]] std::string name_of_tensor(std::uint32_t tensor) const;
  void check_tiling();
  void check_pair(const Extent& before, const Extent& next, std::uint64_t reached);
  void find(std::size_t& count, std::string_view code, std::uint64_t at, std::string message);

  Contents& contents_;
  std::uint64_t data_start_;
  std::uint64_t data_bytes_;
  std::shared_ptr<checkpoint::RangeOpener> opener_;
  std::uint32_t opener_index_;
  std::vector<Value> pairs_;
  std::vector<Value> metadata_;
  std::vector<Extent> extents_;
  Entry entry_;
  Field field_ = Field::None;
  std::string metadata_name_;
  bool in_metadata_ = false;
  bool has_metadata_ = false;
  std::uint32_t depth_ = 0;
  std::uint32_t skip_above_ = 0;  // values nested deeper than this are of a field that is none of ours; 0 = none
  std::optional<Error> error_;
  std::size_t gaps_ = 0;
  std::size_t overlaps_ = 0;
  std::size_t odd_metadata_ = 0;
};

bool HeaderEvents::refuse(std::string message) {
  if (!error_) error_ = Error(ErrorCode::Malformed, std::move(message));
  return false;
}

void HeaderEvents::complain(std::string message) {
  if (entry_.problem.empty()) entry_.problem = std::move(message);
}

void HeaderEvents::find(std::size_t& count, std::string_view code, std::uint64_t at, std::string message) {
  if (++count <= kMostFindings) contents_.findings.push_back({std::string(code), std::move(message), {}, at});
}

bool HeaderEvents::odd_scalar(std::string_view what) {
  if (skip_above_ != 0) return true;
  if (depth_ == 0) return refuse(fmt::format("the header is {}, an object is needed", what));
  if (depth_ == 1 && in_metadata_) {
    find(odd_metadata_, "metadata-not-text", kLengthBytes,
         fmt::format("__metadata__ is {}, an object is needed", what));
    return true;
  }
  if (depth_ == 1) {
    entry_.clear();
    complain(fmt::format("its description is {}, an object is needed", what));
    add_tensor();
    return true;
  }
  if (in_metadata_) {
    find(odd_metadata_, "metadata-not-text", kLengthBytes,
         fmt::format("__metadata__ value '{}' is {}, safetensors allows text only", metadata_name_, what));
    return true;
  }
  if (field_ == Field::DType) complain(fmt::format("dtype is {}, text is needed", what));
  const std::string_view verb = depth_ == 2 ? "is" : "holds";
  if (field_ == Field::Shape) complain(fmt::format("shape {} {}, a list of natural numbers is needed", verb, what));
  if (field_ == Field::Offsets) complain(fmt::format("data_offsets {} {}, two natural numbers are needed", verb, what));
  return true;
}

bool HeaderEvents::on_uint(std::uint64_t value) {
  const bool in_list = skip_above_ == 0 && depth_ == 3 && !in_metadata_;
  if (in_list && field_ == Field::Shape) {
    if (std::in_range<std::int64_t>(value))
      entry_.shape.push_back(static_cast<std::int64_t>(value));
    else
      complain(fmt::format("size {} does not fit 63 bits", value));
    return true;
  }
  if (in_list && field_ == Field::Offsets) {
    if (entry_.offsets.size() < 3) entry_.offsets.push_back(value);
    return true;
  }
  return odd_scalar("a number");
}

bool HeaderEvents::on_string(std::string& value) {
  if (skip_above_ == 0 && depth_ == 2 && in_metadata_) {
    metadata_.push_back(contents_.arena.text(Kind::Str, metadata_name_));
    metadata_.push_back(contents_.arena.text(Kind::Str, value));
    contents_.facts.metadata.emplace_back(metadata_name_, std::move(value));
    return true;
  }
  if (skip_above_ == 0 && depth_ == 2 && field_ == Field::DType) {
    entry_.dtype = std::move(value);
    return true;
  }
  return odd_scalar("text");
}

bool HeaderEvents::on_key(std::string& value) {
  if (skip_above_ != 0) return true;
  if (depth_ == 1) {
    in_metadata_ = value == kMetadataKey;
    entry_.name = std::move(value);
  } else if (in_metadata_) {
    metadata_name_ = std::move(value);
  } else if (value == "dtype") {
    field_ = Field::DType;
  } else if (value == "shape") {
    field_ = Field::Shape;
  } else if (value == "data_offsets") {
    field_ = Field::Offsets;
  } else {
    field_ = Field::Other;  // the crate ignores fields it does not know
  }
  return true;
}

bool HeaderEvents::on_object(bool begin) {
  if (begin) {
    ++depth_;
    if (skip_above_ != 0) return true;
    if (depth_ == 2) {
      entry_.clear();
      field_ = Field::None;
      if (in_metadata_) has_metadata_ = true;
    } else if (depth_ > 2) {
      --depth_;
      odd_scalar("an object");
      ++depth_;
      skip_above_ = depth_;
    }
    return true;
  }
  if (skip_above_ == depth_) skip_above_ = 0;
  --depth_;
  if (depth_ == 1 && skip_above_ == 0 && !in_metadata_) add_tensor();
  return true;
}

bool HeaderEvents::on_array(bool begin) {
  if (begin) {
    ++depth_;
    if (skip_above_ != 0) return true;
    const bool expected = depth_ == 3 && !in_metadata_ && (field_ == Field::Shape || field_ == Field::Offsets);
    if (expected) {
      if (field_ == Field::Shape) {
        entry_.has_shape = true;
        entry_.shape.clear();
      } else {
        entry_.offsets.clear();
      }
      return true;
    }
    --depth_;
    const bool goes_on = odd_scalar("a list");
    ++depth_;
    skip_above_ = depth_;
    return goes_on;
  }
  if (skip_above_ == depth_) skip_above_ = 0;
  --depth_;
  return true;
}

void HeaderEvents::add_tensor() {
  const auto dtype = tensor::find_by_safetensors(entry_.dtype);
  std::uint32_t storage = kNone;
  if (entry_.offsets.size() == 2 && entry_.offsets[0] <= entry_.offsets[1]) {
    const std::uint64_t bytes = entry_.offsets[1] - entry_.offsets[0];
    std::uint64_t at = 0;
    if (!__builtin_add_overflow(data_start_, entry_.offsets[0], &at))
      storage = checkpoint::add_storage(contents_, opener_index_, opener_->add(at, bytes), bytes,
                                        dtype.value_or(DType::UInt8));
  }
  const std::uint32_t tensor =
      checkpoint::add_packed_tensor(contents_, dtype.value_or(DType::NumpyOther), entry_.shape, storage);
  if (!dtype) contents_.more_of(tensor).numpy_type = entry_.dtype;
  pairs_.push_back(contents_.arena.text(Kind::Str, entry_.name));
  pairs_.push_back(checkpoint::tensor_leaf(contents_, tensor));
  check_extent(tensor);
}

void HeaderEvents::check_extent(std::uint32_t tensor) {
  const auto bad = [&](ErrorCode code, std::string message) {
    contents_.set_error(tensor, Error(code, std::move(message)).at(kLengthBytes));
  };
  const DType dtype = contents_.tensors[tensor].dtype;
  if (!entry_.problem.empty()) bad(ErrorCode::Malformed, entry_.problem);
  if (entry_.dtype.empty()) return bad(ErrorCode::Malformed, "no dtype is given");
  if (!entry_.has_shape) return bad(ErrorCode::Malformed, "no shape is given");
  if (entry_.offsets.size() != 2)
    return bad(ErrorCode::Malformed,
               fmt::format("data_offsets hold {} numbers, 2 are needed",
                           entry_.offsets.size() > 2 ? "more than 2" : std::to_string(entry_.offsets.size())));
  const std::uint64_t begin = entry_.offsets[0];
  const std::uint64_t end = entry_.offsets[1];
  if (begin > end)
    return bad(ErrorCode::Malformed, fmt::format("data_offsets end at {} before they begin at {}", end, begin));
  if (end > data_bytes_)
    bad(ErrorCode::Truncated,
        fmt::format("bytes {} to {} of the data are needed, {} are present", begin, end, data_bytes_));
  extents_.push_back({begin, end, tensor});
  if (dtype == DType::NumpyOther)
    return bad(ErrorCode::Unsupported, fmt::format("dtype '{}' is none that wick knows", entry_.dtype));
  const auto bytes = checkpoint::packed_size(dtype, entry_.shape);
  if (!bytes) return contents_.set_error(tensor, Error(bytes.error()).at(kLengthBytes));
  if (*bytes != end - begin)
    bad(ErrorCode::Mismatch, fmt::format("dtype and shape need {} bytes, data_offsets hold {}", *bytes, end - begin));
}

std::string HeaderEvents::name_of_tensor(std::uint32_t tensor) const {
  return escape_for_display(contents_.arena.as_text(pairs_[std::size_t{tensor} * 2]));
}

void HeaderEvents::check_pair(const Extent& before, const Extent& next, std::uint64_t reached) {
  if (next.begin < reached)
    find(overlaps_, "overlapping-tensors", data_start_ + next.begin,
         fmt::format("{} begins at byte {} of the data, inside {} which ends at {}", name_of_tensor(next.tensor),
                     next.begin, name_of_tensor(before.tensor), reached));
  else if (next.begin > reached)
    find(gaps_, "gap-in-data", data_start_ + reached,
         fmt::format("{} bytes before {} belong to no tensor", next.begin - reached, name_of_tensor(next.tensor)));
}

// The crate's validate(): sorted by offset, each tensor begins where the one before it ends, and the last ends the
// file.
void HeaderEvents::check_tiling() {
  const auto by_place = [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  };
  if (!std::is_sorted(extents_.begin(), extents_.end(), by_place))
    std::sort(extents_.begin(), extents_.end(), by_place);
  std::uint64_t reached = 0;
  const Extent* before = nullptr;
  for (const Extent& next : extents_) {
    if (next.begin != reached) check_pair(before != nullptr ? *before : next, next, reached);
    if (next.end >= reached) {
      reached = next.end;
      before = &next;
    }
  }
  if (reached < data_bytes_)
    contents_.findings.push_back({"trailing-bytes",
                                  fmt::format("{} bytes after the last tensor belong to none", data_bytes_ - reached),
                                  {},
                                  data_start_ + reached});
  for (const auto& [count, code] : {std::pair(gaps_, "gap-in-data"), std::pair(overlaps_, "overlapping-tensors"),
                                    std::pair(odd_metadata_, "metadata-not-text")})
    if (count > kMostFindings)
      contents_.findings.push_back({code, fmt::format("{} more of these", count - kMostFindings), {}, std::nullopt});
}

Result<void> HeaderEvents::finish() {
  if (error_) return *std::move(error_);
  check_tiling();
  auto& arena = contents_.arena;
  const Value root = arena.dict();
  if (has_metadata_) {
    const Value metadata = arena.dict();
    arena.set_items(metadata, metadata_);
    pairs_.push_back(arena.text(Kind::Str, kMetadataKey));
    pairs_.push_back(metadata);
  }
  arena.set_items(root, pairs_);
  contents_.openers.push_back(opener_);
  contents_.sections.push_back({"", root, checkpoint::Role::Unknown});
  const std::size_t twice = arena.drop_duplicate_keys();
  if (twice != 0)
    contents_.findings.push_back(
        {"duplicate-key",
         fmt::format("{} names are there twice; the last of each counts, as in safetensors", twice),
         {},
         kLengthBytes});
  return {};
}

Error moved_by(const Error& error, std::uint64_t bytes) {
  Error moved(error.code(), error.message());
  if (error.offset()) return std::move(moved).at(*error.offset() + bytes);
  return moved;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

}  // namespace

bool is_safetensors(const checkpoint::Probe& probe) {
  Cursor cursor(probe.head);
  const auto length = cursor.read_u64("header length");
  if (!length || cursor.remaining() < 2 || *length < 2) return false;
  const auto start = cursor.read_text(2, "header");
  // `{"` or `{}`; a header may also begin with `{` and white space.
  if (!start || (*start)[0] != '{' || std::string_view("\"} \t\r\n").find((*start)[1]) == std::string_view::npos)
    return false;
  return *length <= kMostHeaderBytes || *length <= probe.source->size() - kLengthBytes;
}

Result<Contents> read_safetensors(const checkpoint::Probe& probe) {
  Cursor cursor(probe.head);
  WICK_TRY(const std::uint64_t length, cursor.read_u64("header length"));
  const std::uint64_t present = probe.source->size() - kLengthBytes;
  if (length > present)
    return fail_at(ErrorCode::Truncated, 0, "the header is {} bytes long, {} are present", length, present);
  Contents contents;
  contents.name = probe.name;
  contents.kind = FileKind::SafeTensors;
  contents.source = probe.source;
  contents.limits = probe.context.limits;
  WICK_TRY(const auto header, io::read_range(*probe.source, kLengthBytes, length, probe.context.limits));
  if (length > kMostHeaderBytes)
    contents.findings.push_back(
        {"header-too-long",
         fmt::format("the header has {} bytes, safetensors itself refuses more than {}", length, kMostHeaderBytes),
         {},
         0});
  HeaderEvents events(contents, kLengthBytes + length, present - length);
  if (auto read = wire::read_json(as_text(header), events); !read) return moved_by(read.error(), kLengthBytes);
  WICK_CHECK(events.finish());
  return contents;
}

}  // namespace wick::formats
