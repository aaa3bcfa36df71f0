// SPDX-License-Identifier: Apache-2.0
#include "script/text/class_header.h"

#include <gtest/gtest.h>

namespace wick::script {
namespace {

// As torch 2.13 prints a scripted Linear with a buffer and a child called "0".
constexpr std::string_view kSource = R"(op_version_set = 1
class Net(Module):
  __parameters__ = ["weight", "bias", ]
  __buffers__ = ["mean", ]
  __annotations__ = []
  __annotations__["0"] = __torch__.torch.nn.modules.linear.Linear
  weight : Tensor
  bias : Tensor
  mean : Tensor
  training : bool
  size : Final[int] = 3
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    weight : Tensor = self.weight
    __parameters__ = ["not", "this"]
    return x
class Pair(NamedTuple):
  first : int
def free(x: Tensor) -> Tensor:
  return x
)";

TEST(ClassHeader, tells_parameters_and_buffers_and_skips_bodies) {
  const auto found = read_class_headers(kSource, "__torch__");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "__torch__.Net");
  EXPECT_EQ(found[0].base, "Module");
  EXPECT_EQ(found[0].parameters, (std::vector<std::string>{"weight", "bias"}));
  EXPECT_EQ(found[0].buffers, (std::vector<std::string>{"mean"}));
  ASSERT_EQ(found[0].attributes.size(), 6U);
  EXPECT_EQ(found[0].attributes[0].first, "0");
  EXPECT_EQ(found[0].attributes[0].second, "__torch__.torch.nn.modules.linear.Linear");
  EXPECT_EQ(found[0].attributes[1].first, "weight");
  EXPECT_EQ(found[1].name, "__torch__.Pair");
  EXPECT_EQ(found[1].base, "NamedTuple");
}

TEST(ClassHeader, survives_every_prefix_of_a_source) {
  for (std::size_t size = 0; size <= kSource.size(); ++size)
    EXPECT_LE(read_class_headers(kSource.substr(0, size), "q").size(), 2U);
}

TEST(ClassHeader, makes_a_qualifier_of_a_record_name) {
  EXPECT_EQ(qualifier_of("code/__torch__/torch/nn/modules/linear.py"), "__torch__.torch.nn.modules.linear");
  EXPECT_EQ(qualifier_of("archive/code/__torch__.py"), "__torch__");
}

}  // namespace
}  // namespace wick::script
