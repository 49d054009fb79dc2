# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Unmodified PyTorch programs under `ferret run`: they behave as ever, and the trace is whole however they end.

    python3 process_test.py FERRET LIBFERRET_TORCH
"""
import pathlib
import sys

import ferret_run

HERE = pathlib.Path(__file__).resolve().parent
CHARLM = HERE.parents[1] / "examples" / "train_charlm.py"


class ProcessTest(ferret_run.FerretTest):
    def run_program(self, name):
        """Runs it plainly and recorded: status and output are the same. Returns the trace."""
        folder = ferret_run.temporary_folder(name)
        command = [sys.executable, HERE / "exit_programs.py", name]
        plain = self.start(command)
        recorded = self.start(command, exporters=f"chrome_trace:{folder}/%p.json")
        self.assertEqual((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), recorded.stderr)
        files = list(folder.iterdir())
        self.assertEqual(len(files), 1, "one process, one file")
        trace = self.load(files[0])
        self.assertGreater(len(trace.named("aten::add")), 0)
        return trace

    def test_returns(self):
        self.run_program("returns")

    def test_raises(self):
        self.run_program("raises")

    def test_exits_with_a_status(self):
        self.run_program("exits_with_seven")

    def test_operators_in_exit_handlers(self):
        self.assertEqual(len(self.run_program("works_in_exit_handlers").named("aten::add")), 2)

    def test_forked_children_record_nothing(self):
        self.assertEqual(len(self.run_program("forks").named("aten::add")), 2)

    def test_leaving_at_once(self):
        self.run_program("leaves_at_once")

    def test_adapter_loaded_by_the_program_itself(self):
        path = ferret_run.temporary_folder("load_library") / "trace.json"
        self.python(HERE / "exit_programs.py", "loads_the_adapter_itself", self.adapter,
                    env={"FERRET_EXPORT": f"chrome_trace:{path}"})
        self.assertEqual(len(self.load(path).named("after the adapter came")), 1)

    def test_second_copy_of_the_adapter_records_nothing(self):
        path = ferret_run.temporary_folder("twice") / "trace.json"
        result = self.python(HERE / "exit_programs.py", "loads_the_adapter_twice", self.adapter,
                             env={"FERRET_EXPORT": f"chrome_trace:{path}"})
        self.assertEqual(result.stderr.count("libferret_torch.so is loaded twice"), 1, result.stderr)
        self.assertEqual(len(self.load(path).named("aten::add")), 1)

    def test_adapter_without_ferret_export_records_nothing(self):
        folder = ferret_run.temporary_folder("off")
        self.python(HERE / "exit_programs.py", "loads_the_adapter_itself", self.adapter)
        self.assertEqual(list(folder.iterdir()), [])

    def test_training_with_loader_workers(self):
        folder = ferret_run.temporary_folder("charlm")
        self.assert_same_run([CHARLM, "--steps", "10"], f"chrome_trace:{folder}/%p.json.gz")
        files = list(folder.iterdir())
        self.assertEqual(len(files), 1, "the workers leave nothing")
        trace = self.load(files[0])
        self.assert_steps(trace, at_least=9)
        self.assertEqual(len(trace.named("Optimizer.step#Adam.step")), 10)
        self.assertGreater(len(trace.starting_with("enumerate(DataLoader)#")), 9)
        self.assertEqual(len({s.track[0] for s in trace.slices if s.category == "cpu_op"}), 1)


if __name__ == "__main__":
    ferret_run.main()
