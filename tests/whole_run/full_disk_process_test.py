# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""When there is no room for the trace, the program runs on as if nothing were, and what did not fit is counted.

    python3 full_disk_process_test.py TRAIN_MLP
"""
import pathlib
import re
import resource
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "readers"))

import recorded  # noqa: E402

TRAIN_MLP = None
# A trace of train_mlp is 14 MB, gzipped 1.3 MB.
ROOM = 1 << 20
ATTEMPTED = 39000
# A file system of its own, seen only by the program; what it leaves there is copied to the second folder.
ON_A_SMALL_DISK = """
mount -t tmpfs -o size=1m tmpfs "$1" || exit 77
"$3"
status=$?
cp "$1"/* "$2"
exit $status
"""


class FullDiskTest(unittest.TestCase):
    def setUp(self):
        self.folder = recorded.folder("full")
        self.plain = subprocess.run([TRAIN_MLP], env=recorded.ENVIRONMENT, stdout=subprocess.PIPE, check=True).stdout

    def assert_unharmed(self, result, disk, left, name):
        """The program did as without Ferret, the trace that is left is whole, and all numbers add up."""
        self.assertEqual((result.returncode, result.stdout), (0, self.plain), result.stderr)
        (file,) = left.iterdir()
        trace = recorded.trace_checks.load(file)
        self.assertEqual(recorded.trace_checks.check_nesting(trace), [])
        counts = recorded.Counts(trace)
        self.assertGreater(counts.delivered, 1000)
        lines = result.stderr.decode().splitlines()
        sums = [re.fullmatch(r"ferret: (.*): (\d+) events, (\d+) lost", line) for line in lines]
        (path, events, lost), = (match.groups() for match in sums if match)
        self.assertEqual(path, str(disk / name))
        self.assertEqual(int(events) + int(lost), ATTEMPTED)
        # What did not come to be in the file is counted as lost, and the file is in place.
        self.assertEqual(file.name, name)
        self.assertEqual(counts.delivered, int(events))
        self.assertGreater(int(lost), 0)
        # Every other line names the cause, and none comes again and again.
        others = [line for line, match in zip(lines, sums) if not match]
        for line in others:
            self.assertRegex(line, r"^ferret: .*(No space left on device|File too large)$")
        self.assertEqual(len(set(others)), len(others))
        print(f"{name}: {counts.delivered} in the file, {events} said to be, {lost} lost, {len(lines)} lines: {lines}")

    def test_file_size_limit(self):
        for name in ("trace.json", "trace.json.gz"):
            with self.subTest(name):
                disk = self.folder / name
                disk.mkdir()
                result = subprocess.run([TRAIN_MLP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                        env={**recorded.ENVIRONMENT, "FERRET_EXPORT": f"chrome_trace:{disk / name}"},
                                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM)))
                self.assert_unharmed(result, disk, disk, name)

    def test_full_file_system(self):
        for name in ("trace.json", "trace.json.gz"):
            with self.subTest(name):
                disk, left = self.folder / "disk", self.folder / f"left-{name}"
                disk.mkdir(exist_ok=True)
                left.mkdir()
                result = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK,
                                         "sh", disk, left, TRAIN_MLP],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                        env={**recorded.ENVIRONMENT, "FERRET_EXPORT": f"chrome_trace:{disk / name}"})
                if result.returncode in (1, 77) and not list(left.iterdir()):
                    self.skipTest(f"no file system can be mounted here, only the limit was tried: {result.stderr}")
                self.assert_unharmed(result, disk, left, name)


if __name__ == "__main__":
    TRAIN_MLP = sys.argv.pop(1)
    unittest.main(verbosity=2)  # with the reasons for what is left out
