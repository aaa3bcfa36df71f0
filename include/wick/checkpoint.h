// SPDX-License-Identifier: Apache-2.0
// Checkpoint, Node, Tensor: what is inside a file of trained weights. Reading executes nothing that is in the file.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wick/dtype.h"
#include "wick/error.h"
#include "wick/export.h"
#include "wick/kind.h"
#include "wick/limits.h"
#include "wick/source.h"

namespace wick {

namespace checkpoint {
struct Contents;  // the parsed file; private to the library
struct Places;    // its names
}  // namespace checkpoint
namespace open_detail {
struct Loaded;  // Contents with its names
}
struct Handles;  // makes the classes below; private to the library

// Elements without a copy. Keeps the bytes alive as long as it lives, so a span taken from it dangles only if it
// outlives the View.
template <class T>
class View {
 public:
  View(std::span<const T> elements, std::shared_ptr<const void> owner)
      : elements_(elements), owner_(std::move(owner)) {}
  [[nodiscard]] std::span<const T> span() const& { return elements_; }
  std::span<const T> span() const&& = delete;                 // would dangle: keep the View
  operator std::span<const T>() const& { return elements_; }  // NOLINT(google-explicit-constructor)
  operator std::span<const T>() const&& = delete;
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  [[nodiscard]] const T& operator[](std::size_t index) const { return elements_[index]; }

 private:
  std::span<const T> elements_;
  std::shared_ptr<const void> owner_;
};

// Elements in memory of their own, in C order.
template <class T>
using Array = std::vector<T>;

enum class Root : std::uint8_t {
  Auto,  // the branch people mean, with the names of its state_dict(); Checkpoint::auto_root says which
  All,   // every reachable tensor
};

// One tensor under one name. Cheap to copy; keeps its file open. All calls are const and thread-safe.
class WICK_API Tensor {
 public:
  // Name as people write it ("fc.weight"); may hold any bytes of the file, escape before printing.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] DType dtype() const;
  // torch's dtype name, or numpy's or GGUF's where torch has none.
  [[nodiscard]] std::string dtype_name() const;
  // Sizes in elements, as torch shows them.
  [[nodiscard]] std::span<const std::int64_t> shape() const&;
  std::span<const std::int64_t> shape() const&& = delete;
  // Strides in elements; empty for layouts that have none.
  [[nodiscard]] std::span<const std::int64_t> strides() const&;
  std::span<const std::int64_t> strides() const&& = delete;
  // Elements from the start of the storage.
  [[nodiscard]] std::uint64_t offset() const;
  [[nodiscard]] std::string_view layout() const;  // "strided", "sparse_coo" ...
  [[nodiscard]] std::string_view role() const;    // "parameter", "buffer" ... or ""
  [[nodiscard]] std::string device() const;       // tag in the file: "cpu", "cuda:0"
  [[nodiscard]] bool requires_grad() const;
  [[nodiscard]] std::uint64_t numel() const;  // elements; 0 when the sizes overflow (then error() says so)
  [[nodiscard]] std::uint64_t bytes() const;  // of the elements packed in C order
  // Why it can not be read, or nothing.
  [[nodiscard]] std::optional<Error> error() const;

  // The elements without a copy, or why not: Unsupported (deflated, strided, byte-swapped, conjugated ...), Mismatch
  // when T is another type or the bytes are not aligned for it.
  template <class T>
  [[nodiscard]] Result<View<T>> view() const;
  // The elements copied to C order, strides followed, conj and neg resolved, native byte order. T must have the dtype's
  // own size and kind (Mismatch otherwise): float for float32, std::uint16_t for float16 and bfloat16 bits,
  // std::uint8_t or std::byte for anything as bytes.
  template <class T>
  [[nodiscard]] Result<Array<T>> read() const;

  // Untyped forms of the two: packed elements, little-endian.
  [[nodiscard]] Result<ByteView> view_bytes() const;
  [[nodiscard]] Result<std::vector<std::byte>> read_bytes() const;

 private:
  friend struct Handles;
  enum class Element : std::uint8_t { Byte, Signed, Unsigned, Float, Complex };
  [[nodiscard]] Result<void> check_element(Element kind, std::size_t size) const;
  template <class T>
  static constexpr Element element_of();

  std::shared_ptr<const open_detail::Loaded> loaded_;
  std::shared_ptr<const checkpoint::Places> places_;  // what row_ counts in
  std::uint32_t row_ = 0;
};

// One place in the object tree. A Node that is not there carries the reason along, so that chains need one check at the
// end. Cheap to copy; keeps its file open.
class WICK_API Node {
 public:
  [[nodiscard]] bool ok() const;              // it is there
  [[nodiscard]] Result<void> status() const;  // or why not
  // Dict entry, attribute of an object, or dotted way ("model.fc.weight") down from here.
  [[nodiscard]] Node at(std::string_view key) const;
  [[nodiscard]] Node at(std::size_t index) const;  // list, tuple, set
  [[nodiscard]] std::size_t size() const;          // children
  [[nodiscard]] std::vector<Node> children() const;
  [[nodiscard]] std::string key() const;  // how its parent calls it
  [[nodiscard]] std::string_view kind()
      const;  // "dict", "list", "tuple", "int", "str", "tensor", "object", "module" ...
  [[nodiscard]] std::string class_name() const;  // of an object: "collections.OrderedDict"; else ""

  // Mismatch when the value is of another kind or does not fit.
  [[nodiscard]] Result<std::int64_t> as_int() const;
  [[nodiscard]] Result<double> as_double() const;  // int, float, numpy scalar
  [[nodiscard]] Result<bool> as_bool() const;
  [[nodiscard]] Result<std::string> as_string() const;  // str, bytes (as they are)
  [[nodiscard]] Result<Tensor> as_tensor() const;

 private:
  friend struct Handles;
  std::shared_ptr<const open_detail::Loaded> loaded_;
  std::uint64_t value_ = 0;
  std::string key_;
  std::shared_ptr<const Error> missing_;
};

struct OpenOptions {
  Limits limits;
};

// An open file. Immutable, cheap to copy, safe from many threads; const calls hold no hidden caches.
class WICK_API Checkpoint {
 public:
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] FileKind kind() const;
  // Tensors in the file's own order. Root::Auto gives the branch people mean.
  [[nodiscard]] std::vector<Tensor> tensors(Root root = Root::Auto) const;
  // Tensors under one branch ("state_dict", "model.0"), named relative to it. NotFound, with the branches there are.
  [[nodiscard]] Result<std::vector<Tensor>> tensors(std::string_view branch) const;
  // The tensor of that name, first under the auto root, then anywhere. NotFound, with a near name when there is one.
  [[nodiscard]] Result<Tensor> tensor(std::string_view name) const;
  // What Root::Auto picked: "" for the whole file, "state_dict", "model" ...
  [[nodiscard]] const std::string& auto_root() const;
  [[nodiscard]] Node root() const;
  [[nodiscard]] Node at(std::string_view key) const;  // root().at(key)
  // Records of an archive; empty for other files.
  [[nodiscard]] std::vector<std::string> members() const;
  // A member that is a model file itself. NotFound; errors of open().
  [[nodiscard]] Result<Checkpoint> open_member(std::string_view member) const;

  // For wick's own command line and tests; not part of the promise.
  [[nodiscard]] const open_detail::Loaded& loaded() const;

 private:
  friend struct Handles;
  explicit Checkpoint(std::shared_ptr<const open_detail::Loaded> loaded);
  std::shared_ptr<const open_detail::Loaded> loaded_;
};

// Opens a file, a folder with an index, or "FILE::member". Reads metadata only; tensor bytes stay in the file, which is
// kept open. Nothing in it is executed. Errors: NotFound, Io, Truncated, Malformed, Unsupported (what it is instead:
// see Error::slug), Limit.
WICK_API Result<Checkpoint> open(const std::string& path, const OpenOptions& options = {});
// The same for any source, e.g. from_memory(...).
WICK_API Result<Checkpoint> open(std::shared_ptr<const ByteSource> source, const OpenOptions& options = {});

// ---- implementation of the templates ----

template <class T>
constexpr Tensor::Element Tensor::element_of() {
  if constexpr (std::is_same_v<T, std::byte> || std::is_same_v<T, std::uint8_t>)
    return Element::Byte;
  else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return Element::Complex;
  else if constexpr (std::is_floating_point_v<T>)
    return Element::Float;
  else if constexpr (std::is_signed_v<T>)
    return Element::Signed;
  else
    return Element::Unsigned;
}

template <class T>
Result<View<T>> Tensor::view() const {
  static_assert(std::is_trivially_copyable_v<T>);
  if (auto fits = check_element(element_of<T>(), sizeof(T)); !fits) return std::move(fits).error();
  auto bytes = view_bytes();
  if (!bytes) return std::move(bytes).error();
  const void* start = bytes->bytes.data();
  if (reinterpret_cast<std::uintptr_t>(start) % alignof(T) != 0)
    return Error(ErrorCode::Mismatch, "the bytes are not aligned for this type");  // NOLINT
  return View<T>(std::span<const T>(static_cast<const T*>(start), bytes->bytes.size() / sizeof(T)),
                 std::move(bytes->owner));
}

template <class T>
Result<Array<T>> Tensor::read() const {
  static_assert(std::is_trivially_copyable_v<T>);
  if (auto fits = check_element(element_of<T>(), sizeof(T)); !fits) return std::move(fits).error();
  auto bytes = read_bytes();
  if (!bytes) return std::move(bytes).error();
  Array<T> elements(bytes->size() / sizeof(T));
  if (!elements.empty())
    __builtin_memcpy(static_cast<void*>(elements.data()), bytes->data(), elements.size() * sizeof(T));
  return elements;
}

}  // namespace wick
