// SPDX-License-Identifier: Apache-2.0
// Who wrote a file, told by its bytes. Source of truth: torch/serialization.py and caffe2/serialize of the releases
// (docs/formats/torch-zip.md has the table).
#include <algorithm>
#include <array>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "check/describe.h"
#include "check/entries.h"
#include "python/repr.h"
#include "torch/module_class.h"
#include "torch/module_repr.h"

namespace wick::check {
namespace {

using checkpoint::Contents;
using pickle::Kind;
using pickle::Value;

// 206 -> "2.6"
std::string release(int number) { return std::to_string(number / 100) + "." + std::to_string(number % 100); }

// What is known so far: the latest of the earliest releases, the earliest of the latest ones.
struct Bounds {
  int from = 0;
  int until = 0;  // 0: no upper end
  int reads = 0;
};

class Judge {
 public:
  explicit Judge(Writer& writer) : writer_(writer) {}

  void since(int from, const std::string& found) {
    bounds.from = std::max(bounds.from, from);
    writer_.evidence.push_back({found, "torch " + release(from) + " or later wrote it"});
  }
  void until(int last, const std::string& found) {
    bounds.until = bounds.until == 0 ? last : std::min(bounds.until, last);
    writer_.evidence.push_back({found, "torch " + release(last) + " or earlier wrote it"});
  }
  void reads(int first) { bounds.reads = std::max(bounds.reads, first); }
  void note(std::string found, std::string means) { writer_.evidence.push_back({std::move(found), std::move(means)}); }

  Bounds bounds;

 private:
  Writer& writer_;
};

const std::string* record_of(const Contents& contents, const std::string& name) {
  const auto found = contents.facts.records.find(name);
  return found == contents.facts.records.end() ? nullptr : &found->second;
}

bool names_global(const Contents& contents, Value global, std::string_view module, std::string_view name) {
  if (!global.is(Kind::Global)) return false;
  const std::string_view there = contents.arena.as_text(contents.arena.module(global));
  const bool below = module.ends_with('.') && there.starts_with(module);
  if (there != module && !below) return false;
  return name.empty() || contents.arena.as_text(contents.arena.name(global)) == name;
}

struct GlobalRule {
  std::string_view module;
  std::string_view name;
  int writes;
  int reads;
  bool last;
};
constexpr auto kGlobalRules = std::to_array<GlobalRule>({
#define WICK_SINCE(module, name, writes, reads) {module, name, writes, reads, false},
#define WICK_UNTIL(module, name, writes) {module, name, writes, 0, true},
#include "check/writer_globals.def"
#undef WICK_SINCE
#undef WICK_UNTIL
});

void look_at_globals(const Contents& contents, Judge& judge) {
  for (const GlobalRule& rule : kGlobalRules) {
    const auto& classes = contents.facts.classes;
    const bool there = std::any_of(classes.begin(), classes.end(), [&](Value global) {
      return names_global(contents, global, rule.module, rule.name);
    });
    if (!there) continue;
    std::string name(rule.module);
    if (!rule.name.empty()) name += "." + std::string(rule.name);
    if (name.ends_with('.')) name.pop_back();
    if (rule.last)
      judge.until(rule.writes, "the pickle names " + name);
    else
      judge.since(rule.writes, "the pickle names " + name);
    judge.reads(rule.reads);
  }
}

// First release that knows a dtype.
int release_of(DType dtype) {
  switch (dtype) {
    case DType::Float8E8M0FNU: return 207;
    case DType::Float4E2M1FNx2: return 208;
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2FNUZ: return 201;
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64: return 203;
    default: return 0;
  }
}

void look_at_dtypes(const Contents& contents, Judge& judge) {
  std::set<DType> seen;
  for (const checkpoint::TensorRow& row : contents.tensors)
    if (!row.is_array) seen.insert(row.dtype);
  for (const DType dtype : seen) {
    const int first = release_of(dtype);
    if (first == 0) continue;
    judge.since(first, "a tensor is " + std::string(name_of(dtype)));
    judge.reads(first);
  }
}

struct AttributeRule {
  std::string_view name;
  int writes;
  bool absent;  // that it is missing tells something: `writes` is then the last release
};
// Entries of Module.__dict__, by the release that began to write them (torch/nn/modules/module.py).
constexpr std::array<AttributeRule, 4> kModuleRules{{
    {"_backward_pre_hooks", 200, false},
    {"_is_full_backward_hook", 108, false},
    {"_non_persistent_buffers_set", 105, false},
    {"_non_persistent_buffers_set", 104, true},
}};

void look_at_modules(const Contents& contents, Judge& judge) {
  const std::size_t count = contents.arena.object_count();
  for (std::size_t i = 0; i < count; ++i) {
    const Value object = pickle::Arena::object_at(i);
    if (contents.meaning(object).what != checkpoint::Meaning::What::Module) continue;
    if (torch::state_entry(contents, object, "_modules").missing()) continue;
    for (const AttributeRule& rule : kModuleRules) {
      const bool there = !torch::state_entry(contents, object, rule.name).missing();
      if (there && !rule.absent) judge.since(rule.writes, "its modules have " + std::string(rule.name));
      if (!there && rule.absent) judge.until(rule.writes, "its modules have no " + std::string(rule.name));
    }
    return;  // one is enough: a program writes all of them alike
  }
}

// Adam and AdamW are one class since 2.7 and say so in their param_groups.
void look_at_optimizers(const open_detail::Loaded& loaded, Judge& judge) {
  for (const Entry& entry : entries_of(loaded)) {
    if (!is_optimizer(loaded.contents, entry.value)) continue;
    const Value groups = entry_of(loaded.contents, entry.value, "param_groups");
    if (!groups.is(Kind::List) || loaded.contents.arena.items(groups).empty()) continue;
    const Value first = loaded.contents.resolve(loaded.contents.arena.items(groups)[0]);
    if (!entry_of(loaded.contents, first, "decoupled_weight_decay").missing())
      return judge.since(207, entry.path + " has decoupled_weight_decay");
  }
}

// torch's own zip writer stores every record and aligns every one of them to 64 bytes.
bool looks_like_torch_zip(const Contents& contents) {
  return contents.facts.compressed == 0 && contents.facts.alignment != 0 && contents.facts.alignment % 64 == 0;
}

void look_at_zip(const Contents& contents, Writer& writer, Judge& judge) {
  judge.reads(contents.kind == FileKind::TorchZip ? 106 : 100);
  const std::string* format = record_of(contents, ".format_version");
  const std::string* alignment = record_of(contents, ".storage_alignment");
  const bool byteorder = record_of(contents, "byteorder") != nullptr;
  const bool id = record_of(contents, ".data/serialization_id") != nullptr;
  if (format != nullptr) judge.since(207, "record .format_version");
  if (alignment != nullptr) judge.since(207, "record .storage_alignment");
  if (byteorder) judge.since(201, "record byteorder");
  if (id) judge.since(201, "record .data/serialization_id");
  const bool ours = looks_like_torch_zip(contents) || format != nullptr || id;
  if (!ours && contents.facts.compressed != 0)
    judge.note("records are deflated", "a generic zip tool packed it: torch.save stores every record");
  if (contents.kind != FileKind::TorchZip || !looks_like_torch_zip(contents)) return;
  if (format == nullptr && byteorder && id) judge.until(206, "no record .format_version");
  if (!byteorder && !id) {
    judge.since(104, "a zip archive");
    judge.until(200, "no record byteorder, none .data/serialization_id");
  }
  if (ours) writer.tool = "torch.save";
}

int script_release(const std::string& version) {
  if (version.starts_with("10")) return 112;
  if (version.starts_with("9") || version.starts_with("8") || version.starts_with("7")) return 109;
  if (version.starts_with("6") || version.starts_with("5")) return 107;
  if (version.starts_with("4")) return 106;
  return version.starts_with("3") ? 104 : 100;
}

void look_at_script(const Contents& contents, Writer& writer, Judge& judge) {
  writer.tool = contents.kind == FileKind::TorchScript ? "torch.jit.save" : "the lite-interpreter exporter";
  const int first = script_release(contents.facts.format_version);
  if (!contents.facts.format_version.empty()) judge.since(first, "archive version " + contents.facts.format_version);
  judge.reads(first);
  for (const char* name : {"byteorder", ".data/serialization_id"})
    if (record_of(contents, name) != nullptr) judge.since(201, "record " + std::string(name));
}

void look_at_container(const Contents& contents, Writer& writer, Judge& judge) {
  switch (contents.kind) {
    case FileKind::TorchZip: look_at_zip(contents, writer, judge); break;
    case FileKind::TorchScript:
    case FileKind::TorchMobile: look_at_script(contents, writer, judge); break;
    case FileKind::TorchScriptJson:
      writer.tool = "torch.jit.save";
      judge.until(102, "record model.json");
      break;
    case FileKind::TorchLegacy:
      writer.tool = "torch.save";
      judge.note("a legacy stream", "torch 1.5 or earlier wrote it, or a later one was asked for the old format");
      break;
    case FileKind::TorchTar:
      writer.tool = "torch.save";
      judge.until(1, "a tar with sys_info, pickle, tensors and storages");
      break;
    case FileKind::TorchPackage:
      writer.tool = "torch.package";
      judge.since(108, "a torch.package archive");
      judge.reads(108);
      break;
    case FileKind::TorchExport:
      writer.tool = "torch.export.save";
      judge.since(201, "a torch.export program");
      judge.reads(201);
      break;
    case FileKind::LibTorch: writer.tool = "libtorch's torch::save"; break;
    case FileKind::TorchDcp: writer.tool = "torch.distributed.checkpoint"; break;
    case FileKind::Pickle: writer.tool = "pickle"; break;
    case FileKind::Npy:
    case FileKind::Npz: writer.tool = "NumPy"; break;
    default: break;
  }
}

void look_at_python(const Contents& contents, Judge& judge) {
  if (contents.facts.python2) judge.note("strings of Python 2", "Python 2 wrote it");
  for (const Value global : contents.facts.classes) {
    if (names_global(contents, global, "pathlib._local", "")) {
      judge.note("the pickle names pathlib._local", "Python 3.13 or later wrote it; earlier ones can not unpickle it");
      break;
    }
  }
  for (const Value global : contents.facts.classes) {
    if (names_global(contents, global, "numpy._core", "") || names_global(contents, global, "numpy._core.", "")) {
      judge.note("the pickle names numpy._core", "NumPy 2 wrote it");
      break;
    }
  }
}

bool is_version_key(const std::string& key) {
  const std::string lower = to_lower(key);
  return lower.ends_with("_version") || lower.ends_with("__version__") || lower == "version" || lower == "torch" ||
         lower == "pytorch";
}

// Keys that name a release: of the file itself or of its settings, at most one level down.
void collect_said(const open_detail::Loaded& loaded, Writer& writer) {
  constexpr std::size_t kMost = 20;
  for (const Entry& entry : entries_of(loaded)) {
    if (writer.said.size() >= kMost) break;
    const bool scalar = entry.value.is(Kind::Str) || entry.value.is(Kind::Py2Str) || entry.value.is(Kind::Int) ||
                        entry.value.is(Kind::Float);
    if (entry.depth > 1 || !scalar || !is_version_key(entry.key)) continue;
    if (to_lower(entry.key) == "version" && !entry.value.is(Kind::Str)) continue;  // a counter, no release
    const bool text = entry.value.is(Kind::Str) || entry.value.is(Kind::Py2Str);
    writer.said.emplace_back(entry.path, text ? std::string(loaded.contents.arena.as_text(entry.value))
                                              : python::repr(loaded.contents, entry.value));
  }
  for (const auto& [key, value] : loaded.contents.facts.metadata)
    if (writer.said.size() < kMost && (is_version_key(key) || key == "general.quantized_by"))
      writer.said.emplace_back(key, value);
  for (const char* name : {"torch_version", ".data/python_version", "python_version"})
    if (const std::string* record = record_of(loaded.contents, name)) writer.said.emplace_back(name, *record);
}

std::string framework_of(const Writer& writer) {
  for (const auto& [key, value] : writer.said)
    if (key == "pytorch-lightning_version") return " with PyTorch Lightning " + value;
  return {};
}

void sum_up(const Judge& judge, Writer& writer) {
  const Bounds& bounds = judge.bounds;
  const bool contradicts = bounds.until != 0 && bounds.from > bounds.until;
  if (bounds.from != 0) writer.torch_from = release(bounds.from);
  if (bounds.until != 0 && !contradicts) writer.torch_until = release(bounds.until);
  if (bounds.reads != 0) writer.torch_min = release(bounds.reads);
  std::string span;
  if (!writer.torch_from.empty() && !writer.torch_until.empty())
    span =
        writer.torch_from == writer.torch_until ? writer.torch_from : writer.torch_from + " to " + writer.torch_until;
  else if (!writer.torch_from.empty())
    span = writer.torch_from + " or later";
  else if (!writer.torch_until.empty())
    span = writer.torch_until + " or earlier";
  if (!span.empty())
    writer.tool =
        writer.tool.empty() || writer.tool == "torch.save" ? "torch " + span : writer.tool + " of torch " + span;
  writer.tool += writer.tool.empty() ? "" : framework_of(writer);
}

bool has_pickles(FileKind kind) {
  return kind == FileKind::TorchZip || kind == FileKind::TorchLegacy || kind == FileKind::TorchTar ||
         kind == FileKind::Pickle || kind == FileKind::TorchDcp || kind == FileKind::TorchDistcp ||
         kind == FileKind::TorchPackage;
}

}  // namespace

Writer find_writer(const open_detail::Loaded& loaded) {
  Writer writer;
  Judge judge(writer);
  const Contents& contents = loaded.contents;
  look_at_container(contents, writer, judge);
  if (has_pickles(contents.kind)) {
    look_at_globals(contents, judge);
    look_at_dtypes(contents, judge);
    look_at_modules(contents, judge);
    look_at_optimizers(loaded, judge);
    look_at_python(contents, judge);
  }
  collect_said(loaded, writer);
  sum_up(judge, writer);
  return writer;
}

}  // namespace wick::check
