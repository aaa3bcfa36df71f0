// SPDX-License-Identifier: Apache-2.0
// What a training program left beside the weights: found by name and by shape, told with the place.
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "check/describe.h"
#include "check/entries.h"
#include "python/repr.h"
#include "torch/module_class.h"

namespace wick::check {
namespace {

using checkpoint::Contents;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

constexpr std::array<std::string_view, 7> kEpochs{"epoch",     "epochs",     "current_epoch", "cur_epoch",
                                                  "epoch_num", "last_epoch", "num_epoch"};
constexpr std::array<std::string_view, 15> kSteps{
    "global_step",       "step",         "steps",       "iteration", "iter",        "iterations",
    "iter_num",          "global_iter",  "num_updates", "num_steps", "total_steps", "n_iter",
    "current_iteration", "global_steps", "num_iter"};
constexpr std::array<std::string_view, 16> kConfigs{
    "args",         "cfg",        "config",     "hyper_parameters", "hparams",   "train_args", "opt",
    "options",      "parameters", "model_args", "model_config",     "model_cfg", "settings",   "hyperparameters",
    "train_config", "kwargs"};
constexpr std::array<std::string_view, 8> kDates{"date",      "saved_at", "timestamp",  "time",
                                                 "save_time", "created",  "created_at", "datetime"};
constexpr std::array<std::string_view, 21> kMetrics{
    "acc",          "acc1",    "acc5",  "accuracy",   "best_acc", "best_acc1", "best_prec1",
    "best_fitness", "fitness", "score", "best_score", "best",     "map",       "miou",
    "psnr",         "ssim",    "f1",    "bleu",       "wer",      "ppl",       "perplexity"};
constexpr std::array<std::string_view, 10> kAverages{"ema",       "model_ema",     "params_ema",     "ema_state_dict",
                                                     "ema_model", "g_ema",         "state_dict_ema", "averaged_model",
                                                     "swa",       "swa_state_dict"};

bool is_tensor(const Contents& contents, Value value) {
  const Meaning::What what = contents.meaning(value).what;
  return what == Meaning::What::Tensor || what == Meaning::What::Array || what == Meaning::What::Storage;
}

bool is_number(Value value) { return value.is(Kind::Int) || value.is(Kind::BigInt) || value.is(Kind::Float); }

// A number, or a tensor of one element, as programs often leave it.
bool is_amount(const Contents& contents, Value value) {
  if (is_number(value)) return true;
  const Meaning meaning = contents.meaning(value);
  if (meaning.what != Meaning::What::Tensor && meaning.what != Meaning::What::Array) return false;
  return contents.numel(contents.tensors[meaning.index]) == 1U;
}

bool is_container(const Contents& contents, Value value) {
  return value.is(Kind::Dict) || value.is(Kind::List) || value.is(Kind::Tuple) ||
         (value.is(Kind::Object) && !is_tensor(contents, value));
}

bool is_date_text(std::string_view text) {  // 2024-05-01...
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  return text.size() >= 10 && digit(0) && digit(1) && digit(2) && digit(3) && text[4] == '-' && digit(5) && digit(6) &&
         text[7] == '-' && digit(8) && digit(9);
}

Found found_at(const Contents& contents, const Entry& entry) {
  return {entry.key, entry.path, entry.value, short_text(contents, entry.value)};
}

// ---- optimizers ----

struct OptimizerRule {
  std::string_view name;
  std::string_view has;
  std::string_view lacks;
};
constexpr auto kOptimizers = std::to_array<OptimizerRule>({
#define WICK_OPTIMIZER(name, has, lacks) {name, has, lacks},
#include "check/optimizers.def"
#undef WICK_OPTIMIZER
});

template <class Take>
void each_word(std::string_view words, const Take& take) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    take(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

std::string guess_class(const Contents& contents, Value group) {
  const auto holds = [&](std::string_view word) {
    constexpr std::string_view kTrue = "=True";
    const bool asks = word.ends_with(kTrue);
    const Value value = entry_of(contents, group, asks ? word.substr(0, word.size() - kTrue.size()) : word);
    return asks ? value.is(Kind::Bool) && pickle::Arena::as_bool(value) : !value.missing();
  };
  for (const OptimizerRule& rule : kOptimizers) {
    bool fits = true;
    each_word(rule.has, [&](std::string_view word) { fits = fits && holds(word); });
    each_word(rule.lacks, [&](std::string_view word) { fits = fits && !holds(word); });
    if (fits) return std::string(rule.name);
  }
  return {};
}

OptimizerGroup describe_group(const Contents& contents, Value group, const std::string& path) {
  OptimizerGroup out;
  const auto pairs = torch::pairs_of(contents, group);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (!pairs[i].is(Kind::Str) && !pairs[i].is(Kind::Py2Str)) continue;
    const std::string key(contents.arena.as_text(pairs[i]));
    const Value value = contents.resolve(pairs[i + 1]);
    if (key == "params") {
      if (value.is(Kind::List) || value.is(Kind::Tuple)) out.parameters = contents.arena.items(value).size();
      continue;
    }
    out.hyper.push_back({key, path + "." + key, value, short_text(contents, value)});
  }
  return out;
}

void describe_slots(const Contents& contents, Value state, OptimizerFound& out) {
  const auto parameters = torch::pairs_of(contents, state);
  std::set<std::string, std::less<>> names;
  for (std::size_t i = 0; i + 1 < parameters.size(); i += 2) {
    const auto slots = torch::pairs_of(contents, parameters[i + 1]);
    if (!slots.empty()) ++out.parameters_with_state;
    for (std::size_t j = 0; j + 1 < slots.size(); j += 2) {
      const Value value = contents.resolve(slots[j + 1]);
      const Meaning meaning = contents.meaning(value);
      if (meaning.what == Meaning::What::Tensor) {
        ++out.tensors;
        out.bytes += contents.tensor_bytes(contents.tensors[meaning.index]);
      }
      if (!slots[j].is(Kind::Str) && !slots[j].is(Kind::Py2Str)) continue;
      const std::string_view name = contents.arena.as_text(slots[j]);
      constexpr std::size_t kMostNames = 64;
      if (names.size() < kMostNames && names.find(name) == names.end()) {
        names.emplace(name);
        out.slot_names.emplace_back(name);
      }
    }
  }
}

OptimizerFound describe_optimizer(const Contents& contents, const Entry& entry) {
  OptimizerFound out;
  out.path = entry.path;
  const torch::ClassName name = torch::class_of(contents, entry.value);
  if (name.module.starts_with("torch.optim")) out.class_name = name.name;
  const Value groups = entry_of(contents, entry.value, "param_groups");
  if (groups.is(Kind::List) || groups.is(Kind::Tuple)) {
    const auto items = contents.arena.items(groups);
    constexpr std::size_t kMostGroups = 1000;
    for (std::size_t i = 0; i < items.size() && i < kMostGroups; ++i)
      out.groups.push_back(
          describe_group(contents, contents.resolve(items[i]), entry.path + ".param_groups." + std::to_string(i)));
    if (out.class_name.empty() && !items.empty()) {
      out.class_name = guess_class(contents, contents.resolve(items[0]));
      out.guessed = !out.class_name.empty();
    }
  }
  describe_slots(contents, entry_of(contents, entry.value, "state"), out);
  return out;
}

// ---- the rest ----

bool is_scheduler(const Contents& contents, const Entry& entry, const std::string& key) {
  if (!is_container(contents, entry.value)) return false;
  if (torch::class_of(contents, entry.value).module.starts_with("torch.optim.lr_scheduler")) return true;
  if (!entry_of(contents, entry.value, "_last_lr").missing() || !entry_of(contents, entry.value, "base_lrs").missing())
    return true;
  return entry.depth == 0 && key.find("sched") != std::string::npos;
}

bool is_scaler(const Contents& contents, const Entry& entry, const std::string& key) {
  if (!entry_of(contents, entry.value, "growth_factor").missing()) return true;
  return is_container(contents, entry.value) && entry.depth == 0 &&
         (key == "scaler" || key == "grad_scaler" || key == "amp_scaler" || key == "scaler_state_dict");
}

void look_at_scalar(const Contents& contents, const Entry& entry, const std::string& key, Training& out) {
  constexpr std::size_t kMost = 32;
  const bool amount = is_amount(contents, entry.value);
  if (amount && !out.epoch && is_one_of(kEpochs, key))
    out.epoch = found_at(contents, entry);
  else if (amount && !out.step && is_one_of(kSteps, key))
    out.step = found_at(contents, entry);
  else if (amount && key.find("loss") != std::string::npos && out.losses.size() < kMost)
    out.losses.push_back(found_at(contents, entry));
  else if (amount && out.metrics.size() < kMost &&
           (is_one_of(kMetrics, key) || key.starts_with("val_") || key.starts_with("best_") || key.ends_with("_acc") ||
            key.ends_with("_accuracy") || key.ends_with("_score")))
    out.metrics.push_back(found_at(contents, entry));
  const bool shown = contents.meaning(entry.value).what == Meaning::What::Shown;
  const bool dated = entry.value.is(Kind::Str) && is_date_text(contents.arena.as_text(entry.value));
  if (!out.saved_at && (shown || dated || is_number(entry.value)) && is_one_of(kDates, key))
    out.saved_at = found_at(contents, entry);
}

void look_at_container(const Contents& contents, const Entry& entry, const std::string& key, Training& out) {
  constexpr std::size_t kMost = 64;
  if (out.schedulers.size() < kMost && is_scheduler(contents, entry, key)) {
    out.schedulers.push_back(found_at(contents, entry));
    return;
  }
  if (out.scalers.size() < kMost && is_scaler(contents, entry, key)) {
    out.scalers.push_back(found_at(contents, entry));
    return;
  }
  if (entry.depth == 0 && is_one_of(kConfigs, key)) out.config.push_back(found_at(contents, entry));
}

// Values below these are settings or states of something else: no epoch of the training itself.
bool lies_inside(const std::string& path, const Training& training) {
  const auto below = [&](const std::string& parent) {
    return path.size() > parent.size() && path.starts_with(parent) && path[parent.size()] == '.';
  };
  const auto any_below = [&](const std::vector<Found>& found) {
    return std::any_of(found.begin(), found.end(), [&](const Found& one) { return below(one.path); });
  };
  return any_below(training.config) || any_below(training.schedulers) || any_below(training.scalers) ||
         std::any_of(training.optimizers.begin(), training.optimizers.end(),
                     [&](const OptimizerFound& one) { return below(one.path); });
}

bool holds_tensors(const open_detail::Loaded& loaded, const std::string& path) {
  const auto& others = loaded.automatic.others;
  return loaded.automatic.path == path || std::any_of(others.begin(), others.end(), [&](const auto& other) {
           return other.path == path && other.tensors != 0;
         });
}

}  // namespace

bool Training::empty() const {
  return !epoch && !step && !saved_at && losses.empty() && metrics.empty() && config.empty() && versions.empty() &&
         optimizers.empty() && schedulers.empty() && scalers.empty() && rng.empty() && averages.empty();
}

Training find_training(const open_detail::Loaded& loaded) {
  Training out;
  const Contents& contents = loaded.contents;
  for (const Entry& entry : entries_of(loaded)) {
    const std::string key = to_lower(entry.key);
    if (is_optimizer(contents, entry.value)) {
      out.optimizers.push_back(describe_optimizer(contents, entry));
      continue;
    }
    if (lies_inside(entry.path, out)) continue;
    if (key.find("rng") != std::string::npos || key.find("random_state") != std::string::npos) {
      constexpr std::size_t kMost = 32;
      if (out.rng.size() < kMost) out.rng.push_back(found_at(contents, entry));
      continue;
    }
    if (entry.depth <= 1 && is_one_of(kAverages, key) && holds_tensors(loaded, entry.path))
      out.averages.push_back(found_at(contents, entry));
    if (is_container(contents, entry.value)) look_at_container(contents, entry, key, out);
    look_at_scalar(contents, entry, key, out);
  }
  for (const auto& [path, text] : find_writer(loaded).said) out.versions.push_back({path, path, Value(), text});
  return out;
}

}  // namespace wick::check
