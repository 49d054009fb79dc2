# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What instructions.py says of numbers that are wrong, and of a machine that cannot count.

    python3 instructions_py_test.py INSTRUCTIONS_PY COUNTED_WORK
"""

import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

EXPECTED = """\
# a comment
compiler 12.2
call                            5.0          0
scope_off                  {off:>8.1f}          0
table                      {table:>8.1f}         2%
"""
# Stands for valgrind: 6 instructions for each of 1000 calls with a scope in it, 5 without, 100 for each event.
VALGRIND = """\
#!/bin/sh
for last in "$@"; do :; done
for argument in "$@"; do
  case $argument in --callgrind-out-file=*) out=${argument#*=} ;; esac
done
case $last in
  call) echo "totals: 5015" >"$out"; echo "units=1000 in_calls=1" ;;
  scope_off) echo "totals: 9015" >"$out"; echo "units=1000 in_calls=1" ;;
  table) echo "totals: 100700" >"$out"; echo "units=1000 in_calls=0" ;;
  *) exit 2 ;;
esac
"""
PROGRAM = "#!/bin/sh\necho compiler={compiler} asserts=yes\n"


@unittest.skipIf(platform.machine() != "x86_64", "the numbers are for x86-64")
class InstructionsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.valgrind = self.script("valgrind", VALGRIND)
        self.program = self.script("program", PROGRAM.format(compiler="12.2"))
        self.expected = self.folder / "expected.txt"

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def run_script(self, off=4, table=100, program=None, valgrind=None, more=()):
        self.expected.write_text(EXPECTED.format(off=off, table=table))
        environment = {name: value for name, value in os.environ.items() if name != "BUILD_WORKSPACE_DIRECTORY"}
        return subprocess.run(
            [sys.executable, INSTRUCTIONS, program or self.program, str(self.expected),
             "--valgrind", valgrind or self.valgrind, *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def test_passes_and_prints_the_table_when_all_is_as_expected(self):
        run = self.run_script()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"scope_off +4\.0 +4\.0 +\+0\.0 %  exact")
        self.assertRegex(run.stdout, r"table +100\.0 +100\.7 +\+0\.7 %  2 %")

    def test_one_instruction_more_or_less_in_a_scope_fails(self):
        for off in (3, 5):
            with self.subTest(off=off):
                run = self.run_script(off=off)
                self.assertEqual(run.returncode, 1)
                self.assertIn(f"scope_off: expected {off}.0 instructions, counted 4.0, tolerance exact", run.stderr)
                self.assertIn("bazel run //tests/instructions:accept", run.stderr)

    def test_an_event_may_change_by_its_tolerance_and_no_more(self):
        self.assertEqual(self.run_script(table=102).returncode, 0)
        run = self.run_script(table=103)
        self.assertEqual(run.returncode, 1)
        self.assertIn("table: expected 103.0 instructions, counted 100.7, tolerance 2 %", run.stderr)

    def test_accepting_writes_what_was_counted(self):
        run = self.run_script(off=9, table=1, more=["--accept"])
        self.assertEqual(run.returncode, 0, run.stderr)
        text = self.expected.read_text()
        self.assertIn("# a comment\n", text)
        self.assertRegex(text, r"scope_off +4\.0 +0\n")
        self.assertRegex(text, r"table +100\.7 +2%\n")

    def test_without_valgrind_it_fails_and_says_what_installs_it(self):
        run = self.run_script(valgrind="valgrind-that-nobody-has")
        self.assertEqual(run.returncode, 1)
        self.assertIn("valgrind-that-nobody-has is not installed (tools/setup.sh", run.stderr)

    def test_what_another_compiler_made_is_shown_and_not_compared(self):
        run = self.run_script(off=9, program=self.script("other", PROGRAM.format(compiler="13.1")))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("... skipped 'the numbers are for g++ 12.2, this was built by 13.1'", run.stdout)

    def test_a_wrong_number_fails_with_the_real_program(self):
        run = self.run_script(off=3, table=1, program=COUNTED_WORK, valgrind="valgrind")
        if "skipped" in run.stdout:
            self.skipTest("the numbers are for another compiler, or not for -c opt")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("scope_off: expected 3.0 instructions, counted 4.0", run.stderr)
        self.assertIn("table: expected 1.0", run.stderr)


if __name__ == "__main__":
    INSTRUCTIONS, COUNTED_WORK = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
