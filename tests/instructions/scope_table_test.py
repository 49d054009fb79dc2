# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""scope.md accounts for every instruction of a scope: as many as are expected, and those that the program has.

    python3 scope_table_test.py COUNTED_WORK SCOPE_MD EXPECTED
"""

import platform
import re
import subprocess
import sys
import unittest

import instructions


def table(path):
    """(number, mnemonic) of each row."""
    with open(path) as file:
        rows = re.findall(r"^\| (\d+) \| `(\w+)", file.read(), re.MULTILINE)
    return [(int(number), mnemonic) for number, mnemonic in rows]


def function(program, name):
    """The mnemonics of a function, as they stand in the program."""
    text = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", program], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    body = re.search(rf"{re.escape(name)}>:\n(.*?)\n\n", text, re.DOTALL).group(1)
    return [line.split("\t")[1].split()[0] for line in body.splitlines() if "\t" in line]


@unittest.skipIf(platform.machine() != "x86_64", "the table is of x86-64")
class ScopeTableTest(unittest.TestCase):
    def test_has_as_many_rows_as_instructions_are_expected(self):
        _, cases = instructions.read_expected(EXPECTED)
        numbers = [number for number, _ in table(TABLE)]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertEqual(len(numbers), cases["scope"][0], "scope.md and expected.txt differ")

    def test_names_the_instructions_of_the_program_in_order(self):
        compiler, _ = instructions.read_expected(EXPECTED)
        built = instructions.fields_of(subprocess.run([PROGRAM], stdout=subprocess.PIPE, check=True, text=True).stdout)
        if built["compiler"] != compiler or built["asserts"] != "yes":
            self.skipTest(f"the table is of g++ {compiler}, this was built by {built}")
        left = iter(function(PROGRAM, "OneScope()"))
        for number, mnemonic in table(TABLE):
            self.assertIn(mnemonic, left, f"row {number} is not in OneScope, or not there")


if __name__ == "__main__":
    PROGRAM, TABLE, EXPECTED = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
