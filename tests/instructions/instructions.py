# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of each case of counted_work and compares them with those that are expected.

    python3 instructions.py COUNTED_WORK EXPECTED [--accept] [--valgrind PROGRAM]

Prints a table. Exit status 1 if a case is off by more than its tolerance, in either direction, or if valgrind is missing.
--accept writes what was counted into EXPECTED (as a path from the root of the source tree, below `bazel run`).

callgrind counts what executes between the begin and the end of counted_work(), on the CPU that valgrind pretends to have.
It is not a time; but the same on a busy machine, and on another one.
"""

import argparse
import concurrent.futures
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ACCEPT = "bazel run //tests/instructions:accept"
# All symbols are bound before anything is counted, and glibc chooses the same memcpy on every CPU.
ENVIRONMENT = {
    "LD_BIND_NOW": "1",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-BMI2,-ERMS,-FSRM,-SSE4_2,-SSSE3",
}
# What the rest of a case's loop and clean-up may add: less than half an instruction for each unit.
EXACT = 0.5


class Refused(Exception):
    """Nothing can be counted; says why in one line."""


def fields_of(text):
    return dict(field.split("=") for field in text.split())


def read_expected(path):
    """The compiler that the numbers are of, and (instructions, tolerance) by case, in the order of the file."""
    compiler, cases = None, {}
    with open(path) as file:
        for line in file:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "compiler":
                compiler = words[1]
            else:
                cases[words[0]] = (float(words[1]), words[2])
    return compiler, cases


def write_expected(path, compiler, counted):
    """The same file with what was counted."""
    with open(path) as file:
        lines = file.readlines()
    for i, line in enumerate(lines):
        words = line.split()
        if words and words[0] == "compiler":
            lines[i] = f"{words[0]:<20} {compiler:>14}\n"
        elif words and words[0] in counted:
            lines[i] = f"{words[0]:<20} {counted[words[0]]:>14.1f} {words[2]:>10}\n"
    with open(path, "w") as file:
        file.writelines(lines)


def count(program, valgrind, case):
    """(instructions in counted_work, its units, whether those are calls)."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        environment = {**ENVIRONMENT, "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TEST_TMPDIR": folder}
        run = subprocess.run(
            [valgrind, "--tool=callgrind", "--toggle-collect=counted_work", f"--callgrind-out-file={out}", program, case],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
        if run.returncode != 0:
            raise Refused(f"case {case} under valgrind: exit status {run.returncode}\n{run.stderr}")
        with open(out) as file:
            totals = re.search(r"^totals: (\d+)", file.read(), re.MULTILINE)
    said = fields_of(run.stdout)
    return int(totals.group(1)) if totals else 0, int(said["units"]), said["in_calls"] == "1"


def count_all(program, valgrind, cases):
    """Instructions of one unit by case. Of a call, what an empty one takes is taken off."""
    found = shutil.which(valgrind)
    if found is None:
        raise Refused(f"{valgrind} is not installed (tools/setup.sh installs Debian's package of that name)")
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        raw = dict(zip(cases, pool.map(lambda case: count(program, found, case), cases)))
    counted = {}
    for case, (instructions, units, in_calls) in raw.items():
        counted[case] = instructions / units
        if in_calls and case != "call":
            counted[case] -= raw["call"][0] / raw["call"][1]
    return counted


def allowed(expected, tolerance):
    if tolerance.endswith("%"):
        return max(expected * float(tolerance[:-1]) / 100, EXACT)
    return float(tolerance) + EXACT


def compare(cases, counted):
    """Prints the table; returns a line for each case that is off."""
    wrong = []
    print(f"{'case':<20} {'expected':>10} {'counted':>10} {'change':>8}  tolerance")
    for case, (expected, tolerance) in cases.items():
        found = counted[case]
        change = f"{100 * (found / expected - 1):+.1f} %" if expected else "new"
        off = abs(found - expected) > allowed(expected, tolerance)
        text = tolerance.replace("%", " %") if tolerance != "0" else "exact"
        print(f"{case:<20} {expected:>10.1f} {found:>10.1f} {change:>8}  {text}{'   <-- off' if off else ''}")
        if off:
            wrong.append(f"{case}: expected {expected:.1f} instructions, counted {found:.1f}, tolerance {text}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("expected")
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--valgrind", default="valgrind")
    options = parser.parse_args()

    compiler, cases = read_expected(options.expected)
    if platform.machine() != "x86_64":
        print(f"instructions ... skipped 'the numbers are for x86-64, this is {platform.machine()}'")
        return
    built = fields_of(subprocess.run([options.program], stdout=subprocess.PIPE, check=True, text=True).stdout)
    try:
        counted = count_all(options.program, options.valgrind, cases)
    except Refused as refused:
        sys.exit(f"instructions: {refused}")
    wrong = compare(cases, counted)
    if options.accept:
        path = os.path.join(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."), options.expected)
        write_expected(path, built["compiler"], counted)
        print(f"written: {path}")
    elif built["compiler"] != compiler or built["asserts"] != "yes":
        how = "" if built["asserts"] == "yes" else " with -c opt"
        print(f"instructions ... skipped 'the numbers are for g++ {compiler}, this was built by {built['compiler']}{how}'")
    elif wrong:
        sys.exit("\n".join(["instructions: not what is expected", *wrong, f"If that is meant: {ACCEPT}"]))
    else:
        print("FIGURE: instructions of a scope: " + ", ".join(
            f"{case.replace('scope_', '').replace('_', ' ')} {counted[case]:.0f}" for case in counted if "scope" in case))


if __name__ == "__main__":
    main()
