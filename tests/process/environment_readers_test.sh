#!/bin/bash
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# The environment is read by secure_getenv only (runtime/environment/process_environment.h). Arguments: what is shipped.
set -euo pipefail

[[ $# -ge 3 ]] || { echo "no files to look at" >&2; exit 1; }
failures=0
for file in "$@"; do
  wanted=$(nm --dynamic --undefined-only "$(readlink -f "$file")")
  grep -qw secure_getenv <<<"$wanted" || { echo "$file does not read the environment as it did" >&2; failures=1; }
  if grep -w getenv <<<"$wanted"; then
    echo "$file reads the environment on its own" >&2
    failures=1
  fi
done
exit "$failures"
