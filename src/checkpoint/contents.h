// SPDX-License-Identifier: Apache-2.0
// Contents: what a reader makes of one file. All formats meet here: the object tree, the tensors and storages under it,
// what the tree's objects mean, and facts about the container. Filled once by a reader, then never changed;
// `Checkpoint` is the public handle on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/finding.h"
#include "checkpoint/tensor_row.h"
#include "io/source.h"
#include "pickle/arena.h"
#include "wick/kind.h"

namespace wick::checkpoint {

// What an Object (or Leaf, or PersistentId) of the arena is. A side table: the pickle's own form stays as it was.
struct Meaning {
  enum class What : std::uint8_t {
    Unknown,  // an inert object: class, arguments, state, items
    Tensor,   // index = tensor row
    Array,    // a numpy array: index = tensor row with is_array
    Storage,  // a storage saved on its own: index = tensor row with Layout::Storage
    Same,  // transparent: index = in Contents::values (restore_type_tag, _codecs.encode, Counter({..}), set([..]) ...)
    Mapping,   // dict-like: its pairs() are its children (OrderedDict, defaultdict)
    Sequence,  // list-like: its items() are its children (deque)
    Shown,     // one value a person reads as text: index = in Contents::values, a Str ("2024-05-01 12:00:00")
    Module,    // an nn.Module: state holds _parameters, _buffers, _modules
  };
  What what = What::Unknown;
  std::uint32_t index = 0;
};

// One pickle of the file (data.pkl, constants.pkl ...), or the one tree a format without pickle makes.
struct Section {
  std::string record;  // "" for the main one; else as TRUTH's `record`: "constants.pkl"
  pickle::Value root;
  Role role = Role::Unknown;  // what its tensors are when nothing finer is known (constants.pkl: Constant)
};

// One record of an archive, as ls --members shows it.
struct Member {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t compressed = 0;
  std::uint32_t crc = 0;
  bool has_crc = false;
  std::string method;        // "stored", "deflated", "method 12"
  std::uint64_t header = 0;  // offset of its header in the file
};
class MemberList {
 public:
  MemberList() = default;
  MemberList(const MemberList&) = delete;
  MemberList& operator=(const MemberList&) = delete;
  virtual ~MemberList() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual Member at(std::uint64_t index) const = 0;
  [[nodiscard]] virtual bool has(std::string_view name) const {
    for (std::uint64_t i = 0; i < size(); ++i)
      if (at(i).name == name) return true;
    return false;
  }
  // The member as a source of its own, inflated when it must be. NotFound by name.
  [[nodiscard]] virtual Result<io::SourcePtr> open(std::string_view name, const Limits& limits) const = 0;
};

struct ContainerFacts {
  std::string byteorder = "little";
  std::uint64_t alignment = 0;    // of the storages, 0 = unknown or none
  std::uint64_t crc_present = 0;  // records with one
  std::uint64_t crc_omitted = 0;  // non-empty records whose stored CRC is 0
  std::uint64_t compressed = 0;   // deflated records
  std::uint64_t compressed_storages = 0;
  int pickle_protocol = -1;
  bool python2 = false;
  std::string root_folder;                 // of a zip, without the slash
  std::string format_version;              // text of the `version` record, or the format's own version
  std::vector<std::string> extra_members;  // records no reader of the format asks for
  std::map<std::string, std::string>
      records;  // small text records by name: byteorder, .format_version, torch_version ...
  std::vector<std::pair<std::string, std::string>>
      metadata;                           // safetensors __metadata__, GGUF keys (values shown as text), .mar manifest
  std::vector<pickle::Value> classes;     // distinct Globals named anywhere in the file, in order
  std::uint64_t persistent_ids = 0;       // in the pickles
  std::uint64_t persistent_ids_used = 0;  // of them, those that became a tensor's or a listed storage
};

// A tensor that lies nowhere in the file: torch makes it when it is asked for the state_dict() of a module, from a
// plain attribute (the scale of a quantized Linear).
struct MadeTensor {
  pickle::Value module;
  pickle::Value key;         // a Str: what state_dict() calls it
  std::uint32_t tensor = 0;  // its row
};

struct Contents {
  std::string name;  // as the user named the file
  FileKind kind = FileKind::Unknown;
  io::SourcePtr source;
  Limits limits;
  pickle::Arena arena;
  std::vector<Section> sections;
  std::vector<TensorRow> tensors;
  std::vector<TensorMore> more;
  std::vector<StorageRow> storages;
  std::vector<Error> errors;  // of storages
  std::vector<std::shared_ptr<const StorageOpener>> openers;
  std::vector<std::string> devices{std::string("cpu")};
  std::vector<pickle::Value> values;  // of Meaning::Same and Shown
  std::vector<MadeTensor> made;       // sorted by module
  DimPool dims;
  ContainerFacts facts;
  Findings findings;
  std::shared_ptr<const MemberList> members;   // nullptr when the file is no archive
  std::vector<std::string> model_members;      // kind Archive: members that are model files themselves, in order
  std::map<std::string, std::string> sources;  // TorchScript code/ records, by name, when the reader needed them

  // ---- meanings ----
  void mean(pickle::Value object, Meaning meaning);
  void mean_same(pickle::Value object, pickle::Value value);
  void mean_shown(pickle::Value object, std::string_view text);
  [[nodiscard]] Meaning meaning(
      pickle::Value value) const;  // Unknown for values that are none of Object, Leaf, PersistentId
  // Follows Meaning::Same to what is really there (bounded, so a cycle ends).
  [[nodiscard]] pickle::Value resolve(pickle::Value value) const;

  // ---- filling ----
  std::uint32_t device_index(std::string_view tag);
  std::uint32_t add_tensor(TensorRow row);
  TensorMore& more_of(std::uint32_t tensor);  // makes the row when it is not there
  [[nodiscard]] const TensorMore* find_more(std::uint32_t tensor) const;
  void set_error(std::uint32_t tensor, Error error);  // keeps the first

  // ---- looking ----
  [[nodiscard]] std::span<const std::int64_t> sizes(const TensorRow& row) const;
  [[nodiscard]] std::span<const std::int64_t> strides(const TensorRow& row) const;
  [[nodiscard]] std::optional<std::uint64_t> numel(const TensorRow& row) const;  // nullopt on overflow
  // Bytes of the elements packed in C order; 0 for layouts that have none of their own (their parts have).
  [[nodiscard]] std::uint64_t tensor_bytes(const TensorRow& row) const;
  [[nodiscard]] const Error* error_of(const TensorRow& row) const;  // its own, or its storage's

 private:
  std::vector<Meaning> object_meanings_;                    // by Object ordinal
  std::vector<Meaning> leaf_meanings_;                      // by Leaf ordinal
  std::unordered_map<std::uint64_t, Meaning> id_meanings_;  // by PersistentId index: few are met outside tensors
};

// Checks sizes, strides, offset and storage of a strided tensor against each other and sets its error when they do not
// fit: negative or overflowing sizes, a view that passes the end of its storage. Both numbers are in the message. Never
// touches bytes.
void check_bounds(Contents& contents, std::uint32_t tensor);

}  // namespace wick::checkpoint
