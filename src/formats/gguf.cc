// SPDX-License-Identifier: Apache-2.0
// Reads GGUF of versions 1 to 3 in both byte orders: metadata, tensor descriptions, tensor bytes. Format:
// docs/formats/gguf.md, after ggml's docs/gguf.md, gguf.cpp and the gguf package (gguf_reader.py).
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/cursor.h"
#include "base/text.h"
#include "checkpoint/ranges.h"
#include "formats/readers.h"
#include "tensor/dtype.h"

namespace wick::formats {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

constexpr std::size_t kFirstWindow = std::size_t{1} << 20;
constexpr std::uint32_t kDefaultAlignment = 32;
constexpr std::uint32_t kMostDimensions = 4;  // GGML_MAX_DIMS; more are listed with a finding
constexpr std::size_t kMostArrayDepth = 16;   // ggml knows no nested arrays; its specification allows them
constexpr std::size_t kMostShown = 8;         // elements of an array in its summary
constexpr std::size_t kMostFindings = 20;

enum class GgufType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };
constexpr std::array<std::string_view, 13> kTypeNames{"u8",   "i8",  "u16",   "i16", "u32", "i32", "f32",
                                                      "bool", "str", "array", "u64", "i64", "f64"};
// Bytes an element takes at least: what a declared count is compared with before anything is made.
constexpr std::array<std::uint64_t, 13> kLeastBytes{1, 1, 2, 2, 4, 4, 4, 1, 4, 8, 8, 8, 8};

// A metadata value: in the tree, and as the text info shows.
struct Shown {
  Value value;
  std::string text;
};

class GgufReader {
 public:
  // Reads from `window`, the first bytes of a file of `file_bytes`.
  GgufReader(Contents& contents, std::span<const std::byte> window, std::uint64_t file_bytes)
      : contents_(contents), cursor_(window), file_bytes_(file_bytes) {}

  Result<void> read();
  // After a Truncated: one past the last byte that was wanted. Not above the file's size when a larger window helps.
  [[nodiscard]] std::uint64_t wanted() const { return wanted_; }

 private:
  Result<void> need(std::uint64_t bytes, std::string_view field);
  template <class T>
  Result<T> number(std::string_view field);
  Result<std::uint64_t> length(std::string_view field);  // u32 in version 1, u64 later
  Result<std::string_view> text(std::string_view field);
  Result<void> read_version();
  Result<void> read_metadata(std::uint64_t count);
  Result<void> read_pair();
  Result<Shown> read_value(std::uint32_t type, std::string_view key);
  // The text is made only when `show`: arrays have hundreds of thousands of elements and show a few.
  template <class T>
  Result<Shown> integer(std::string_view key, bool show);
  template <class T>
  Result<Shown> real(std::string_view key, bool show);
  Result<Shown> scalar(GgufType type, std::string_view key, bool show);
  struct OpenArray {
    Value list;
    GgufType type;
    std::uint64_t left;
  };
  struct ArrayReading {
    std::string_view key;
    std::vector<OpenArray> open;  // innermost last
    std::string summary;
    Value outermost;
    std::size_t shown = 0;
  };
  Result<Shown> read_array(std::string_view key);
  Result<void> begin_array(ArrayReading& reading);
  Result<void> read_batch(ArrayReading& reading);
  Result<void> note_alignment(std::uint32_t type, const Shown& shown);
  Result<void> read_tensors(std::uint64_t count);
  Result<void> read_tensor();
  Result<void> place_tensors();
  void place_tensor(std::size_t index, std::uint64_t data_start);
  void check_tiling(std::uint64_t data_start);
  void find(std::size_t& count, std::string_view code, std::uint64_t at, std::string message);

  struct Described {
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t described_at = 0;
    std::optional<DType> dtype;
    std::optional<Error> error;
  };

  Contents& contents_;
  Cursor cursor_;
  std::uint64_t file_bytes_;
  std::uint64_t wanted_ = 0;
  std::uint32_t version_ = 0;
  bool swapped_ = false;
  std::uint32_t alignment_ = kDefaultAlignment;
  std::vector<Value> metadata_;
  std::vector<Value> pairs_;
  std::vector<Described> described_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::shared_ptr<checkpoint::RangeOpener> opener_;
  std::size_t gaps_ = 0;
  std::size_t overlaps_ = 0;
  std::size_t misaligned_ = 0;
};

Result<void> GgufReader::need(std::uint64_t bytes, std::string_view field) {
  if (bytes <= cursor_.remaining()) return {};
  const std::uint64_t at = cursor_.offset();
  if (__builtin_add_overflow(at, bytes, &wanted_)) wanted_ = ~std::uint64_t{0};
  return fail_at(ErrorCode::Truncated, at, "{} needs {} bytes, {} are left", field, bytes, file_bytes_ - at);
}

template <class T>
T turned(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

template <class T>
Result<T> GgufReader::number(std::string_view field) {
  WICK_CHECK(need(sizeof(T), field));
  WICK_TRY(const T value, cursor_.read_le<T>(field));
  return swapped_ ? turned(value) : value;
}

Result<std::uint64_t> GgufReader::length(std::string_view field) {
  if (version_ > 1) return number<std::uint64_t>(field);
  WICK_TRY(const std::uint32_t value, number<std::uint32_t>(field));
  return std::uint64_t{value};
}

Result<std::string_view> GgufReader::text(std::string_view field) {
  WICK_TRY(const std::uint64_t bytes, length(field));
  WICK_CHECK(need(bytes, field));
  return cursor_.read_text(bytes, field);
}

Result<void> GgufReader::read_version() {
  WICK_CHECK(need(8, "magic and version"));
  WICK_TRY(const auto magic, cursor_.read_text(4, "magic"));
  WICK_TRY(version_, cursor_.read_u32("version"));
  // A big-endian file keeps the magic and turns everything behind it; its small version number tells.
  swapped_ = (version_ & 0xFFFFU) == 0;
  if (swapped_) version_ = turned(version_);
  if (magic != "GGUF") return fail_at(ErrorCode::Malformed, 0, "the magic is not GGUF");
  if (version_ < 1 || version_ > 3)
    return fail_at(ErrorCode::Unsupported, 4, "GGUF version {} is none that wick knows (1 to 3)", version_);
  contents_.facts.byteorder = swapped_ ? "big" : "little";
  contents_.facts.format_version = std::to_string(version_);
  return {};
}

template <class T>
Result<Shown> GgufReader::integer(std::string_view key, bool show) {
  WICK_TRY(const T value, number<T>(key));
  if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>) {
    std::array<std::byte, 9> bytes{};
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i) & 0xFFU);
    return Shown{contents_.arena.big_integer(bytes), show ? std::to_string(value) : std::string()};
  } else {
    return Shown{contents_.arena.integer(value), show ? std::to_string(value) : std::string()};
  }
}

template <class T>
Result<Shown> GgufReader::real(std::string_view key, bool show) {
  WICK_TRY(const T value, number<T>(key));
  return Shown{contents_.arena.real(static_cast<double>(value)), show ? fmt::format("{}", value) : std::string()};
}

Result<Shown> GgufReader::scalar(GgufType type, std::string_view key, bool show) {
  switch (type) {
    case GgufType::U8: return integer<std::uint8_t>(key, show);
    case GgufType::I8: return integer<std::int8_t>(key, show);
    case GgufType::U16: return integer<std::uint16_t>(key, show);
    case GgufType::I16: return integer<std::int16_t>(key, show);
    case GgufType::U32: return integer<std::uint32_t>(key, show);
    case GgufType::I32: return integer<std::int32_t>(key, show);
    case GgufType::U64: return integer<std::uint64_t>(key, show);
    case GgufType::I64: return integer<std::int64_t>(key, show);
    case GgufType::F32: return real<float>(key, show);
    case GgufType::F64: return real<double>(key, show);
    case GgufType::Bool: {
      WICK_TRY(const std::uint8_t value, number<std::uint8_t>(key));
      return Shown{Arena::boolean(value != 0), !show ? "" : value != 0 ? "true" : "false"};
    }
    case GgufType::String: {
      WICK_TRY(const std::string_view value, text(key));
      return Shown{contents_.arena.text(Kind::Str, value), show ? std::string(value) : std::string()};
    }
    case GgufType::Array: break;
  }
  return fail(ErrorCode::Bug, "an array is no scalar");
}

// An array, nested ones with a stack of their own. The text is a summary: type, count and the first elements.
Result<Shown> GgufReader::read_array(std::string_view key) {
  ArrayReading reading{key, {}, {}, {}, 0};
  WICK_CHECK(begin_array(reading));
  while (!reading.open.empty()) {
    OpenArray& top = reading.open.back();
    if (top.left == 0) {
      reading.open.pop_back();
      continue;
    }
    if (top.type != GgufType::Array) {
      WICK_CHECK(read_batch(reading));
      continue;
    }
    --top.left;
    WICK_CHECK(begin_array(reading));
  }
  return Shown{reading.outermost, std::move(reading.summary)};
}

Result<void> GgufReader::begin_array(ArrayReading& reading) {
  const std::uint64_t at = cursor_.offset();
  WICK_TRY(const std::uint32_t type, number<std::uint32_t>("array element type"));
  WICK_TRY(const std::uint64_t count, length("array length"));
  if (type >= kTypeNames.size())
    return fail_at(ErrorCode::Malformed, at, "array element type {} of '{}' is none", type,
                   escape_for_display(reading.key));
  if (reading.open.size() >= kMostArrayDepth)
    return fail_at(ErrorCode::Limit, at, "arrays nest deeper than {}", kMostArrayDepth);
  // Each element has bytes behind it, so the list below is bounded by the file.
  WICK_TRY(const std::uint64_t least, checked_mul(count, kLeastBytes[type], "array size"));
  WICK_CHECK(need(least, "array"));
  WICK_TRY(const std::uint64_t held, checked_mul(count, sizeof(Value), "array size"));
  WICK_CHECK(check_memory(contents_.limits, held, "a metadata array"));
  const Value list = contents_.arena.list();
  if (reading.open.empty()) {
    reading.outermost = list;
    reading.summary = fmt::format("{} × {}", count, kTypeNames[type]);
  } else {
    contents_.arena.append(reading.open.back().list, std::span(&list, 1));
  }
  reading.open.push_back({list, static_cast<GgufType>(type), count});
  return {};
}

// Some elements of the innermost array; of the outermost one the first are shown.
Result<void> GgufReader::read_batch(ArrayReading& reading) {
  OpenArray& top = reading.open.back();
  const bool outermost = reading.open.size() == 1;
  const std::uint64_t count = std::min<std::uint64_t>(top.left, 4096);
  std::vector<Value> batch;
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool show = outermost && reading.shown < kMostShown;
    WICK_TRY(const Shown element, scalar(top.type, reading.key, show));
    batch.push_back(element.value);
    if (!show) continue;
    reading.summary += reading.shown++ == 0 ? ": " : ", ";
    reading.summary += element.text.size() > 40 ? element.text.substr(0, 40) + "..." : element.text;
  }
  contents_.arena.append(top.list, batch);
  top.left -= count;
  if (outermost && top.left == 0 && contents_.arena.items(reading.outermost).size() > kMostShown)
    reading.summary += ", ...";
  return {};
}

Result<Shown> GgufReader::read_value(std::uint32_t type, std::string_view key) {
  if (type >= kTypeNames.size())
    return fail_at(ErrorCode::Malformed, cursor_.offset(), "value type {} of '{}' is none (0 to 12)", type,
                   escape_for_display(key));
  const auto kind = static_cast<GgufType>(type);
  return kind == GgufType::Array ? read_array(key) : scalar(kind, key, true);
}

Result<void> GgufReader::note_alignment(std::uint32_t type, const Shown& shown) {
  const std::int64_t value = shown.value.is(Kind::Int) ? Arena::as_int(shown.value) : 0;
  const bool power_of_two = value > 0 && (value & (value - 1)) == 0 && std::in_range<std::uint32_t>(value);
  if (static_cast<GgufType>(type) != GgufType::U32 || !power_of_two)
    return fail_at(ErrorCode::Malformed, cursor_.offset(), "general.alignment is {} {}, a u32 power of two is needed",
                   kTypeNames[type], shown.text);
  alignment_ = static_cast<std::uint32_t>(value);
  return {};
}

Result<void> GgufReader::read_pair() {
  WICK_TRY(const std::string_view key, text("metadata key"));
  WICK_TRY(const std::uint32_t type, number<std::uint32_t>("value type"));
  WICK_TRY(Shown shown, read_value(type, key));
  if (key == "general.alignment") WICK_CHECK(note_alignment(type, shown));
  metadata_.push_back(contents_.arena.text(Kind::Str, key));
  metadata_.push_back(shown.value);
  contents_.facts.metadata.emplace_back(std::string(key), std::move(shown.text));
  return {};
}

Result<void> GgufReader::read_metadata(std::uint64_t count) {
  // A pair takes a key's length, a type and a byte of value at least.
  WICK_TRY(const std::uint64_t least, checked_mul(count, version_ > 1 ? 13 : 9, "metadata count"));
  WICK_CHECK(need(least, "metadata"));
  for (std::uint64_t i = 0; i < count; ++i) WICK_CHECK(read_pair());
  return {};
}

Result<void> GgufReader::read_tensor() {
  Described tensor;
  tensor.described_at = cursor_.offset();
  WICK_TRY(const std::string_view name, text("tensor name"));
  WICK_TRY(const std::uint32_t rank, number<std::uint32_t>("number of dimensions"));
  WICK_CHECK(need(std::uint64_t{rank} * (version_ > 1 ? 8 : 4), "dimensions"));
  if (rank > kMostDimensions)
    contents_.findings.push_back(
        {"too-many-dimensions",
         fmt::format("{} has {} dimensions, ggml takes {}", escape_for_display(name), rank, kMostDimensions),
         {},
         tensor.described_at});
  std::vector<std::int64_t> shape(rank);
  for (std::size_t i = rank; i-- > 0;) {  // the file has the innermost first, torch the outermost
    WICK_TRY(const std::uint64_t size, length("dimension"));
    if (!std::in_range<std::int64_t>(size) && !tensor.error)
      tensor.error = fail_at(ErrorCode::Malformed, tensor.described_at, "size {} does not fit 63 bits", size);
    shape[i] = std::in_range<std::int64_t>(size) ? static_cast<std::int64_t>(size) : 0;
  }
  WICK_TRY(tensor.type, number<std::uint32_t>("tensor type"));
  WICK_TRY(tensor.offset, number<std::uint64_t>("tensor offset"));
  if (std::in_range<int>(tensor.type)) tensor.dtype = tensor::find_by_ggml_type(static_cast<int>(tensor.type));
  pairs_.push_back(contents_.arena.text(Kind::Str, name));
  pairs_.push_back(Arena::leaf(described_.size()));
  described_.push_back(std::move(tensor));
  shapes_.push_back(std::move(shape));
  return {};
}

Result<void> GgufReader::read_tensors(std::uint64_t count) {
  WICK_TRY(const std::uint64_t least, checked_mul(count, version_ > 1 ? 24 : 20, "tensor count"));
  WICK_CHECK(need(least, "tensor descriptions"));
  described_.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) WICK_CHECK(read_tensor());
  return {};
}

void GgufReader::find(std::size_t& count, std::string_view code, std::uint64_t at, std::string message) {
  if (++count <= kMostFindings) contents_.findings.push_back({std::string(code), std::move(message), {}, at});
}

void GgufReader::place_tensor(std::size_t index, std::uint64_t data_start) {
  Described& tensor = described_[index];
  const auto& shape = shapes_[index];
  const auto fault = [&](Error error) {
    if (!tensor.error) tensor.error = std::move(error).at(tensor.described_at);
  };
  std::uint32_t storage = kNone;
  if (!tensor.dtype) {
    fault(fail(ErrorCode::Unsupported, "GGML type {} is none that wick knows", tensor.type));
  } else if (!tensor.error) {
    const auto bytes = checkpoint::packed_size(*tensor.dtype, shape);
    const std::int64_t block = facts_of(*tensor.dtype).block_elements;
    const std::int64_t innermost = shape.empty() ? 1 : shape.back();
    std::uint64_t at = 0;
    if (!bytes) {
      fault(bytes.error());
    } else if (block > 1 && innermost % block != 0) {
      fault(fail(ErrorCode::Malformed, "rows of {} elements do not fill blocks of {}", innermost, block));
    } else if (__builtin_add_overflow(data_start, tensor.offset, &at)) {
      fault(fail(ErrorCode::Malformed, "offset {} overflows", tensor.offset));
    } else {
      tensor.bytes = *bytes;
      storage = checkpoint::add_storage(contents_, 0, opener_->add(at, *bytes), *bytes, *tensor.dtype);
      contents_.storages[storage].swapped = swapped_ && facts_of(*tensor.dtype).component > 1;
      if (!lies_within(at, *bytes, file_bytes_)) {
        const std::uint64_t present = at < file_bytes_ ? file_bytes_ - at : 0;
        contents_.storages[storage].bytes = std::min(present, *bytes);
        fault(fail(ErrorCode::Truncated, "{} bytes are needed, {} are present", *bytes, present));
      }
    }
    if (tensor.offset % alignment_ != 0)
      find(misaligned_, "misaligned-tensor", tensor.described_at,
           fmt::format("offset {} is no multiple of the alignment {}", tensor.offset, alignment_));
  }
  const std::uint32_t row =
      checkpoint::add_packed_tensor(contents_, tensor.dtype.value_or(DType::NumpyOther), shape, storage);
  if (!tensor.dtype) contents_.more_of(row).numpy_type = fmt::format("gguf.type_{}", tensor.type);
  checkpoint::tensor_leaf(contents_, row);
  if (tensor.error) contents_.set_error(row, *std::move(tensor.error));
}

// ggml wants each tensor where the one before it ends, padded to the alignment.
void GgufReader::check_tiling(std::uint64_t data_start) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < described_.size(); ++i)
    if (contents_.tensors[i].storage != kNone) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return described_[a].offset < described_[b].offset; });
  std::uint64_t reached = 0;
  for (const std::size_t index : order) {
    const Described& tensor = described_[index];
    if (tensor.offset < reached && tensor.bytes != 0)
      find(overlaps_, "overlapping-tensors", data_start + tensor.offset,
           fmt::format("{} begins {} bytes before the one before it ends",
                       escape_for_display(contents_.arena.as_text(pairs_[2 * index])), reached - tensor.offset));
    else if (tensor.offset > reached && tensor.offset - reached >= alignment_)
      find(gaps_, "gap-in-data", data_start + reached,
           fmt::format("{} bytes before {} belong to no tensor", tensor.offset - reached,
                       escape_for_display(contents_.arena.as_text(pairs_[2 * index]))));
    std::uint64_t end = 0;
    if (!__builtin_add_overflow(tensor.offset, tensor.bytes, &end)) reached = std::max(reached, end);
  }
  const std::uint64_t data_bytes = file_bytes_ - std::min(file_bytes_, data_start);
  if (data_bytes > reached && data_bytes - reached >= alignment_)
    contents_.findings.push_back({"trailing-bytes",
                                  fmt::format("{} bytes after the last tensor belong to none", data_bytes - reached),
                                  {},
                                  data_start + reached});
}

Result<void> GgufReader::place_tensors() {
  const std::uint64_t header = cursor_.offset();
  const std::uint64_t padding = (alignment_ - header % alignment_) % alignment_;
  const std::uint64_t data_start = header + padding;  // below the file's size plus 2^32: no overflow
  opener_ = std::make_shared<checkpoint::RangeOpener>(contents_.source);
  for (std::size_t i = 0; i < described_.size(); ++i) place_tensor(i, data_start);
  check_tiling(data_start);
  contents_.openers.push_back(opener_);
  contents_.facts.alignment = alignment_;
  return {};
}

Result<void> GgufReader::read() {
  WICK_CHECK(read_version());
  WICK_TRY(const std::uint64_t tensors, length("tensor count"));
  WICK_TRY(const std::uint64_t pairs, length("metadata count"));
  WICK_CHECK(read_metadata(pairs));
  WICK_CHECK(read_tensors(tensors));
  WICK_CHECK(place_tensors());
  auto& arena = contents_.arena;
  const Value root = arena.dict();
  const Value metadata = arena.dict();
  arena.set_items(metadata, metadata_);
  pairs_.push_back(arena.text(Kind::Str, "__metadata__"));
  pairs_.push_back(metadata);
  arena.set_items(root, pairs_);
  contents_.sections.push_back({"", root, checkpoint::Role::Unknown});
  if (const std::size_t twice = arena.drop_duplicate_keys(); twice != 0)
    contents_.findings.push_back(
        {"duplicate-key", fmt::format("{} names are there twice; the last of each counts", twice), {}, std::nullopt});
  return {};
}

}  // namespace

bool is_gguf(const checkpoint::Probe& probe) {
  Cursor cursor(probe.head);
  const auto magic = cursor.read_text(4, "magic");
  return magic && *magic == "GGUF";
}

// The header has no length of its own: it is read from a window that grows until all of it is inside.
Result<Contents> read_gguf(const checkpoint::Probe& probe) {
  const std::uint64_t file_bytes = probe.source->size();
  std::uint64_t window = std::min<std::uint64_t>(kFirstWindow, file_bytes);
  while (true) {
    Contents contents;
    contents.name = probe.name;
    contents.kind = FileKind::Gguf;
    contents.source = probe.source;
    contents.limits = probe.context.limits;
    WICK_TRY(const auto bytes, io::read_range(*probe.source, 0, window, probe.context.limits));
    GgufReader reader(contents, bytes, file_bytes);
    auto read = reader.read();
    if (read) return contents;
    const bool more_helps =
        read.error().code() == ErrorCode::Truncated && reader.wanted() > window && reader.wanted() <= file_bytes;
    if (!more_helps) return std::move(read).error();
    window = std::min(file_bytes, std::max(reader.wanted(), window * 4));
  }
}

}  // namespace wick::formats
