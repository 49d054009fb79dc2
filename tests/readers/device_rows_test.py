# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's engine and HolisticTraceAnalysis take what Ferret writes of devices.

    python3 device_rows_test.py WRITE_DEVICE_ROWS
"""
import collections
import json
import subprocess
import sys
import unittest

from hta.trace_analysis import TraceAnalysis

import perfetto_engine
import recorded

WRITE_DEVICE_ROWS = None


def write(path, seed=1, part_bytes=0):
    return json.loads(recorded.run(WRITE_DEVICE_ROWS, path, seed, part_bytes))


class DeviceRowsTest(unittest.TestCase):
    maxDiff = 2000

    def test_perfetto_drops_nothing_and_has_an_arrow_from_each_launch_to_its_kernel(self):
        for seed in range(1, 4):
            path = recorded.folder("devices") / "trace.json"
            wrote = write(path, seed)
            trace = recorded.load(path)
            counts = recorded.Counts(trace)
            categories = collections.Counter(s.category for s in trace.slices)
            self.assertEqual(categories["kernel"], wrote["kernels"])
            self.assertEqual(categories["cuda_runtime"], wrote["kernels"])
            self.assertEqual(categories["gpu_user_annotation"], wrote["outer_pairs"] + wrote["drawn"])
            self.assertEqual(categories["cpu_op"] + categories["user_annotation"], wrote["scopes"])
            self.assertGreater(wrote["kernels"], 500)
            with perfetto_engine.load(path) as engine:
                self.assertEqual(engine.complaints(), [])
                self.assertEqual(engine.value("select count(*) n from slice"), counts.viewer_slices)
                (ends,) = engine.rows("""
                    select count(*) n, sum(o.category = 'cuda_runtime' and o.name = 'cudaLaunchKernel') out,
                           sum(i.category = 'kernel') 'in',
                           sum(extract_arg(o.arg_set_id, 'args.correlation') =
                               extract_arg(i.arg_set_id, 'args.correlation')) joined,
                           sum(i.ts < o.ts) back
                    from flow join slice o on o.id = slice_out join slice i on i.id = slice_in""")
                kernels = wrote["kernels"]
                self.assertEqual(ends, {"n": kernels, "out": kernels, "in": kernels, "joined": kernels, "back": 0})
                # A launch is inside of the scope that it names, and a scope inside of the launch still inside of both.
                self.assertEqual(engine.value("""
                    select count(*) n from slice s join slice p on p.id = s.parent_id
                    where s.category = 'cuda_runtime' and extract_arg(s.arg_set_id, 'args.External id') =
                          extract_arg(p.arg_set_id, 'args.External id')"""), kernels)

    def test_perfetto_shows_annotations_around_what_was_launched_in_them(self):
        path = recorded.folder("devices") / "trace.json"
        wrote = write(path)
        with perfetto_engine.load(path) as engine:
            # Drawn from the first start to the last end of what is inside.
            drawn = "category = 'gpu_user_annotation' and extract_arg(arg_set_id, 'args.ferret_legacy') is null"
            self.assertEqual(engine.value(f"select count(*) n from slice where {drawn}"), wrote["drawn"])
            around = engine.value(f"""
                select count(*) n from slice s join (select * from slice where {drawn}) p on p.id = s.parent_id
                where s.ts = p.ts + 1""")
            self.assertGreater(around, wrote["drawn"] / 2)
            self.assertEqual(engine.value(f"""
                select count(*) n from (select * from slice where {drawn}) s join slice p on p.id = s.parent_id
                where p.category = 'kernel' and (p.ts = s.ts or p.dur = s.dur)"""), 0)

    def test_devices_and_streams_have_names(self):
        path = recorded.folder("devices") / "trace.json"
        write(path)
        with perfetto_engine.load(path) as engine:
            names = {row["name"] for row in engine.rows(
                "select distinct thread.name from thread_track join thread using (utid) join slice on track_id = "
                "thread_track.id where category in ('kernel', 'gpu_user_annotation')")}
        self.assertIn("stream 7 (legacy default stream)", names)
        self.assertIn("stream 8", {name.strip() for name in names})
        self.assertIn("stream 7 (legacy default stream, overlap 1)", names)
        labels = {e["pid"]: e["args"]["labels"] for e in recorded.load(path).events if e["name"] == "process_labels"}
        self.assertEqual(labels, {900: "CPU", 0: "GPU 0", 1: "GPU 1"})

    def test_hta_joins_each_kernel_with_its_launch(self):
        folder = recorded.folder("hta")
        path = folder / "trace.json"
        wrote = write(path)
        analysis = TraceAnalysis(trace_dir=str(folder), include_last_profiler_step=True)
        frame = analysis.t.traces[0]
        text = analysis.t.symbol_table.get_sym_table()
        category = frame["cat"].map(lambda index: text[index])
        kernels = frame[category == "kernel"]
        launches = frame[category == "cuda_runtime"]
        self.assertEqual(len(kernels), wrote["kernels"])
        self.assertTrue((kernels["stream"] > 0).all())
        joined = kernels.merge(launches, left_on="index_correlation", right_on="index", suffixes=("", "_launch"))
        self.assertEqual(len(joined), wrote["kernels"])
        self.assertTrue((joined["correlation"] == joined["correlation_launch"]).all())
        # What is no kernel is none to it.
        self.assertEqual(set(category[frame["stream"] >= 0]), {"kernel"})
        self.assertEqual(len(analysis.get_cuda_kernel_launch_stats(visualize=False)[0]), wrote["kernels"])
        breakdown = analysis.get_gpu_kernel_breakdown(visualize=False)[1]
        self.assertEqual(int(breakdown["sum (us)"].sum()), int(kernels["dur"].sum()))

    def test_htas_validator_accepts_every_type(self):
        path = recorded.folder("devices") / "trace.json"
        write(path)
        for level in ("minimal", "standard", "complete"):
            answer = subprocess.run([sys.executable, "-m", "hta.utils.validate_trace", "--level", level, str(path)],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout
            self.assertIn("Validation result: True", answer)

    def test_every_part_of_a_split_trace_stands_alone(self):
        folder = recorded.folder("parts")
        wrote = write(folder / "trace-%n.json", part_bytes=300000)
        parts = sorted(folder.iterdir())
        self.assertGreater(len(parts), 2)
        kernels = 0
        for part in parts:
            trace = recorded.load(part)
            used = {s.track for s in trace.slices if s.category in ("kernel", "gpu_user_annotation")}
            named = {(e["pid"], e["tid"]) for e in trace.events if e["name"] == "thread_name"}
            self.assertLessEqual(used, named)
            self.assertLessEqual({pid for pid, _ in used},
                                 {e["pid"] for e in trace.events if e["name"] == "process_labels"})
            self.assertEqual([device["numSms"] for device in trace.document["deviceProperties"]], [132, 132])
            kernels += sum(s.category == "kernel" for s in trace.slices)
            with perfetto_engine.load(part) as engine:
                self.assertEqual(engine.complaints(), [])
                self.assertEqual(engine.value("select count(*) n from flow"),
                                 sum(s.category == "kernel" for s in trace.slices))
        self.assertEqual(kernels, wrote["kernels"])

    def test_the_account_has_what_became_of_every_scope_to_be_timed(self):
        path = recorded.folder("devices") / "trace.json"
        wrote = write(path)
        device = recorded.account(recorded.load(path))["device_counts"]
        self.assertEqual(device, {"asked": wrote["asked"], "timed": wrote["timed"],
                                  "query_failed": wrote["asked"] - wrote["timed"]})


if __name__ == "__main__":
    WRITE_DEVICE_ROWS = sys.argv.pop()
    unittest.main()
