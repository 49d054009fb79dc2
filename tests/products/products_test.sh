#!/usr/bin/env bash
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# products_test.sh PYTHON_WITH_TORCH TEST FERRET LIBFERRET_TORCH
# Makes .venv-products in the tree, anew whenever the list of what belongs there has changed, and runs the test with it.
# Only that needs the network.
set -euo pipefail
python=$1
shift

list=$(readlink -f "$(dirname "$0")/requirements.txt")
venv=$(dirname "$list")/../../.venv-products
if ! cmp -s "$list" "$venv/requirements.txt"; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  # PyTorch itself is a gigabyte and there already: a .pth file makes its folder part of the new environment.
  site='import site; print(site.getsitepackages()[0])'
  "$python" -c "$site" >"$("$venv/bin/python" -c "$site")/torch.pth"
  "$venv/bin/python" -m pip install -qq -r "$list"
  # Last, so an installation that was cut short is not taken for a whole one.
  cp "$list" "$venv/requirements.txt"
fi
exec "$venv/bin/python" "$@"
