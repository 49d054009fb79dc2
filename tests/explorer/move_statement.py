# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Copies a C++ source with one statement of one function in another place, for tests of what order matters.

  move_statement.py SOURCE COPY FUNCTION STATEMENT BEFORE [AS]

FUNCTION, STATEMENT and BEFORE are the beginnings of lines, without their indentation: where the function's definition
starts, and two lines in it. STATEMENT, with the block that it opens, goes before BEFORE, and reads AS there. Each must
be found exactly once.
"""

import sys


def one(lines, beginning, first, last):
    found = [i for i in range(first, last) if lines[i].lstrip().startswith(beginning)]
    if len(found) != 1:
        sys.exit(f"move_statement: {len(found)} lines begin with {beginning!r}, not one")
    return found[0]


def main(source, copy, function, statement, before, new_text=None):
    with open(source) as file:
        lines = file.read().splitlines(keepends=True)
    start = one(lines, function, 0, len(lines))
    end = next(i for i in range(start, len(lines)) if lines[i] == "}\n")
    first = one(lines, statement, start, end)
    last = first + 1
    if lines[first].rstrip().endswith("{"):
        indentation = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        while lines[last - 1] != indentation + "}\n":
            last += 1
    target = one(lines, before, start, end)
    moved = lines[first:last] if new_text is None else [new_text + "\n"]
    del lines[first:last]
    if target > first:
        target -= last - first
    lines[target:target] = moved
    with open(copy, "w") as file:
        file.writelines(lines)


if __name__ == "__main__":
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__)
    main(*sys.argv[1:])
