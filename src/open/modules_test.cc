// SPDX-License-Identifier: Apache-2.0
// Every module fixture against what torch itself says about it: the keys of state_dict() in order with dtypes and
// shapes, and print(module) to the character. tests/fixtures/make_module_fixtures.py wrote both.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "open/loaded.h"
#include "torch/module_repr.h"

namespace wick::torch {
namespace {

using nlohmann::json;

std::filesystem::path fixtures() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "tests" / "fixtures" / "modules";
}

const json& manifest() {
  static const json loaded = [] {
    std::ifstream file(fixtures() / "manifest.json");
    return json::parse(file);
  }();
  return loaded;
}

open_detail::LoadedPtr open_fixture(const json& row) {
  auto loaded = open_detail::load_input((fixtures() / row["file"].get<std::string>()).string(), Context{});
  EXPECT_TRUE(loaded) << row["file"] << ": " << (loaded ? "" : loaded.error().message());
  return loaded ? *loaded : nullptr;
}

json rows_of(const open_detail::Loaded& loaded) {
  json rows = json::array();
  const auto& places = loaded.automatic.places;
  for (const auto& row : places.rows) {
    const auto& tensor = loaded.contents.tensors[row.tensor];
    json shape = json::array();
    for (const auto size : loaded.contents.sizes(tensor)) shape.push_back(size);
    const auto* more = loaded.contents.find_more(row.tensor);
    const bool lazy = more != nullptr && more->subclass.find("Uninitialized") != std::string::npos;
    rows.push_back({checkpoint::name_of(loaded.contents, places, row.path),
                    lazy ? "uninitialized" : std::string(name_of(tensor.dtype)), lazy ? json(nullptr) : shape});
  }
  return rows;
}

TEST(Modules, have_the_state_dict_that_torch_gives) {
  std::size_t checked = 0;
  for (const json& row : manifest()["modules"]) {
    const auto loaded = open_fixture(row);
    if (!loaded) continue;
    EXPECT_EQ(loaded->automatic.path, ".") << row["file"];
    EXPECT_TRUE(loaded->automatic.is_module) << row["file"];
    ++checked;
    if (row.value("packed", false)) {  // sparse weights are packed for one engine: wick says so
      EXPECT_EQ(loaded->automatic.names_may_differ.size(), 1U) << row["file"];
      continue;
    }
    EXPECT_EQ(rows_of(*loaded), row["tensors"]) << row["file"];
    EXPECT_TRUE(loaded->automatic.names_may_differ.empty()) << row["file"];
  }
  EXPECT_GT(checked, 290U);
}

TEST(Modules, print_as_python_prints_them) {
  std::size_t checked = 0;
  for (const json& row : manifest()["modules"]) {
    const auto loaded = open_fixture(row);
    if (!loaded) continue;
    const auto root = loaded->contents.sections.front().root;
    ++checked;
    if (row["class"] == "torch.ao.nn.sparse.quantized.linear.LinearPackedParams") {
      EXPECT_EQ(repr_may_differ(loaded->contents, root).size(), 1U);
      continue;
    }
    EXPECT_EQ(module_repr(loaded->contents, root).value_or("no module"), row["repr"].get<std::string>()) << row["file"];
    EXPECT_TRUE(repr_may_differ(loaded->contents, root).empty()) << row["file"];
  }
  EXPECT_GT(checked, 290U);
}

TEST(AutoRoot, picks_the_branch_that_people_mean_and_names_it_as_torch_does) {
  for (const json& row : manifest()["combinations"]) {
    const auto loaded = open_fixture(row);
    if (!loaded) continue;
    EXPECT_EQ(loaded->automatic.path, row["root"].get<std::string>()) << row["file"];
    EXPECT_EQ(loaded->automatic.is_module, row["is_module"].get<bool>()) << row["file"];
    EXPECT_EQ(rows_of(*loaded), row["tensors"]) << row["file"];
    EXPECT_EQ(!loaded->automatic.names_may_differ.empty(), row.value("names_may_differ", false)) << row["file"];
    if (!row.contains("repr")) continue;
    EXPECT_EQ(module_repr(loaded->contents, loaded->contents.sections.front().root).value_or(""),
              row["repr"].get<std::string>())
        << row["file"];
  }
}

TEST(AutoRoot, tells_what_else_is_there) {
  const auto loaded = open_fixture({{"file", "combination.params_ema.pt"}});
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->automatic.others.size(), 2U);
  EXPECT_EQ(loaded->automatic.others[0].path, "params");
  EXPECT_EQ(loaded->automatic.others[0].tensors, 6U);
  EXPECT_EQ(loaded->automatic.others[0].bytes, 4U * (12 + 3 + 3 + 3 + 6 + 2));
  EXPECT_EQ(loaded->automatic.others[1].path, ".");
  EXPECT_EQ(loaded->automatic.others[1].tensors, 12U);
}

TEST(AutoRoot, of_an_optimizer_alone_is_everything) {
  const auto loaded = open_fixture({{"file", "combination.optimizer_alone.pt"}});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->automatic.path, ".");
  EXPECT_EQ(loaded->automatic.places.rows.size(), 18U);  // step, exp_avg, exp_avg_sq of six parameters
}

TEST(Modules, tell_roles) {
  const auto loaded = open_fixture({{"file", "combination.net.pt"}});
  ASSERT_TRUE(loaded);
  std::map<std::string, checkpoint::Role> roles;
  for (const auto& row : loaded->all.rows)
    roles[checkpoint::name_of(loaded->contents, loaded->all, row.path)] = row.role;
  EXPECT_EQ(roles.at("blocks.0.scale"), checkpoint::Role::Parameter);
  EXPECT_EQ(roles.at("blocks.0.kept"), checkpoint::Role::Buffer);
  EXPECT_EQ(roles.at("blocks.0.left_out"), checkpoint::Role::NonPersistent);
  EXPECT_EQ(roles.at("blocks.0.plain"), checkpoint::Role::Attribute);
}

TEST(Modules, show_one_line_each) {
  const auto conv = open_fixture({{"file", "nn.modules.conv.Conv2d.pt"}});
  ASSERT_TRUE(conv);
  EXPECT_EQ(module_line(conv->contents, conv->contents.sections.front().root),
            "Conv2d(3, 4, kernel_size=(3, 5), stride=(2, 2), padding=(1, 2))");
  const auto net = open_fixture({{"file", "combination.net.pt"}});
  ASSERT_TRUE(net);
  EXPECT_EQ(module_line(net->contents, net->contents.sections.front().root), "Net");
}

}  // namespace
}  // namespace wick::torch
