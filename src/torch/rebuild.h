// SPDX-License-Identifier: Apache-2.0
// What torch's own classes and functions make of their arguments, by name: the table is globals.def, and each row's
// handler gives one object its meaning. Nothing is called; a handler only looks at inert values.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/contents.h"
#include "torch/meaning.h"
#include "torch/record_openers.h"
#include "torch/storage_id.h"

namespace wick::torch {

class Walk;

// The arguments a class or function was applied to.
using Arguments = std::span<const pickle::Value>;

// Gives `object` its meaning from `args`. False when these arguments are none that torch would write: the object then
// stays unknown, and the walk shows its arguments and state.
using Handler = bool (*)(Walk& walk, pickle::Value object, Arguments args);

// The handler of a global, or nullptr. `module` as the file has it; torch's own renamed modules are followed.
Handler find_handler(std::string_view module, std::string_view name);

// One pass over the objects of a file, in the order they were made.
class Walk {
 public:
  explicit Walk(checkpoint::Contents& contents) : contents_(contents) {}

  // Names the storages of `persistent_ids` and sets the objects [first, end) to be looked at.
  void enter(std::size_t first, std::size_t end, const std::vector<pickle::Value>& persistent_ids,
             const StorageOfId& storage_of_id);
  // Looks at all objects entered, those of nested saves included, then lists the storages no tensor took.
  Result<void> run();

  // ---- for handlers ----

  [[nodiscard]] checkpoint::Contents& contents() { return contents_; }
  [[nodiscard]] const pickle::Arena& arena() const { return contents_.arena; }
  [[nodiscard]] pickle::Value resolve(pickle::Value value) const { return contents_.resolve(value); }
  // args[index], resolved; Missing when there are fewer.
  [[nodiscard]] pickle::Value at(Arguments args, std::size_t index) const {
    return index < args.size() ? contents_.resolve(args[index]) : pickle::Value();
  }

  struct Found {
    std::uint32_t storage = checkpoint::kNone;
    DType dtype = DType::UInt8;  // of the class this id names
    bool untyped = false;
  };
  // The storage `value` names (a persistent id, or what stands for one), which then counts as a tensor's.
  std::optional<Found> take_storage(pickle::Value value);
  // The tensor row `value` is (arrays included); kNone when it is none.
  [[nodiscard]] std::uint32_t tensor_of(pickle::Value value) const;
  // The element type a value names ("torch.uint16" as a Global).
  [[nodiscard]] std::optional<DType> dtype_of(pickle::Value value) const;
  // Integers of a tuple, list or torch.Size; false when it is none or holds anything else.
  bool read_dims(pickle::Value value, std::vector<std::int64_t>& into) const;

  // Adds `row` as the meaning of `object`.
  std::uint32_t mean_tensor(pickle::Value object, checkpoint::TensorRow row);
  // A row of its own for `object` that shows what `tensor` shows.
  std::uint32_t mean_copy(pickle::Value object, std::uint32_t tensor);
  // A row that can not be read, because its arguments are none that torch writes.
  std::uint32_t mean_broken(pickle::Value object, Error error);

  // A storage of bytes that were made here (a list of numbers in the pickle).
  std::uint32_t add_owned_storage(std::vector<std::byte> bytes, DType dtype);

  // "cuda:1" of text or of torch.device(..); "" for anything else.
  [[nodiscard]] std::string device_text(pickle::Value value) const;
  // The attributes of a tensor object: what the walk goes through below it, when they hold anything.
  void keep_state(std::uint32_t tensor, pickle::Value attributes);

  // Reads the whole torch.save file in `bytes` (which the arena holds): its objects are looked at next.
  Result<pickle::Value> enter_nested(std::string_view bytes);
  // Tells of a nested save that could not be read; of the first ones only.
  void tell_broken_save(const Error& error);

  // Room for sizes and strides, so that a million tensors allocate nothing.
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;

 private:
  struct Frame {
    std::size_t next = 0;
    std::size_t end = 0;
    std::multimap<std::size_t, pickle::Value> postponed;  // by the object to wait for
    bool archive = false;                                 // a zip inside the pickle
  };
  struct Id {
    pickle::Value id;
    std::uint32_t storage = checkpoint::kNone;
    bool used = false;
  };

  [[nodiscard]] Result<void> check_rows() const;
  void look_at(Frame& frame, pickle::Value object);
  void give_meaning(pickle::Value object);
  [[nodiscard]] std::size_t last_needed(pickle::Value object) const;
  Handler handler_of(pickle::Value callable);
  Id* find_id(pickle::Value id);
  void list_unused_storages();

  checkpoint::Contents& contents_;
  std::vector<Frame> frames_;
  std::vector<Id> ids_;      // sorted by index: the arena hands them out in order
  std::size_t next_id_ = 0;  // the one most likely asked for next
  StorageIds storage_ids_;
  std::unordered_map<pickle::Value, Handler> handlers_;
  std::uint32_t broken_saves_ = 0;
  std::uint32_t archives_ = 0;  // zips inside pickles that are being looked at
  std::shared_ptr<OwnedBytes> owned_;
  std::uint32_t owned_opener_ = checkpoint::kNone;
};

// ---- pieces shared by handlers ----

struct Dense {
  pickle::Value storage;
  pickle::Value offset;
  pickle::Value sizes;
  pickle::Value strides;
  pickle::Value requires_grad;  // Missing when the form has none
  pickle::Value math_bits;      // {'conj': True, 'neg': True} or Missing
  std::optional<DType> dtype;   // when it is not the storage's
};
// A strided tensor: the row with all that `dense` says, its bounds checked.
std::uint32_t mean_dense(Walk& walk, pickle::Value object, const Dense& dense);

}  // namespace wick::torch
