#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs this build, moves the tree, builds examples/read_checkpoint against it with CMake and with pkg-config, and
# compares its output with what PyTorch reads. Usage: consumer.sh SOURCE BUILD CXX SANITIZERS CONFIG
set -euo pipefail
source=$1 build=$2 cxx=$3 sanitize=$4 config=$5
work=$build/tests/install
rm -rf "$work/first" "$work/prefix" "$work/consumer"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/first" --config "$config" >/dev/null
mv "$work/first" "$work/prefix"  # an installed tree may be moved

flags=()
[ -z "$sanitize" ] || flags=("-fsanitize=$sanitize")
cmake -S "$source/examples/read_checkpoint" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="${flags[*]:-}" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/consumer" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/consumer/read_checkpoint" "$source/examples/training.pt" | diff "$source/examples/read_checkpoint/expected.txt" -
echo "find_package: ok"

pc=$(find "$work/prefix" -name wick.pc)
# shellcheck disable=SC2046
"$cxx" -std=c++20 ${flags[@]+"${flags[@]}"} "$source/examples/read_checkpoint/main.cc" \
  $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs wick) -o "$work/with_pkg_config"
LD_LIBRARY_PATH=$(dirname "$(dirname "$pc")") "$work/with_pkg_config" "$source/examples/training.pt" |
  diff "$source/examples/read_checkpoint/expected.txt" -
echo "pkg-config: ok"

# Each header compiles alone, without the headers of any library wick itself uses.
find "$work/prefix/include" -name '*.h' | while read -r header; do
  echo "#include \"$header\"" |
    "$cxx" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$work/prefix/include" -x c++ -
done
echo "headers: ok"

wick=$work/prefix/bin/wick
if [ -x "$wick" ]; then
  "$wick" version >/dev/null
  ! readelf -d "$wick" | grep -E 'RPATH|RUNPATH' || { echo "the installed wick has a build path in it"; exit 1; }
  echo "command: ok"
fi
