# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs Python programs under `ferret run` and checks their traces."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import trace_checks

_ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("FERRET_")}


def temporary_folder(name):
    return pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=os.environ.get("TEST_TMPDIR")))


class FerretTest(unittest.TestCase):
    """Tests of programs that use PyTorch."""

    # The command and the adapter: the test's two arguments.
    ferret = "ferret"
    adapter = "libferret_torch.so"
    maxDiff = None

    def start(self, command, exporters=None, env=(), timeout=300):
        """Runs it, recorded if `exporters` is given. The result has stdout and stderr as text."""
        if exporters is not None:
            command = [self.ferret, "run", "--export", exporters, "--", *command]
        return subprocess.run(list(map(str, command)), env={**_ENVIRONMENT, **dict(env)}, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def python(self, *arguments, **how):
        result = self.start([sys.executable, *arguments], **how)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result

    def assert_same_run(self, arguments, exporters, **how):
        """Exit status and standard output are those of the same program without Ferret."""
        recorded = self.python(*arguments, exporters=exporters, **how)
        plain = self.python(*arguments, **how)
        self.assertEqual(recorded.stdout, plain.stdout)
        return recorded

    def load(self, path):
        """The trace, which satisfies every check."""
        trace = trace_checks.load(path)
        self.assertEqual(trace_checks.check(trace), [], f"faults in {path}")
        self.assertGreater(len(trace.slices), 0)
        return trace

    def assert_steps(self, trace, at_least):
        """Steps as Ferret sees them at the optimizer: one after another, without a gap in their numbers."""
        steps = sorted(trace.starting_with("ProfilerStep#"), key=lambda s: s.start)
        numbers = [int(s.name.partition("#")[2]) for s in steps]
        self.assertGreaterEqual(len(steps), at_least)
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))


def main():
    FerretTest.ferret, FerretTest.adapter = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
