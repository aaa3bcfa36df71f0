// SPDX-License-Identifier: Apache-2.0
// The pickle machine alone: state dicts as torch.save writes them, from 1,000 to 1,000,000 tensors (32 opcodes each).
// Counters: nanoseconds and arena bytes for each tensor.
#include <benchmark/benchmark.h>

#include <string>

#include "base/cursor.h"
#include "pickle/machine.h"

namespace {

using namespace std::string_literals;

std::string u32(std::uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift & 0xFFU));
  return bytes;
}

class StateDict {
 public:
  explicit StateDict(std::uint32_t tensors) {
    bytes_ = "\x80\x02}"s + put() + "(";
    for (std::uint32_t i = 0; i < tensors; ++i) {
      if (i > 0 && i % 1000 == 0) bytes_ += "u(";  // pickle writes batches of a thousand
      add(i);
    }
    bytes_ += "u.";
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  // Every memoised value gets the next slot, as Python's pickler does.
  std::string put() { return "r" + u32(slots_++); }
  std::string text(const std::string& value) {
    return "X" + u32(static_cast<std::uint32_t>(value.size())) + value + put();
  }
  // The first time a value is written, then fetched.
  std::string once(std::uint32_t& slot, const std::string& first) {
    if (slot != 0) return "j" + u32(slot);
    slot = slots_;
    return first + put();
  }

  void add(std::uint32_t i) {
    bytes_ += text("layers." + std::to_string(i / 10) + ".attention" + std::to_string(i % 10) + ".weight");
    bytes_ += once(rebuild_, "ctorch._utils\n_rebuild_tensor_v2\n");
    bytes_ += "((" + once(storage_, "X\x07\0\0\0storage"s) + once(float_, "ctorch\nFloatStorage\n");
    bytes_ += text(std::to_string(i)) + once(cpu_, "X\x03\0\0\0cpu"s) + "K\x06t" + put() + "QK\0"s;
    bytes_ +=
        "K\x02K\x03\x86" + put() + "K\x03K\x01\x86" + put() + "\x89" + once(ordered_, "ccollections\nOrderedDict\n");
    bytes_ += ")R" + put() + "t" + put() + "R" + put();
  }

  std::string bytes_;
  std::uint32_t slots_ = 0;
  std::uint32_t rebuild_ = 0, storage_ = 0, float_ = 0, cpu_ = 0, ordered_ = 0;
};

void read_state_dict(benchmark::State& state) {
  const StateDict dict(static_cast<std::uint32_t>(state.range(0)));
  std::uint64_t held = 0;
  for (auto _ : state) {
    wick::pickle::Arena arena;
    const auto pickle = wick::pickle::read_pickle(wick::as_bytes_of(dict.bytes()), 0, arena, {});
    if (!pickle || arena.pairs(pickle->root).size() != 2 * static_cast<std::size_t>(state.range(0)))
      state.SkipWithError("it was not read");
    held = arena.bytes_held();
  }
  state.counters["per_tensor"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_tensor"] = static_cast<double>(held) / static_cast<double>(state.range(0));
}
BENCHMARK(read_state_dict)->Arg(1'000)->Arg(20'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
