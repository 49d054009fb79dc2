# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""An unmodified PyTorch program under `ferret run`, sent over HTTP and over gRPC.

    torch_run_test.py TORCH_PYTHON FERRET TRAIN_CHARLM
"""
import os
import subprocess
import sys
import unittest

from otlp_messages import attributes
from receiver import Receiver

TORCH_PYTHON = FERRET = TRAIN = None


class TorchRunTest(unittest.TestCase):
    def check_run(self, protocol):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "FERRET_"))}
        environment.update(LD_LIBRARY_PATH=os.getcwd(), FERRET_STOP_DEADLINE="5m")
        with Receiver() as receiver:
            result = subprocess.run(
                [FERRET, "run", "--export", f"otlp:{receiver.url(protocol)}?protocol={protocol}&detail=all", "--",
                 TORCH_PYTHON, TRAIN, "--steps", "5"],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=250, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("could not be delivered", result.stderr)
        self.assertEqual(receiver.unknown, 0)
        self.assertEqual({how[1] for how in receiver.requests}, {protocol})
        # One process: neither the loader's workers nor any other child has sent anything.
        self.assertEqual(len({attributes(resource)["process.pid"] for resource in receiver.resources}), 1)
        (record,) = [attributes(span) for span in receiver.spans if span.name == "Ferret Record"]
        self.assertEqual(record["ferret.spans.sent"], len(receiver.spans))
        self.assertEqual(len({(span.trace_id, span.span_id) for span in receiver.spans}), len(receiver.spans))
        names = [span.name for span in receiver.spans]
        self.assertEqual(names.count("Optimizer.step#Adam.step"), 5)
        self.assertGreater(sum(name.startswith("aten::") for name in names), 100)
        self.assertGreaterEqual(names.count("ProfilerStep"), 4)

    def test_http(self):
        self.check_run("http/protobuf")

    def test_grpc(self):
        self.check_run("grpc")


if __name__ == "__main__":
    TRAIN, FERRET, TORCH_PYTHON = sys.argv.pop(), os.path.abspath(sys.argv.pop()), sys.argv.pop()
    unittest.main()
