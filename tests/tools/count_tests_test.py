# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What tools/count_tests.py makes of Bazel's events and of the logs of tests.

    python3 count_tests_test.py COUNT_TESTS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNT_TESTS = None

GOOGLETEST = """\
Running main() from ./googletest/src/gtest_main.cc
[ RUN      ] Disk.OfItsOwn
tests/disk/a_test.cc:12: Skipped
no file system
can be mounted here

[  SKIPPED ] Disk.OfItsOwn (3 ms)
[ RUN      ] Disk.OfOthers
FIGURE: 7 files
[       OK ] Disk.OfOthers (1 ms)
[ RUN      ] Disk.Bare
tests/disk/a_test.cc:40: Skipped

[  SKIPPED ] Disk.Bare (0 ms)
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Disk.OfItsOwn
[  SKIPPED ] Disk.Bare
"""
UNITTEST = """\
test_mounts (__main__.Disk.test_mounts)
A disk of its own. ... skipped "it's not root"
test_other (__main__.Disk.test_other) ... ok
FIGURE: 7 files
Ran 2 tests in 0.1s

OK (skipped=1)
"""
TERSE = """\
.ss
OK (skipped=2)
"""


class CountTestsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.events = []

    def add(self, label, status, log):
        path = self.folder / f"log {len(self.events)}"
        path.write_text(log)
        self.events.append({"id": {"testResult": {"label": label}}, "testResult": {
            "status": status, "testActionOutput": [{"name": "test.log", "uri": path.as_uri()}]}})

    def sum_up(self, label, status):
        self.events.append({"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}})

    def run_it(self, status=0):
        events = self.folder / "events"
        events.write_text("".join(json.dumps(event) + "\n" for event in self.events))
        result = subprocess.run([sys.executable, COUNT_TESTS, events, str(status)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, check=True)
        return result.stdout, result.stderr.splitlines()

    def test_tells_what_was_left_out_with_the_reason_and_the_figures_each_once(self):
        for label, log in ("//a:c", GOOGLETEST), ("//a:python", UNITTEST), ("//a:terse", TERSE):
            self.add(label, "PASSED", log)
            self.add(label, "PASSED", log)
            self.sum_up(label, "PASSED")
        counts, said = self.run_it()
        self.assertEqual(counts, "3 0\n")
        self.assertEqual(said, [
            "SKIPPED: //a:c: Disk.OfItsOwn: no file system can be mounted here",
            "SKIPPED: //a:c: Disk.Bare: no reason given",
            "SKIPPED: //a:python: it's not root",
            "SKIPPED: //a:terse: 2 tests, no reason in the log",
            "FIGURE: //a:c: 7 files",
            "FIGURE: //a:python: 7 files",
        ])

    def test_shows_the_logs_of_failures_before_and_takes_no_figures_from_them(self):
        self.add("//a:flaky", "FAILED", "FIGURE: 1 of a failure\n")
        self.add("//a:flaky", "PASSED", "FIGURE: 2\n")
        self.sum_up("//a:flaky", "FLAKY")
        self.add("//a:red", "FAILED", "it broke\n")
        self.sum_up("//a:red", "FAILED")
        counts, said = self.run_it(status=3)
        self.assertEqual(counts, "1 1\n")
        self.assertEqual(said, ["PASSED WHEN RUN AGAIN: //a:flaky", "FIGURE: 1 of a failure", "FAILED: //a:red", "it broke",
                                "FIGURE: //a:flaky: 2"])


if __name__ == "__main__":
    COUNT_TESTS = sys.argv.pop()
    unittest.main()
