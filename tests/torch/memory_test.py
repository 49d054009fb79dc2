# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's allocations, as Ferret records them and beside torch.profiler.

    python3 memory_test.py FERRET LIBFERRET_TORCH
"""
import pathlib

import ferret_run
import trace_checks

HERE = pathlib.Path(__file__).resolve().parent
KEYS = ("Device Type", "Device Id", "Addr", "Bytes", "Total Allocated", "Total Reserved")


def allocations(trace, since=None, until=None):
    """[(time, thread, fields)] of what was allocated and freed, in order."""
    found = []
    for e in trace.events:
        if e.get("name") == "[memory]":
            time = trace_checks.nanoseconds(e["ts"])
            if (since is None or since <= time) and (until is None or time <= until):
                found.append((time, e["tid"], tuple(e["args"][key] for key in KEYS)))
    return sorted(found)


class MemoryTest(ferret_run.FerretTest):
    def record(self, name, *arguments):
        path = ferret_run.temporary_folder(name) / "trace.json"
        result = self.python(HERE / "details_programs.py", name, *arguments, exporters=f"chrome_trace:{path}",
                             env={"FERRET_PROFILE_MEMORY": "1"})
        return self.load(path), result

    def test_same_as_torch_profilers(self):
        path = ferret_run.temporary_folder("torch") / "memory.json"
        trace, _ = self.record("memory", path)
        theirs = trace_checks.load(path)
        windows = [next(s for s in t.named("memory") if s.category == "user_annotation") for t in (trace, theirs)]
        mine, others = [[(tid, fields) for _, tid, fields in allocations(t, w.start, w.end)]
                        for t, w in zip((trace, theirs), windows)]
        self.assertEqual(mine, others)
        self.assertGreater(len(mine), 50)

    def test_all_threads_and_nothing_is_left(self):
        trace, result = self.record("allocates_on_threads")
        found = allocations(trace)
        # Each of the threads has made 100 tensors of a size of its own.
        for size in (4000, 8000, 12000):
            own = [(tid, fields[3]) for _, tid, fields in found if abs(fields[3]) == size]
            self.assertEqual(len(own), 200)
            self.assertEqual(sum(size for _, size in own), 0)
            self.assertEqual(len({tid for tid, _ in own}), 1)
        self.assertEqual(len({tid for _, tid, fields in found if fields[3] in (4000, 8000, 12000)}), 3)
        self.assertNotIn("not recorded", result.stderr)

    def test_nothing_unless_asked_for(self):
        path = ferret_run.temporary_folder("plain") / "trace.json"
        self.python(HERE / "details_programs.py", "references", exporters=f"chrome_trace:{path}")
        self.assertEqual(allocations(self.load(path)), [])

    def test_preload_alone_leaves_torch_profiler_its_memory(self):
        """In a process that is not recorded the functions lead where they always led."""
        path = ferret_run.temporary_folder("torch") / "memory.json"
        command = ["-c", "import os, sys\nos.environ.pop('FERRET_EXPORT')\n"
                   "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])",
                   HERE / "details_programs.py", "memory", path]
        self.python(*command, exporters=f"chrome_trace:{path}.outer", env={"FERRET_PROFILE_MEMORY": "1"})
        self.assertGreater(len(allocations(trace_checks.load(path))), 50)


if __name__ == "__main__":
    ferret_run.main()
