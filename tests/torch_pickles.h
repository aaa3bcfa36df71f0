// SPDX-License-Identifier: Apache-2.0
// Pickles and saves as torch writes them, opcode by opcode, and as nobody should. Opcodes: pickletools; forms:
// torch/_utils.py and torch/serialization.py, written out here once more so that the reader's own tables are not
// trusted.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/places.h"
#include "checkpoint/probe.h"
#include "checkpoint/read_tensor.h"
#include "zip_builder.h"

namespace wick::testing {

inline std::string str(std::string_view text) {
  std::string out = "X";
  put32(out, text.size());
  return out.append(text);
}
inline std::string py2_str(std::string_view text) {
  return "U" + std::string(1, static_cast<char>(text.size())).append(text);
}
inline std::string bytes(std::string_view text) {
  std::string out = "B";
  put32(out, text.size());
  return out.append(text);
}
inline std::string integer(std::int64_t value) {  // LONG1 of 8 bytes, as the C++ pickler writes all large ones
  std::string out = "\x8a\x08";
  put64(out, static_cast<std::uint64_t>(value));
  return out;
}
inline std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}
inline std::string tuple(const std::vector<std::string>& items) { return "(" + joined(items) + "t"; }
inline std::string list(const std::vector<std::string>& items) { return "](" + joined(items) + "e"; }
inline std::string dict(const std::vector<std::string>& pairs) { return "}(" + joined(pairs) + "u"; }
inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string reduce(const std::string& callable, const std::vector<std::string>& args) {
  return callable + tuple(args) + "R";
}
inline std::string new_object(const std::string& type, const std::vector<std::string>& args, const std::string& state) {
  return type + tuple(args) + "\x81" + state + "b";
}
inline std::string persistent(const std::string& id) { return id + "Q"; }
inline std::string pickle_of(const std::string& value) { return "\x80\x02" + value + "."; }

inline const std::string kTrue = "\x88";
inline const std::string kFalse = "\x89";
inline const std::string kNothing = "N";
inline const std::string kNoHooks = "ccollections\nOrderedDict\n)R";

inline std::string storage(std::string_view type, const std::string& key, std::int64_t numel) {
  return persistent(tuple({str("storage"), global("torch", type), key, str("cpu"), integer(numel)}));
}
inline std::string dims(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  for (const std::int64_t value : values) items.push_back(integer(value));
  return tuple(items);
}
inline std::string tensor_v2(const std::string& from, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                             const std::vector<std::int64_t>& strides) {
  return reduce(global("torch._utils", "_rebuild_tensor_v2"),
                {from, integer(offset), dims(sizes), dims(strides), kFalse, kNoHooks});
}
// float32 1-D over the whole of storage `key`.
inline std::string floats(const std::string& key, std::int64_t count) {
  return tensor_v2(storage("FloatStorage", key, count), 0, {count}, {1});
}

// A torch.save zip of `object` with `records` ("data/0" -> bytes).
inline std::string save_zip(const std::string& object, const std::vector<std::pair<std::string, std::string>>& records,
                            const std::string& root = "archive/") {
  ZipBuilder zip;
  zip.add(root + "data.pkl", pickle_of(object));
  for (const auto& [name, content] : records) zip.add(root + name, content);
  zip.add(root + "version", "3\n");
  return zip.finish();
}

// A legacy stream: `keys` and the raw bytes of each storage with its number of elements.
struct LegacyPart {
  std::string key;
  std::int64_t count = 0;
  std::string bytes;
};
inline std::string legacy_save(const std::string& object, const std::vector<LegacyPart>& parts) {
  std::string out("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.", 21);
  out += pickle_of(dict({str("protocol_version"), integer(1001), str("little_endian"), kTrue}));
  out += pickle_of(object);
  std::vector<std::string> keys;
  for (const LegacyPart& part : parts) keys.push_back(str(part.key));
  out += pickle_of(list(keys));
  for (const LegacyPart& part : parts) {
    put64(out, static_cast<std::uint64_t>(part.count));
    out += part.bytes;
  }
  return out;
}
inline std::string legacy_storage(std::string_view type, std::string_view key, std::int64_t numel,
                                  const std::string& view = kNothing) {
  return persistent(tuple({str("storage"), global("torch", type), str(key), str("cpu"), integer(numel), view}));
}

inline checkpoint::Probe probe_of(const std::string& file, const Limits& limits = {}) {
  std::vector<std::byte> raw(file.size());
  if (!file.empty()) std::memcpy(raw.data(), file.data(), file.size());
  auto probe = checkpoint::probe(from_memory(std::move(raw), "made"), "made", Context{limits, 0});
  EXPECT_TRUE(probe);
  return *std::move(probe);
}

// What a reader made of a file, by name.
class Rows {
 public:
  explicit Rows(Result<checkpoint::Contents> read) : contents_(std::move(read)) {
    if (!contents_) return;
    auto places = checkpoint::find_places(*contents_);
    EXPECT_TRUE(places);
    places_ = *std::move(places);
  }
  [[nodiscard]] bool ok() const { return contents_.ok(); }
  [[nodiscard]] const Error& error() const { return contents_.error(); }
  [[nodiscard]] const checkpoint::Contents& contents() const { return *contents_; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& place : places_.rows) out.push_back(checkpoint::name_of(*contents_, places_, place.path));
    return out;
  }
  [[nodiscard]] std::uint32_t index(std::string_view name) const {
    for (const auto& place : places_.rows)
      if (checkpoint::name_of(*contents_, places_, place.path) == name) return place.tensor;
    ADD_FAILURE() << "no row " << name;
    return 0;
  }
  [[nodiscard]] const checkpoint::TensorRow& row(std::string_view name) const {
    return contents_->tensors[index(name)];
  }
  // The message of the row's error, or "".
  [[nodiscard]] std::string error_of(std::string_view name) const {
    const Error* error = contents_->error_of(row(name));
    return error == nullptr ? std::string() : error->message();
  }
  [[nodiscard]] std::string elements(std::string_view name) const {
    const auto read = checkpoint::read_elements(*contents_, index(name));
    if (!read) return "error: " + read.error().message();
    return {static_cast<const char*>(static_cast<const void*>(read->data())), read->size()};
  }
  [[nodiscard]] bool has_finding(std::string_view code) const {
    for (const Finding& finding : contents_->findings)
      if (finding.code == code) return true;
    return false;
  }

 private:
  Result<checkpoint::Contents> contents_;
  checkpoint::Places places_;
};

}  // namespace wick::testing
