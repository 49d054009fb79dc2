# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A compiled model: its graphs are in the trace, with their arrows, and the compiler's many processes harm nothing.

    python3 compile_test.py FERRET LIBFERRET_TORCH
"""
import pathlib

import ferret_run

HERE = pathlib.Path(__file__).resolve().parent


class CompileTest(ferret_run.FerretTest):
    def test_compiled_training(self):
        folder = ferret_run.temporary_folder("compile")
        cache = ferret_run.temporary_folder("inductor")
        self.assert_same_run([HERE / "train_compiled.py"], f"chrome_trace:{folder}/trace-%p.json.gz",
                             env={"TORCHINDUCTOR_CACHE_DIR": str(cache), "HOME": str(cache)})
        # Compile workers may run operators of their own; the training is the one with steps.
        traces = [self.load(file) for file in folder.iterdir()]
        (trace,) = [t for t in traces if t.starting_with("ProfilerStep#")]
        self.assert_steps(trace, at_least=3)
        self.assertEqual(len(trace.named("CompiledFunctionBackward")), 4)
        self.assertGreaterEqual(len(trace.starting_with("Torch-Compiled Region")), 4)


if __name__ == "__main__":
    ferret_run.main()
