// SPDX-License-Identifier: Apache-2.0
#include "torch/state_dict.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/cursor.h"
#include "torch/auto_root.h"
#include "torch/module_class.h"
#include "torch/module_repr.h"

namespace wick::torch {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Meaning;
using checkpoint::PathNode;
using checkpoint::Place;
using checkpoint::Places;
using checkpoint::Role;
using checkpoint::StepKind;
using pickle::Kind;
using pickle::Value;

// Calls `take(mark, name)` for each word of a class's state rule (modules.def).
template <class Take>
void each_rule(std::string_view rules, const Take& take) {
  while (!rules.empty()) {
    const std::size_t end = std::min(rules.find(' '), rules.size());
    const std::string_view word = rules.substr(0, end);
    rules.remove_prefix(std::min(end + 1, rules.size()));
    const bool marked = word.starts_with('+') || word.starts_with('*') || word.starts_with('%');
    take(marked ? word.front() : ' ', word.substr(marked ? 1 : 0));
  }
}

bool is_text(Value value) { return value.is(Kind::Str) || value.is(Kind::Py2Str); }

bool is_tensor(const Contents& contents, Value value) {
  const Meaning::What what = contents.meaning(value).what;
  return what == Meaning::What::Tensor || what == Meaning::What::Array || what == Meaning::What::Storage;
}

// ---- tensors that torch makes ----

class MadeBytes final : public checkpoint::StorageOpener {
 public:
  std::uint32_t add(std::vector<std::byte> bytes) {
    storages_.push_back(tensor::owned_storage(std::move(bytes)));
    return static_cast<std::uint32_t>(storages_.size() - 1);
  }
  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override { return storages_[entry]; }
  [[nodiscard]] std::string member(std::uint32_t) const override { return {}; }
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t) const override {
    return fail(ErrorCode::NotFound, "torch makes this tensor; it lies nowhere in the file");
  }

 private:
  std::vector<tensor::StoragePtr> storages_;
};

template <class T>
std::vector<std::byte> little_endian(T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

class Maker {
 public:
  explicit Maker(Contents& contents) : contents_(contents) {}

  // torch.tensor(number): a float becomes float32, an int int64, a bool bool; a tensor stays what it is.
  void make(Value module, std::string_view name) {
    const Value number = attribute_of(contents_, module, name);
    std::uint32_t row = kNone;
    switch (number.kind()) {
      case Kind::Float:
        row = add(DType::Float32, little_endian(static_cast<float>(contents_.arena.as_real(number))));
        break;
      case Kind::Int: row = add(DType::Int64, little_endian(pickle::Arena::as_int(number))); break;
      case Kind::Bool:
        row = add(DType::Bool, little_endian(static_cast<std::uint8_t>(pickle::Arena::as_bool(number))));
        break;
      default:
        if (!is_tensor(contents_, number)) return;
        row = contents_.meaning(number).index;
    }
    contents_.made.push_back({module, label(name), row});
  }

  Value label(std::string_view name) {
    auto [there, fresh] = labels_.try_emplace(std::string(name));
    if (fresh) there->second = contents_.arena.text(Kind::Str, name);
    return there->second;
  }
  // A name without a tensor of its own: kept so that the walk, which changes nothing, has it.
  void name_part(Value module, std::string_view name) { contents_.made.push_back({module, label(name), kNone}); }

 private:
  std::uint32_t add(DType dtype, std::vector<std::byte> bytes) {
    if (opener_ == nullptr) {
      opener_ = std::make_shared<MadeBytes>();
      contents_.openers.push_back(opener_);
      opener_index_ = static_cast<std::uint32_t>(contents_.openers.size() - 1);
    }
    checkpoint::StorageRow storage;
    storage.bytes = bytes.size();
    storage.declared = bytes.size();
    storage.opener = opener_index_;
    storage.entry = opener_->add(std::move(bytes));
    storage.dtype = dtype;
    contents_.storages.push_back(storage);
    checkpoint::TensorRow row;
    row.dtype = dtype;
    row.storage = static_cast<std::uint32_t>(contents_.storages.size() - 1);
    row.sizes = contents_.dims.put({});
    row.strides = row.sizes;
    const std::uint32_t index = contents_.add_tensor(row);
    contents_.more_of(index).note = "torch makes it of a plain attribute";
    return index;
  }

  Contents& contents_;
  std::shared_ptr<MadeBytes> opener_;
  std::uint32_t opener_index_ = kNone;
  std::unordered_map<std::string, Value> labels_;
};

bool lies_before(const checkpoint::MadeTensor& a, const checkpoint::MadeTensor& b) {
  return a.module.bits() < b.module.bits();
}

// ---- the walk ----

// Hooks that leave the keys alone.
constexpr std::array<std::string_view, 1> kHarmlessHooks{
    "torch.nn.utils.spectral_norm.SpectralNormStateDictHook"};  // writes _metadata only

class StateDictWalk {
 public:
  StateDictWalk(const Contents& contents, std::uint32_t section, Places& places, std::vector<std::string>* may_differ)
      : contents_(contents), section_(section), places_(places), may_differ_(may_differ) {
    // A shared child is walked under each of its names, as torch does; 40 modules that each hold the next one twice
    // would make 2^40 names.
    visits_left_ = 1'000'000 + 16 * contents.arena.object_count();
  }

  void run(Value module, std::uint32_t under) {
    enter(contents_.resolve(module), under);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next == frame.children.size()) {
        open_.erase(frame.module);
        stack_.pop_back();
        continue;
      }
      const Child child = frame.children[frame.next++];
      const std::uint32_t above = frame.modules_node;
      enter(child.module, add_node(above, StepKind::Attribute, false, child.key));
    }
  }

 private:
  struct Child {
    Value key;
    Value module;
  };
  struct Frame {
    Value module;
    std::vector<Child> children;
    std::size_t next = 0;
    std::uint32_t modules_node = kNone;
  };
  struct Entry {
    Value key;
    Value value;
  };

  std::uint32_t add_node(std::uint32_t parent, StepKind kind, bool hidden, Value key) {
    places_.nodes.push_back({parent, kind, 0, hidden, key});
    return static_cast<std::uint32_t>(places_.nodes.size() - 1);
  }

  void note(const std::string& text) {
    if (may_differ_ == nullptr) return;
    if (std::find(may_differ_->begin(), may_differ_->end(), text) == may_differ_->end()) may_differ_->push_back(text);
  }

  void enter(Value module, std::uint32_t node) {
    if (visits_left_ == 0 || stack_.size() > contents_.limits.max_depth)
      return note("modules that hold each other too often or too deeply to name them all");
    --visits_left_;
    if (!open_.insert(module).second) return note("a module that contains itself");
    const ClassName name = class_of(contents_, module);
    const ModuleClass* known = find_module_class(name);
    look_for_overrides(module, name);
    Frame frame{module, {}, 0, kNone};
    if (known == nullptr || known->state != "!") {
      add_entries(module, node, "_parameters", Role::Parameter);
      add_entries(module, node, "_buffers", Role::Buffer);
      if (known != nullptr) add_what_the_class_adds(module, node, *known);
      find_children(module, node, frame);
    }
    stack_.push_back(std::move(frame));
  }

  [[nodiscard]] Entry find_entry(Value module, std::string_view name) const {
    const Value state = contents_.resolve(contents_.arena.state(module));
    if (!state.is(Kind::Dict) && !state.is(Kind::Object)) return {};
    const auto pairs = contents_.arena.pairs(state);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
      if (contents_.arena.is_text(pairs[i], name)) return {pairs[i], contents_.resolve(pairs[i + 1])};
    return {};
  }

  void add_entries(Value module, std::uint32_t node, std::string_view place, Role role) {
    const Entry entry = find_entry(module, place);
    const auto pairs = pairs_of(contents_, entry.value);
    if (pairs.empty()) return;
    const std::uint32_t hidden = add_node(node, StepKind::Attribute, true, entry.key);
    const Value skipped = role == Role::Buffer ? find_entry(module, "_non_persistent_buffers_set").value : Value();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (!skipped.missing() && is_among(pairs[i], skipped)) continue;
      add_value(pairs[i + 1], hidden, StepKind::Key, pairs[i], role);
    }
  }

  [[nodiscard]] bool is_among(Value name, Value set) const {
    if (!is_text(name)) return false;
    const bool has_items = set.is(Kind::Set) || set.is(Kind::FrozenSet) || set.is(Kind::List) || set.is(Kind::Tuple);
    if (!has_items) return false;
    const std::string_view text = contents_.arena.as_text(name);
    const auto items = contents_.arena.items(set);
    return std::any_of(items.begin(), items.end(), [&](Value item) { return contents_.arena.is_text(item, text); });
  }

  // A tensor becomes a row; of other values, the tensors in them, by path, as in a state_dict that was saved.
  void add_value(Value value, std::uint32_t under, StepKind kind, Value key, Role role) {
    value = contents_.resolve(value);
    if (is_tensor(contents_, value)) {
      const std::uint32_t node = add_node(under, kind, false, key);
      places_.rows.push_back({contents_.meaning(value).index, node, section_, role});
      return;
    }
    if (value.is(Kind::Object) || value.is(Kind::Dict) || value.is(Kind::List) || value.is(Kind::Tuple))
      graft(value, add_node(under, kind, false, key), role);
  }

  void graft(Value value, std::uint32_t node, Role role) {
    const auto found = checkpoint::find_places_under(contents_, value, section_);
    if (!found) return note("values that are nested too deeply");
    const auto shift = static_cast<std::uint32_t>(places_.nodes.size());
    for (PathNode step : found->nodes) {
      step.parent = step.parent == kNone ? node : step.parent + shift;
      places_.nodes.push_back(step);
    }
    for (Place row : found->rows) {
      row.path = row.path == kNone ? node : row.path + shift;
      if (row.role == Role::Unknown) row.role = role;
      places_.rows.push_back(row);
    }
  }

  void add_what_the_class_adds(Value module, std::uint32_t node, const ModuleClass& known) {
    const auto range = std::equal_range(contents_.made.begin(), contents_.made.end(),
                                        checkpoint::MadeTensor{module, {}, 0}, lies_before);
    const auto first = range.first;  // clang 14 captures no structured bindings
    const auto last = range.second;
    each_rule(known.state, [&](char mark, std::string_view name) {
      const auto made = std::find_if(first, last, [&](const checkpoint::MadeTensor& candidate) {
        return contents_.arena.is_text(candidate.key, name);
      });
      if (made == last) return;
      const std::uint32_t attribute = hidden_steps_to(module, node, known, name);
      if (mark == '+') {
        const std::uint32_t label = add_node(attribute, StepKind::Label, false, made->key);
        places_.rows.push_back({made->tensor, label, section_, Role::Attribute});
        return;
      }
      Value value = attribute_of(contents_, module, name);
      if (mark != ' ') value = unpack_script_object(contents_, value);
      if (mark == '*' && !is_weight_and_bias(value))
        note(std::string(known.name) + " is packed for one engine: torch unpacks it into a weight and a bias");
      if (mark == '%') value = first_tensor_in(value);
      add_value(value, attribute, StepKind::Label, made->key, Role::Attribute);
    });
  }

  [[nodiscard]] bool is_weight_and_bias(Value value) const {
    if (!value.is(Kind::Tuple)) return false;
    const auto items = contents_.arena.items(value);
    return items.size() == 2 && is_tensor(contents_, contents_.resolve(items[0]));
  }

  // The way to an attribute, hidden: its own name, or the place in the tuple of __getstate__.
  std::uint32_t hidden_steps_to(Value module, std::uint32_t node, const ModuleClass& known, std::string_view name) {
    const Value state = contents_.resolve(contents_.arena.state(module));
    if (!state.is(Kind::Tuple)) {
      const Entry entry = find_entry(module, name);
      return entry.key.missing() ? node : add_node(node, StepKind::Attribute, true, entry.key);
    }
    const std::uint32_t tuple = add_node(node, StepKind::State, true, Value());
    const auto at = static_cast<std::uint64_t>(std::max(tuple_position(known, name), 0));
    return add_node(tuple, StepKind::Index, true, Value(Kind::Int, at));
  }

  // EmbeddingPackedParamsBase keeps (version, [weight], [], [bits]).
  [[nodiscard]] Value first_tensor_in(Value value) const {
    if (is_tensor(contents_, value) || !value.is(Kind::Tuple)) return value;
    for (const Value item : contents_.arena.items(value)) {
      const Value inner = contents_.resolve(item);
      if (is_tensor(contents_, inner)) return inner;
      if (!inner.is(Kind::List)) continue;
      for (const Value part : contents_.arena.items(inner))
        if (is_tensor(contents_, contents_.resolve(part))) return contents_.resolve(part);
    }
    return value;
  }

  void find_children(Value module, std::uint32_t node, Frame& frame) {
    const Entry entry = find_entry(module, "_modules");
    const auto pairs = pairs_of(contents_, entry.value);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const Value child = contents_.resolve(pairs[i + 1]);
      if (is_module(contents_, child)) frame.children.push_back({pairs[i], child});
    }
    if (!frame.children.empty()) frame.modules_node = add_node(node, StepKind::Attribute, true, entry.key);
  }

  void look_for_overrides(Value module, const ClassName& name) {
    for (const std::string_view place : {"_state_dict_hooks", "_state_dict_pre_hooks"}) {
      const auto pairs = pairs_of(contents_, find_entry(module, place).value);
      for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) note_hook(name, place, contents_.resolve(pairs[i + 1]));
    }
    for (const std::string_view method : {"state_dict", "_save_to_state_dict", "get_extra_state"})
      if (name.source.find("def " + std::string(method) + "(") != std::string_view::npos)
        note(std::string(name.module) + "." + std::string(name.name) + " overrides " + std::string(method));
  }

  void note_hook(const ClassName& name, std::string_view place, Value hook) {
    ClassName what = class_of(contents_, hook);
    if (hook.is(Kind::Global))
      what = {contents_.arena.as_text(contents_.arena.module(hook)),
              contents_.arena.as_text(contents_.arena.name(hook)),
              {}};
    const std::string text = std::string(what.module) + "." + std::string(what.name);
    if (std::find(kHarmlessHooks.begin(), kHarmlessHooks.end(), text) != kHarmlessHooks.end()) return;
    note(std::string(name.module) + "." + std::string(name.name) + " has " + std::string(place) +
         (what.name.empty() ? "" : " (" + text + ")"));
  }

  const Contents& contents_;
  std::uint32_t section_;
  Places& places_;
  std::vector<std::string>* may_differ_;
  std::uint64_t visits_left_ = 0;
  std::vector<Frame> stack_;
  std::unordered_set<Value> open_;  // modules on the way down
};

// The class heads of a TorchScript archive: what its code/ records say before the first method.
void read_sources(Contents& contents) {
  constexpr std::uint64_t kMostMembers = 100'000;
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
  if (contents.kind != FileKind::TorchScript || contents.members == nullptr || !contents.sources.empty()) return;
  std::uint64_t left = kMostBytes;
  const std::uint64_t count = std::min(contents.members->size(), kMostMembers);
  for (std::uint64_t i = 0; i < count; ++i) {
    const checkpoint::Member member = contents.members->at(i);
    const bool code = member.name.ends_with(".py") && member.name.find("code/") != std::string::npos;
    if (!code || member.size > left) continue;
    const auto source = contents.members->open(member.name, contents.limits);
    if (!source || (*source)->size() > left) continue;  // without it, all tensor attributes of the class are listed
    std::vector<std::byte> bytes(static_cast<std::size_t>((*source)->size()));
    if (!(*source)->read_at(0, bytes)) continue;
    left -= bytes.size();
    contents.sources.emplace(member.name, as_text(bytes));
  }
}

}  // namespace

void prepare_modules(Contents& contents) {
  read_sources(contents);
  Maker maker(contents);
  std::unordered_map<Value, const ModuleClass*> classes;  // by callable: few, met often
  const std::size_t count = contents.arena.object_count();
  for (std::size_t i = 0; i < count; ++i) {
    const Value object = pickle::Arena::object_at(i);
    const Meaning::What what = contents.meaning(object).what;
    if (what != Meaning::What::Unknown && what != Meaning::What::Module) continue;
    // torch tells a module by its class; a pickle shows it by what Module.__init__ sets.
    if (what == Meaning::What::Unknown && is_module(contents, object))
      contents.mean(object, {Meaning::What::Module, 0});
    const auto [entry, fresh] = classes.try_emplace(contents.arena.object(object).callable, nullptr);
    if (fresh) entry->second = find_module_class(class_of(contents, object));
    const ModuleClass* known = entry->second;
    if (known == nullptr || known->state == "!") continue;
    each_rule(known->state, [&](char mark, std::string_view name) {
      if (mark == '+')
        maker.make(object, name);
      else
        maker.name_part(object, name);
    });
  }
  std::stable_sort(contents.made.begin(), contents.made.end(), lies_before);
}

void add_state_dict(const Contents& contents, Value module, std::uint32_t section, std::uint32_t under, Places& places,
                    std::vector<std::string>* names_may_differ) {
  StateDictWalk(contents, section, places, names_may_differ).run(module, under);
}

Places state_dict_of(const Contents& contents, Value module, std::uint32_t section,
                     std::vector<std::string>* names_may_differ) {
  Places places;
  if (is_module(contents, contents.resolve(module)))
    add_state_dict(contents, module, section, kNone, places, names_may_differ);
  checkpoint::settle_collisions(contents, places);
  return places;
}

}  // namespace wick::torch
