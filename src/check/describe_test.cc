// SPDX-License-Identifier: Apache-2.0
// What training left in checkpoints that torch 2.13 wrote (tests/fixtures/make_module_fixtures.py): the numbers and
// names below are those the generator put in or torch gave.
#include "check/describe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace wick::check {
namespace {

using nlohmann::json;

std::string fixture(const std::string& name) {
  return (std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "tests" / "fixtures" / "modules" /
          name)
      .string();
}

open_detail::LoadedPtr open_fixture(const std::string& name) {
  auto loaded = open_detail::load_input(fixture(name), Context{});
  EXPECT_TRUE(loaded) << name;
  return loaded ? *loaded : nullptr;
}

const Hint* find_hint(const std::vector<Hint>& hints, const std::string& code) {
  const auto found = std::find_if(hints.begin(), hints.end(), [&](const Hint& hint) { return hint.code == code; });
  return found == hints.end() ? nullptr : &*found;
}

TEST(Writer, says_which_releases_wrote_a_file_and_why) {
  const auto loaded = open_fixture("combination.adam.pt");
  ASSERT_TRUE(loaded);
  const Writer writer = find_writer(*loaded);
  EXPECT_EQ(writer.torch_from, "2.7");  // .format_version and decoupled_weight_decay
  EXPECT_EQ(writer.torch_until, "");
  EXPECT_EQ(writer.torch_min, "1.6");
  EXPECT_EQ(writer.tool, "torch 2.7 or later with PyTorch Lightning 2.2.1");
  const auto names = [&](const std::string& text) {
    return std::any_of(writer.evidence.begin(), writer.evidence.end(),
                       [&](const Evidence& evidence) { return evidence.found.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(names(".format_version"));
  EXPECT_TRUE(names("byteorder"));
  EXPECT_TRUE(names("decoupled_weight_decay"));
  ASSERT_EQ(writer.said.size(), 1U);
  EXPECT_EQ(writer.said[0].first, "pytorch-lightning_version");
  EXPECT_EQ(writer.said[0].second, "2.2.1");
}

TEST(Training, is_found_with_its_places) {
  const auto loaded = open_fixture("combination.adam.pt");
  ASSERT_TRUE(loaded);
  const Training training = find_training(*loaded);
  ASSERT_TRUE(training.epoch);
  EXPECT_EQ(training.epoch->path, "epoch");
  EXPECT_EQ(training.epoch->text, "7");
  ASSERT_TRUE(training.step);
  EXPECT_EQ(training.step->text, "1234");
  ASSERT_EQ(training.losses.size(), 1U);
  EXPECT_EQ(training.losses[0].text, "0.25");
  ASSERT_EQ(training.metrics.size(), 1U);
  EXPECT_EQ(training.metrics[0].path, "best_acc");
  EXPECT_EQ(training.metrics[0].text, "0.5");
  ASSERT_EQ(training.config.size(), 1U);
  EXPECT_EQ(training.config[0].path, "hyper_parameters");
  ASSERT_EQ(training.schedulers.size(), 1U);
  EXPECT_EQ(training.schedulers[0].path, "lr_scheduler");
  ASSERT_EQ(training.scalers.size(), 1U);
  ASSERT_EQ(training.rng.size(), 1U);
  EXPECT_EQ(training.rng[0].path, "rng_state");
}

TEST(Training, tells_optimizers_apart) {
  const std::map<std::string, std::string> expected{
      {"combination.adam.pt", "Adam"}, {"combination.adamw_groups.pt", "AdamW"}, {"combination.sgd_head.pt", "SGD"}};
  for (const auto& [file, name] : expected) {
    const auto loaded = open_fixture(file);
    ASSERT_TRUE(loaded);
    const Training training = find_training(*loaded);
    ASSERT_EQ(training.optimizers.size(), 1U) << file;
    EXPECT_EQ(training.optimizers[0].class_name, name);
    EXPECT_EQ(training.optimizers[0].path, "optimizer");
  }
  const auto loaded = open_fixture("combination.adamw_groups.pt");
  const Training training = find_training(*loaded);
  ASSERT_EQ(training.optimizers[0].groups.size(), 2U);
  EXPECT_EQ(training.optimizers[0].groups[0].parameters, 2U);
  EXPECT_EQ(training.optimizers[0].groups[1].parameters, 4U);
  EXPECT_EQ(training.optimizers[0].parameters_with_state, 6U);
  EXPECT_EQ(training.optimizers[0].tensors, 18U);  // step, exp_avg, exp_avg_sq of six
}

TEST(SlotOwners, are_the_parameters_that_torch_numbered) {
  std::ifstream file(fixture("manifest.json"));
  const json manifest = json::parse(file);
  std::size_t checked = 0;
  for (const json& row : manifest["combinations"]) {
    if (!row.contains("owners")) continue;
    const auto loaded = open_fixture(row["file"].get<std::string>());
    ASSERT_TRUE(loaded);
    for (const SlotOwner& owner : find_slot_owners(*loaded)) {
      const auto steps = checkpoint::steps_to(loaded->all, loaded->all.rows[owner.place].path);
      ASSERT_EQ(steps.size(), 4U);  // optimizer, state, number, slot
      const auto number = std::to_string(pickle::Arena::as_int(steps[2].key));
      EXPECT_EQ(owner.parameter, row["owners"][number].get<std::string>()) << row["file"] << " " << number;
      EXPECT_TRUE(loaded->contents.arena.is_text(steps[3].key, owner.slot));
      ++checked;
    }
  }
  // adam: 6 x 3 slots. adamw in two groups: 6 x 3, but the LayerNorm's weight and bias and one Linear's bias share a
  // shape within one group, which keeps the order. sgd of the last layer: 2 x 1.
  EXPECT_EQ(checked, 18U + 18U + 2U);
}

TEST(Hints, name_what_stands_out) {
  const auto parallel = open_fixture("combination.net_parallel.pt");
  ASSERT_TRUE(parallel);
  const auto hints = find_hints(*parallel);
  EXPECT_NE(find_hint(hints, "module-prefix"), nullptr);
  EXPECT_NE(find_hint(hints, "weights-only-refuses"), nullptr);
  const auto adam = open_fixture("combination.adam.pt");
  ASSERT_TRUE(adam);
  const Hint* share = nullptr;
  const auto adam_hints = find_hints(*adam);
  share = find_hint(adam_hints, "optimizer-share");
  ASSERT_NE(share, nullptr);
  EXPECT_NE(share->message.find("% of the bytes are optimizer state"), std::string::npos);
  EXPECT_EQ(find_hint(adam_hints, "module-prefix"), nullptr);
  EXPECT_EQ(find_hint(adam_hints, "weights-only-refuses"), nullptr);
  const auto hooked = open_fixture("combination.hooked.pt");
  ASSERT_TRUE(hooked);
  EXPECT_NE(find_hint(find_hints(*hooked), "names-may-differ"), nullptr);
}

}  // namespace
}  // namespace wick::check
