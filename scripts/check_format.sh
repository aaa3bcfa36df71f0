#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a C++ file is not as .clang-format wants it; --fix rewrites the files. Releases of clang-format differ in
# small things, so another one than 14 (Debian 12) only warns.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
mapfile -t files < <(git ls-files '*.cc' '*.h')
[ "${1:-}" != --fix ] || { clang-format -i "${files[@]}"; exit; }
if clang-format --dry-run --Werror "${files[@]}" 2>"$log"; then
  echo "format: ok, ${#files[@]} files"
else
  grep -oE '^[^ :]+\.(cc|h)' "$log" | sort | uniq -c
  case $(clang-format --version) in *"version 14."*) status=1 ;; *) status=0 ;; esac
  echo "format: scripts/check_format.sh --fix rewrites them"
  rm -f "$log"
  exit $status
fi
rm -f "$log"
