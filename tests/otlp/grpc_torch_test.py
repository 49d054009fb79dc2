# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""The library that sends over gRPC, in a process with PyTorch: neither disturbs the other, whichever comes first.

    grpc_torch_test.py LIBRARY PYTHON_WITH_TORCH
"""
import os
import socket
import subprocess
import sys
import unittest

import grpc_ctypes

LIBRARY = TORCH_PYTHON = None
METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def multiply():
    import torch
    return torch.ones(8, 8).matmul(torch.ones(8, 8)).sum().item()


def call():
    """Nobody listens on the port while the socket is only bound."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        client = grpc_ctypes.Client(LIBRARY, "ipv4:127.0.0.1:%d" % bound.getsockname()[1])
        code, message = client.send(METHOD, b"abc")
        client.close()
    assert code == 14 and "refused" in message, (code, message)


class TorchTest(unittest.TestCase):
    def run_in_a_new_process(self, first):
        subprocess.run([TORCH_PYTHON, __file__, LIBRARY, first], check=True, timeout=150)

    def test_after_torch(self):
        self.run_in_a_new_process("torch_first")

    def test_before_torch(self):
        self.run_in_a_new_process("grpc_first")


if __name__ == "__main__":
    LIBRARY = os.path.abspath(sys.argv.pop(1))
    argument = sys.argv.pop(1)
    if argument.endswith("_first"):
        for step in (multiply, call) if argument == "torch_first" else (call, multiply):
            step()
        assert multiply() == 512
        call()
    else:
        TORCH_PYTHON = argument
        unittest.main()
