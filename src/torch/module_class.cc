// SPDX-License-Identifier: Apache-2.0
#include "torch/module_class.h"

#include <algorithm>
#include <array>

#include "torch/module_repr.h"

namespace wick::torch {
namespace {

using checkpoint::Contents;
using checkpoint::Meaning;
using pickle::Kind;
using pickle::Value;

enum class Family : std::uint8_t {
  Nn,
  Intrinsic,
  IntrinsicQat,
  IntrinsicQuantized,
  IntrinsicQuantizedDynamic,
  Qat,
  QatDynamic,
  Quantizable,
  Quantized,
  QuantizedDynamic,
  Reference,
  SparseQuantized,
  SparseQuantizedDynamic,
  Quantization,
  Pruning,
  None,
};

struct Prefix {
  std::string_view text;
  Family family;
};
// The longest prefix wins, so it stands first. torch.nn.quantized and its kin are the paths before 1.13.
constexpr std::array<Prefix, 27> kPrefixes{{
    {"torch.ao.nn.intrinsic.quantized.dynamic.", Family::IntrinsicQuantizedDynamic},
    {"torch.ao.nn.intrinsic.quantized.", Family::IntrinsicQuantized},
    {"torch.ao.nn.intrinsic.qat.", Family::IntrinsicQat},
    {"torch.ao.nn.intrinsic.", Family::Intrinsic},
    {"torch.ao.nn.qat.dynamic.", Family::QatDynamic},
    {"torch.ao.nn.qat.", Family::Qat},
    {"torch.ao.nn.quantizable.", Family::Quantizable},
    {"torch.ao.nn.quantized.dynamic.", Family::QuantizedDynamic},
    {"torch.ao.nn.quantized.reference.", Family::Reference},
    {"torch.ao.nn.quantized._reference.", Family::Reference},
    {"torch.ao.nn.quantized.", Family::Quantized},
    {"torch.ao.nn.sparse.quantized.dynamic.", Family::SparseQuantizedDynamic},
    {"torch.ao.nn.sparse.quantized.", Family::SparseQuantized},
    {"torch.nn.intrinsic.quantized.dynamic.", Family::IntrinsicQuantizedDynamic},
    {"torch.nn.intrinsic.quantized.", Family::IntrinsicQuantized},
    {"torch.nn.intrinsic.qat.", Family::IntrinsicQat},
    {"torch.nn.intrinsic.", Family::Intrinsic},
    {"torch.nn.qat.dynamic.", Family::QatDynamic},
    {"torch.nn.qat.", Family::Qat},
    {"torch.nn.quantizable.", Family::Quantizable},
    {"torch.nn.quantized.dynamic.", Family::QuantizedDynamic},
    {"torch.nn.quantized._reference.", Family::Reference},
    {"torch.nn.quantized.", Family::Quantized},
    {"torch.ao.quantization.", Family::Quantization},
    {"torch.quantization.", Family::Quantization},
    {"torch.ao.pruning.", Family::Pruning},
    {"torch.nn.", Family::Nn},
}};

Family family_of(std::string_view module) {
  for (const Prefix& prefix : kPrefixes)
    if (module.starts_with(prefix.text) || module == prefix.text.substr(0, prefix.text.size() - 1))
      return prefix.family;
  return Family::None;
}

// ---- templates that several classes share ----

constexpr std::string_view kConv =
    "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}[padding!zeros:, padding={padding}]"
    "[dilation!ones:, dilation={dilation}][output_padding!zeros:, output_padding={output_padding}]"
    "[groups!1:, groups={groups}][bias=None:, bias=False][padding_mode!'zeros':, padding_mode={padding_mode}]";
constexpr std::string_view kLinear = "in_features={in_features}, out_features={out_features}, bias={?bias}";
constexpr std::string_view kNorm =
    "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={?bias}, "
    "track_running_stats={track_running_stats}";
constexpr std::string_view kGroupNorm = "{num_groups}, {num_channels}, eps={eps}, affine={affine}, bias={?bias}";
constexpr std::string_view kLayerNorm =
    "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}, bias={?bias}";
constexpr std::string_view kEmbedding =
    "{num_embeddings}, {embedding_dim}[padding_idx!None:, padding_idx={padding_idx}][max_norm!None:, "
    "max_norm={max_norm}][norm_type!2:, norm_type={norm_type}][scale_grad_by_freq!False:, "
    "scale_grad_by_freq={scale_grad_by_freq}][sparse!False:, sparse=True]";
constexpr std::string_view kEmbeddingBag =
    "{num_embeddings}, {embedding_dim}[max_norm!None:, max_norm={max_norm}][norm_type!2:, norm_type={norm_type}]"
    "[scale_grad_by_freq!False:, scale_grad_by_freq={scale_grad_by_freq}], mode={mode!r}"
    "[padding_idx!None:, padding_idx={padding_idx}]";
constexpr std::string_view kRnn =
    "{input_size}, {hidden_size}[proj_size!0:, proj_size={proj_size}][num_layers!1:, num_layers={num_layers}]"
    "[bias!True:, bias={bias}][batch_first!False:, batch_first={batch_first}][dropout!0:, dropout={dropout}]"
    "[bidirectional!False:, bidirectional={bidirectional}]";
constexpr std::string_view kDynamicRnn =
    "{input_size}, {hidden_size}[num_layers!1:, num_layers={num_layers}][bias!True:, bias={bias}]"
    "[batch_first!False:, batch_first={batch_first}][dropout!0:, dropout={dropout}]"
    "[bidirectional!False:, bidirectional={bidirectional}]";
constexpr std::string_view kRnnCell =
    "{input_size}, {hidden_size}[bias!True:, bias={bias}][nonlinearity!'tanh':, nonlinearity={nonlinearity}]";
constexpr std::string_view kAlpha = "alpha={alpha}[inplace:, inplace=True]";
constexpr std::string_view kLeakyReLU = "negative_slope={negative_slope}[inplace:, inplace=True]";
constexpr std::string_view kInplace = "[inplace:inplace=True]";
constexpr std::string_view kDropout = "p={p}, inplace={inplace}";
constexpr std::string_view kOutputSize = "output_size={output_size}";
constexpr std::string_view kPool = "kernel_size={kernel_size}, stride={stride}, padding={padding|0}";
constexpr std::string_view kMaxPool =
    "kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}";
constexpr std::string_view kLpPool =
    "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}";
constexpr std::string_view kUpsample =
    "[scale_factor!None:scale_factor={scale_factor!r}][scale_factor=None:size={size!r}], mode={mode!r}";
constexpr std::string_view kQuantizedLinear =
    "in_features={in_features}, out_features={out_features}, scale={scale}, zero_point={zero_point}, "
    "qscheme={@qscheme}";
constexpr std::string_view kDynamicLinear =
    "in_features={in_features}, out_features={out_features}, dtype={_packed_params.dtype}"
    "[_packed_params.dtype=torch.qint8:, qscheme={@qscheme}]";
constexpr std::string_view kQuantizedConv =
    "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}, scale={scale}, "
    "zero_point={zero_point}[padding!zeros:, padding={padding}][dilation!ones:, dilation={dilation}]"
    "[output_padding!zeros:, output_padding={output_padding}][groups!1:, groups={groups}][bias=None:, bias=False]";
constexpr std::string_view kQuantizedEmbedding =
    "num_embeddings={num_embeddings}, embedding_dim={embedding_dim}, dtype={_packed_params.dtype}, "
    "qscheme={@qscheme}";
constexpr std::string_view kObserver = "min_val={min_val}, max_val={max_val}";
// ---- and what several save ----
constexpr std::string_view kQuantizedConvState = "weight bias +scale +zero_point";
constexpr std::string_view kPackedCellState = "_packed_weight_ih _packed_weight_hh";

struct Row {
  Family family;
  ModuleClass known;
};
constexpr auto kRows = std::to_array<Row>({
#define WICK_MODULE(family, name, printed, state, repr, extra) \
  {Family::family, {name, printed, state, ModuleRepr::repr, extra}},
#include "torch/modules.def"
#undef WICK_MODULE
});

// torch/ao/nn/quantized/modules/conv.py, _ConvNd.__getstate__
constexpr std::array<std::string_view, 15> kConvTuple{
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation",   "transposed", "output_padding",
    "groups",      "padding_mode", "weight",      "bias",   "scale",   "zero_point", "training"};
// torch/ao/nn/sparse/quantized/linear.py, LinearPackedParams.__getstate__
constexpr std::array<std::string_view, 3> kSparseTuple{"_packed_params", "training", "dtype"};

template <std::size_t N>
int position_in(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

std::string_view text_of(const pickle::Arena& arena, Value value) {
  return value.is(Kind::Str) || value.is(Kind::Py2Str) ? arena.as_text(value) : std::string_view();
}

ClassName name_of_global(const pickle::Arena& arena, Value global) {
  if (!global.is(Kind::Global)) return {};
  return {text_of(arena, arena.module(global)), text_of(arena, arena.name(global)), {}};
}

}  // namespace

ClassName class_of(const Contents& contents, Value object) {
  if (!object.is(Kind::Object)) return {};
  const pickle::Arena& arena = contents.arena;
  const Value callable = arena.object(object).callable;
  if (!callable.is(Kind::PersistentId)) return name_of_global(arena, callable);
  // ('module', class, file, source) in legacy streams, (class, file, source) in the tar of 0.1
  const Value pid = arena.pid(callable);
  if (!pid.is(Kind::Tuple)) return {};
  const auto parts = arena.items(pid);
  const std::size_t first = !parts.empty() && arena.is_text(parts[0], "module") ? 1 : 0;
  if (parts.size() <= first) return {};
  ClassName name = name_of_global(arena, parts[first]);
  if (parts.size() > first + 2) name.source = text_of(arena, parts[first + 2]);
  return name;
}

bool is_known_module_class(const ClassName& name) { return family_of(name.module) != Family::None; }

const ModuleClass* find_module_class(const ClassName& name) {
  const Family family = family_of(name.module);
  if (family == Family::None) return nullptr;
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& candidate) {
    return candidate.family == family && candidate.known.name == name.name;
  });
  return row == kRows.end() ? nullptr : &row->known;
}

int tuple_position(const ModuleClass& known, std::string_view name) {
  if (known.state == kQuantizedConvState) return position_in(kConvTuple, name);
  if (known.name == "LinearPackedParams") return position_in(kSparseTuple, name);
  return -1;
}

std::span<const Value> pairs_of(const Contents& contents, Value value) {
  value = contents.resolve(value);
  if (value.is(Kind::Dict) || value.is(Kind::Object)) return contents.arena.pairs(value);
  return {};
}

Value state_entry(const Contents& contents, Value module, std::string_view name) {
  module = contents.resolve(module);
  if (!module.is(Kind::Object)) return {};
  const Value state = contents.resolve(contents.arena.state(module));
  if (!state.is(Kind::Dict) && !state.is(Kind::Object)) return {};
  return contents.resolve(contents.arena.find(state, name));
}

Value attribute_of(const Contents& contents, Value module, std::string_view name) {
  module = contents.resolve(module);
  if (!module.is(Kind::Object)) return {};
  const Value state = contents.resolve(contents.arena.state(module));
  if (state.is(Kind::Tuple)) {
    const ModuleClass* known = find_module_class(class_of(contents, module));
    const int at = known == nullptr ? -1 : tuple_position(*known, name);
    const auto items = contents.arena.items(state);
    return at >= 0 && static_cast<std::size_t>(at) < items.size()
               ? contents.resolve(items[static_cast<std::size_t>(at)])
               : Value();
  }
  if (Value own = state_entry(contents, module, name); !own.missing()) return own;
  for (const std::string_view place : {"_parameters", "_buffers", "_modules"}) {
    const Value dict = state_entry(contents, module, place);
    if (!dict.is(Kind::Dict) && !dict.is(Kind::Object)) continue;
    if (const Value found = contents.arena.find(dict, name); !found.missing()) return contents.resolve(found);
  }
  return {};
}

Value unpack_script_object(const Contents& contents, Value value) {
  value = contents.resolve(value);
  const ClassName name = class_of(contents, value);
  const Value state = value.is(Kind::Object) ? contents.resolve(contents.arena.state(value)) : Value();
  if (name.module == "torch" && name.name == "ScriptObject") {  // (what __getstate__ gave, class)
    if (!state.is(Kind::Tuple) || contents.arena.items(state).empty()) return value;
    return contents.resolve(contents.arena.items(state)[0]);
  }
  // the C++ pickler: the class itself with its state
  if (name.module.starts_with("__torch__.torch.classes") && !state.missing()) return state;
  return value;
}

bool is_module(const Contents& contents, Value value) {
  value = contents.resolve(value);
  if (!value.is(Kind::Object)) return false;
  const Meaning::What what = contents.meaning(value).what;
  if (what == Meaning::What::Module) return true;
  if (what != Meaning::What::Unknown) return false;
  if (!state_entry(contents, value, "_modules").missing() && !state_entry(contents, value, "_parameters").missing())
    return true;
  const ModuleClass* known = find_module_class(class_of(contents, value));
  return known != nullptr && contents.resolve(contents.arena.state(value)).is(Kind::Tuple) &&
         tuple_position(*known, "training") >= 0;
}

}  // namespace wick::torch
