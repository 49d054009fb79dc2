# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""`ferret inspect` on PyTorch programs that hang: it names where, and they go on as if nothing had happened.

    python3 inspect_test.py FERRET LIBFERRET_TORCH
"""
import json
import os
import pathlib
import subprocess
import sys

import ferret_run

PROGRAMS = pathlib.Path(__file__).resolve().parent / "inspect_programs.py"


class InspectTest(ferret_run.FerretTest):
    def hang(self, name):
        self.folder = ferret_run.temporary_folder(name)
        self.pipe = self.folder / "pipe"
        os.mkfifo(self.pipe)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("FERRET_")}
        environment["FERRET_CRASH_DIR"] = str(self.folder)
        environment["FERRET_STOP_DEADLINE"] = "50s"  # disks may stand still
        command = [self.ferret, "run", "--export", f"chrome_trace:{self.folder}/trace.json", "--",
                   sys.executable, PROGRAMS, name, self.pipe]
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(list(map(str, command)), env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.kill)
        return self.pid_of("main")

    def pid_of(self, who):
        line = self.process.stdout.readline().split()
        self.assertEqual(line[0], who)
        return int(line[1])

    def inspect(self, pid, found):
        """What is found of the process as soon as `found` is true of its threads."""
        while True:
            result = self.start([self.ferret, "inspect", "--json", str(pid)])
            # It has no file before it records.
            if result.returncode == 0:
                process = json.loads(result.stdout)["processes"][0]
                if any(found(thread) for thread in process["threads"]):
                    return process
            self.assertIsNone(self.process.poll(), "it ended")

    def release(self):
        self.pipe.write_text("go on")
        self.assertEqual(self.process.wait(timeout=300), 0)
        return self.load(self.folder / "trace.json")

    def test_names_the_annotation_that_hangs_in_a_lock(self):
        pid = self.hang("lock")

        def hangs(thread):
            return [scope["name"] for scope in thread["open"]] == ["train step", "wait for lock"]

        process = self.inspect(pid, hangs)
        thread = next(filter(hangs, process["threads"]))
        self.assertFalse(thread["is_main"])
        self.assertEqual(thread["last"][0]["name"], "aten::add")
        trace = self.release()
        self.assertEqual(len(trace.named("wait for lock")), 1)

    def test_names_the_loader_whose_worker_hangs(self):
        pid = self.hang("loader")
        worker = self.pid_of("worker")
        # The step ends in the same moment as what it is told by.
        process = self.inspect(pid, lambda thread: thread["is_main"] and len(thread["open"]) == 1
                               and thread["open"][0]["name"].startswith("enumerate(DataLoader)#")
                               and "Optimizer.step#SGD.step" in [event["name"] for event in thread["last"][:2]])
        self.assertEqual(process["pid"], pid)
        refused = self.start([self.ferret, "inspect", str(worker)])
        self.assertEqual(refused.returncode, 1)
        self.assertIn("does not record into a file", refused.stderr)
        trace = self.release()
        self.assertEqual(len(trace.named("Optimizer.step#SGD.step")), 3)


if __name__ == "__main__":
    ferret_run.main()
