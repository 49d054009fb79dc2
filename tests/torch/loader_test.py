# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Workers of a DataLoader under `ferret run`: silent by default, or with whole traces of their own.

    python3 loader_test.py FERRET LIBFERRET_TORCH

With EVERY_WAY in the environment in every way in which workers are made; without it in those that are most unlike.
"""
import collections
import os
import pathlib

import ferret_run
import loader_programs

PROGRAM = pathlib.Path(__file__).resolve().parent / "loader_programs.py"
EVERY_WAY = "EVERY_WAY" in os.environ
STEPS = loader_programs.EPOCHS * loader_programs.SAMPLES // loader_programs.BATCH


class LoaderTest(ferret_run.FerretTest):
    def train(self, how, lives, fork, crash_dir=False):
        """Runs it; returns the traces, the training process's first, and what `ferret run` said."""
        folder = ferret_run.temporary_folder("loader")
        env = {"FERRET_FORK": fork, "OMP_NUM_THREADS": "1", "FERRET_BUFFER_SIZE": "8M", "FERRET_STOP_DEADLINE": "50s"}
        if crash_dir:
            env["FERRET_CRASH_DIR"] = str(folder / "crash")
            (folder / "crash").mkdir()
        result = self.python(PROGRAM, how, lives, exporters=f"chrome_trace:{folder}/trace.json", env=env)
        self.assertIn("killed" if how == "killed" else "48 samples", result.stdout)
        if crash_dir:
            self.assertEqual(list((folder / "crash").iterdir()), [])
            (folder / "crash").rmdir()
        traces = [self.load(path) for path in sorted(folder.iterdir())]
        trainers = [t for t in traces if t.named("train step")]
        self.assertEqual(len(trainers), 1)
        return trainers + [t for t in traces if t not in trainers], result.stderr

    def samples(self, traces):
        return collections.Counter(s.name for t in traces for s in t.starting_with("sample ") if s.category != "Trace")

    def assert_every_sample(self, traces, epochs=loader_programs.EPOCHS):
        expected = {f"sample {i}": epochs for i in range(loader_programs.SAMPLES)}
        self.assertEqual(self.samples(traces), expected)

    def test_workers_are_silent_by_default(self):
        (trainer, *workers), said = self.train("fork", "once", "off")
        self.assertEqual(workers, [])
        self.assertEqual(len(trainer.named("train step")), STEPS)
        self.assertEqual(self.samples([trainer]), {})
        self.assertIn("trace.json: ", said)

    def test_each_worker_has_a_whole_trace(self):
        for lives, count, crash_dir in (("persistent", 2, True),) + ((("once", 4, False),) if EVERY_WAY else ()):
            (trainer, *workers), said = self.train("fork", lives, "restart", crash_dir)
            self.assertEqual(len(workers), count)
            self.assert_every_sample(workers)
            self.assertGreater(min(len(w.named("aten::add")) for w in workers), 0)
            self.assertEqual(len(trainer.named("train step")), STEPS)
            self.assertEqual(self.samples([trainer]), {})
            self.assertIn(f"{count + 1} outputs: ", said)
            self.assertIn("none lost", said)
            self.assertEqual(len(said.splitlines()), 1, said)

    def test_a_killed_worker_is_recovered_to_its_last_record_and_leaves_the_trainer_whole(self):
        (trainer, *workers), said = self.train("killed", "once", "restart", crash_dir=True)
        self.assertEqual(len(workers), 2, said)
        (killed,) = [w for w in workers if w.named(f"sample {loader_programs.KILLED}")]
        # Its batches were every second one: 0, 2, 4 of four samples each.
        self.assertEqual(self.samples([killed]), {f"sample {i}": 1 for i in (0, 1, 2, 3, 8, 9, 10, 11, 16, 17)})
        self.assertGreater(len(trainer.named("train step")), 0)

    def test_processes_that_are_spawned_record_as_any_other_does(self):
        for how, fork in (("spawn", "off"),) + ((("forkserver", "restart"),) if EVERY_WAY else ()):
            with self.subTest(how=how):
                (_, *workers), said = self.train(how, "persistent", fork)
                self.assertEqual(len(workers), 2, said)
                self.assert_every_sample(workers)
                self.assertIn("none lost", said)
                self.assertNotIn("cut short", said)


if __name__ == "__main__":
    ferret_run.main()
