# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A training that is killed in the middle, under `ferret run` with a crash file, leaves its one trace with every step.

    python3 killed_training_test.py FERRET TRAINING [ARGUMENT...]

The training says "step N" on its standard output when step N is over.
"""
import fcntl
import os
import signal
import subprocess
import sys
import unittest

import perfetto_engine
import recorded

FERRET = TRAINING = None
LAST_SEEN = 20


def steps_of(trace):
    return sorted(int(s.name.partition("#")[2]) for s in trace.slices if s.name.startswith("ProfilerStep#"))


class KilledTrainingTest(unittest.TestCase):
    def train_and_kill(self, folder, path):
        """Returns what `ferret run` said."""
        crash = folder / "crash"
        crash.mkdir()
        environment = {**recorded.ENVIRONMENT, "FERRET_CRASH_DIR": str(crash), "PYTHONUNBUFFERED": "1",
                       # Room for all of it, however late the drain comes on a busy machine.
                       "FERRET_OVERFLOW": "block", "FERRET_BLOCK_LIMIT": "10s"}
        command = [FERRET, "run", "--export", f"chrome_trace:{path}", "--", *TRAINING]
        # Not a pipe: loaders' processes hold it until they find out that the training is gone.
        said = folder.with_name(folder.name + "-said")
        # A pipe in which one line has room: the training waits before it is far beyond the last one that was read, however
        # late it is killed.
        out, out_of_training = os.pipe2(os.O_CLOEXEC | os.O_DIRECT)
        fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, 4096)
        with open(out, "rb") as lines, open(said, "wb") as err, \
             subprocess.Popen(command, env=environment, stdout=out_of_training, stderr=err) as run:
            os.close(out_of_training)
            for line in lines:
                words = line.split()
                if words[:1] == [b"step"] and int(words[1]) >= LAST_SEEN:
                    break
            # Its crash file has the pid in its name.
            (file,) = crash.glob("ferret-*")
            os.kill(int(file.name.split("-")[1]), signal.SIGKILL)
            self.assertEqual(run.wait(), -signal.SIGKILL, said.read_text())
        # The trace, and nothing else.
        self.assertEqual(list(crash.iterdir()), [])
        crash.rmdir()
        self.assertEqual(list(folder.iterdir()), [path], said.read_text())
        return said.read_text()

    def test_leaves_every_step_up_to_the_kill(self):
        for name in ("trace.json", "trace.json.gz"):
            with self.subTest(name):
                folder = recorded.folder("killed")
                path = folder / name
                said = self.train_and_kill(folder, path)
                self.assertRegex(said, r"trace\.json.*: \d+ events? recovered")
                trace = recorded.load(path)
                steps = steps_of(trace)
                self.assertGreaterEqual(steps[-1], LAST_SEEN - 1)
                self.assertEqual(steps, list(range(steps[0], steps[0] + len(steps))))
                self.assertLessEqual(steps[0], 1)
                self.assertEqual(recorded.account(trace)["lost"]["total"], 0)
                counts = recorded.Counts(trace)
                with perfetto_engine.load(path) as engine:
                    self.assertEqual(engine.complaints(), [])
                    self.assertEqual(engine.value("select count(*) n from slice"), counts.viewer_slices)
                    self.assertEqual(engine.value("select count(*) n from flow"), counts.arrows)
                print(f"FIGURE: killed training: {name}: step {LAST_SEEN} seen, ProfilerStep#{steps[-1]} in the trace; "
                      f"{counts.delivered} events, 0 lost")


if __name__ == "__main__":
    FERRET, TRAINING = sys.argv[1], sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
