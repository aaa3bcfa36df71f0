// SPDX-License-Identifier: Apache-2.0
// Listing in process: open a file, then name, dtype, shape, strides and bytes of every tensor, default checks on.
// Usage: wick_bench FOLDER [Google Benchmark's options]. The files are those of bench/make_files.py.
#include <benchmark/benchmark.h>

#include <sys/stat.h>
#include <cstdio>
#include <string>
#include <vector>

#include "wick/wick.h"

namespace {

struct Listed {
  std::size_t tensors = 0;
  std::uint64_t seen = 0;  // of everything a listing shows, so that nothing is optimised away
};

wick::Result<Listed> list(const std::string& path) {
  auto file = wick::open(path);
  if (!file) return std::move(file).error();
  Listed listed;
  for (const wick::Tensor& tensor : file->tensors(wick::Root::All)) {
    listed.seen += tensor.name().size() + tensor.dtype_name().size() + tensor.bytes() + tensor.offset();
    for (const auto size : tensor.shape()) listed.seen += static_cast<std::uint64_t>(size);
    for (const auto stride : tensor.strides()) listed.seen += static_cast<std::uint64_t>(stride);
    if (tensor.error()) ++listed.seen;
    ++listed.tensors;
  }
  return listed;
}

void measure(benchmark::State& state, const std::string& path) {
  std::size_t tensors = 0;
  for (auto iteration : state) {
    (void)iteration;
    auto listed = list(path);
    if (!listed) {
      state.SkipWithError(listed.error().to_string().c_str());
      return;
    }
    tensors = listed->tensors;
    benchmark::DoNotOptimize(listed->seen);
  }
  state.counters["tensors"] = static_cast<double>(tensors);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) return std::fprintf(stderr, "usage: wick_bench FOLDER\n"), 64;
  const std::string folder = argv[1];
  for (const char* name : {"vgg.pt", "many.pt", "many.safetensors", "n10.pt", "n100.pt", "n1000.pt", "n10000.pt",
                           "n100000.pt", "n1000000.pt", "huge.pt"}) {
    const std::string path = folder + "/" + name;
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) continue;
    benchmark::RegisterBenchmark(name, [path](benchmark::State& state) {
      measure(state, path);
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
