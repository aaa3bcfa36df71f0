// SPDX-License-Identifier: Apache-2.0
// Expected values: what torch._utils and torch._tensor of 2.13 build from the same arguments (docs/formats/tensors.md).
#include "torch/rebuild.h"

#include "torch/readers.h"
#include "torch_pickles.h"

namespace wick::torch {
namespace {

using namespace wick::testing;  // NOLINT(google-build-using-namespace)
using checkpoint::Layout;

Rows read_object(const std::string& object, const std::vector<std::pair<std::string, std::string>>& records) {
  return Rows(read_torch_zip(probe_of(save_zip(object, records))));
}

std::string longs(std::string_view key, std::int64_t count) {
  return tensor_v2(storage("LongStorage", str(key), count), 0, {count}, {1});
}

std::string layout(std::string_view name) { return reduce(global("torch.serialization", "_get_layout"), {str(name)}); }

TEST(Rebuild, knows_every_row_of_its_table_and_the_classes_of_old) {
  EXPECT_NE(find_handler("torch._utils", "_rebuild_tensor_v2"), nullptr);
  EXPECT_NE(find_handler("torch.tensor", "_rebuild_from_type"), nullptr);  // renamed in 1.8
  for (const char* module : {"torch", "torch.cuda"}) EXPECT_NE(find_handler(module, "FloatTensor"), nullptr);
  for (const char* module : {"torch.sparse", "torch.cuda.sparse"})
    EXPECT_NE(find_handler(module, "IntTensor"), nullptr);
  EXPECT_EQ(find_handler("os", "system"), nullptr);
  EXPECT_EQ(find_handler("evil", "_rebuild_tensor_v2"), nullptr);
}

TEST(Rebuild, a_parameter_tells_its_own_requires_grad) {
  const auto parameter = reduce(global("torch._utils", "_rebuild_parameter"), {floats(str("0"), 1), kTrue, kNoHooks});
  const auto rows = read_object(dict({str("w"), parameter}), {{"data/0", "abcd"}});
  EXPECT_TRUE(rows.row("w").is_parameter);
  EXPECT_TRUE(rows.row("w").requires_grad);
  EXPECT_EQ(rows.elements("w"), "abcd");
}

TEST(Rebuild, a_buffer_is_one_by_its_attribute) {
  const auto buffer =
      reduce(global("torch._tensor", "_rebuild_from_type_v2"),
             {global("torch._utils", "_rebuild_tensor_v2"), global("torch", "Tensor"),
              tuple({storage("FloatStorage", str("0"), 1), integer(0), dims({1}), dims({1}), kFalse, kNoHooks}),
              dict({str("persistent"), kFalse, str("_is_buffer"), kTrue})});
  const auto rows = read_object(dict({str("b"), buffer}), {{"data/0", "abcd"}});
  EXPECT_TRUE(rows.row("b").is_buffer);
  EXPECT_EQ(rows.elements("b"), "abcd");
}

TEST(Rebuild, math_bits_are_kept_and_resolved) {
  const auto conj = reduce(global("torch._utils", "_rebuild_tensor_v2"),
                           {storage("ComplexFloatStorage", str("0"), 1), integer(0), dims({1}), dims({1}), kFalse,
                            kNoHooks, dict({str("conj"), kTrue})});
  const std::string one("\0\0\x80\x3f\0\0\0\x40", 8);        // 1+2j
  const std::string conjugate("\0\0\x80\x3f\0\0\0\xc0", 8);  // 1-2j
  const auto rows = read_object(dict({str("c"), conj}), {{"data/0", one}});
  EXPECT_TRUE(rows.row("c").conj);
  EXPECT_EQ(rows.elements("c"), conjugate);
}

TEST(Rebuild, quantized_per_tensor) {
  const auto q =
      reduce(global("torch._utils", "_rebuild_qtensor"),
             {storage("QInt8Storage", str("0"), 2), integer(0), dims({2}), dims({1}),
              tuple({global("torch", "per_tensor_affine"), std::string("G\x3f\xe0\0\0\0\0\0\0", 9), integer(3)}),
              kFalse, kNoHooks});
  const auto rows = read_object(dict({str("q"), q}), {{"data/0", "ab"}});
  const auto* more = rows.contents().find_more(rows.index("q"));
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->scheme, "per_tensor_affine");
  EXPECT_EQ(more->scale, 0.5);
  EXPECT_EQ(more->zero_point, 3);
  EXPECT_EQ(rows.row("q").dtype, DType::QInt8);
}

std::string per_channel(const std::string& scales, const std::string& zeros, std::int64_t axis) {
  return reduce(global("torch._utils", "_rebuild_qtensor"),
                {storage("QInt8Storage", str("0"), 4), integer(0), dims({2, 2}), dims({2, 1}),
                 tuple({global("torch", "per_channel_affine"), scales, zeros, integer(axis)}), kFalse, kNoHooks});
}

TEST(Rebuild, quantized_per_channel_has_its_scales_as_parts) {
  const auto scales = tensor_v2(storage("DoubleStorage", str("1"), 2), 0, {2}, {1});
  const auto rows = read_object(
      dict({str("q"), per_channel(scales, longs("2", 2), 0), str("bad"), per_channel(scales, longs("2", 2), 5)}),
      {{"data/0", "abcd"}, {"data/1", std::string(16, 'x')}, {"data/2", std::string(16, 'y')}});
  const auto* more = rows.contents().find_more(rows.index("q"));
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->axis, 0);
  ASSERT_EQ(more->parts.size(), 2U);
  EXPECT_EQ(more->parts[0].first, "scales");
  EXPECT_EQ(rows.error_of("q"), "");
  EXPECT_EQ(rows.error_of("bad"), "quantization axis 5 of a tensor with 2 dimensions");
}

TEST(Rebuild, float_zero_points_tell_the_scheme_python_does_not_write) {
  const auto rows = read_object(dict({str("q"), per_channel(floats(str("1"), 2), floats(str("2"), 2), 0)}),
                                {{"data/0", "abcd"}, {"data/1", std::string(8, 'x')}, {"data/2", std::string(8, 'y')}});
  EXPECT_EQ(rows.contents().find_more(rows.index("q"))->scheme, "per_channel_affine_float_qparams");
}

TEST(Rebuild, lists_of_scales_as_1_3_wrote_them_become_tensors) {
  const std::string half("G\x3f\xe0\0\0\0\0\0\0", 9);
  const auto rows = read_object(dict({str("q"), per_channel(list({half, half}), list({integer(1), integer(2)}), 1)}),
                                {{"data/0", "abcd"}});
  EXPECT_EQ(rows.error_of("q"), "");
  const auto* more = rows.contents().find_more(rows.index("q"));
  const auto zeros = checkpoint::read_elements(rows.contents(), more->zero_points);
  ASSERT_TRUE(zeros);
  EXPECT_EQ(std::to_integer<int>((*zeros)[8]), 2);
}

TEST(Rebuild, sparse_in_both_dialects) {
  const auto python =
      reduce(global("torch._utils", "_rebuild_sparse_tensor"),
             {layout("torch.sparse_coo"), tuple({longs("0", 2), floats(str("1"), 2), dims({9}), kTrue})});
  const auto csr =
      reduce(global("torch._utils", "_rebuild_sparse_tensor"),
             {layout("torch.sparse_csr"), tuple({longs("0", 2), longs("0", 2), floats(str("1"), 2), dims({1, 9})})});
  const auto cpp = reduce(global("torch._utils", "_rebuild_sparse_tensor"),
                          {"K\1", dims({9}), kTrue, longs("0", 2), floats(str("1"), 2), kNoHooks});
  const auto rows = read_object(dict({str("python"), python, str("csr"), csr, str("cpp"), cpp}),
                                {{"data/0", std::string(16, 'i')}, {"data/1", std::string(8, 'v')}});
  EXPECT_EQ(rows.row("python").layout, Layout::SparseCoo);
  EXPECT_EQ(rows.row("csr").layout, Layout::SparseCsr);
  EXPECT_EQ(rows.row("cpp").layout, Layout::SparseCoo);
  EXPECT_TRUE(rows.row("cpp").requires_grad);
  const auto* more = rows.contents().find_more(rows.index("csr"));
  ASSERT_EQ(more->parts.size(), 3U);
  EXPECT_EQ(more->parts[0].first, "crow_indices");
  EXPECT_EQ(more->parts[2].first, "values");
}

TEST(Rebuild, an_error_of_a_part_is_the_whole_s) {
  const auto coo = reduce(global("torch._utils", "_rebuild_sparse_tensor"),
                          {layout("torch.sparse_coo"), tuple({longs("0", 2), floats(str("1"), 2), dims({9})})});
  const auto rows = read_object(dict({str("s"), coo}), {{"data/1", std::string(8, 'v')}});
  EXPECT_NE(rows.error_of("s"), "");
}

TEST(Rebuild, wrapper_subclasses_show_their_parts) {
  const auto wrapper = reduce(
      global("torch._tensor", "_rebuild_from_type_v2"),
      {global("torch._utils", "_rebuild_wrapper_subclass"), global("torch.distributed.tensor", "DTensor"),
       tuple({global("torch.distributed.tensor", "DTensor"), global("torch", "float32"), dims({8}), dims({1}),
              integer(0), layout("torch.strided"), reduce(global("torch", "device"), {str("cuda"), "K\1"}), kTrue}),
       dict({str("_local_tensor"), floats(str("0"), 1), str("_spec"), new_object(global("spec", "Spec"), {}, "}")})});
  const auto rows = read_object(dict({str("w"), wrapper}), {{"data/0", "abcd"}});
  EXPECT_EQ(rows.row("w").layout, Layout::Wrapper);
  EXPECT_EQ(rows.contents().devices[rows.row("w").device], "cuda:1");
  EXPECT_EQ(rows.contents().find_more(rows.index("w"))->subclass, "torch.distributed.tensor.DTensor");
  EXPECT_EQ(rows.elements("w._local_tensor"), "abcd");
}

TEST(Rebuild, an_unknown_rebuild_function_hides_no_storage) {
  const auto unknown =
      reduce(global("torch._utils", "_rebuild_from_the_future"), {storage("FloatStorage", str("0"), 1)});
  const auto rows = read_object(dict({str("w"), unknown}), {{"data/0", "abcd"}});
  ASSERT_EQ(rows.names().size(), 1U);
  EXPECT_EQ(rows.row(rows.names()[0]).layout, Layout::Storage);
  EXPECT_EQ(rows.contents().facts.persistent_ids_used, 1U);
}

TEST(Rebuild, tensors_and_variables_of_torch_0_1) {
  const auto old = new_object(global("torch", "FloatTensor"), {},
                              tuple({storage("FloatStorage", str("0"), 2), integer(1), dims({1}), dims({1})}));
  const auto variable = new_object(global("torch.autograd.variable", "Variable"), {floats(str("0"), 2)},
                                   tuple({kTrue, kFalse, kNoHooks}));
  // The data comes only with the state, after the object itself was made.
  const auto late = new_object(global("torch.nn.parameter", "Parameter"), {},
                               tuple({floats(str("0"), 2), kNothing, kNoHooks, kTrue, kFalse}));
  const auto rows =
      read_object(dict({str("old"), old, str("variable"), variable, str("late"), late}), {{"data/0", "abcdefgh"}});
  EXPECT_EQ(rows.elements("old"), "efgh");
  EXPECT_EQ(rows.elements("variable"), "abcdefgh");
  EXPECT_TRUE(rows.row("variable").requires_grad);
  EXPECT_TRUE(rows.row("late").is_parameter);
  EXPECT_EQ(rows.elements("late"), "abcdefgh");
}

TEST(Rebuild, storages_before_1_1_are_lists_of_numbers) {
  const std::string half("G\x3f\xe0\0\0\0\0\0\0", 9);
  const auto old = reduce(global("torch", "FloatStorage"), {list({half, integer(2)})});
  const auto bad = reduce(global("torch", "ByteStorage"), {list({integer(256)})});
  const auto rows =
      read_object(dict({str("a"), tensor_v2(old, 0, {2}, {1}), str("b"), tensor_v2(bad, 0, {1}, {1})}), {});
  EXPECT_EQ(rows.elements("a"), std::string("\0\0\0\x3f\0\0\0\x40", 8));
  EXPECT_NE(rows.error_of("b"), "");
}

TEST(Rebuild, meta_tensors_have_a_shape_and_no_bytes) {
  const auto meta = reduce(global("torch._utils", "_rebuild_meta_tensor_no_storage"),
                           {global("torch", "bfloat16"), dims({2, 3}), dims({3, 1}), kFalse});
  const auto rows = read_object(dict({str("m"), meta}), {});
  EXPECT_TRUE(rows.row("m").is_meta);
  EXPECT_EQ(rows.row("m").dtype, DType::BFloat16);
  EXPECT_EQ(rows.error_of("m"), "");
}

TEST(Rebuild, an_object_that_holds_itself_ends) {
  // Memo 0 is a Parameter whose state holds that Parameter.
  const std::string knot = global("torch.nn.parameter", "Parameter") + ")\x81q" + std::string(1, '\0') + "(h" +
                           std::string(1, '\0') + "NN\x88\x89tb";
  const auto rows = read_object(dict({str("a"), knot}), {});
  EXPECT_TRUE(rows.ok());
}

}  // namespace
}  // namespace wick::torch
