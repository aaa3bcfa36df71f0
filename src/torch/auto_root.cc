// SPDX-License-Identifier: Apache-2.0
#include "torch/auto_root.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "checkpoint/key_text.h"
#include "script/text/class_header.h"
#include "torch/module_class.h"
#include "torch/module_repr.h"
#include "torch/state_dict.h"

namespace wick::torch {
namespace {

using checkpoint::Child;
using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::Meaning;
using checkpoint::PathNode;
using checkpoint::Places;
using checkpoint::Role;
using checkpoint::StepKind;
using pickle::Kind;
using pickle::Value;

constexpr auto kBranches = std::to_array<std::string_view>({
#define WICK_BRANCH(key, who) key,
#include "torch/auto_root.def"
#undef WICK_BRANCH
});

// What lies beside the weights in a training checkpoint and is never meant, whatever it holds.
constexpr std::array<std::string_view, 16> kBeside{
    "optimizer",   "optim",     "optimizers", "optimizer_states", "optimizer_state_dict", "optimizer_state",
    "opt",         "scheduler", "schedulers", "lr_scheduler",     "lr_schedulers",        "scaler",
    "grad_scaler", "rng_state", "rng_states", "random_state"};

bool is_beside(std::string_view key) {
  const std::string lower = to_lower(key);
  if (std::find(kBeside.begin(), kBeside.end(), lower) != kBeside.end()) return true;
  return lower.starts_with("optimizer") || lower.ends_with("optimizer") || lower.ends_with("optimizer_state_dict") ||
         lower.ends_with("rng_state") || lower.ends_with("scheduler_state_dict");
}

std::size_t rank_of(std::string_view key) {
  const std::string lower = to_lower(key);
  return static_cast<std::size_t>(std::find(kBranches.begin(), kBranches.end(), lower) - kBranches.begin());
}

bool is_tensor(const Contents& contents, Value value) {
  const Meaning::What what = contents.meaning(value).what;
  return what == Meaning::What::Tensor || what == Meaning::What::Array || what == Meaning::What::Storage;
}

bool is_container(const Contents& contents, Value value) {
  switch (value.kind()) {
    case Kind::Dict:
    case Kind::List:
    case Kind::Tuple: return true;
    case Kind::Object: return !is_tensor(contents, value);
    default: return false;
  }
}

// ---- how much lies where ----

struct Amount {
  std::uint64_t tensors = 0;    // numpy arrays left out
  std::uint64_t optimizer = 0;  // of them, optimizer slots
  std::uint64_t bytes = 0;
};

// Sums of every branch of the walk, by path node.
class Amounts {
 public:
  Amounts(const Contents& contents, const Places& all) : sums_(all.nodes.size()), ends_(all.nodes.size()) {
    for (const checkpoint::Place& row : all.rows) {
      if (row.path == kNone) continue;
      const checkpoint::TensorRow& tensor = contents.tensors[row.tensor];
      ends_[row.path] = true;
      if (tensor.is_array) continue;
      Amount& sum = sums_[row.path];
      ++sum.tensors;
      if (row.role == Role::Optimizer) ++sum.optimizer;
      sum.bytes += contents.tensor_bytes(tensor);
    }
    for (std::size_t i = sums_.size(); i-- > 0;) {  // a node comes after its parent
      const std::uint32_t parent = all.nodes[i].parent;
      if (parent == kNone) continue;
      sums_[parent].tensors += sums_[i].tensors;
      sums_[parent].optimizer += sums_[i].optimizer;
      sums_[parent].bytes += sums_[i].bytes;
    }
  }
  [[nodiscard]] const Amount& of(std::uint32_t node) const { return sums_[node]; }
  [[nodiscard]] bool is_tensor(std::uint32_t node) const { return ends_[node]; }

 private:
  std::vector<Amount> sums_;
  std::vector<bool> ends_;
};

// ---- the names of a branch that is a dict ----

// Every tensor below, by path; an nn.Module on the way gives its state_dict(); optimizers and the like are left out.
class BranchWalk {
 public:
  BranchWalk(const Contents& contents, std::uint32_t section, AutoRoot& out)
      : contents_(contents), section_(section), out_(out) {}

  void run(Value root) {
    visit(contents_.resolve(root), kNone);
    while (!stack_.empty() && stack_.size() <= contents_.limits.max_depth) {
      Frame& frame = stack_.back();
      if (frame.next == frame.children.size()) {
        stack_.pop_back();
        continue;
      }
      const Child child = frame.children[frame.next++];
      step(child, frame.path, stack_.size() == 1);
    }
  }

 private:
  struct Frame {
    std::vector<Child> children;
    std::size_t next = 0;
    std::uint32_t path = kNone;
  };

  void step(const Child& child, std::uint32_t above, bool at_the_top) {
    const Value value = contents_.resolve(child.value);
    const bool tensor = is_tensor(contents_, value);
    if (!tensor && !is_container(contents_, value)) return;
    if (at_the_top && !tensor && child.kind != StepKind::Index &&
        (child.key.is(Kind::Str) || child.key.is(Kind::Py2Str)) && is_beside(contents_.arena.as_text(child.key)))
      return;
    if (!tensor && seen_.contains(value)) return;
    out_.places.nodes.push_back({above, child.kind, 0, child.hidden, child.key});
    visit(value, static_cast<std::uint32_t>(out_.places.nodes.size() - 1));
  }

  void visit(Value value, std::uint32_t path) {
    const Meaning meaning = contents_.meaning(value);
    if (is_tensor(contents_, value)) {
      out_.places.rows.push_back({meaning.index, path, section_, role_of(contents_.tensors[meaning.index])});
      return;
    }
    if (!is_container(contents_, value) || !seen_.insert(value).second || is_optimizer(value)) return;
    if (is_module(contents_, value)) {
      add_state_dict(contents_, value, section_, path, out_.places, &out_.names_may_differ);
      return;
    }
    auto below = checkpoint::children(contents_, value);
    if (!below.empty()) stack_.push_back({std::move(below), 0, path});
  }

  [[nodiscard]] bool is_optimizer(Value value) const {
    return value.is(Kind::Dict) && !contents_.arena.find(value, "param_groups").missing() &&
           !contents_.arena.find(value, "state").missing();
  }

  static Role role_of(const checkpoint::TensorRow& row) {
    if (row.layout == checkpoint::Layout::Storage) return Role::Storage;
    if (row.is_parameter) return Role::Parameter;
    return row.is_buffer ? Role::Buffer : Role::Unknown;
  }

  const Contents& contents_;
  std::uint32_t section_;
  AutoRoot& out_;
  std::vector<Frame> stack_;
  std::unordered_set<Value> seen_;
};

// ---- picking ----

struct Branch {
  std::uint32_t node = kNone;
  std::string key;
  Value value;
  Amount amount;
  std::size_t rank = kBranches.size();
  bool beside = false;
};

class Picker {
 public:
  Picker(const Contents& contents, const Places& all) : contents_(contents), all_(all), amounts_(contents, all) {}

  AutoRoot pick() {
    AutoRoot out;
    Value value = contents_.resolve(contents_.sections.front().root);
    std::uint32_t node = kNone;
    constexpr int kDeepest = 4;  // {'checkpoint': {'model': {'state_dict': ...}}}
    for (int depth = 0; depth < kDeepest && !is_module(contents_, value) && is_container(contents_, value); ++depth) {
      const Branch* chosen = nullptr;
      const auto& branches = branches_of(value, node, depth, chosen);
      report(branches, chosen, out);
      if (chosen == nullptr) break;
      const Value next = chosen->value;
      if (next.missing()) break;
      path_ += (path_.empty() ? "" : ".") + chosen->key;
      node = chosen->node;
      value = next;
    }
    if (!path_.empty()) out.others.push_back(whole_file());
    out.path = path_.empty() ? "." : path_;
    out.is_module = is_module(contents_, value);
    BranchWalk(contents_, 0, out).run(value);
    return out;
  }

 private:
  // The branches right below a node, and which of them is meant.
  const std::vector<Branch>& branches_of(Value value, std::uint32_t parent, int depth, const Branch*& chosen) {
    std::vector<Branch>& branches = levels_.emplace_back();
    std::uint64_t direct = 0;
    for (std::uint32_t i = 0; i < all_.nodes.size(); ++i) {
      const PathNode& step = all_.nodes[i];
      if (step.parent != parent || amounts_.of(i).tensors == 0) continue;
      if (amounts_.is_tensor(i)) {
        ++direct;
        continue;
      }
      if (step.kind != StepKind::Key && step.kind != StepKind::Attribute && step.kind != StepKind::Index) continue;
      Branch branch{i, std::string(checkpoint::key_text(contents_.arena, step)), {}, amounts_.of(i), 0, false};
      branch.rank = step.kind == StepKind::Index ? kBranches.size() : rank_of(branch.key);
      branch.beside =
          branch.amount.optimizer == branch.amount.tensors || (step.kind != StepKind::Index && is_beside(branch.key));
      branches.push_back(std::move(branch));
    }
    if (!branches.empty()) find_values(value, branches);
    share_aliases(value, branches);
    chosen = choose(branches, direct, depth);
    return branches;
  }

  // A container that two names share was walked under the first; the second is as good a branch.
  void share_aliases(Value value, std::vector<Branch>& branches) {
    if (branches.empty() || !value.is(Kind::Dict)) return;
    std::unordered_map<Value, std::size_t> by_value;
    for (std::size_t i = 0; i < branches.size(); ++i) by_value.emplace(branches[i].value, i);
    const auto pairs = contents_.arena.pairs(value);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (!pairs[i].is(Kind::Str)) continue;
      const auto found = by_value.find(contents_.resolve(pairs[i + 1]));
      if (found == by_value.end()) continue;
      Branch& first = branches[found->second];
      const std::string_view key = contents_.arena.as_text(pairs[i]);
      if (rank_of(key) >= first.rank) continue;
      first.key = key;
      first.rank = rank_of(key);
      first.beside = false;
    }
  }

  const Branch* choose(const std::vector<Branch>& branches, std::uint64_t direct, int depth) const {
    const Branch* best = nullptr;
    const Branch* only = nullptr;
    std::size_t meant = 0;
    for (const Branch& branch : branches) {
      if (branch.beside) continue;
      ++meant;
      only = &branch;
      if (branch.rank < kBranches.size() && (best == nullptr || branch.rank < best->rank)) best = &branch;
    }
    // A flat state dict may have a child called "model"; what holds most of the tensors is meant.
    if (best != nullptr && best->amount.tensors >= direct) return best;
    if (best != nullptr || meant != 1 || direct != 0 || depth != 0) return nullptr;
    // One unnamed branch with tensors of its own: {"my_net": {...}, "epoch": 3}, (state_dict, iteration)
    return is_module(contents_, only->value) || has_tensors_of_its_own(only->node) ? only : nullptr;
  }

  [[nodiscard]] bool has_tensors_of_its_own(std::uint32_t node) const {
    for (std::uint32_t i = node + 1; i < all_.nodes.size(); ++i)
      if (all_.nodes[i].parent == node && amounts_.is_tensor(i)) return true;
    return false;
  }

  // The values that the steps lead to.
  void find_values(Value value, std::vector<Branch>& branches) const {
    const auto below = checkpoint::children(contents_, value);
    std::size_t next = 0;  // both are in the file's order
    for (Branch& branch : branches) {
      const PathNode& step = all_.nodes[branch.node];
      while (next < below.size() && !(below[next].kind == step.kind && below[next].key == step.key)) ++next;
      if (next < below.size()) branch.value = contents_.resolve(below[next].value);
    }
  }

  void report(const std::vector<Branch>& branches, const Branch* chosen, AutoRoot& out) const {
    for (const Branch& branch : branches) {
      if (chosen != nullptr && branch.node == chosen->node) continue;
      RootCandidate candidate;
      candidate.path = path_.empty() ? branch.key : path_ + "." + branch.key;
      candidate.value = branch.value;
      candidate.tensors = branch.amount.tensors;
      candidate.bytes = branch.amount.bytes;
      out.others.push_back(std::move(candidate));
      if (out.others.size() >= kMostOthers) return;
    }
  }

  [[nodiscard]] RootCandidate whole_file() const {
    RootCandidate whole;
    whole.path = ".";
    whole.value = contents_.sections.front().root;
    for (const checkpoint::Place& row : all_.rows) {
      const checkpoint::TensorRow& tensor = contents_.tensors[row.tensor];
      if (tensor.is_array) continue;
      ++whole.tensors;
      whole.bytes += contents_.tensor_bytes(tensor);
    }
    return whole;
  }

  static constexpr std::size_t kMostOthers = 64;
  const Contents& contents_;
  const Places& all_;
  Amounts amounts_;
  std::string path_;
  std::vector<std::vector<Branch>> levels_;
};

// ---- TorchScript ----

struct ScriptClass {
  std::unordered_set<std::string> parameters;
  std::unordered_set<std::string> buffers;
};

class ScriptWalk {
 public:
  ScriptWalk(const Contents& contents, AutoRoot& out) : contents_(contents), out_(out) {
    for (const auto& [record, source] : contents.sources)
      for (script::ClassHeader& header : script::read_class_headers(source, script::qualifier_of(record)))
        classes_[header.name] = {{header.parameters.begin(), header.parameters.end()},
                                 {header.buffers.begin(), header.buffers.end()}};
  }

  // RecursiveScriptModule.state_dict(): parameters, buffers, then the submodules, each in the order of the attributes.
  void run(Value root) {
    enter(contents_.resolve(root), kNone);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next == frame.children.size()) {
        open_.erase(frame.module);
        stack_.pop_back();
        continue;
      }
      const Child child = frame.children[frame.next++];
      const std::uint32_t node = add_node(frame.node, child.key);
      enter(child.value, node);
    }
  }

 private:
  struct Frame {
    Value module;
    std::vector<Child> children;
    std::size_t next = 0;
    std::uint32_t node = kNone;
  };

  std::uint32_t add_node(std::uint32_t parent, Value key) {
    out_.places.nodes.push_back({parent, StepKind::Attribute, 0, false, key});
    return static_cast<std::uint32_t>(out_.places.nodes.size() - 1);
  }

  void enter(Value module, std::uint32_t node) {
    if (visits_left_ == 0 || stack_.size() > contents_.limits.max_depth || !open_.insert(module).second) return;
    --visits_left_;
    const ClassName name = class_of(contents_, module);
    const auto known = classes_.find(std::string(name.module) + "." + std::string(name.name));
    const ScriptClass* header = known == classes_.end() ? nullptr : &known->second;
    Frame frame{module, {}, 0, node};
    const auto pairs = pairs_of(contents_, contents_.arena.state(module));
    for (const Role role : {Role::Parameter, Role::Buffer, Role::Attribute}) add_tensors(pairs, header, role, node);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const Value child = contents_.resolve(pairs[i + 1]);
      if (is_script_module(child)) frame.children.push_back({StepKind::Attribute, false, pairs[i], child});
    }
    stack_.push_back(std::move(frame));
  }

  // Without a class head (mobile files have no code) every tensor attribute may be a parameter: all are listed.
  void add_tensors(std::span<const Value> pairs, const ScriptClass* header, Role role, std::uint32_t node) {
    if ((header == nullptr) != (role == Role::Attribute)) return;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const Value value = contents_.resolve(pairs[i + 1]);
      if (!is_tensor(contents_, value) || !pairs[i].is(Kind::Str)) continue;
      if (header != nullptr) {
        const std::string name(contents_.arena.as_text(pairs[i]));
        if (!(role == Role::Parameter ? header->parameters : header->buffers).contains(name)) continue;
      }
      const std::uint32_t row = contents_.meaning(value).index;
      out_.places.rows.push_back({row, add_node(node, pairs[i]), 0, header == nullptr ? Role::Unknown : role});
    }
  }

  [[nodiscard]] bool is_script_module(Value value) const {
    if (!value.is(Kind::Object) || is_tensor(contents_, value)) return false;
    return class_of(contents_, value).module.starts_with("__torch__");
  }

  const Contents& contents_;
  AutoRoot& out_;
  std::unordered_map<std::string, ScriptClass> classes_;
  std::vector<Frame> stack_;
  std::unordered_set<Value> open_;
  std::uint64_t visits_left_ = 1'000'000;
};

bool is_script(FileKind kind) {
  return kind == FileKind::TorchScript || kind == FileKind::TorchScriptJson || kind == FileKind::TorchMobile;
}

// Kinds whose pickles are a training program's own objects; every other format names its tensors itself.
bool has_branches(FileKind kind) {
  switch (kind) {
    case FileKind::TorchZip:
    case FileKind::TorchLegacy:
    case FileKind::TorchTar:
    case FileKind::Pickle:
    case FileKind::TorchPackage:
    case FileKind::TorchDistcp:
    case FileKind::TorchDcp: return true;
    default: return false;
  }
}

}  // namespace

AutoRoot find_auto_root(const Contents& contents, const Places& all) {
  AutoRoot out;
  out.path = ".";
  if (contents.sections.empty()) return out;
  const Value root = contents.resolve(contents.sections.front().root);
  if (is_script(contents.kind) && root.is(Kind::Object) && !is_tensor(contents, root)) {
    out.is_module = true;
    ScriptWalk(contents, out).run(root);
    if (!out.places.rows.empty()) {
      checkpoint::settle_collisions(contents, out.places);
      return out;
    }
    out.is_module = false;
  }
  if (!has_branches(contents.kind)) {
    out.places = all;
    return out;
  }
  out = Picker(contents, all).pick();
  // An optimizer's state on its own, storages: what is there is meant.
  if (out.places.rows.empty() && !out.is_module && out.path == ".") out.places = all;
  checkpoint::settle_collisions(contents, out.places);
  return out;
}

void refine_roles(const AutoRoot& automatic, Places& all) {
  std::unordered_map<std::uint32_t, Role> known;
  for (const checkpoint::Place& row : automatic.places.rows)
    if (row.section == 0 && (row.role == Role::Parameter || row.role == Role::Buffer))
      known.try_emplace(row.tensor, row.role);
  for (checkpoint::Place& row : all.rows) {
    if (row.section != 0 || (row.role != Role::Unknown && row.role != Role::Attribute)) continue;
    if (const auto found = known.find(row.tensor); found != known.end()) row.role = found->second;
  }
}

}  // namespace wick::torch
