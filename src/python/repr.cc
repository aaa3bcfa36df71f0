// SPDX-License-Identifier: Apache-2.0
// Spellings: CPython 3.11's __repr__ methods. Sets print in the order of the pickle, since Python's order is that of a
// hash.
#include "python/repr.h"

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "base/python_number.h"
#include "base/text.h"
#include "python/names.h"

namespace wick::python {

using checkpoint::Contents;
using checkpoint::Meaning;
using pickle::Arena;
using pickle::Kind;
using pickle::Value;

namespace {

// Decimal digits take time with the square of their number; Python itself refuses to print more than these.
constexpr std::size_t kMaxIntegerBytes = 1786;  // 4,300 digits

// How the items of an open container follow each other.
enum class Form : std::uint8_t {
  Items,       // a, b
  Pairs,       // k: v
  Tuples,      // (k, v)
  Attributes,  // k=v
};

struct Frame {
  Value value;
  Form form = Form::Items;
  std::span<const Value> items;  // for pairs: key, value, key, value
  std::size_t next = 0;
  std::string close;
};

class Writer {
 public:
  Writer(const Contents& contents, const ReprOptions& options) : contents_(contents), options_(options) {}
  std::string write(Value value);

 private:
  [[nodiscard]] const Arena& arena() const { return contents_.arena; }
  void step();
  void open(Value value);
  void open_object(Value object, Meaning meaning);
  void open_named(Value object, const std::string& name);
  bool open_standard(Value object, std::string_view name);
  void open_frame(Value value, Form form, std::span<const Value> items, std::string_view before, std::string close);
  void leaf(Value value);
  void text(Value value);
  void row(std::string_view what, std::uint32_t tensor);
  void global(Value value);
  [[nodiscard]] bool is_open(Value value) const;
  [[nodiscard]] std::string short_text(Value value) const;
  [[nodiscard]] std::string atom_text(Value value) const;

  const Contents& contents_;
  const ReprOptions& options_;
  std::string out_;
  std::vector<Frame> frames_;
};

std::string Writer::write(Value value) {
  open(value);
  while (!frames_.empty() && out_.size() <= options_.max_characters) step();
  if (out_.size() <= options_.max_characters) return std::move(out_);
  std::size_t end = options_.max_characters;
  while (end > 0 && (static_cast<unsigned char>(out_[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  out_.resize(end);
  return std::move(out_) + "...";
}

void Writer::step() {
  Frame& top = frames_.back();
  const bool paired = top.form != Form::Items;
  const std::size_t count = top.items.size() / (paired ? 2 : 1);
  if (top.next == count || top.next >= options_.max_items) {
    if (top.next < count) out_ += ", ...";
    out_ += top.close;
    frames_.pop_back();
    return;
  }
  // A pair is two steps: `next` counts pairs, the key is written together with what stands before its value.
  if (top.next > 0) out_ += ", ";
  const std::size_t at = top.next++;
  if (!paired) return open(top.items[at]);
  const Value key = top.items[2 * at];
  const Value value = top.items[2 * at + 1];
  if (top.form == Form::Attributes) {
    out_ += escape_for_display(key.is(Kind::Str) || key.is(Kind::Py2Str) ? arena().as_text(key) : short_text(key));
    out_ += '=';
  } else {
    if (top.form == Form::Tuples) out_ += '(';
    out_ += short_text(key);
    out_ += top.form == Form::Tuples ? ", " : ": ";
    if (top.form == Form::Tuples) {
      // The closing parenthesis comes after the value: a frame of one item holds it.
      open_frame({}, Form::Items, top.items.subspan(2 * at + 1, 1), "", ")");
      return;
    }
  }
  open(value);
}

// A key: a small thing, written at once.
std::string Writer::short_text(Value value) const {
  ReprOptions options = options_;
  options.max_depth = frames_.size() >= options_.max_depth
                          ? 0
                          : std::min<std::uint32_t>(options_.max_depth - static_cast<std::uint32_t>(frames_.size()), 3);
  options.max_characters = std::min<std::size_t>(options_.max_characters, 1000);
  switch (value.kind()) {
    case Kind::List:
    case Kind::Dict:
    case Kind::Set: return "...";  // no key in Python
    default: return Writer(contents_, options).write(value);
  }
}

// What holds no other value; anything else would let a file nest us without end.
std::string Writer::atom_text(Value value) const {
  switch (value.kind()) {
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
    case Kind::FrozenSet:
    case Kind::Object:
    case Kind::PersistentId: return "...";
    default: return short_text(value);
  }
}

bool Writer::is_open(Value value) const {
  return std::any_of(frames_.begin(), frames_.end(), [&](const Frame& frame) { return frame.value == value; });
}

void Writer::open_frame(Value value, Form form, std::span<const Value> items, std::string_view before,
                        std::string close) {
  out_ += before;
  if (items.empty()) {
    out_ += close;
    return;
  }
  // Containers inside themselves, and those that lie too deep.
  if (frames_.size() >= options_.max_depth || (!value.missing() && is_open(value))) {
    out_ += "...";
    out_ += close;
    return;
  }
  frames_.push_back({value, form, items, 0, std::move(close)});
}

void Writer::open(Value value) {
  switch (value.kind()) {
    case Kind::Tuple: {
      const auto items = arena().items(value);
      return open_frame(value, Form::Items, items, "(", items.size() == 1 ? ",)" : ")");
    }
    case Kind::List: return open_frame(value, Form::Items, arena().items(value), "[", "]");
    case Kind::Dict: return open_frame(value, Form::Pairs, arena().pairs(value), "{", "}");
    case Kind::Set: {
      const auto items = arena().items(value);
      return open_frame(value, Form::Items, items, items.empty() ? "set(" : "{", items.empty() ? ")" : "}");
    }
    case Kind::FrozenSet: {
      const auto items = arena().items(value);
      return open_frame(value, Form::Items, items, items.empty() ? "frozenset(" : "frozenset({",
                        items.empty() ? ")" : "})");
    }
    case Kind::Object: return open_object(value, contents_.meaning(value));
    default: return leaf(value);
  }
}

void Writer::open_object(Value object, Meaning meaning) {
  const std::string name = class_name(contents_, object);
  switch (meaning.what) {
    case Meaning::What::Tensor: return row("tensor", meaning.index);
    case Meaning::What::Array: return row("array", meaning.index);
    case Meaning::What::Storage: return row("storage", meaning.index);
    case Meaning::What::Shown: out_ += arena().as_text(contents_.values[meaning.index]); return;
    case Meaning::What::Same: {
      const Value same = contents_.resolve(object);
      if (name == "collections.Counter" && same.is(Kind::Dict))
        return open_frame(same, Form::Pairs, arena().pairs(same),
                          arena().pairs(same).empty() ? "Counter(" : "Counter({",
                          arena().pairs(same).empty() ? ")" : "})");
      if (name == "collections.deque" && same.is(Kind::List))
        return open_frame(same, Form::Items, arena().items(same), "deque([", "])");
      // A chain that never ends at a value would not end here either.
      if (contents_.meaning(same).what == Meaning::What::Same) {
        out_ += "...";
        return;
      }
      return open(same);
    }
    case Meaning::What::Mapping:
    case Meaning::What::Sequence:
    case Meaning::What::Unknown:
    case Meaning::What::Module: break;
  }
  if (!open_standard(object, name)) open_named(object, name);
}

// Classes of the standard library that Python prints in a way of their own.
bool Writer::open_standard(Value object, std::string_view name) {
  const auto pairs = arena().pairs(object);
  const pickle::Object& row = arena().object(object);
  const auto args = row.args.is(Kind::Tuple) ? arena().items(row.args) : std::span<const Value>();
  if (name == "collections.OrderedDict") {
    open_frame(object, Form::Tuples, pairs, pairs.empty() ? "OrderedDict(" : "OrderedDict([",
               pairs.empty() ? ")" : "])");
    return true;
  }
  if (name == "builtins.dict") {
    open_frame(object, Form::Pairs, pairs, "{", "}");
    return true;
  }
  if (name == "collections.defaultdict") {
    open_frame(object, Form::Pairs, pairs,
               "defaultdict(" + (args.empty() ? std::string("None") : atom_text(args[0])) + ", {", "})");
    return true;
  }
  if (name == "collections.deque") {
    const bool bounded = args.size() > 1 && args[1].is(Kind::Int);
    open_frame(object, Form::Items, arena().items(object), "deque([",
               bounded ? fmt::format("], maxlen={})", Arena::as_int(args[1])) : std::string("])"));
    return true;
  }
  const Value state = arena().state(object);
  if (name == "argparse.Namespace" || name == "types.SimpleNamespace") {
    open_frame(object, Form::Attributes, state.is(Kind::Dict) ? arena().pairs(state) : std::span<const Value>(),
               name == "argparse.Namespace" ? "Namespace(" : "namespace(", ")");
    return true;
  }
  return false;
}

void Writer::open_named(Value object, const std::string& name) {
  const pickle::Object& row = arena().object(object);
  std::string before = name.empty() ? "object" : name;
  if (before.compare(0, 9, "builtins.") == 0) before.erase(0, 9);
  before = escape_for_display(before) + "(";
  if (row.args.is(Kind::Tuple)) return open_frame(object, Form::Items, arena().items(row.args), before, ")");
  open_frame(object, Form::Items, {&row.args, 1}, before, ")");
}

void Writer::row(std::string_view what, std::uint32_t tensor) {
  const checkpoint::TensorRow& tensor_row = contents_.tensors[tensor];
  const checkpoint::TensorMore* more = contents_.find_more(tensor);
  const bool other = tensor_row.dtype == DType::NumpyOther && more != nullptr;
  out_ += fmt::format("{}({} [{}])", what, other ? more->numpy_type : std::string(name_of(tensor_row.dtype)),
                      fmt::join(contents_.sizes(tensor_row), ", "));
}

// Cut before it is quoted: what would be thrown away is not worth making.
void Writer::text(Value value) {
  std::string_view bytes = arena().as_text(value);
  const bool is_str = value.is(Kind::Str) || (value.is(Kind::Py2Str) && is_utf8(bytes));
  if (bytes.size() > options_.max_characters + 8) bytes = bytes.substr(0, options_.max_characters + 8);
  if (value.is(Kind::ByteArray))
    out_ += "bytearray(" + python_quote_bytes(bytes) + ")";
  else
    out_ += is_str ? python_quote(bytes) : python_quote_bytes(bytes);
}

void Writer::global(Value value) {
  const Name name = modern(arena(), value);
  if (name.module == "builtins" && is_builtin_class(name.name))
    out_ += fmt::format("<class '{}'>", name.name);
  else if (name.module == "builtins" && (name.name == "Ellipsis" || name.name == "NotImplemented"))
    out_ += name.name;
  else
    out_ += escape_for_display(name.module) + "." + escape_for_display(name.name);
}

void Writer::leaf(Value value) {
  switch (value.kind()) {
    case Kind::None: out_ += "None"; return;
    case Kind::Bool: out_ += Arena::as_bool(value) ? "True" : "False"; return;
    case Kind::Int: out_ += std::to_string(Arena::as_int(value)); return;
    case Kind::BigInt: out_ += repr_big_integer(arena().as_text(value)); return;
    case Kind::Float: out_ += python_float(arena().as_real(value)); return;
    case Kind::Str:
    case Kind::Py2Str:
    case Kind::Bytes:
    case Kind::ByteArray: return text(value);
    case Kind::Global: return global(value);
    case Kind::Extension: out_ += fmt::format("extension({})", value.index()); return;
    case Kind::Buffer: out_ += fmt::format("buffer({})", value.index()); return;
    default: break;
  }
  const Meaning meaning = contents_.meaning(value);
  switch (meaning.what) {
    case Meaning::What::Tensor: return row("tensor", meaning.index);
    case Meaning::What::Array: return row("array", meaning.index);
    case Meaning::What::Storage: return row("storage", meaning.index);
    case Meaning::What::Shown: out_ += arena().as_text(contents_.values[meaning.index]); return;
    default: break;
  }
  if (!value.is(Kind::PersistentId)) {
    out_ += value.missing() ? "<missing>" : "<leaf>";
    return;
  }
  const Value id = arena().pid(value);
  open_frame(value, Form::Items, id.is(Kind::Tuple) ? arena().items(id) : std::span<const Value>(), "persistent_id(",
             id.is(Kind::Tuple) ? ")" : atom_text(id) + ")");
}

}  // namespace

std::string repr(const Contents& contents, Value value, const ReprOptions& options) {
  return Writer(contents, options).write(value);
}

std::string repr_float(double value) { return python_float(value); }

std::string repr_big_integer(std::string_view twos_complement) {
  if (twos_complement.size() <= kMaxIntegerBytes) return python_big_integer(twos_complement);
  return fmt::format("<int of {} bytes>", twos_complement.size());
}

}  // namespace wick::python
