#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv-oracle: the Python and PyTorch that the oracle tests compare with. Does nothing when it is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
wanted=(torch==2.13.0 numpy==2.4.6 safetensors==0.8.0 gguf==0.19.0 jsonschema==4.26.0)
stamp=.venv-oracle/wick-oracle
if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "${wanted[*]}" ]; then exit 0; fi

need_packages python3 python3-venv
echo "making .venv-oracle: ${wanted[*]}"
rm -rf .venv-oracle
python3 -m venv .venv-oracle
pip=(.venv-oracle/bin/pip --disable-pip-version-check install -q)
"${pip[@]}" "${wanted[@]}"
.venv-oracle/bin/python -c 'import torch, numpy, safetensors, gguf, jsonschema; assert torch.__version__.split("+")[0] == "2.13.0"'
printf '%s' "${wanted[*]}" >"$stamp"
