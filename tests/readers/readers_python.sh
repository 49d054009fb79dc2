#!/bin/sh
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a Python test with the Python that has the trace readers: readers_python.sh SCRIPT ARGUMENT...
# Without one the test fails: what no reader has read is not known to be readable.
if [ ! -x "$FERRET_READERS_PYTHON" ]; then
  echo "FERRET_READERS_PYTHON names no Python. tools/test makes one, in .venv-readers." >&2
  exit 1
fi
exec "$FERRET_READERS_PYTHON" "$@"
