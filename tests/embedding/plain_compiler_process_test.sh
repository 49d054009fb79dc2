#!/usr/bin/env bash
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds programs against the dist folder with nothing but a compiler, and checks what they record.

set -euo pipefail

dist=$PWD/dist
here=$PWD/tests/embedding
example=$PWD/examples/train_mlp.cc
cd "$TEST_TMPDIR"
export LD_LIBRARY_PATH=$dist/lib
flags=(-O2 -Wall -Wextra -Werror -I"$dist/include" -L"$dist/lib")

fail() { echo "FAILED: $*" >&2; exit 1; }

g++ -std=c++17 "${flags[@]}" "$here/program.cc" -o program -lferret -pthread
g++ -std=c++17 "${flags[@]}" "$here/event_list_program.cc" -o event_list_program -lferret
gcc -std=c11 "${flags[@]}" "$here/program.c" -o program_c -lferret
g++ -std=c++17 "${flags[@]}" "$example" -o train_mlp -lferret -pthread

# Off: nothing is recorded, no file appears.
[ "$(./program)" = "off 0" ] || fail "recording without FERRET_EXPORT"
[ -z "$(find . -name '*.json*')" ] || fail "a file without FERRET_EXPORT"

# On: the same binary, no further call.
[ "$(FERRET_EXPORT=chrome_trace:cc.json ./program)" = "on 0" ] || fail "no recording with FERRET_EXPORT"
./program_c chrome_trace:c.json > /dev/null || fail "the C program exited with $?"
FERRET_EXPORT=chrome_trace:mlp.json.gz ./train_mlp > /dev/null || fail "train_mlp exited with $?"

# Everything that an EventList does is in the library.
./event_list_program > table.txt || fail "the EventList program exited with $?"
grep -q "aten::mm .* \[\[2, 3\], \[3, 4\]\]" table.txt || fail "no table of the session's events: $(cat table.txt)"

python3 - <<'PY' || fail "the traces do not hold what was recorded"
import collections, gzip, json

def events(path):
    opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    return json.load(opened)["traceEvents"]

def names(path, ph="X"):
    return collections.Counter(e["name"] for e in events(path) if e["ph"] == ph and e.get("cat") != "Trace")

cc = names("cc.json")
expected = {"epoch": 3, "forward": 3, "mul": 3, "MulBackward0": 3, "dynamic 0": 1, "dynamic 1": 1, "dynamic 2": 1,
            "evaluation": 3, "copy": 3, "ProfilerStep#0": 1}
assert cc == expected, cc
assert names("cc.json", "C") == {"loss": 3}
assert names("cc.json", "s") == {"fwdbwd": 3} == names("cc.json", "f")
assert names("cc.json", "i")["checkpoint written"] == 1
assert any(e["ph"] == "M" and "trainer" in str(e["args"]) for e in events("cc.json"))

c = names("c.json")
assert c == {"outer": 1, "note": 1, "mul": 1, "MulBackward0": 1, "by id": 1, "from a signal": 1, "": 2, "async": 1, "no context": 1,
             "no stream": 1, "ProfilerStep#0": 1}, c
assert names("c.json", "s") == {"fwdbwd": 1}

mlp = names("mlp.json.gz")
assert sum(mlp.values()) > 1000, mlp
assert names("mlp.json.gz", "s")["fwdbwd"] > 100
PY
echo PASSED
