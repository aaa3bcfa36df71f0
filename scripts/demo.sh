#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds a release binary and looks into the example files. Quick the second time.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
need_packages "${wick_build_packages[@]}"

echo "building build/release/cli/wick"
[ -e build/release/build.ninja ] || cmake --preset release >build-release.log 2>&1 || { tail -20 build-release.log >&2; exit 1; }
rm -f build-release.log
cmake --build build/release --target wick_cli -- --quiet
wick=build/release/cli/wick

look() {
  printf '\n$ wick'
  printf ' %q' "$@"
  printf '\n'
  "$wick" "$@"
}
look info examples/training.pt
look ls examples/training.pt --root model
look tree examples/resnet.pt
look show examples/training.pt 'model.0.weight[0:2, :]'
for file in examples/scripted.pt examples/legacy.pth examples/model.safetensors; do look info "$file"; done
