// SPDX-License-Identifier: Apache-2.0
#include "tensor_show.h"

#include <algorithm>
#include <optional>

#include "base/context.h"
#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "element.h"
#include "listing.h"
#include "numbers.h"
#include "width.h"

namespace wick::cli {
namespace {

using checkpoint::Contents;
using checkpoint::kNone;
using checkpoint::TensorRow;

constexpr std::uint64_t kShownWhole = 1000;   // elements; torch's print threshold
constexpr std::int64_t kEdge = 3;             // torch's edgeitems
constexpr std::uint64_t kMostShown = 50'000;  // elements of a tensor with very many short dimensions
constexpr std::string_view kGap = "  ";

// One kept dimension: which of its positions are shown. A negative position stands for "...".
struct Axis {
  std::int64_t first;
  std::int64_t step;
  std::uint64_t stride;
  std::vector<std::int64_t> shown;  // for lines
  std::int64_t count;
};

// The elements of a slice by their positions.
class Window {
 public:
  static Result<Window> make(const Contents& contents, std::uint32_t tensor, std::span<const Cut> cuts) {
    WICK_TRY(ElementReader reader, ElementReader::make(contents, tensor));
    Window window(std::move(reader));
    const TensorRow& row = contents.tensors[tensor];
    const auto strides = contents.strides(row);
    std::uint64_t base = row.offset;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const auto stride = static_cast<std::uint64_t>(i < strides.size() ? strides[i] : 1);
      const Cut& cut = cuts[i];
      if (cut.count == 0) window.empty_ = true;
      const std::int64_t last = cut.first + cut.step * std::max<std::int64_t>(cut.count - 1, 0);
      low += static_cast<std::uint64_t>(std::max<std::int64_t>(0, std::min(cut.first, last))) * stride;
      high += static_cast<std::uint64_t>(std::max<std::int64_t>(0, std::max(cut.first, last))) * stride;
      if (!cut.kept) base += static_cast<std::uint64_t>(cut.first) * stride;
      if (cut.kept) window.axes_.push_back({cut.first, cut.step, stride, {}, cut.count});
    }
    window.base_ = base;
    window.reader_.expect(row.offset + low, row.offset + high);
    return window;
  }

  [[nodiscard]] bool empty() const { return empty_; }
  [[nodiscard]] std::vector<Axis>& axes() { return axes_; }
  [[nodiscard]] std::uint64_t numel() const {
    std::uint64_t product = empty_ ? 0 : 1;
    for (const Axis& axis : axes_)
      if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(axis.count), &product)) return ~std::uint64_t{0};
    return product;
  }
  [[nodiscard]] Result<Element> at(std::span<const std::int64_t> position) {
    std::uint64_t index = base_;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      index += static_cast<std::uint64_t>(axes_[i].first + axes_[i].step * position[i]) * axes_[i].stride;
    return reader_.at(index);
  }

 private:
  explicit Window(ElementReader reader) : reader_(std::move(reader)) {}
  ElementReader reader_;
  std::vector<Axis> axes_;
  std::uint64_t base_ = 0;
  bool empty_ = false;
};

std::string bracketed(std::span<const std::int64_t> sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ", "));
}

// "float32 [2, 6] of [1000, 2048]", and what a person must know to read the numbers.
std::string headline(const Contents& contents, std::uint32_t tensor, std::span<const Cut> cuts) {
  const TensorRow& row = contents.tensors[tensor];
  const auto sizes = contents.sizes(row);
  const auto left = sizes_of(cuts);
  std::string text = fmt::format("{} {}", escape_for_display(dtype_text(contents, row)), bracketed(left));
  const bool whole_tensor = std::equal(left.begin(), left.end(), sizes.begin(), sizes.end());
  if (!whole_tensor) text += fmt::format(" of {}", bracketed(sizes));
  if (row.more == kNone) return text;
  const auto& more = contents.more[row.more];
  if (!more.scheme.empty() && more.scales == kNone)
    text += fmt::format("  stored integers; value = (stored - {}) * {}", more.zero_point, more.scale);
  else if (!more.scheme.empty())
    text += fmt::format("  stored integers; a scale for each of dimension {}", more.axis);
  return text;
}

class TensorPrinter {
 public:
  TensorPrinter(Output& out, Window& window) : out_(out), window_(window) {}

  Result<void> run() {
    auto& axes = window_.axes();
    const bool whole_shown = window_.numel() <= kShownWhole;
    std::uint64_t count = 1;
    for (Axis& axis : axes) {
      choose(axis, whole_shown);
      count = std::min(kMostShown + 1, count * std::max<std::uint64_t>(1, axis.shown.size()));
    }
    if (count > kMostShown)
      return fail(ErrorCode::Limit, "{} dimensions are too many to print; show a slice, or use --json", axes.size());
    WICK_CHECK(collect());
    texts_ = format_elements(elements_);
    for (const std::string& text : texts_) width_ = std::max(width_, display_width(escape_for_display(text)));
    print();
    if (!whole_shown)
      out_.line(
          fmt::format("{} elements in all; show a slice, or --json gives every one", with_commas(window_.numel())));
    return {};
  }

 private:
  static void choose(Axis& axis, bool whole_shown) {
    for (std::int64_t i = 0; i < axis.count; ++i) {
      if (!whole_shown && axis.count > 2 * kEdge && i == kEdge) {
        axis.shown.push_back(-1);
        i = axis.count - kEdge;
      }
      axis.shown.push_back(i);
    }
  }

  // Calls `take` with each combination of shown positions of the first `depth` axes, in order.
  template <class Take>
  Result<void> each(std::size_t depth, Take take) {
    const auto& axes = window_.axes();
    std::vector<std::size_t> at(depth, 0);
    for (;;) {
      WICK_CHECK(take(at));
      std::size_t i = depth;
      while (i > 0 && ++at[i - 1] == axes[i - 1].shown.size()) at[--i] = 0;
      if (i == 0) return {};
    }
  }

  Result<void> collect() {
    const auto& axes = window_.axes();
    return each(axes.size(), [&](const std::vector<std::size_t>& at) -> Result<void> {
      std::vector<std::int64_t> position(at.size());
      for (std::size_t i = 0; i < at.size(); ++i) {
        position[i] = axes[i].shown[at[i]];
        if (position[i] < 0) return {};
      }
      WICK_TRY(Element element, window_.at(position));
      elements_.push_back(std::move(element));
      return {};
    });
  }

  void print() {
    const auto& axes = window_.axes();
    if (axes.empty()) {
      out_.text(" ");
      out_.name(format_alone(elements_.front()));
      return out_.line();
    }
    const std::size_t outer = axes.size() - 1;
    (void)each(outer, [&](const std::vector<std::size_t>& at) -> Result<void> {
      bool gap = false;
      for (std::size_t i = 0; i < outer; ++i) gap = gap || axes[i].shown[at[i]] < 0;
      if (gap)
        print_gap(at);
      else
        print_row(at);
      return {};
    });
  }

  // One "..." for a whole run of rows.
  void print_gap(const std::vector<std::size_t>& at) {
    const auto& axes = window_.axes();
    std::size_t first_gap = 0;
    while (axes[first_gap].shown[at[first_gap]] >= 0) ++first_gap;
    for (std::size_t i = first_gap + 1; i < at.size(); ++i)
      if (at[i] != 0) return;
    if (at.size() >= 2 && first_gap + 1 < at.size()) out_.line();
    out_.line(" ...");
  }

  void print_row(const std::vector<std::size_t>& at) {
    const auto& axes = window_.axes();
    if (at.size() >= 2 && at.back() == 0) print_block_title(at);
    const Axis& last = axes.back();
    std::string line;
    for (const std::int64_t position : last.shown) {
      const std::string cell =
          position < 0 ? std::string("...") : pad_left(escape_for_display(texts_[next_++]), width_);
      const std::size_t has = display_width(line);
      if (has > 1 && has + kGap.size() + display_width(cell) > out_.columns()) {
        out_.line(line);
        line.clear();
      }
      line += line.empty() ? " " : kGap;
      line += cell;
    }
    out_.line(line);
  }

  // "[0, 1, :, :]" before each matrix of more dimensions.
  void print_block_title(const std::vector<std::size_t>& at) {
    std::string title = "[";
    for (std::size_t i = 0; i + 1 < at.size(); ++i) title += fmt::format("{}, ", window_.axes()[i].shown[at[i]]);
    out_.line(title + ":, :]");
  }

  Output& out_;
  Window& window_;
  std::vector<Element> elements_;
  std::vector<std::string> texts_;
  std::size_t next_ = 0;
  std::size_t width_ = 0;
};

void write_element(JsonWriter& json, const Element& element) {
  switch (element.kind) {
    case Element::Kind::Signed: return json.element_integer(element.integer);
    case Element::Kind::Unsigned: return json.element_natural(element.natural);
    case Element::Kind::Truth: return json.boolean(element.natural != 0);
    case Element::Kind::Real:
      if (element.is_float) return json.element(static_cast<float>(element.real));
      return json.element(element.real);
    case Element::Kind::Complex:
      json.open_object();
      json.key("complex").open_array();
      json.element(element.real);
      json.element(element.imaginary);
      json.close_array();
      return json.close_object();
    case Element::Kind::Text: return json.text(element.text);
  }
}

// A stride of 0 makes any number of elements out of four bytes.
Result<void> check_expansion(const Contents& contents, std::uint32_t tensor, const Window& window) {
  const auto& row = contents.tensors[tensor];
  const std::uint64_t held = row.storage == checkpoint::kNone ? 0 : contents.storages[row.storage].bytes;
  if (window.numel() <= held) return {};
  return check_memory(contents.limits, window.numel(), "showing every element of this expanded tensor");
}

}  // namespace

Result<void> print_tensor(Output& out, const Contents& contents, std::uint32_t tensor, std::span<const Cut> cuts) {
  WICK_TRY(Window window, Window::make(contents, tensor, cuts));
  out.line(headline(contents, tensor, cuts));
  if (window.empty()) return {};
  return TensorPrinter(out, window).run();
}

Result<void> write_tensor_values(JsonWriter& json, const Contents& contents, std::uint32_t tensor,
                                 std::span<const Cut> cuts) {
  WICK_TRY(Window window, Window::make(contents, tensor, cuts));
  WICK_CHECK(check_expansion(contents, tensor, window));
  const auto& axes = window.axes();
  std::vector<std::int64_t> position(axes.size(), 0);
  std::size_t open = 0;
  if (axes.empty()) {
    WICK_TRY(const Element element, window.at(position));
    write_element(json, element);
    return {};
  }
  // An odometer: arrays open down to the last axis, and close as axes run out. An axis of no elements is [].
  for (;;) {
    while (open < axes.size()) {
      json.open_array();
      ++open;
      if (axes[open - 1].count == 0) break;
    }
    if (open == axes.size() && axes.back().count > 0) {
      for (position.back() = 0; position.back() < axes.back().count; ++position.back()) {
        WICK_TRY(const Element element, window.at(position));
        write_element(json, element);
      }
    }
    for (;;) {  // close what has come to its end
      json.close_array();
      --open;
      if (open == 0) return {};
      if (++position[open - 1] < axes[open - 1].count) break;
      position[open - 1] = 0;
    }
  }
}

}  // namespace wick::cli
