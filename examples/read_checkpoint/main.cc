// SPDX-License-Identifier: Apache-2.0
// Opens a training checkpoint, reads its epoch and looks at one weight without copying it.
#include <wick/wick.h>

#include <cstdio>
#include <span>

namespace {

int report(const wick::Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: read_checkpoint FILE\n"), 64;
  wick::Result<wick::Checkpoint> file = wick::open(argv[1]);
  if (!file) return report(file.error());

  // A key that is missing, or that holds something else, is an error that says so.
  wick::Result<std::int64_t> epoch = file->at("epoch").as_int();
  if (!epoch) return report(epoch.error());

  // Names are those of the model's state_dict(), wherever in the file that is.
  wick::Result<wick::Tensor> tensor = file->tensor("0.weight");
  if (!tensor) return report(tensor.error());

  // The view shows the bytes of the file itself and keeps them alive; read<float>() would copy, and work always.
  wick::Result<wick::View<float>> view = tensor->view<float>();
  if (!view) return report(view.error());
  std::span<const float> weight = view->span();

  std::printf("epoch %lld\n", static_cast<long long>(*epoch));
  std::printf("%s %lld x %lld\n", tensor->name().c_str(), static_cast<long long>(tensor->shape()[0]),
              static_cast<long long>(tensor->shape()[1]));
  std::printf("first %.9g %.9g %.9g %.9g\n", static_cast<double>(weight[0]), static_cast<double>(weight[1]),
              static_cast<double>(weight[2]), static_cast<double>(weight[3]));
  return 0;
}
