// SPDX-License-Identifier: Apache-2.0
// One row for each tensor object and each storage of a file. Compact: a million of them is normal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pickle/value.h"
#include "tensor/storage.h"
#include "wick/dtype.h"
#include "wick/error.h"

namespace wick::checkpoint {

inline constexpr std::uint32_t kNone = 0xFFFFFFFFU;

enum class Layout : std::uint8_t {
  Strided,
  SparseCoo,
  SparseCsr,
  SparseCsc,
  SparseBsr,
  SparseBsc,
  Nested,
  Jagged,
  Mkldnn,
  Storage,
  Wrapper
};
std::string_view name_of(Layout layout);  // "strided", "sparse_coo" ... as json.md spells them

enum class Role : std::uint8_t { Unknown, Parameter, Buffer, NonPersistent, Attribute, Optimizer, Constant, Storage };
std::string_view name_of(Role role);  // "" for Unknown

// Sequences of int64 (sizes, strides), each kept once.
class DimPool {
 public:
  // The index to hand to get(); equal sequences get equal indices.
  std::uint32_t put(std::span<const std::int64_t> dims);
  [[nodiscard]] std::span<const std::int64_t> get(std::uint32_t index) const;

 private:
  std::vector<std::int64_t> words_;                              // count, then the dims
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_;  // hash -> index
};

// What few tensors have.
struct TensorMore {
  std::optional<Error> error;  // why it can not be read; it is listed all the same
  // quantized
  std::string scheme;  // "per_tensor_affine" ...; empty when not quantized
  double scale = 0;
  std::int64_t zero_point = 0;
  std::int64_t axis = 0;
  std::uint32_t scales = kNone;       // tensor row, per channel
  std::uint32_t zero_points = kNone;  // tensor row, per channel
  // sparse, nested, wrapper subclasses: name -> tensor row
  std::vector<std::pair<std::string, std::uint32_t>> parts;
  // Python attributes the tensor object carried (a Dict, or Missing): the walk goes on through them below the tensor.
  pickle::Value state;
  std::string subclass;          // "torch.distributed.tensor.DTensor", "torch.nn.parameter.Buffer" ...
  std::string numpy_type;        // numpy's spelling ("<M8[ns]") when dtype is NumpyOther
  std::uint32_t item_bytes = 0;  // itemsize of NumpyOther
  std::string note;              // a word for a person: "record is empty, as torch writes it here"
  // shards: where the parts of this tensor lie, as ls --json shows them
  struct ShardPiece {
    std::string file;
    std::string member;
    std::uint64_t bytes = 0;
    std::vector<std::int64_t> start;
    std::vector<std::int64_t> shape;
  };
  std::vector<ShardPiece> pieces;
};

struct TensorRow {
  DType dtype = DType::Float32;
  Layout layout = Layout::Strided;
  bool requires_grad = false;
  bool conj = false;          // value = conj(stored)
  bool neg = false;           // value = -stored
  bool is_parameter = false;  // Parameter, however it was pickled
  bool is_buffer = false;     // torch.nn.Buffer
  bool is_meta = false;       // no bytes anywhere, by intent
  bool is_array = false;      // a numpy array, listed with --arrays
  bool grad_known = false;    // requires_grad was told by the file
  std::uint32_t storage = kNone;
  std::uint32_t sizes = kNone;    // in DimPool
  std::uint32_t strides = kNone;  // in DimPool; kNone when the layout has none
  std::uint32_t device = 0;       // in Contents::devices
  std::uint32_t more = kNone;     // in Contents::more
  std::uint64_t offset = 0;       // elements
};

// Opens the bytes of a container's records when somebody asks.
class StorageOpener {
 public:
  StorageOpener() = default;
  StorageOpener(const StorageOpener&) = delete;
  StorageOpener& operator=(const StorageOpener&) = delete;
  virtual ~StorageOpener() = default;
  [[nodiscard]] virtual Result<tensor::StoragePtr> open(std::uint32_t entry) const = 0;
  [[nodiscard]] virtual std::string member(std::uint32_t entry) const = 0;  // record name, or ""
  [[nodiscard]] virtual std::string file(std::uint32_t entry) const {
    (void)entry;
    return {};
  }  // shard file, or "" for the file itself
  [[nodiscard]] virtual bool compressed(std::uint32_t entry) const {
    (void)entry;
    return false;
  }
  [[nodiscard]] virtual Result<std::uint64_t> file_offset(std::uint32_t entry) const = 0;
};

struct StorageRow {
  pickle::Value key;             // as the file names it; Missing when it has no name
  std::uint64_t bytes = 0;       // what the record holds, by the directory
  std::uint64_t declared = 0;    // what the pickle says it holds, in bytes
  std::uint32_t opener = kNone;  // in Contents::openers; kNone = no bytes (then `error`, or meta)
  std::uint32_t entry = 0;       // for the opener
  std::uint32_t device = 0;      // in Contents::devices: the location tag
  std::uint32_t error = kNone;   // in Contents::errors: missing, short, two dtypes ...
  DType dtype = DType::UInt8;    // of the class under which it was first named; UInt8 for untyped
  bool untyped = false;
  bool swapped = false;  // the bytes are big-endian
};

}  // namespace wick::checkpoint
