// SPDX-License-Identifier: Apache-2.0
// What a source is when it is no file wick opens: named for what it is, with one next step. docs/formats/strangers.md.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/cursor.h"
#include "base/text.h"
#include "open/formats.h"

namespace wick::open_detail {
namespace {

using checkpoint::Probe;
using namespace std::string_view_literals;

struct Stranger {
  FileKind kind;
  std::size_t offset;
  std::string_view bytes;
  std::string_view what;
  std::string_view next;
};

constexpr Stranger kStrangers[] = {
#define WICK_STRANGER(kind, offset, bytes, what, next) {FileKind::kind, offset, bytes##sv, what, next},
#include "open/strangers.def"
#undef WICK_STRANGER
};

Error named(const Probe& probe, FileKind kind, std::string message, std::string_view next) {
  return Error(ErrorCode::Unsupported, std::move(message)).called(name_of(kind)).advise(next).inside(probe.name);
}

std::string_view trim_left(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

std::string_view line_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find_first_of("\r\n"));
}

// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
Error lfs_pointer(const Probe& probe, std::string_view text) {
  const std::string_view oid = line_after(text, "oid sha256:");
  const std::string_view size = line_after(text, "\nsize ");
  std::uint64_t bytes = 0;
  const auto parsed = std::from_chars(size.data(), size.data() + size.size(), bytes);
  const std::string real =
      parsed.ec == std::errc() && !size.empty() ? with_commas(bytes) + " bytes" : "of unknown size";
  return named(probe, FileKind::GitLfsPointer,
               fmt::format("a Git LFS pointer of {} bytes; the real file is {}, sha256 {}", probe.source->size(), real,
                           oid.empty() ? "unknown" : escape_for_display(oid.substr(0, 64))),
               "fetch the file itself: git lfs pull");
}

bool is_html(std::string_view text) {
  const std::string start = to_lower(trim_left(text).substr(0, 64));
  return start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<head") ||
         start.starts_with("<!--") || start.starts_with("<?xml");
}

bool is_printable_text(std::string_view text, bool whole) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f') return false;
    if (byte == 0x7F) return false;
  }
  // A head may end within a character.
  for (std::size_t cut = 0; cut <= (whole ? 0U : 3U) && cut <= text.size(); ++cut)
    if (is_utf8(text.substr(0, text.size() - cut))) return true;
  return false;
}

// Torch7's binary form begins with a type tag (int32): 3 a table, 4 an object; then a reference number, for objects a
// version string of 3 characters ("V 1").
bool is_torch7(std::span<const std::byte> head) {
  if (head.size() < 16) return false;
  const auto word = [&](std::size_t at) { return load_le<std::int32_t>(head.data() + at); };
  const bool long_numbers = word(8) == 0;  // a reference number of 8 bytes on some builds
  if (word(0) == 4 && word(4) == 1 && !long_numbers) return word(8) == 3 && as_text(head).substr(12, 2) == "V ";
  return word(0) == 3 && word(4) == 1 && word(8) >= 0 && word(8) < 1 << 24 && word(12) >= 0 && word(12) <= 8;
}

// A protobuf message whose first fields are those of onnx.ModelProto: 1 ir_version (varint), then 2 producer_name
// (text), 3 producer_version, 7 graph or 8 opset_import.
bool is_onnx(std::span<const std::byte> head) {
  if (head.size() < 4 || std::to_integer<int>(head[0]) != 0x08) return false;
  const int version = std::to_integer<int>(head[1]);
  const int next = std::to_integer<int>(head[2]);
  return version >= 1 && version <= 20 && (next == 0x12 || next == 0x3A || next == 0x42 || next == 0x1A);
}

// tensorflow.SavedModel: 1 saved_model_schema_version = 1, then 2 meta_graphs; it would pass for ONNX but for what
// follows.
bool is_saved_model(std::span<const std::byte> head) {
  const std::string_view text = as_text(head);
  return text.starts_with("\x08\x01\x12") && text.find("serve") != std::string_view::npos;
}

// A TensorFlow checkpoint index is a LevelDB table: its last 8 bytes are the magic.
bool is_tensorflow_index(const Probe& probe) {
  constexpr std::uint64_t kTableMagic = 0xDB4775248B80FB57U;
  std::array<std::byte, 8> tail{};
  if (probe.source->size() < 48) return false;
  if (!probe.source->read_at(probe.source->size() - tail.size(), tail)) return false;
  return load_le<std::uint64_t>(tail.data()) == kTableMagic;
}

bool is_keras_zip(const Probe& probe) {
  return probe.zip && probe.zip->find("config.json") && probe.zip->find("metadata.json") &&
         probe.zip->find("model.weights.h5");
}

// caffe2.NetDef: 1 name, then 2 op (OperatorDef) with blob names; caffe2's init and predict nets.
bool is_caffe2(std::span<const std::byte> head) {
  const std::string_view text = as_text(head);
  if (head.size() < 16 || text[0] != '\x0A') return false;
  const auto length = static_cast<unsigned char>(text[1]);
  if (std::size_t{2} + length >= text.size() || text[std::size_t{2} + length] != '\x12') return false;
  return text.find("GivenTensorFill") != std::string_view::npos || text.find("XavierFill") != std::string_view::npos;
}

}  // namespace

Error name_the_stranger(const Probe& probe, FileKind& kind) {
  const std::string_view text = as_text(probe.head);
  const bool whole = probe.head.size() == probe.source->size();
  const auto is = [&](FileKind found, std::string message, std::string_view next) {
    kind = found;
    return named(probe, found, std::move(message), next);
  };
  kind = FileKind::Unknown;
  if (text.empty()) return is(FileKind::Empty, "an empty file (0 bytes)", "download or save it again");
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    kind = FileKind::GitLfsPointer;
    return lfs_pointer(probe, text);
  }
  for (const Stranger& row : kStrangers)
    if (text.size() >= row.offset && text.substr(row.offset).starts_with(row.bytes))
      return is(row.kind, std::string(row.what), row.next);
  if (is_html(text))
    return is(FileKind::Html, "an HTML or XML page, not a model: a download page or an error message was saved instead",
              "open it in a browser to see what it says, then download the file itself");
  if (text.find("joblib.numpy_pickle") != std::string_view::npos)
    return is(FileKind::Joblib, "a joblib dump", "joblib.load reads it, for a file you trust");
  if (is_keras_zip(probe)) return is(FileKind::Keras, "a Keras 3 model", "keras.saving.load_model opens it");
  if (is_torch7(probe.head))
    return is(FileKind::Torch7, "a Torch7 (Lua) file in binary form", "torchfile (Python) or Lua Torch reads it");
  if (is_saved_model(probe.head))
    return is(FileKind::TensorFlow, "a TensorFlow SavedModel", "TensorFlow opens the folder it lies in");
  if (is_tensorflow_index(probe))
    return is(FileKind::TensorFlow, "the index of a TensorFlow checkpoint",
              "TensorFlow opens the checkpoint by its prefix");
  if (is_onnx(probe.head)) return is(FileKind::Onnx, "an ONNX model", "onnx, onnxruntime and netron open it");
  if (is_caffe2(probe.head))
    return is(FileKind::Caffe2, "a Caffe2 net", "it needs Caffe2, which old releases of torch hold");
  if (probe.zip_error) {
    const bool cut = probe.zip_error->code() == ErrorCode::Truncated;
    return Error(*probe.zip_error)
        .called(cut ? "truncated" : name_of(probe.zip_error->code()))
        .advise(cut ? "download or copy it again: the end of the archive is missing" : "")
        .inside(probe.name);
  }
  if (is_printable_text(text, whole))
    return is(FileKind::Text, fmt::format("a text file; it begins {}", python_quote(text.substr(0, 40))),
              "a model is binary: look where this text says to");
  return is(FileKind::Unknown,
            fmt::format("no format that wick knows; it begins {}", python_quote_bytes(text.substr(0, 16))),
            "wick help formats lists what it reads");
}

}  // namespace wick::open_detail
