# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Ways for a PyTorch program to end, to fork, to bring the adapter in: python3 exit_programs.py NAME [ARGUMENT]"""
import atexit
import os
import shutil
import sys
import tempfile

import torch


def work():
    return torch.ones(8).add(1).sum().item()


def returns():
    print(work())


def raises():
    work()
    raise RuntimeError("on purpose")


def exits_with_seven():
    work()
    sys.exit(7)


def leaves_at_once():
    work()
    os._exit(9)


def works_in_exit_handlers():
    atexit.register(lambda: print(work()))
    work()


def forks():
    """A child records nothing, harms nothing, and its own children neither."""
    for how in (sys.exit, os._exit):
        child = os.fork()
        if child == 0:
            work()
            grandchild = os.fork()
            if grandchild == 0:
                work()
                os._exit(0)
            os.waitpid(grandchild, 0)
            how(5)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), work(), flush=True)


def loads_the_adapter_itself():
    work()
    torch.ops.load_library(sys.argv[2])
    with torch.profiler.record_function("after the adapter came"):
        work()


def loads_the_adapter_twice():
    """A second copy, under another path, finds the first one and leaves the recording to it."""
    torch.ops.load_library(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        torch.ops.load_library(shutil.copy(sys.argv[2], folder))
        work()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
