// SPDX-License-Identifier: Apache-2.0
// The walk over the object tree, and the names of what it finds. docs/names.md is the specification.
#include "checkpoint/places.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/checked.h"
#include "checkpoint/key_text.h"

namespace wick::checkpoint {
namespace {

using pickle::Kind;
using pickle::Value;

bool is_tensor(Meaning::What what) {
  return what == Meaning::What::Tensor || what == Meaning::What::Array || what == Meaning::What::Storage;
}

// torch.optim's state_dict: parameters are numbers in it, so everything below is a slot.
bool is_optimizer(const pickle::Arena& arena, Value value) {
  return value.is(Kind::Dict) && !arena.find(value, "param_groups").missing() && !arena.find(value, "state").missing();
}

class Walk {
 public:
  Walk(const Contents& contents, std::uint32_t section) : contents_(contents), section_(section) {}

  Result<void> run(Value root, Role role, Places& places) {
    visit(root, kNone, role, false, places);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next == frame.children.size()) {
        stack_.pop_back();
        continue;
      }
      const Child child = frame.children[frame.next++];
      const Frame above = {{}, 0, frame.value, frame.path, frame.role};
      if (stack_.size() > contents_.limits.max_depth)
        return fail(ErrorCode::Limit, "objects are nested deeper than {} levels (--max-depth)",
                    contents_.limits.max_depth);
      step(child, above, places);
    }
    return {};
  }

 private:
  struct Frame {
    std::vector<Child> children;
    std::size_t next = 0;
    Value value;
    std::uint32_t path = kNone;
    Role role = Role::Unknown;
  };

  static bool may_lead_anywhere(Value value) {
    switch (value.kind()) {
      case Kind::Tuple:
      case Kind::List:
      case Kind::Dict:
      case Kind::Set:
      case Kind::FrozenSet:
      case Kind::Object:
      case Kind::PersistentId:
      case Kind::Leaf: return true;
      default: return false;
    }
  }

  void step(const Child& child, const Frame& above, Places& places) {
    if (!may_lead_anywhere(child.value)) return;
    const Value value = contents_.resolve(child.value);
    if (!may_lead_anywhere(value)) return;
    const bool tensor = is_tensor(contents_.meaning(value).what);
    if (!tensor && seen_.contains(value)) return;  // a container reached twice is walked once
    const auto node = static_cast<std::uint32_t>(places.nodes.size());
    places.nodes.push_back({above.path, child.kind, 0, child.hidden, child.key});
    visit(value, node, role_below(child, above), above.value.is(Kind::Object), places);
  }

  [[nodiscard]] Role role_below(const Child& child, const Frame& above) const {
    const pickle::Arena& arena = contents_.arena;
    if (child.hidden) {
      if (arena.is_text(child.key, "_parameters")) return Role::Parameter;
      if (arena.is_text(child.key, "_buffers")) return Role::Buffer;
      return Role::Unknown;
    }
    if (above.role == Role::Buffer && is_non_persistent(above, child.key)) return Role::NonPersistent;
    if (child.kind == StepKind::Attribute && above.role != Role::Optimizer && above.role != Role::Constant)
      return Role::Attribute;
    return above.role;
  }

  // `buffers` is the _buffers dict of the module one frame further up.
  [[nodiscard]] bool is_non_persistent(const Frame& buffers, Value name) const {
    if (stack_.size() < 2) return false;
    const Value module = stack_[stack_.size() - 2].value;
    if (!module.is(Kind::Object) || buffers.path == kNone) return false;
    const Value state = contents_.resolve(contents_.arena.state(module));
    const Value set = contents_.resolve(contents_.arena.find(state, "_non_persistent_buffers_set"));
    if (!set.is(Kind::Set) && !set.is(Kind::List) && !set.is(Kind::Tuple) && !set.is(Kind::FrozenSet)) return false;
    const auto items = contents_.arena.items(set);
    return std::any_of(items.begin(), items.end(), [&](Value item) {
      return (item.is(Kind::Str) || item.is(Kind::Py2Str)) &&
             contents_.arena.is_text(name, contents_.arena.as_text(item));
    });
  }

  void visit(Value value, std::uint32_t path, Role role, bool in_object, Places& places) {
    value = contents_.resolve(value);
    const Meaning what = contents_.meaning(value);
    if (is_tensor(what.what)) {
      places.rows.push_back({what.index, path, section_, tensor_role(what, role, in_object)});
      visit_attributes(what.index, path);
      return;
    }
    if (!may_lead_anywhere(value) || !seen_.insert(value).second) return;
    if (is_optimizer(contents_.arena, value)) role = Role::Optimizer;
    auto below = children(contents_, value);
    if (!below.empty()) stack_.push_back({std::move(below), 0, value, path, role});
  }

  // Attributes that a tensor object carried may hold tensors of their own (the parts of a wrapper subclass ...).
  void visit_attributes(std::uint32_t tensor, std::uint32_t path) {
    const TensorMore* more = contents_.find_more(tensor);
    if (more == nullptr || more->state.missing() || !seen_.insert(more->state).second) return;
    auto below = children(contents_, more->state);
    if (!below.empty()) stack_.push_back({std::move(below), 0, more->state, path, Role::Attribute});
  }

  [[nodiscard]] Role tensor_role(const Meaning& what, Role role, bool in_object) const {
    const TensorRow& row = contents_.tensors[what.index];
    if (row.layout == Layout::Storage) return Role::Storage;
    if (role == Role::Unknown || (role == Role::Attribute && !in_object)) {
      if (row.is_parameter) return Role::Parameter;
      if (row.is_buffer) return Role::Buffer;
    }
    return role;
  }

  const Contents& contents_;
  std::uint32_t section_;
  std::vector<Frame> stack_;
  std::unordered_set<Value> seen_;
};

// ---- names ----

constexpr std::uint64_t kFnvStart = 0xCBF29CE484222325U;

std::uint64_t fnv(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

// One level of string keys can not collide: the usual state dict is not looked at twice.
bool names_are_flat(const Places& places, const Contents& contents) {
  if (contents.sections.size() > 1) return false;
  return std::all_of(places.nodes.begin(), places.nodes.end(), [](const PathNode& node) {
    return node.parent == kNone && (node.key.is(Kind::Str) || node.kind == StepKind::Index);
  });
}

}  // namespace

void settle_collisions(const Contents& contents, Places& places) {
  if (names_are_flat(places, contents)) return;
  std::vector<std::uint64_t> hashes(places.nodes.size());
  for (std::size_t i = 0; i < places.nodes.size(); ++i) {
    const PathNode& node = places.nodes[i];
    const std::uint64_t above = node.parent == kNone ? kFnvStart : hashes[node.parent];
    if (node.hidden)
      hashes[i] = above;
    else
      hashes[i] = fnv(above == kFnvStart ? above : fnv(above, "."), key_text(contents.arena, node));
  }
  std::unordered_map<std::uint64_t, std::uint32_t> first;
  std::unordered_map<std::string, std::uint32_t> spelled;
  first.reserve(places.rows.size());
  for (const Place& place : places.rows) {
    if (place.path == kNone) continue;
    const std::uint64_t hash = hashes[place.path] ^ (place.section * 0x9E3779B97F4A7C15U);
    if (first.try_emplace(hash, place.path).second) continue;
    PathNode& node = places.nodes[place.path];
    const std::string plain = name_of(contents, places, place.path);
    node.spelled = 1;
    const std::string full = name_of(contents, places, place.path);
    std::uint32_t& count = spelled.try_emplace(full, full == plain ? 1U : 0U).first->second;
    node.spelled = static_cast<std::uint8_t>(std::min<std::uint32_t>(++count, 255));
  }
}

Result<Places> find_places_under(const Contents& contents, Value root, std::uint32_t section) {
  Places places;
  WICK_CHECK(Walk(contents, section).run(root, contents.sections[section].role, places));
  settle_collisions(contents, places);
  return places;
}

Result<Places> find_places(const Contents& contents) {
  Places places;
  for (std::uint32_t section = 0; section < contents.sections.size(); ++section)
    WICK_CHECK(Walk(contents, section).run(contents.sections[section].root, contents.sections[section].role, places));
  settle_collisions(contents, places);
  return places;
}

std::string step_text(const Contents& contents, const Child& child) {
  return key_text(contents.arena, {kNone, child.kind, 0, child.hidden, child.key});
}

namespace {

std::vector<PathNode> steps_with_labels(const Places& places, std::uint32_t node) {
  std::vector<PathNode> steps;
  for (; node != kNone; node = places.nodes[node].parent) steps.push_back(places.nodes[node]);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace

std::vector<PathNode> steps_to(const Places& places, std::uint32_t node) {
  std::vector<PathNode> steps = steps_with_labels(places, node);
  std::erase_if(steps, [](const PathNode& step) { return step.kind == StepKind::Label; });
  return steps;
}

std::string name_of(const Contents& contents, const Places& places, std::uint32_t node) {
  if (node == kNone) return {};
  const std::uint8_t spelled = places.nodes[node].spelled;
  std::string name;
  for (const PathNode& step : steps_with_labels(places, node)) {
    if (step.hidden && spelled == 0) continue;
    const std::string text =
        spelled == 0 ? std::string(key_text(contents.arena, step)) : spelled_key(contents.arena, step);
    if (!name.empty() && !(spelled != 0 && text.starts_with('['))) name += '.';
    name += text;
  }
  if (spelled > 1) name += "#" + std::to_string(spelled);
  return name;
}

}  // namespace wick::checkpoint
