# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""key_averages of what Ferret recorded are those of torch.profiler over the same work in the same process: the same
rows, calls and FLOPs, by name, by shapes, by overload.

    python3 key_averages_test.py FERRET LIBFERRET_TORCH
"""
import collections
import ctypes
import json
import pathlib
import sys

import ferret_run

HERE = pathlib.Path(__file__).resolve()


def work():
    import threading

    import torch
    from torch.profiler import record_function

    def train():
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1, groups=1), torch.nn.ReLU(), torch.nn.Flatten(),
                                    torch.nn.Linear(4 * 64, 10), torch.nn.LayerNorm(10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=True)
        for size in (2, 3, 2):
            with record_function("forward"):
                out = model(torch.randn(size, 3, 8, 8))
            (out.exp().mean() + torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5)).sum()).backward()
            optimizer.step()
            optimizer.zero_grad()

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    train()


def compare(adapter, path):
    """Runs the work under both, and prints torch's rows."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    work()  # what happens only once
    torch.ops.load_library(adapter)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        (library,) = {line.split(maxsplit=5)[5].strip() for line in maps if line.rstrip().endswith("/libferret.so")}
    ferret = ctypes.CDLL(library)
    config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True, capture_overload_names=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True,
                 experimental_config=config) as profiler:
        assert ferret.ferret_start(f"chrome_trace:{path}".encode(), None, ctypes.c_size_t(0)) == 0
        work()
        assert ferret.ferret_stop(ctypes.c_int64(60000), None, ctypes.c_size_t(0)) == 0
    rows = {}
    for option, groups in (("", {}), ("--group-by-input-shapes", {"group_by_input_shape": True}),
                           ("--group-by-overload-name", {"group_by_overload_name": True})):
        rows[option] = [
            {"name": row.key, "calls": row.count, "flops": row.flops or 0, "overload_name": row.overload_name or "",
             "input_shapes": row.input_shapes or []} for row in profiler.key_averages(**groups)]
    print(json.dumps(rows))


class KeyAveragesTest(ferret_run.FerretTest):
    def test_rows_calls_and_flops_are_torch_profilers(self):
        path = ferret_run.temporary_folder("averages") / "trace.json"
        result = self.python(HERE, "compare", self.adapter, path,
                             env={"FERRET_RECORD_SHAPES": "1", "FERRET_WITH_FLOPS": "1"})
        theirs = json.loads(result.stdout.splitlines()[-1])
        for option, rows in theirs.items():
            table = self.start([self.ferret, "table", path, "--json", "--row-limit", "-1", *option.split()])
            self.assertEqual(table.returncode, 0, table.stderr)

            def row_of(row, option=option):
                return (row["name"], json.dumps(row["input_shapes"]) if "shapes" in option else "",
                        row["overload_name"] if "overload" in option else "", row["calls"], row["flops"])

            # Steps are what Ferret makes of the optimizer's annotations.
            mine = collections.Counter(row_of(row) for row in json.loads(table.stdout)["rows"]
                                       if row["name"] != "ProfilerStep*")
            self.assertEqual(mine, collections.Counter(map(row_of, rows)), option)
            self.assertGreater(len(mine), 40)
            self.assertGreater(sum(row[4] for row in mine), 0)
            print(f"{option or 'by name'}: {len(mine)} rows, {sum(row[3] for row in mine)} calls, "
                  f"{sum(row[4] for row in mine)} FLOPs")


if __name__ == "__main__":
    if sys.argv[1] == "compare":
        compare(*sys.argv[2:4])
    else:
        ferret_run.main()
