// SPDX-License-Identifier: Apache-2.0
// What a persistent id says about a storage: ('storage', class, key, location, numel[, view]). Form:
// docs/formats/torch-zip.md, torch.serialization.persistent_id.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "checkpoint/contents.h"

namespace wick::torch {

// Bytes of one element as a storage counts them: packed types (quint4x2 ...) count whole bytes.
std::uint64_t storage_item_bytes(DType dtype);

// The element type of a storage class, whatever its module ("torch FloatStorage", "torch.cuda FloatStorage").
struct StorageClass {
  DType dtype = DType::UInt8;
  bool untyped = false;  // the numel of its ids counts bytes
};
std::optional<StorageClass> storage_class(const pickle::Arena& arena, pickle::Value global);

struct StorageId {
  StorageClass type;
  pickle::Value key;           // as the file has it: Str, Py2Str, Bytes or Int
  std::string_view key_text;   // the same as text; valid as long as the arena and the reader of ids
  std::uint32_t device = 0;    // in Contents::devices
  std::uint64_t numel = 0;     // elements of `type`
  std::uint64_t declared = 0;  // bytes
  // Legacy streams: this id names a part of the storage `key`.
  bool is_view = false;
  pickle::Value view_key;
  std::string_view view_key_text;
  std::uint64_t view_offset = 0;  // elements
  std::uint64_t view_numel = 0;
};

// Reads ids of one file. Remembers the last class and location, so that a million ids cost a million compares.
class StorageIds {
 public:
  // Malformed when the id names a storage but a field of it is none; an id of another form is `std::nullopt`.
  Result<std::optional<StorageId>> read(checkpoint::Contents& contents, pickle::Value persistent_id);

  // The class an id names, without its other fields; nothing for ids of another form.
  std::optional<StorageClass> read_class(const pickle::Arena& arena, pickle::Value persistent_id);

 private:
  std::optional<StorageClass> class_of(const pickle::Arena& arena, pickle::Value global);
  Result<std::string_view> key_text(const pickle::Arena& arena, pickle::Value key);
  std::uint32_t device_of(checkpoint::Contents& contents, pickle::Value location);

  std::unordered_map<pickle::Value, std::optional<StorageClass>> classes_;
  pickle::Value last_class_;
  std::optional<StorageClass> last_type_;
  pickle::Value last_location_;
  std::uint32_t last_device_ = 0;
  std::deque<std::string> spelled_keys_;  // of int keys
};

// Text of Str, Py2Str, Bytes or ByteArray; nothing for other values.
std::optional<std::string_view> text_of(const pickle::Arena& arena, pickle::Value value);

}  // namespace wick::torch
