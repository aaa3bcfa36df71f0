#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares what a shared wick exports with the list: a symbol that appears or goes is a change of the interface.
# Names are demangled and the return of compilers' own extras (vtables, typeinfo) is kept. --rebase writes the list.
# Usage: symbols.sh LIBRARY LIST [--rebase]
set -euo pipefail
found=$(nm -D --defined-only --format=posix "$1" | cut -d ' ' -f 1 | c++filt | LC_ALL=C sort -u)
if [ "${3:-}" = --rebase ]; then
  printf '%s\n' "$found" >"$2"
else
  diff <(LC_ALL=C sort -u "$2") - <<<"$found"
fi
