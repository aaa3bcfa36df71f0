// SPDX-License-Identifier: Apache-2.0
// Single elements of a tensor as numbers: what `show` prints. Reads only the bytes around the elements that are asked
// for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/contents.h"

namespace wick::cli {

// One element. Which fields count is told by `kind`.
struct Element {
  enum class Kind : std::uint8_t { Signed, Unsigned, Truth, Real, Complex, Text };
  Kind kind = Kind::Signed;
  std::int64_t integer = 0;
  std::uint64_t natural = 0;  // Unsigned, Truth
  double real = 0;
  double imaginary = 0;
  std::string text;       // Text: numpy's strings and what has no number; as Python would write it
  bool is_float = false;  // Real and Complex: 32 bits or fewer, so that shorter digits say it all
};

// 16 bits or fewer of a floating type as a double; exact.
double decode_float(DType dtype, std::uint32_t bits);

class ElementReader {
 public:
  // Unsupported, by name, for layouts and types whose elements are no single numbers; the tensor's own error.
  static Result<ElementReader> make(const checkpoint::Contents& contents, std::uint32_t tensor);

  // Element at `index` (in elements from the start of the storage).
  Result<Element> at(std::uint64_t index);
  // Whether values are floats, for layout.
  [[nodiscard]] bool is_real() const;
  // Tells the bytes that will be wanted, so that near ones are read together.
  void expect(std::uint64_t first, std::uint64_t last);

 private:
  Result<std::span<const std::byte>> bytes_at(std::uint64_t offset, std::size_t count);
  [[nodiscard]] Element decode(std::span<const std::byte> bytes) const;
  [[nodiscard]] Element decode_numpy(std::span<const std::byte> bytes) const;

  const checkpoint::Contents* contents_ = nullptr;
  const checkpoint::TensorRow* row_ = nullptr;
  tensor::StoragePtr storage_;
  std::uint32_t bits_ = 0;
  std::string numpy_type_;
  std::uint64_t window_begin_ = 0;
  std::vector<std::byte> window_;
  std::uint64_t window_size_ = 0;
};

}  // namespace wick::cli
