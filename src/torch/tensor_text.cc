// SPDX-License-Identifier: Apache-2.0
#include "torch/tensor_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/cursor.h"
#include "base/format.h"
#include "base/python_number.h"
#include "checkpoint/read_tensor.h"

namespace wick::torch {
namespace {

using checkpoint::Contents;

constexpr std::size_t kMostElements = 1000;  // torch's own threshold: above it "..." stands in the middle
constexpr std::size_t kLineWidth = 80;

// Every element as a number, or as text for the integers.
struct Elements {
  bool floating = false;
  std::vector<double> numbers;
  std::vector<std::string> texts;
};

template <class T>
T element(const std::vector<std::byte>& bytes, std::size_t index) {
  return load_le<T>(bytes.data() + index * sizeof(T));
}

template <class T>
void take_integers(const std::vector<std::byte>& bytes, Elements& out) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) out.texts.push_back(std::to_string(+element<T>(bytes, i)));
}
template <class T>
void take_floats(const std::vector<std::byte>& bytes, Elements& out) {
  out.floating = true;
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i)
    out.numbers.push_back(static_cast<double>(element<T>(bytes, i)));
}

std::optional<Elements> read_numbers(const Contents& contents, std::uint32_t tensor) {
  const checkpoint::TensorRow& row = contents.tensors[tensor];
  const auto count = contents.numel(row);
  const bool plain = row.layout == checkpoint::Layout::Strided && !row.is_meta && count && *count <= kMostElements;
  if (!plain || contents.error_of(row) != nullptr) return std::nullopt;
  const auto bytes = checkpoint::read_elements(contents, tensor);
  if (!bytes) return std::nullopt;
  Elements out;
  switch (row.dtype) {
    case DType::Float32: take_floats<float>(*bytes, out); return out;
    case DType::Float64: take_floats<double>(*bytes, out); return out;
    case DType::Int8: take_integers<std::int8_t>(*bytes, out); return out;
    case DType::Int16: take_integers<std::int16_t>(*bytes, out); return out;
    case DType::Int32: take_integers<std::int32_t>(*bytes, out); return out;
    case DType::Int64: take_integers<std::int64_t>(*bytes, out); return out;
    case DType::UInt8: take_integers<std::uint8_t>(*bytes, out); return out;
    case DType::Bool:
      for (const std::byte byte : *bytes) out.texts.emplace_back(byte == std::byte{0} ? "False" : "True");
      return out;
    default: return std::nullopt;
  }
}

std::string nonfinite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

// _Formatter: one way to write all elements.
class Formatter {
 public:
  explicit Formatter(const Elements& elements) {
    if (!elements.floating) {
      for (const std::string& text : elements.texts) width_ = std::max(width_, text.size());
      return;
    }
    std::vector<double> usual;
    std::copy_if(elements.numbers.begin(), elements.numbers.end(), std::back_inserter(usual),
                 [](double value) { return std::isfinite(value) && value != 0; });
    if (usual.empty()) return;
    double least = std::fabs(usual.front());
    double most = least;
    for (const double value : usual) {
      least = std::min(least, std::fabs(value));
      most = std::max(most, std::fabs(value));
      integers_ = integers_ && value == std::ceil(value);
    }
    scientific_ = most / least > 1000.0 || most > 1.0e8 || least < 1.0e-4;
    for (const double value : usual) width_ = std::max(width_, write(value).size());
  }

  [[nodiscard]] std::string format(double value) const { return pad(write(value)); }
  [[nodiscard]] std::string pad(std::string text) const {
    return text.size() < width_ ? std::string(width_ - text.size(), ' ') + text : text;
  }
  [[nodiscard]] std::size_t width() const { return width_; }

 private:
  [[nodiscard]] std::string write(double value) const {
    if (!std::isfinite(value)) return nonfinite(value);
    if (scientific_) return fmt::format("{:.4e}", value);
    if (integers_) return fmt::format("{:.0f}.", value);
    return fmt::format("{:.4f}", value);
  }

  bool integers_ = true;
  bool scientific_ = false;
  std::size_t width_ = 1;
};

void add_suffix(std::string& text, std::size_t& last_line, std::size_t indent, const std::string& suffix) {
  if (last_line + suffix.size() + 2 > kLineWidth) {
    text += ",\n" + std::string(indent, ' ') + suffix;
    last_line = indent + suffix.size();
    return;
  }
  text += ", " + suffix;
  last_line += suffix.size() + 2;
}

}  // namespace

std::optional<std::string> tensor_text(const Contents& contents, std::uint32_t tensor) {
  const checkpoint::TensorRow& row = contents.tensors[tensor];
  const auto elements = read_numbers(contents, tensor);
  if (!elements || contents.sizes(row).size() != 1) return std::nullopt;
  constexpr std::string_view kStart = "tensor(";
  std::string text(kStart);
  const Formatter formatter(*elements);
  const std::size_t count = elements->floating ? elements->numbers.size() : elements->texts.size();
  const std::size_t in_line = std::max<std::size_t>(1, (kLineWidth - kStart.size()) / (formatter.width() + 2));
  text += '[';
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) text += i % in_line == 0 ? ",\n" + std::string(kStart.size() + 1, ' ') : ", ";
    text += elements->floating ? formatter.format(elements->numbers[i]) : formatter.pad(elements->texts[i]);
  }
  text += ']';
  const std::size_t newline = text.rfind('\n');
  std::size_t last_line = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  const std::string& device = contents.devices[row.device];
  if (device != "cpu") add_suffix(text, last_line, kStart.size(), "device='" + device + "'");
  const bool usual =
      row.dtype == DType::Float32 || (count != 0 && (row.dtype == DType::Int64 || row.dtype == DType::Bool));
  if (!usual) add_suffix(text, last_line, kStart.size(), "dtype=torch." + std::string(name_of(row.dtype)));
  if (row.requires_grad) add_suffix(text, last_line, kStart.size(), "requires_grad=True");
  return text + ")";
}

std::optional<std::string> item_text(const Contents& contents, std::uint32_t tensor) {
  if (!contents.sizes(contents.tensors[tensor]).empty()) return std::nullopt;
  const auto elements = read_numbers(contents, tensor);
  if (!elements) return std::nullopt;
  if (elements->floating && elements->numbers.size() == 1) return python_float(elements->numbers[0]);
  if (!elements->floating && elements->texts.size() == 1) return elements->texts[0];
  return std::nullopt;
}

}  // namespace wick::torch
