#!/usr/bin/env bash
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# products_test.sh PYTHON_WITH_TORCH TEST FERRET LIBFERRET_TORCH
# Runs the test with .venv-products, which is over the PyTorch that is there: it is a gigabyte.
set -euo pipefail
here=$(dirname "$0")
source "$here/venv.sh"
python=$1
shift
ensure_venv "$python" .venv-products "$here/requirements.txt" \
  "$("$python" -c 'import site; print(site.getsitepackages()[0])')"
exec "$venv/bin/python" "$@"
