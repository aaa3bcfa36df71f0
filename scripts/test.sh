#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need, builds and runs all of them through ctest. Quick the second time.
# Usage: test.sh [PRESET=test] [ctest arguments...]. With WICK_REQUIRE_ORACLE=1 a test that would skip fails instead.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
preset=${1:-test}
[ $# -eq 0 ] || shift
need_packages "${wick_build_packages[@]}" "${wick_test_packages[@]}"

# The oracle is optional: scripts/oracle.sh makes it.
if [ -z "${WICK_ORACLE_PYTHON:-}" ] && [ -x .venv-oracle/bin/python ]; then
  export WICK_ORACLE_PYTHON=$PWD/.venv-oracle/bin/python
fi
if [ "${WICK_REQUIRE_ORACLE:-}" = 1 ] && [ ! -x "${WICK_ORACLE_PYTHON:-}" ]; then
  bash scripts/oracle.sh
  export WICK_ORACLE_PYTHON=$PWD/.venv-oracle/bin/python
fi

echo "building build/$preset"
[ -e "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
cmake --build "build/$preset" -- --quiet
ctest --test-dir "build/$preset" --no-tests=error --output-on-failure --progress -j "${WICK_JOBS:-$(nproc)}" "$@"
