# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Trainings by frameworks that other people use, unmodified, under `ferret run`.

    python3 products_test.py FERRET LIBFERRET_TORCH
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))

import ferret_run  # noqa: E402


class ProductsTest(ferret_run.FerretTest):
    def train(self, script, optimizer):
        folder = ferret_run.temporary_folder(script.partition(".")[0])
        (folder / "traces").mkdir()
        result = self.assert_same_run([HERE / script, folder], f"chrome_trace:{folder}/traces/%p.json.gz",
                                      env={"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "HOME": str(folder)})
        self.assertIn("after 10 steps", result.stdout)
        files = list((folder / "traces").iterdir())
        self.assertEqual(len(files), 1, "one training process, one trace")
        trace = self.load(files[0])
        self.assert_steps(trace, at_least=9)
        self.assertEqual(len(trace.starting_with(f"Optimizer.step#{optimizer}")), 10)
        self.assertGreater(sum(e.get("cat") == "fwdbwd" for e in trace.events), 100)

    def test_hugging_face_trainer_with_loader_workers(self):
        self.train("train_trainer.py", "AdamW")

    def test_lightning_fit(self):
        self.train("train_lightning.py", "SGD")


if __name__ == "__main__":
    ferret_run.main()
