# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that inherit one FERRET_EXPORT never write over one another's traces.

    python3 one_file_each_process_test.py FERRET LIBFERRET RECORD_SCOPES
"""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "readers"))

import recorded  # noqa: E402

FERRET = LIBFERRET = RECORD_SCOPES = None
CHILDREN = 4


def names_by_process(folder):
    """{process id: {scope name: count}}, one process a file."""
    processes = {}
    for file in folder.iterdir():
        trace = recorded.load(file)
        assert trace.document["ferret_pid"] not in processes, "one process, one file"
        names = collections.Counter(s.name for s in trace.slices if s.category == "cpu_op")
        assert sum(names.values()) == recorded.account(trace)["events"]
        processes[trace.document["ferret_pid"]] = dict(names)
    return processes


class OneFileEachProcessTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = recorded.folder("family")
        self.target = f"chrome_trace:{self.folder}/trace.json"

    def assert_family(self, how, files):
        for under_ferret_run in (False, True):
            with self.subTest(how=how, under_ferret_run=under_ferret_run):
                program = [sys.executable, HERE / "family.py", LIBFERRET, how, CHILDREN]
                if under_ferret_run:
                    program = [FERRET, "run", "--no-torch", "--export", self.target, "--", *program]
                recorded.run(*program, env={"FERRET_EXPORT": self.target})
                found = sorted(map(repr, names_by_process(self.folder).values()))
                self.assertEqual(found, sorted(map(repr, files)))
                self.assertTrue((self.folder / "trace.json").exists(), "one of them has the name that was asked for")
                for file in self.folder.iterdir():
                    file.unlink()

    def everyone(self):
        return [{"parent": 20}, *({f"child {n}": n + 1} for n in range(2 * CHILDREN))]

    def test_spawned_by_multiprocessing(self):
        self.assert_family("spawn", self.everyone())

    def test_started_by_subprocess(self):
        self.assert_family("subprocess", self.everyone())

    def test_forked_children_leave_the_parents_file_unharmed(self):
        self.assert_family("fork", [{"parent": 20}])

    def test_children_forked_by_multiprocessing(self):
        self.assert_family("multiprocessing fork", [{"parent": 20}])

    def assert_forked_family(self, how, *options, env=()):
        """Runs it with children that record; returns what `ferret run` says."""
        result = subprocess.run([FERRET, "run", *options, "--export", self.target, "--", sys.executable,
                                 HERE / "family.py", LIBFERRET, how, str(CHILDREN)],
                                env={**recorded.ENVIRONMENT, "FERRET_FORK": "restart",
                                     "FERRET_STOP_DEADLINE": "50s", **dict(env)}, timeout=300,
                                stderr=subprocess.PIPE, text=True, check=True)
        traces = names_by_process(self.folder)
        self.assertEqual(sorted(map(repr, traces.values())), sorted(map(repr, self.everyone())), result.stderr)
        self.assertTrue((self.folder / "trace.json").exists())
        for pid, names in traces.items():
            self.assertEqual((self.folder / f"trace-{pid}.json").exists(), "parent" not in names)
        return result.stderr.splitlines()

    def test_forked_children_that_record_have_their_own_however_they_end(self):
        for how in ("fork", "multiprocessing fork"):
            with self.subTest(how=how):
                self.folder = recorded.folder("family")
                self.target = f"chrome_trace:{self.folder}/trace.json"
                lines = self.assert_forked_family(how)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn(f"{2 * CHILDREN + 1} outputs: ", lines[0])
                self.assertIn(f" and {2 * CHILDREN - 3} more: ", lines[0])
                self.assertTrue(lines[0].endswith("none lost"), lines)

    def test_forked_children_are_recovered_where_nothing_stands_before_exit(self):
        with tempfile.TemporaryDirectory() as crash:
            self.assert_forked_family("multiprocessing fork", "--no-torch",
                                      env={"FERRET_CRASH_DIR": crash, "FERRET_BUFFER_SIZE": "2M"})
            self.assertEqual(os.listdir(crash), [])

    def test_process_that_records_nothing_leaves_no_file(self):
        recorded.run(sys.executable, HERE / "family.py", LIBFERRET, "silent", 0, env={"FERRET_EXPORT": self.target})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_ranks_of_one_launch(self):
        script = 'for rank in 0 1 2 3; do RANK=$rank WORLD_SIZE=4 "$0" $((rank + 1)) & done; wait'
        recorded.run(FERRET, "run", "--no-torch", "--export", self.target, "--", "sh", "-c", script, RECORD_SCOPES)
        self.assertEqual(sorted(f.name for f in self.folder.iterdir()), [f"trace-rank{rank}.json" for rank in range(4)])
        for rank in range(4):
            trace = recorded.load(self.folder / f"trace-rank{rank}.json")
            self.assertEqual(trace.document["distributedInfo"]["rank"], rank)
            self.assertEqual(len(trace.named("scope")), rank + 1)

    def test_programs_of_one_script_one_after_the_other(self):
        script = 'for count in 1 2 3; do "$0" $count; done'
        recorded.run(FERRET, "run", "--no-torch", "--export", self.target, "--", "sh", "-c", script, RECORD_SCOPES)
        found = names_by_process(self.folder).values()
        self.assertEqual(sorted(map(repr, found)), sorted(map(repr, ({"scope": count} for count in (1, 2, 3)))))


if __name__ == "__main__":
    RECORD_SCOPES, LIBFERRET, FERRET = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()
    unittest.main()
