// SPDX-License-Identifier: Apache-2.0
// The facts about one open file that `info` shows beside its counts: who wrote it, what training left in it, which
// optimizer slot belongs to which parameter, and what a person should know unasked. One function for each fact; each
// looks at metadata only (of tensors, at most at the one element of a scalar) and never fails: what is not there is
// left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "open/loaded.h"

namespace wick::check {

// ---- who wrote it (writer.cc) ----

// One observation and what follows from it.
struct Evidence {
  std::string found;  // "record .format_version", "key pytorch-lightning_version"
  std::string means;  // "torch 2.7 or later wrote it"
};
struct Writer {
  std::string tool;                // "torch 2.1 to 2.6", "TorchScript of torch 1.6 or later"; "" = nothing tells
  std::string torch_from;          // first release that can have written it; "" = unknown
  std::string torch_until;         // last one; "" = no upper end
  std::string torch_min;           // first release that reads it; "" = unknown, or no release of torch does
  std::vector<Evidence> evidence;  // what the bytes say, strongest first
  // What keys of the file say about releases: ("torch_version", "2.1.0"). A person wrote them; shown beside the bytes.
  std::vector<std::pair<std::string, std::string>> said;
};
Writer find_writer(const open_detail::Loaded& loaded);

// ---- training state (training.cc) ----

// A value that was found and where.
struct Found {
  std::string name;     // "epoch", "val_loss", "lr"
  std::string path;     // as --root takes it: "callbacks.best_model_score"
  pickle::Value value;  // the value itself, resolved
  std::string text;     // as a person reads it: Python's repr, or "3 entries" for containers
};
struct OptimizerGroup {
  std::uint64_t parameters = 0;  // how many it lists
  std::vector<Found> hyper;      // lr, betas ... in the file's order, `params` left out
};
struct OptimizerFound {
  std::string path;        // "optimizer", "optimizer_states.0"
  std::string class_name;  // "AdamW" ("" = nothing tells); what the file says, or a guess
  bool guessed = false;    // class_name follows from slots and hyper-parameters
  std::vector<OptimizerGroup> groups;
  std::vector<std::string> slot_names;  // "exp_avg", "exp_avg_sq", "step"
  std::uint64_t parameters_with_state = 0;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
};
struct Training {
  std::optional<Found> epoch;
  std::optional<Found> step;
  std::vector<Found> losses;      // loss, val_loss, best_loss ...
  std::vector<Found> metrics;     // accuracy, best_acc, mAP ...
  std::vector<Found> config;      // args, config, hyper_parameters: where they are
  std::optional<Found> saved_at;  // a date the file holds
  std::vector<Found> versions;    // pytorch-lightning_version, torch_version ...
  std::vector<OptimizerFound> optimizers;
  std::vector<Found> schedulers;  // lr_scheduler: text is the class guess or the keys
  std::vector<Found> scalers;     // GradScaler states
  std::vector<Found> rng;         // random states
  std::vector<Found> averages;    // EMA, SWA: other copies of the weights
  [[nodiscard]] bool empty() const;
};
Training find_training(const open_detail::Loaded& loaded);

// ---- which slot belongs to which parameter (optimizer.cc) ----

struct SlotOwner {
  std::uint32_t place = 0;  // index in loaded.all.rows
  std::string slot;         // "exp_avg"
  std::string parameter;    // name under the auto root: "fc.weight"
};
// Sorted by place. A state is matched by the order of the auto root's parameters and checked by shape; slots that do
// not fit are left out, never guessed.
std::vector<SlotOwner> find_slot_owners(const open_detail::Loaded& loaded);

// ---- hints (hints.cc) ----

struct Hint {
  std::string code;     // kebab-case, stable: "module-prefix"
  std::string message;  // with its numbers
  std::string next;     // one step, or ""
};
std::vector<Hint> find_hints(const open_detail::Loaded& loaded);

}  // namespace wick::check
