// SPDX-License-Identifier: Apache-2.0
// The public handles Checkpoint, Node and Tensor over a Loaded file.
#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "checkpoint/read_tensor.h"
#include "open/loaded.h"
#include "open/locate.h"
#include "python/repr.h"
#include "wick/checkpoint.h"

namespace wick {

using checkpoint::Meaning;
using checkpoint::Place;
using checkpoint::Places;
using checkpoint::TensorRow;
using open_detail::Loaded;
using open_detail::LoadedPtr;
using pickle::Kind;
using pickle::Value;

// The one place that makes public handles; it has no state.
struct Handles {
  static Checkpoint checkpoint(LoadedPtr loaded) { return Checkpoint(std::move(loaded)); }

  static Tensor tensor(const LoadedPtr& loaded, std::shared_ptr<const Places> places, std::size_t row) {
    Tensor made;
    made.loaded_ = loaded;
    made.places_ = std::move(places);
    made.row_ = static_cast<std::uint32_t>(row);
    return made;
  }

  static std::vector<Tensor> tensors(const LoadedPtr& loaded, const std::shared_ptr<const Places>& places) {
    std::vector<Tensor> all;
    all.reserve(places->rows.size());
    for (std::size_t i = 0; i < places->rows.size(); ++i)
      if (!loaded->contents.tensors[places->rows[i].tensor].is_array) all.push_back(tensor(loaded, places, i));
    return all;
  }

  static Node node(LoadedPtr loaded, Value value, std::string key) {
    Node made;
    made.value_ = loaded->contents.resolve(value).bits();
    made.loaded_ = std::move(loaded);
    made.key_ = std::move(key);
    return made;
  }

  static Node missing(LoadedPtr loaded, Error why, std::string key) {
    Node made;
    made.loaded_ = std::move(loaded);
    made.missing_ = std::make_shared<const Error>(std::move(why));
    made.key_ = std::move(key);
    return made;
  }

  static const TensorRow& row(const Tensor& tensor) { return tensor.loaded_->contents.tensors[index(tensor)]; }
  static std::uint32_t index(const Tensor& tensor) { return tensor.places_->rows[tensor.row_].tensor; }
};

namespace {

// A pointer to a part of `loaded` that keeps the whole alive.
std::shared_ptr<const Places> part_of(const LoadedPtr& loaded, const Places& places) { return {loaded, &places}; }

Value value_of(std::uint64_t bits) { return {static_cast<Kind>(bits & Value::kTagMask), bits >> Value::kTagBits}; }

std::string_view kind_name(const checkpoint::Contents& contents, Value value) {
  switch (contents.meaning(value).what) {
    case Meaning::What::Tensor:
    case Meaning::What::Storage: return "tensor";
    case Meaning::What::Array: return "array";
    case Meaning::What::Mapping: return "dict";
    case Meaning::What::Sequence: return "list";
    case Meaning::What::Module: return "module";
    case Meaning::What::Shown: return "scalar";
    default: break;
  }
  switch (value.kind()) {
    case Kind::None: return "none";
    case Kind::Bool: return "bool";
    case Kind::Int:
    case Kind::BigInt: return "int";
    case Kind::Float: return "float";
    case Kind::Str:
    case Kind::Py2Str: return "str";
    case Kind::Bytes:
    case Kind::ByteArray: return "bytes";
    case Kind::Tuple: return "tuple";
    case Kind::List: return "list";
    case Kind::Dict: return "dict";
    case Kind::Set:
    case Kind::FrozenSet: return "set";
    case Kind::Global: return "class";
    default: return "object";
  }
}

bool contains(const std::vector<Tensor>& tensors, std::string_view name, const Tensor** found) {
  const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name() == name; });
  if (at == tensors.end()) return false;
  *found = &*at;
  return true;
}

Error wrong_kind(const Node& node, std::string_view wanted) {
  return fail(ErrorCode::Mismatch, "{} is a {}, not {}", python_quote(node.key()), node.kind(), wanted);
}

}  // namespace

// ---- Tensor ----

std::string Tensor::name() const {
  const Place& place = places_->rows[row_];
  const auto& section = loaded_->contents.sections[place.section];
  const std::string name = checkpoint::name_of(loaded_->contents, *places_, place.path);
  return section.record.empty() ? name : section.record + ":" + name;
}
DType Tensor::dtype() const { return Handles::row(*this).dtype; }
std::string Tensor::dtype_name() const {
  const auto* more = loaded_->contents.find_more(Handles::index(*this));
  if (dtype() == DType::NumpyOther && more != nullptr) return more->numpy_type;
  return std::string(name_of(dtype()));
}
std::span<const std::int64_t> Tensor::shape() const& { return loaded_->contents.sizes(Handles::row(*this)); }
std::span<const std::int64_t> Tensor::strides() const& { return loaded_->contents.strides(Handles::row(*this)); }
std::uint64_t Tensor::offset() const { return Handles::row(*this).offset; }
std::string_view Tensor::layout() const { return name_of(Handles::row(*this).layout); }
std::string_view Tensor::role() const { return name_of(places_->rows[row_].role); }
std::string Tensor::device() const { return loaded_->contents.devices[Handles::row(*this).device]; }
bool Tensor::requires_grad() const { return Handles::row(*this).requires_grad; }
std::uint64_t Tensor::numel() const { return loaded_->contents.numel(Handles::row(*this)).value_or(0); }
std::uint64_t Tensor::bytes() const { return loaded_->contents.tensor_bytes(Handles::row(*this)); }
std::optional<Error> Tensor::error() const {
  const Error* error = loaded_->contents.error_of(Handles::row(*this));
  if (error == nullptr) return std::nullopt;
  return *error;
}

Result<void> Tensor::check_element(Element kind, std::size_t size) const {
  if (kind == Element::Byte && size == 1) return {};
  const DTypeFacts& facts = facts_of(dtype());
  const auto complex = dtype() == DType::Complex64 || dtype() == DType::Complex128;
  const auto real = dtype() == DType::Float32 || dtype() == DType::Float64;
  const auto floating = real || complex;
  const bool fits = facts.block_elements == 1 && facts.block_bytes == size &&
                    (kind == Element::Complex ? complex
                     : kind == Element::Float ? real
                                              : !floating);
  if (fits) return {};
  return fail(ErrorCode::Mismatch, "its elements are {} of {} bytes, another type of {} bytes was asked for",
              dtype_name(), facts.block_bytes, size)
      .inside(name());
}

Result<ByteView> Tensor::view_bytes() const {
  auto view = checkpoint::view_elements(loaded_->contents, Handles::index(*this));
  if (!view) return std::move(view).error().inside(name());
  return view;
}
Result<std::vector<std::byte>> Tensor::read_bytes() const {
  auto elements = checkpoint::read_elements(loaded_->contents, Handles::index(*this));
  if (!elements) return std::move(elements).error().inside(name());
  return elements;
}

// ---- Node ----

bool Node::ok() const { return missing_ == nullptr; }
Result<void> Node::status() const {
  if (missing_) return *missing_;
  return {};
}
Node Node::at(std::string_view key) const {
  if (missing_) return *this;
  auto found = open_detail::locate(loaded_->contents, value_of(value_), key);
  if (!found)
    return Handles::missing(loaded_, std::move(found).error().inside(loaded_->contents.name), std::string(key));
  return Handles::node(loaded_, *found, std::string(key));
}
Node Node::at(std::size_t index) const { return at("[" + std::to_string(index) + "]"); }
std::size_t Node::size() const {
  return missing_ ? 0 : checkpoint::children(loaded_->contents, value_of(value_)).size();
}
std::vector<Node> Node::children() const {
  std::vector<Node> nodes;
  if (missing_) return nodes;
  for (const auto& child : checkpoint::children(loaded_->contents, value_of(value_)))
    nodes.push_back(Handles::node(loaded_, child.value, checkpoint::step_text(loaded_->contents, child)));
  return nodes;
}
std::string Node::key() const { return key_; }
std::string_view Node::kind() const { return missing_ ? "missing" : kind_name(loaded_->contents, value_of(value_)); }
std::string Node::class_name() const {
  return missing_ ? std::string() : python::class_name(loaded_->contents, value_of(value_));
}

Result<std::int64_t> Node::as_int() const {
  if (missing_) return *missing_;
  const Value value = value_of(value_);
  if (value.is(Kind::Int)) return pickle::Arena::as_int(value);
  if (value.is(Kind::Bool)) return std::int64_t{pickle::Arena::as_bool(value)};
  if (value.is(Kind::BigInt)) {
    const std::string_view bytes = loaded_->contents.arena.as_text(value);
    if (bytes.size() > 8)
      return fail(ErrorCode::Mismatch, "{} is an integer of {} bytes", python_quote(key_), bytes.size());
    std::uint64_t bits = static_cast<unsigned char>(bytes.back()) >= 0x80 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = bytes.size(); i-- > 0;) bits = bits << 8U | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int64_t>(bits);
  }
  return wrong_kind(*this, "an int");
}
Result<double> Node::as_double() const {
  if (missing_) return *missing_;
  const Value value = value_of(value_);
  if (value.is(Kind::Float)) return loaded_->contents.arena.as_real(value);
  if (value.is(Kind::Int)) return static_cast<double>(pickle::Arena::as_int(value));
  return wrong_kind(*this, "a float");
}
Result<bool> Node::as_bool() const {
  if (missing_) return *missing_;
  const Value value = value_of(value_);
  if (value.is(Kind::Bool)) return pickle::Arena::as_bool(value);
  return wrong_kind(*this, "a bool");
}
Result<std::string> Node::as_string() const {
  if (missing_) return *missing_;
  const Value value = value_of(value_);
  switch (value.kind()) {
    case Kind::Str:
    case Kind::Py2Str:
    case Kind::Bytes:
    case Kind::ByteArray: return std::string(loaded_->contents.arena.as_text(value));
    default: break;
  }
  const Meaning meaning = loaded_->contents.meaning(value);
  if (meaning.what == Meaning::What::Shown)
    return std::string(loaded_->contents.arena.as_text(loaded_->contents.values[meaning.index]));
  return wrong_kind(*this, "a str");
}
Result<Tensor> Node::as_tensor() const {
  if (missing_) return *missing_;
  const Meaning meaning = loaded_->contents.meaning(value_of(value_));
  const bool tensor = meaning.what == Meaning::What::Tensor || meaning.what == Meaning::What::Array ||
                      meaning.what == Meaning::What::Storage;
  if (!tensor) return wrong_kind(*this, "a tensor");
  auto places = std::make_shared<Places>();
  places->nodes.push_back({checkpoint::kNone, checkpoint::StepKind::Key, 0, false, Value()});
  places->rows.push_back({meaning.index, checkpoint::kNone, 0, checkpoint::Role::Unknown});
  const auto& rows = loaded_->all.rows;
  const auto known =
      std::find_if(rows.begin(), rows.end(), [&](const Place& row) { return row.tensor == meaning.index; });
  if (known == rows.end()) return Handles::tensor(loaded_, places, 0);
  return Handles::tensor(loaded_, part_of(loaded_, loaded_->all), static_cast<std::size_t>(known - rows.begin()));
}

// ---- Checkpoint ----

Checkpoint::Checkpoint(LoadedPtr loaded) : loaded_(std::move(loaded)) {}
const std::string& Checkpoint::name() const { return loaded_->contents.name; }
FileKind Checkpoint::kind() const { return loaded_->contents.kind; }
const std::string& Checkpoint::auto_root() const { return loaded_->automatic.path; }
const Loaded& Checkpoint::loaded() const { return *loaded_; }

std::vector<Tensor> Checkpoint::tensors(Root root) const {
  return Handles::tensors(loaded_, part_of(loaded_, root == Root::Auto ? loaded_->automatic.places : loaded_->all));
}
Result<std::vector<Tensor>> Checkpoint::tensors(std::string_view branch) const {
  auto places = open_detail::places_under(*loaded_, branch);
  if (!places) return std::move(places).error().inside(name());
  return Handles::tensors(loaded_, std::make_shared<const Places>(*std::move(places)));
}
Result<Tensor> Checkpoint::tensor(std::string_view wanted) const {
  const Tensor* found = nullptr;
  for (const Root root : {Root::Auto, Root::All}) {
    const auto all = tensors(root);
    if (contains(all, wanted, &found)) return *found;
  }
  const Node node = at(wanted);
  if (node.ok()) return node.as_tensor();
  return node.status().error();
}
Node Checkpoint::root() const {
  if (loaded_->contents.sections.empty())
    return Handles::missing(loaded_, Error(ErrorCode::NotFound, "the file holds no objects").inside(name()), {});
  return Handles::node(loaded_, loaded_->contents.sections.front().root, {});
}
Node Checkpoint::at(std::string_view key) const { return root().at(key); }

std::vector<std::string> Checkpoint::members() const {
  std::vector<std::string> names;
  const auto& members = loaded_->contents.members;
  if (!members) return names;
  for (std::uint64_t i = 0; i < members->size(); ++i) names.push_back(members->at(i).name);
  return names;
}
Result<Checkpoint> Checkpoint::open_member(std::string_view member) const {
  Context context;
  context.limits = loaded_->contents.limits;
  WICK_TRY(auto loaded, open_detail::load_member(*loaded_, member, context));
  return Handles::checkpoint(std::move(loaded));
}

Result<Checkpoint> open(const std::string& path, const OpenOptions& options) {
  Context context;
  context.limits = options.limits;
  WICK_TRY(auto loaded, open_detail::load_input(path, context));
  return Handles::checkpoint(std::move(loaded));
}
Result<Checkpoint> open(std::shared_ptr<const ByteSource> source, const OpenOptions& options) {
  Context context;
  context.limits = options.limits;
  std::string name = source->name();
  WICK_TRY(auto loaded, open_detail::load(std::move(source), std::move(name), context));
  return Handles::checkpoint(std::move(loaded));
}

}  // namespace wick
