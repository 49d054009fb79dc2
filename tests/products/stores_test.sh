#!/usr/bin/env bash
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# stores_test.sh PYTHON TEST ARGUMENT...
# Runs the test with .venv-stores, which has the products that keep traces.
set -euo pipefail
here=$(dirname "$0")
source "$here/venv.sh"
python=$1
shift
ensure_venv "$python" .venv-stores "$here/stores-requirements.txt"
exec "$venv/bin/python" "$@"
