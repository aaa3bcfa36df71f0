#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: `need_packages NAME...` installs the Debian packages that are missing, as root or with
# sudo, and does nothing (quickly, offline) when all are there.

wick_build_packages=(g++ cmake ninja-build pkg-config lld
  zlib1g-dev libdeflate-dev libzstd-dev libssl-dev liblzma-dev libbz2-dev libarchive-dev
  nlohmann-json3-dev libfmt-dev libcli11-dev libre2-dev)
wick_test_packages=(libgtest-dev libgmock-dev python3 git)

need_packages() {
  command -v dpkg-query >/dev/null || { echo "this is no Debian: install what docs/building.md lists, then run cmake" >&2; return 0; }
  local missing=() name
  local have
  have=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^ii //p')
  for name in "$@"; do
    grep -qxF -- "$name" <<<"$have" || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "missing: ${missing[*]}. Install them as root, or install sudo" >&2; return 1; }
    as_root=(sudo)
  fi
  echo "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q </dev/null >/dev/null
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null >/dev/null
}
