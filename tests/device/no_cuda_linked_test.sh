#!/bin/bash
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# Ferret runs where there is no CUDA: nothing of it is linked, no header of it is included, and of the driver nothing is
# looked up that waits for the device or changes what the program has. Arguments: what is shipped.
set -euo pipefail

failures=0
fail() {
  echo "$1" >&2
  failures=$((failures + 1))
}

[[ $# -ge 3 ]] || fail "no files to look at"
for file in "$@"; do
  needed=$(readelf --dynamic --wide "$(readlink -f "$file")" | grep NEEDED || true)
  [[ $needed == *libc.so* ]] || fail "$file: not a library or a program: $needed"
  if grep -E 'lib(cuda|cudart|cupti|nvrtc|nvToolsExt)' <<<"$needed"; then fail "$file links CUDA"; fi
done

# The tree that this script stands in.
root=$(dirname "$(readlink -f "$0")")/../..
cd "$root"
[[ -d runtime/device/cuda ]] || fail "$root is not the source tree"
if grep -rnE --include='*.h' --include='*.cc' \
  '#[[:space:]]*include[[:space:]]*[<"](cuda|cuda_runtime|cuda_runtime_api|cudaTypedefs|cupti[a-z_]*|driver_types|nvtx3/.*)\.(h|hpp)[>"]' \
  include runtime exporters adapters tools tests bench examples; then
  fail "a header of CUDA is included"
fi
if grep -rnE --include=BUILD --include='*.bzl' -e '-l(cuda|cudart|cupti)\b' .  ; then fail "CUDA is linked"; fi

names=$(grep -rhoE '"cu[A-Z][A-Za-z0-9_]*"' runtime/device | sort -u)
[[ $(wc -l <<<"$names") -ge 20 ]] || fail "the functions of the driver are not where they were: $names"
if grep -E 'Synchronize|LaunchHostFunc|AddCallback|CtxCreate|CtxDestroy|CtxReset|PrimaryCtx|cuInit|StreamDestroy|WaitEvent|WaitValue|CtxRecordEvent' \
  <<<"$names"; then
  fail "a function that waits for the device, or changes what the program has"
fi
# Looked up as a sign of a whole driver, and never called.
if grep -rnE 'event_destroy\(' runtime/device | grep -v '(\*event_destroy)\|FERRET_DRIVER_ENTRY'; then fail "an event is destroyed"; fi

exit "$((failures != 0))"
