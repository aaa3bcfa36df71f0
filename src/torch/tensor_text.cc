// SPDX-License-Identifier: Apache-2.0
#include "torch/tensor_text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
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

bool is_quantized(DType dtype) { return dtype == DType::QInt8 || dtype == DType::QUInt8; }

template <class T>
std::vector<int> take_levels(const std::vector<std::byte>& bytes) {
  std::vector<int> levels;
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) levels.push_back(element<T>(bytes, i));
  return levels;
}

std::optional<Elements> read_numbers(const Contents& contents, std::uint32_t tensor);

// The numbers of a tensor, whatever their type; empty when they can not be read.
std::vector<double> doubles_of(const Contents& contents, std::uint32_t tensor) {
  std::vector<double> found;
  if (tensor == checkpoint::kNone) return found;
  const DType dtype = contents.tensors[tensor].dtype;
  if (is_quantized(dtype) || dtype == DType::Bool) return found;  // no scale is one: a file could nest them for ever
  const auto elements = read_numbers(contents, tensor);
  if (!elements) return found;
  if (elements->floating) return elements->numbers;
  for (const std::string& text : elements->texts) found.push_back(std::strtod(text.c_str(), nullptr));
  return found;
}

// dequantize(): (level - zero point) * scale in float32, per tensor or along one axis.
std::optional<Elements> dequantized(const Contents& contents, std::uint32_t tensor, const std::vector<int>& levels) {
  const checkpoint::TensorMore& more = *contents.find_more(tensor);
  Elements out;
  out.floating = true;
  if (more.scales == checkpoint::kNone) {
    for (const int level : levels)
      out.numbers.push_back(static_cast<float>(level - static_cast<int>(more.zero_point)) *
                            static_cast<float>(more.scale));
    return out;
  }
  const auto scales = doubles_of(contents, more.scales);
  const auto zero_points = doubles_of(contents, more.zero_points);
  const auto sizes = contents.sizes(contents.tensors[tensor]);
  const auto axis = static_cast<std::size_t>(more.axis);
  if (more.axis < 0 || axis >= sizes.size()) return std::nullopt;
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < sizes.size(); ++i) inner *= static_cast<std::size_t>(sizes[i]);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::size_t channel = i / inner % static_cast<std::size_t>(sizes[axis]);
    if (channel >= scales.size() || channel >= zero_points.size()) return std::nullopt;
    out.numbers.push_back((static_cast<float>(levels[i]) - static_cast<float>(zero_points[channel])) *
                          static_cast<float>(scales[channel]));
  }
  return out;
}

std::optional<Elements> read_numbers(const Contents& contents, std::uint32_t tensor) {
  const checkpoint::TensorRow& row = contents.tensors[tensor];
  const auto count = contents.numel(row);
  const bool plain = row.layout == checkpoint::Layout::Strided && !row.is_meta && count && *count <= kMostElements;
  if (!plain || contents.error_of(row) != nullptr) return std::nullopt;
  if (is_quantized(row.dtype) && contents.find_more(tensor) == nullptr) return std::nullopt;
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
    case DType::QInt8: return dequantized(contents, tensor, take_levels<std::int8_t>(*bytes));
    case DType::QUInt8: return dequantized(contents, tensor, take_levels<std::uint8_t>(*bytes));
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

// _tensor_str: the elements in nested brackets. `at` is the next one.
class Nest {
 public:
  Nest(const Elements& elements, std::span<const std::int64_t> sizes)
      : elements_(elements), formatter_(elements), sizes_(sizes) {}

  void write(std::size_t level, std::size_t indent, std::string& out) {
    const auto count = static_cast<std::size_t>(sizes_[level]);
    out += '[';
    const bool last = level + 1 == sizes_.size();
    const std::size_t in_line = std::max<std::size_t>(1, (kLineWidth - indent) / (formatter_.width() + 2));
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) separate(last, last ? i % in_line == 0 : true, sizes_.size() - level - 1, indent, out);
      if (last)
        write_element(out);
      else
        write(level + 1, indent + 1, out);
    }
    out += ']';
  }

 private:
  static void separate(bool elements, bool new_line, std::size_t lines, std::size_t indent, std::string& out) {
    if (!new_line) {
      out += ", ";
      return;
    }
    out += ',';
    out.append(elements ? 1 : lines, '\n').append(indent + 1, ' ');
  }
  void write_element(std::string& out) {
    out += elements_.floating ? formatter_.format(elements_.numbers[at_]) : formatter_.pad(elements_.texts[at_]);
    ++at_;
  }

  const Elements& elements_;
  Formatter formatter_;
  std::span<const std::int64_t> sizes_;
  std::size_t at_ = 0;
};

class Suffixes {
 public:
  Suffixes(std::string& text, std::size_t indent) : text_(text), indent_(indent) {
    const std::size_t newline = text.rfind('\n');
    last_line_ = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  }
  void add(const std::string& suffix) { add_suffix(text_, last_line_, indent_, suffix); }

 private:
  std::string& text_;
  std::size_t indent_;
  std::size_t last_line_ = 0;
};

std::string tuple_text(std::span<const std::int64_t> sizes) {
  std::string text = "(";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + (sizes.size() == 1 ? ",)" : ")");
}

bool add_quantized(const Contents& contents, std::uint32_t tensor, Suffixes& suffixes) {
  const checkpoint::TensorMore* more = contents.find_more(tensor);
  if (more == nullptr || more->scheme.empty()) return false;
  suffixes.add("size=" + tuple_text(contents.sizes(contents.tensors[tensor])));
  suffixes.add("dtype=torch." + std::string(name_of(contents.tensors[tensor].dtype)));
  suffixes.add("quantization_scheme=torch." + scheme_text(contents, tensor));
  if (more->scales == checkpoint::kNone) {
    suffixes.add("scale=" + python_float(more->scale));
    suffixes.add("zero_point=" + std::to_string(more->zero_point));
    return true;
  }
  const auto scales = tensor_text(contents, more->scales);
  const auto zero_points = tensor_text(contents, more->zero_points);
  if (!scales || !zero_points) return false;
  suffixes.add("scale=" + *scales);
  suffixes.add("zero_point=" + *zero_points);
  suffixes.add("axis=" + std::to_string(more->axis));
  return true;
}

}  // namespace

std::string scheme_text(const Contents& contents, std::uint32_t tensor) {
  const checkpoint::TensorMore* more = contents.find_more(tensor);
  if (more == nullptr) return {};
  const bool floats =
      more->zero_points != checkpoint::kNone && (contents.tensors[more->zero_points].dtype == DType::Float32 ||
                                                 contents.tensors[more->zero_points].dtype == DType::Float64);
  return more->scheme + (floats && more->scheme == "per_channel_affine" ? "_float_qparams" : "");
}

std::optional<std::string> tensor_text(const Contents& contents, std::uint32_t tensor) {
  const checkpoint::TensorRow& row = contents.tensors[tensor];
  const auto elements = read_numbers(contents, tensor);
  const auto sizes = contents.sizes(row);
  constexpr std::size_t kMostDimensions = 16;  // Nest recurses over them
  if (!elements || sizes.empty() || sizes.size() > kMostDimensions) return std::nullopt;
  constexpr std::string_view kStart = "tensor(";
  std::string text(kStart);
  const std::size_t count = elements->floating ? elements->numbers.size() : elements->texts.size();
  if (count == 0)
    text += "[]";
  else
    Nest(*elements, sizes).write(0, kStart.size(), text);
  Suffixes suffixes(text, kStart.size());
  if (is_quantized(row.dtype)) {
    if (!add_quantized(contents, tensor, suffixes)) return std::nullopt;
    return text + ")";
  }
  const std::string& device = contents.devices[row.device];
  if (device != "cpu") suffixes.add("device='" + device + "'");
  if (count == 0 && sizes.size() != 1) suffixes.add("size=" + tuple_text(sizes));
  const bool usual =
      row.dtype == DType::Float32 || (count != 0 && (row.dtype == DType::Int64 || row.dtype == DType::Bool));
  if (!usual) suffixes.add("dtype=torch." + std::string(name_of(row.dtype)));
  if (row.requires_grad) suffixes.add("requires_grad=True");
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
