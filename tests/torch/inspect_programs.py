# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs that hang until somebody opens a named pipe for writing: python3 inspect_programs.py NAME PIPE"""
import os
import sys
import threading

import torch


def wait_for(pipe):
    with open(pipe, encoding="utf-8") as file:
        file.read()


class Hanging(torch.utils.data.Dataset):
    """Its third item takes as long as somebody wants."""

    def __init__(self, pipe):
        self.pipe = pipe

    def __len__(self):
        return 3

    def __getitem__(self, index):
        if index == 2:
            print("worker", os.getpid(), flush=True)
            wait_for(self.pipe)
        return torch.ones(4) * index


def hangs_in_a_loader(pipe):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in torch.utils.data.DataLoader(Hanging(pipe), num_workers=1):
        model(batch).sum().backward()
        optimizer.step()


def hangs_in_a_lock(pipe):
    lock = threading.Lock()

    def train():
        with torch.profiler.record_function("train step"):
            torch.ones(8).add(1)
            with torch.profiler.record_function("wait for lock"):
                with lock:
                    pass

    with lock:
        thread = threading.Thread(target=train)
        thread.start()
        wait_for(pipe)
    thread.join()


if __name__ == "__main__":
    print("main", os.getpid(), flush=True)
    {"loader": hangs_in_a_loader, "lock": hangs_in_a_lock}[sys.argv[1]](sys.argv[2])
