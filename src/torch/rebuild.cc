// SPDX-License-Identifier: Apache-2.0
// The pass over a file's objects: each gets its meaning once all it depends on has one, without recursion.
#include "torch/rebuild.h"

#include <algorithm>

#include "base/try.h"
#include "python/meaning.h"
#include "tensor/dtype.h"
#include "torch/nested_save.h"
#include "torch/rebuild_handlers.h"

namespace wick::torch {

using checkpoint::kNone;
using checkpoint::Layout;
using checkpoint::Meaning;
using checkpoint::TensorRow;
using pickle::Kind;
using pickle::Value;

// ---- the table ----

namespace {

struct TorchGlobal {
  std::string_view module;
  std::string_view name;
  Handler handler;
};

constexpr TorchGlobal kGlobals[] = {
#define WICK_TORCH_GLOBAL(module, name, handler) {module, name, handler},
#include "torch/globals.def"
#undef WICK_TORCH_GLOBAL
};

}  // namespace

Handler find_handler(std::string_view module, std::string_view name) {
  if (module == "torch.tensor") module = "torch._tensor";  // renamed in 1.8
  for (const TorchGlobal& row : kGlobals)
    if (row.name == name && row.module == module) return row.handler;
  if (name.ends_with("Tensor")) {  // classes of 0.1: torch.FloatTensor, torch.cuda.sparse.DoubleTensor ...
    if (module == "torch" || module == "torch.cuda" || module == "torch._tensor") return legacy_tensor;
    if (module == "torch.sparse" || module == "torch.cuda.sparse") return legacy_sparse_tensor;
  }
  // Storages before 1.1 were their class applied to a list of numbers.
  if ((module == "torch" || module == "torch.cuda") && tensor::find_by_storage_class(name)) return storage_from_list;
  if (module.starts_with("__torch__.torch.classes.") && name.ends_with("Base")) return packed_parameters;
  return nullptr;
}

Handler Walk::handler_of(Value callable) {
  auto [known, is_new] = handlers_.try_emplace(callable, nullptr);
  if (is_new) {
    const auto module = text_of(arena(), arena().module(callable));
    const auto name = text_of(arena(), arena().name(callable));
    if (module && name) known->second = find_handler(*module, *name);
  }
  return known->second;
}

// ---- the pass ----

void Walk::enter(std::size_t first, std::size_t end, const std::vector<Value>& persistent_ids,
                 const StorageOfId& storage_of_id) {
  const std::size_t before = ids_.size();
  constexpr std::size_t kMany = 1000;  // little saves in a pickle must not make the tables grow by one
  if (persistent_ids.size() > kMany) {
    ids_.reserve(before + persistent_ids.size());
    contents_.storages.reserve(contents_.storages.size() + persistent_ids.size());
    contents_.tensors.reserve(contents_.tensors.size() + persistent_ids.size());
  }
  for (const Value id : persistent_ids) {
    const std::uint32_t storage = storage_of_id(contents_, id);
    const Meaning::What what = contents_.meaning(id).what;
    if (what == Meaning::What::Same) continue;  // a class of a legacy stream: it never stood for bytes
    ++contents_.facts.persistent_ids;
    if (what == Meaning::What::Tensor) ++contents_.facts.persistent_ids_used;  // a tensor of a tar
    ids_.push_back({id, storage, false});
  }
  const auto by_index = [](const Id& a, const Id& b) { return a.id.index() < b.id.index(); };
  // A pickle may hold a million saves of one storage each: only what is new is looked at.
  const auto first_new = ids_.begin() + static_cast<std::ptrdiff_t>(before == 0 ? 0 : before - 1);
  if (!std::is_sorted(first_new, ids_.end(), by_index)) std::stable_sort(ids_.begin(), ids_.end(), by_index);
  frames_.push_back({first, end, {}, false});
}

// A memoised function and its memoised arguments make a row from five bytes of the pickle: the rows count as memory.
Result<void> Walk::check_rows() const {
  constexpr std::uint64_t kErrorBytes = 256;  // about what an Error with its message holds
  const std::uint64_t rows = contents_.tensors.size() * sizeof(TensorRow) +
                             contents_.more.size() * (sizeof(checkpoint::TensorMore) + kErrorBytes) +
                             contents_.storages.size() * sizeof(checkpoint::StorageRow) +
                             contents_.errors.size() * kErrorBytes;
  return check_memory(contents_.limits, rows + arena().bytes_held(), "what the pickle makes");
}

Result<void> Walk::run() {
  constexpr std::uint64_t kBetweenChecks = 4096;
  std::uint64_t seen = 0;
  while (!frames_.empty()) {
    if (seen++ % kBetweenChecks == 0) WICK_CHECK(check_rows());
    Frame& frame = frames_.back();
    const std::size_t depth = frames_.size();
    if (!frame.postponed.empty() && frame.postponed.begin()->first < frame.next) {
      const Value object = frame.postponed.begin()->second;
      frame.postponed.erase(frame.postponed.begin());
      give_meaning(object);
    } else if (frame.next < frame.end) {
      look_at(frame, pickle::Arena::object_at(frame.next++));
    } else {
      if (frame.archive) --archives_;
      frames_.pop_back();
    }
    if (frames_.size() > depth && frames_.size() > contents_.limits.max_depth)
      return fail(ErrorCode::Limit, "saves are nested in saves deeper than {} levels (--max-depth)",
                  contents_.limits.max_depth);
  }
  list_unused_storages();
  return {};
}

// An object with a state may have been made before what its state holds; it then waits for the last of that.
void Walk::look_at(Frame& frame, Value object) {
  if (arena().extra(object) != nullptr) {
    const std::size_t needed = last_needed(object);
    if (needed > object.index() && needed < frame.end) {
      frame.postponed.emplace(needed, object);
      return;
    }
  }
  give_meaning(object);
}

std::size_t Walk::last_needed(Value object) const {
  const Value state = arena().state(object);
  std::size_t last = static_cast<std::size_t>(object.index());
  const auto see = [&](Value value) {
    if (value.is(Kind::Object)) last = std::max(last, static_cast<std::size_t>(value.index()));
  };
  see(state);
  if (!state.is(Kind::Tuple) && !state.is(Kind::List)) return last;
  for (const Value item : arena().items(state)) {
    see(item);
    if (item.is(Kind::Tuple) || item.is(Kind::List))
      for (const Value inner : arena().items(item)) see(inner);
  }
  return last;
}

void Walk::give_meaning(Value object) {
  const pickle::Object& row = arena().object(object);
  if (row.callable.is(Kind::Global)) {
    if (const Handler handler = handler_of(row.callable)) {
      const Arguments args = row.args.is(Kind::Tuple) ? arena().items(row.args) : Arguments(&row.args, 1);
      if (handler(*this, object, args)) return;
    }
  }
  python::give_meaning(contents_, object);
}

// ---- storages ----

Walk::Id* Walk::find_id(Value id) {
  if (next_id_ < ids_.size() && ids_[next_id_].id == id) return &ids_[next_id_++];
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id.index(),
                                      [](const Id& row, std::uint64_t index) { return row.id.index() < index; });
  if (found == ids_.end() || found->id != id) return nullptr;
  next_id_ = static_cast<std::size_t>(found - ids_.begin()) + 1;
  return &*found;
}

std::optional<Walk::Found> Walk::take_storage(Value value) {
  value = resolve(value);
  if (value.is(Kind::PersistentId)) {
    Id* id = find_id(value);
    if (id == nullptr || id->storage == kNone) return std::nullopt;
    id->used = true;
    const checkpoint::StorageRow& row = contents_.storages[id->storage];
    const auto type = storage_ids_.read_class(arena(), value);
    return Found{id->storage, type ? type->dtype : row.dtype, type ? type->untyped : row.untyped};
  }
  const Meaning meaning = contents_.meaning(value);
  if (meaning.what != Meaning::What::Storage) return std::nullopt;
  const TensorRow& row = contents_.tensors[meaning.index];
  return Found{row.storage, row.dtype, false};
}

// A storage that no tensor took was saved on its own, or belongs to an object nobody here knows.
void Walk::list_unused_storages() {
  for (const Id& id : ids_) {
    if (id.storage == kNone) continue;
    ++contents_.facts.persistent_ids_used;
    if (id.used) continue;
    const checkpoint::StorageRow& storage = contents_.storages[id.storage];
    const auto type = storage_ids_.read_class(arena(), id.id);
    TensorRow row;
    row.layout = Layout::Storage;
    row.dtype = type ? type->dtype : storage.dtype;
    if (facts_of(row.dtype).bits < 8) row.dtype = DType::UInt8;  // a storage of packed types counts bytes
    row.storage = id.storage;
    row.device = storage.device;
    const std::int64_t count = static_cast<std::int64_t>(storage.declared / storage_item_bytes(row.dtype));
    row.sizes = contents_.dims.put(std::span(&count, 1));
    const std::int64_t one = 1;
    row.strides = contents_.dims.put(std::span(&one, 1));
    const std::uint32_t tensor = contents_.add_tensor(row);
    contents_.mean(id.id, {Meaning::What::Storage, tensor});
    checkpoint::check_bounds(contents_, tensor);
  }
}

// ---- for handlers ----

std::uint32_t Walk::tensor_of(Value value) const {
  const Meaning meaning = contents_.meaning(resolve(value));
  return meaning.what == Meaning::What::Tensor || meaning.what == Meaning::What::Array ? meaning.index : kNone;
}

std::optional<DType> Walk::dtype_of(Value value) const {
  value = resolve(value);
  if (!value.is(Kind::Global)) return std::nullopt;
  const auto name = text_of(arena(), arena().name(value));
  return name ? find_dtype(*name) : std::nullopt;
}

bool Walk::read_dims(Value value, std::vector<std::int64_t>& into) const {
  value = resolve(value);
  into.clear();
  if (!value.is(Kind::Tuple) && !value.is(Kind::List)) return false;
  for (const Value item : arena().items(value)) {
    if (!item.is(Kind::Int)) return false;
    into.push_back(pickle::Arena::as_int(item));
  }
  return true;
}

std::uint32_t Walk::mean_tensor(Value object, TensorRow row) {
  const std::uint32_t tensor = contents_.add_tensor(row);
  contents_.mean(object, {Meaning::What::Tensor, tensor});
  return tensor;
}

std::uint32_t Walk::mean_copy(Value object, std::uint32_t tensor) {
  TensorRow row = contents_.tensors[tensor];
  if (row.more != kNone) {
    checkpoint::TensorMore more = contents_.more[row.more];
    row.more = static_cast<std::uint32_t>(contents_.more.size());
    contents_.more.push_back(std::move(more));
  }
  return mean_tensor(object, row);
}

std::uint32_t Walk::mean_broken(Value object, Error error) {
  const std::uint32_t tensor = mean_tensor(object, {});
  contents_.set_error(tensor, std::move(error));
  return tensor;
}

std::string Walk::device_text(Value value) const {
  value = resolve(value);
  const Meaning meaning = contents_.meaning(value);
  if (meaning.what == Meaning::What::Shown) value = contents_.values[meaning.index];
  const auto text = text_of(arena(), value);
  return text ? std::string(*text) : std::string();
}

void Walk::keep_state(std::uint32_t tensor, Value attributes) {
  const auto pairs = arena().pairs(attributes);
  for (std::size_t i = 1; i < pairs.size(); i += 2) {
    switch (resolve(pairs[i]).kind()) {
      case Kind::Object:
      case Kind::Dict:
      case Kind::List:
      case Kind::Tuple:
      case Kind::PersistentId: contents_.more_of(tensor).state = attributes; return;
      default: break;
    }
  }
}

std::uint32_t Walk::add_owned_storage(std::vector<std::byte> bytes, DType dtype) {
  if (!owned_) {
    owned_ = std::make_shared<OwnedBytes>();
    owned_opener_ = static_cast<std::uint32_t>(contents_.openers.size());
    contents_.openers.push_back(owned_);
  }
  checkpoint::StorageRow row;
  row.bytes = row.declared = bytes.size();
  row.dtype = dtype;
  row.opener = owned_opener_;
  row.entry = owned_->add(std::move(bytes));
  contents_.storages.push_back(row);
  return static_cast<std::uint32_t>(contents_.storages.size() - 1);
}

Result<Value> Walk::enter_nested(std::string_view bytes) {
  const Limits& limits = contents_.limits;
  WICK_CHECK(check_memory(limits, arena().bytes_held(), "a save inside the pickle"));
  const bool archive =
      bytes.starts_with("PK");  // deflate can hold itself; a legacy stream is longer than what it holds
  if (archive && archives_ >= limits.max_nesting)
    return fail(ErrorCode::Limit, "archives are nested in pickles deeper than {} levels (--max-nesting)",
                limits.max_nesting);
  WICK_TRY(const auto nested, open_nested_bytes(contents_, bytes));
  enter(nested.first_object, nested.end_object, nested.persistent_ids, nested.storage_of_id);
  frames_.back().archive = archive;
  if (archive) ++archives_;
  return nested.root;
}

void Walk::tell_broken_save(const Error& error) {
  constexpr std::uint32_t kTold = 10;  // each of them also stands in its own row
  if (++broken_saves_ > kTold) return;
  contents_.findings.push_back(
      {"nested-save", fmt::format("a save inside the pickle can not be read: {}", error.message()), {}, {}});
}

Result<void> give_meaning(checkpoint::Contents& contents, std::size_t first_object,
                          const std::vector<Value>& persistent_ids, const StorageOfId& storage_of_id) {
  Walk walk(contents);
  walk.enter(first_object, contents.arena.object_count(), persistent_ids, storage_of_id);
  return walk.run();
}

}  // namespace wick::torch
