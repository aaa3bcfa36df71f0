// SPDX-License-Identifier: Apache-2.0
// Which optimizer slot belongs to which parameter. torch.optim numbers parameters in the order they were given to it,
// group by group; a slot says nothing else. So a number is matched by order, and only where the shapes leave no doubt.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "check/describe.h"
#include "check/entries.h"
#include "torch/module_class.h"

namespace wick::check {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;
using Shape = std::vector<std::int64_t>;

// ---- the parameters ----

struct Parameter {
  std::string name;
  std::uint32_t tensor = 0;
  Shape shape;
};

// Only floating-point and complex tensors have gradients.
bool has_gradient(DType dtype) {
  const std::string_view name = name_of(dtype);
  return name.starts_with("float") || name.starts_with("bfloat") || name.starts_with("complex");
}

// Buffers as state dicts call them; what a module's own roles do not tell.
bool is_buffer_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  constexpr std::array<std::string_view, 7> kBuffers{
      "running_mean", "running_var", "num_batches_tracked", "position_ids", "relative_position_index",
      "attn_mask",    "inv_freq"};
  return std::find(kBuffers.begin(), kBuffers.end(), last) != kBuffers.end();
}

// The parameters under the auto root in their order; a tied one once, under its first name, as optimizers see it.
std::vector<Parameter> parameters_of(const open_detail::Loaded& loaded) {
  const Contents& contents = loaded.contents;
  std::vector<Parameter> found;
  std::set<std::tuple<std::uint32_t, std::uint64_t, Shape>> seen;
  for (const checkpoint::Place& row : loaded.automatic.places.rows) {
    const checkpoint::TensorRow& tensor = contents.tensors[row.tensor];
    const bool known = row.role == checkpoint::Role::Parameter;
    if (tensor.is_array || row.role == checkpoint::Role::Buffer || row.role == checkpoint::Role::Storage) continue;
    if (!known && !has_gradient(tensor.dtype)) continue;
    std::string name = checkpoint::name_of(contents, loaded.automatic.places, row.path);
    if (!known && is_buffer_name(name)) continue;
    const auto sizes = contents.sizes(tensor);
    Shape shape(sizes.begin(), sizes.end());
    if (tensor.storage != kNone && !seen.emplace(tensor.storage, tensor.offset, shape).second) continue;
    found.push_back({std::move(name), row.tensor, std::move(shape)});
  }
  return found;
}

// ---- one optimizer ----

struct Numbered {
  Value key;  // of `state`
  std::size_t group = 0;
  std::optional<Shape> shape;  // of a slot that is shaped like the parameter
};

// Slots that are shaped like their parameter, by name; any slot of one or more dimensions when none of them is there.
std::optional<Shape> shape_of(const Contents& contents, Value slots) {
  constexpr std::array<std::string_view, 8> kAlike{
      "exp_avg", "exp_avg_sq", "momentum_buffer", "square_avg", "sum", "exp_inf", "prev", "ax"};
  const auto sizes_of = [&](Value value) -> std::optional<Shape> {
    const Meaning meaning = contents.meaning(contents.resolve(value));
    if (meaning.what != Meaning::What::Tensor) return std::nullopt;
    const auto sizes = contents.sizes(contents.tensors[meaning.index]);
    return Shape(sizes.begin(), sizes.end());
  };
  const auto pairs = torch::pairs_of(contents, slots);
  for (const std::string_view name : kAlike)
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
      if (contents.arena.is_text(pairs[i], name))
        if (auto shape = sizes_of(pairs[i + 1])) return shape;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (auto shape = sizes_of(pairs[i + 1]); shape && !shape->empty()) return shape;
  return std::nullopt;
}

// Parameters in the order of the groups, with the slots of each.
std::vector<Numbered> numbered_of(const Contents& contents, Value optimizer) {
  std::unordered_map<std::int64_t, Value> slots;
  const auto state = torch::pairs_of(contents, entry_of(contents, optimizer, "state"));
  for (std::size_t i = 0; i + 1 < state.size(); i += 2)
    if (state[i].is(Kind::Int)) slots.emplace(pickle::Arena::as_int(state[i]), state[i + 1]);
  std::vector<Numbered> found;
  const Value groups = entry_of(contents, optimizer, "param_groups");
  if (!groups.is(Kind::List)) return found;
  std::size_t group = 0;
  for (const Value item : contents.arena.items(groups)) {
    const Value params = entry_of(contents, item, "params");
    if (params.is(Kind::List) || params.is(Kind::Tuple)) {
      for (const Value key : contents.arena.items(params)) {
        if (!key.is(Kind::Int)) return {};
        const auto there = slots.find(pickle::Arena::as_int(key));
        found.push_back({key, group, there == slots.end() ? std::nullopt : shape_of(contents, there->second)});
      }
    }
    ++group;
  }
  return found;
}

using Owners = std::unordered_map<std::int64_t, std::string>;  // number -> parameter

// As many numbers as parameters, and every known shape fits: the order is the model's.
std::optional<Owners> match_in_order(const std::vector<Numbered>& numbers, const std::vector<Parameter>& parameters) {
  if (numbers.size() != parameters.size()) return std::nullopt;
  Owners owners;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i].shape && *numbers[i].shape != parameters[i].shape) return std::nullopt;
    owners.emplace(pickle::Arena::as_int(numbers[i].key), parameters[i].name);
  }
  return owners;
}

// Groups that were picked out of the model (weights with decay, biases without) or that leave frozen parameters out:
// a shape that as many numbers of one group have as there are parameters of it keeps the model's order.
Owners match_by_shape(const std::vector<Numbered>& numbers, const std::vector<Parameter>& parameters) {
  std::map<Shape, std::vector<const Numbered*>> by_shape;
  for (const Numbered& number : numbers) {
    if (!number.shape) return {};  // any parameter could be this one
    by_shape[*number.shape].push_back(&number);
  }
  std::map<Shape, std::vector<const Parameter*>> wanted;
  for (const Parameter& parameter : parameters) wanted[parameter.shape].push_back(&parameter);
  Owners owners;
  for (const auto& [shape, with_shape] : by_shape) {
    const auto there = wanted.find(shape);
    if (there == wanted.end() || there->second.size() != with_shape.size()) continue;
    const std::size_t group = with_shape.front()->group;
    const bool one_group =
        std::all_of(with_shape.begin(), with_shape.end(), [&](const Numbered* one) { return one->group == group; });
    if (!one_group && with_shape.size() > 1) continue;
    for (std::size_t i = 0; i < with_shape.size(); ++i)
      owners.emplace(pickle::Arena::as_int(with_shape[i]->key), there->second[i]->name);
  }
  return owners;
}

// ---- rows ----

// optimizer path of the walk -> the rows below its `state`, by key of the state and slot
class Rows {
 public:
  explicit Rows(const open_detail::Loaded& loaded) : loaded_(loaded) {
    for (std::uint32_t i = 0; i < loaded.all.rows.size(); ++i) {
      const checkpoint::Place& row = loaded.all.rows[i];
      if (row.role == checkpoint::Role::Optimizer && row.path != kNone) take(i, row);
    }
  }
  struct Slot {
    std::uint32_t place = 0;
    Value key;         // of the parameter in `state`
    std::string name;  // of the slot
    Value last;        // the optimizer's own key, to tell several apart
    std::string path;  // of the optimizer
  };
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }

 private:
  // <optimizer> . "state" . <key> . <slot> [. more]
  void take(std::uint32_t place, const checkpoint::Place& row) {
    const auto steps = checkpoint::steps_to(loaded_.all, row.path);
    const auto& arena = loaded_.contents.arena;
    for (std::size_t i = 0; i + 2 < steps.size(); ++i) {
      if (!arena.is_text(steps[i].key, "state")) continue;
      const Value slot = steps[i + 2].key;
      Slot found{place, steps[i + 1].key, {}, {}, {}};
      if (slot.is(Kind::Str) || slot.is(Kind::Py2Str)) found.name = arena.as_text(slot);
      std::uint32_t node = row.path;
      for (std::size_t up = steps.size(); up > i; --up) node = loaded_.all.nodes[node].parent;
      found.path = checkpoint::name_of(loaded_.contents, loaded_.all, node);
      slots_.push_back(std::move(found));
      return;
    }
  }

  const open_detail::Loaded& loaded_;
  std::vector<Slot> slots_;
};

// The name of a parameter that is itself the key (whole optimizer objects) or whose name is (FSDP, DCP).
std::string name_by_key(const Contents& contents, Value key, const std::map<std::string, bool>& names,
                        const std::unordered_map<std::uint32_t, std::string>& by_tensor) {
  if (key.is(Kind::Str)) {
    const std::string name(contents.arena.as_text(key));
    return names.contains(name) ? name : std::string();
  }
  const Meaning meaning = contents.meaning(contents.resolve(key));
  if (meaning.what != Meaning::What::Tensor) return {};
  const auto there = by_tensor.find(meaning.index);
  return there == by_tensor.end() ? std::string() : there->second;
}

}  // namespace

std::vector<SlotOwner> find_slot_owners(const open_detail::Loaded& loaded) {
  std::vector<SlotOwner> found;
  const Rows rows(loaded);
  if (rows.slots().empty()) return found;
  const Contents& contents = loaded.contents;
  const auto parameters = parameters_of(loaded);
  std::map<std::string, bool> names;
  std::unordered_map<std::uint32_t, std::string> by_tensor;
  for (const Parameter& parameter : parameters) {
    names.emplace(parameter.name, true);
    by_tensor.emplace(parameter.tensor, parameter.name);
  }
  std::map<std::string, Owners> by_optimizer;
  for (const Entry& entry : entries_of(loaded)) {
    if (!is_optimizer(contents, entry.value)) continue;
    const auto numbers = numbered_of(contents, entry.value);
    auto owners = match_in_order(numbers, parameters);
    by_optimizer.emplace(entry.path, owners ? *std::move(owners) : match_by_shape(numbers, parameters));
  }
  const Value root = contents.sections.empty() ? Value() : contents.resolve(contents.sections.front().root);
  if (is_optimizer(contents, root)) return found;  // an optimizer alone: its parameters are elsewhere
  for (const Rows::Slot& slot : rows.slots()) {
    std::string name;
    if (slot.key.is(Kind::Int)) {
      const auto optimizer = by_optimizer.find(slot.path);
      if (optimizer == by_optimizer.end()) continue;
      const auto owner = optimizer->second.find(pickle::Arena::as_int(slot.key));
      if (owner != optimizer->second.end()) name = owner->second;
    } else {
      name = name_by_key(contents, slot.key, names, by_tensor);
    }
    if (!name.empty()) found.push_back({slot.place, slot.name, std::move(name)});
  }
  return found;
}

}  // namespace wick::check
