# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's profiler plug-in shows the steps and the operators of a trace.

    python3 tensorboard_test.py TRAIN_MLP
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

import recorded

TRAIN_MLP = None


class Board:
    """A running TensorBoard. Its page wants the network, the data behind the page does not."""

    def __init__(self, folder):
        self.log_file = recorded.folder("board") / "log"
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--host", "127.0.0.1", "--port", "0",
                   "--load_fast", "false"]
        with open(self.log_file, "wb") as log:
            # Its processes end with it: they are a session of their own.
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, start_new_session=True)
        address = self.wait_for("an address", lambda: re.search(r"http://127\.0\.0\.1:\d+/", self.log()))
        self.base = f"{address[0]}data/plugin/pytorch_profiler/"

    def log(self):
        return self.log_file.read_text()

    def wait_for(self, what, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            result = condition()
            if result:
                return result
            time.sleep(0.05)
        raise AssertionError(f"no sign of {what}: {self.log()}")

    def get(self, path):
        with urllib.request.urlopen(self.base + path, timeout=30) as answer:
            return json.loads(answer.read())

    def loaded_runs(self):
        """Empty until the plug-in, which looks for runs on a thread of its own, has read them."""
        state = self.get("runs")
        return [] if state["loading"] else state["runs"]

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class TensorBoardTest(unittest.TestCase):
    def test_steps_and_operators(self):
        folder = recorded.folder("logs")
        # The names that torch.profiler.tensorboard_trace_handler gives: <worker>.<ms>.pt.trace.json.gz
        recorded.record(TRAIN_MLP, folder / "first" / "worker0.1700000000000.pt.trace.json.gz")
        with contextlib.closing(Board(folder)) as board:
            self.assertEqual(board.wait_for("a run", board.loaded_runs), ["first"])
            self.assertEqual(board.get("workers?run=first&view=Overview"), ["worker0"])
            self.assertEqual(board.get("views?run=first"), ["Overview", "Operator", "Trace"])
            (span,) = board.get("spans?run=first&worker=worker0")
            query = f"run=first&worker=worker0&span={span}"
            steps = board.get(f"overview?{query}")["steps"]["rows"]
            self.assertEqual([row[0] for row in steps], [str(number) for number in range(200)])
            table = board.get(f"operation/table?{query}&group_by=Operation")["data"]
            calls = {row["name"]: row["calls"] for row in table}
            self.assertEqual(calls, {"linear": 12800, "LinearBackward": 12800, "tanh": 6400, "TanhBackward": 6400,
                                     "update": 200})
        self.assert_no_complaint(board.log())

    def assert_no_complaint(self, log):
        """It logs what it drops. Ranges that touch may be among it: it adds times as doubles, and those have a step of
        a nanosecond at the microseconds of a trace."""
        for line in log.splitlines():
            if not re.match(r"[EW]\d{4} ", line):
                continue
            crossing = re.search(r"!Father:\(.*,([\d.]+)\) Child:\(.*,([\d.]+),[\d.]+\)$", line)
            self.assertTrue(crossing, line)
            self.assertLess(float(crossing[1]) - float(crossing[2]), 0.0025, line)


if __name__ == "__main__":
    TRAIN_MLP = sys.argv.pop(1)
    unittest.main()
