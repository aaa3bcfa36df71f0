#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the files that changed against main, or over a fixed sample of those that read hostile bytes.
# Usage: check_tidy.sh BUILD [FILE...]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <({ git diff --name-only --diff-filter=AM origin/main...HEAD -- 'src/*.cc' 'cli/*.cc' 2>/dev/null || true; } | grep -v _test.cc | head -12)
  [ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files 'src/base/cursor.cc' 'src/archive/zip.cc' 'src/pickle/machine.cc' 'src/tensor/storage.cc' 'src/io/file.cc' 'cli/main.cc')
fi
printf '%s\n' "${files[@]}" | xargs -r -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet --warnings-as-errors='*' 2>/dev/null
echo "clang-tidy: ok, ${#files[@]} files"
