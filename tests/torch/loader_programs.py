# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Trains with a DataLoader: python3 loader_programs.py fork|spawn|forkserver|killed once|persistent

Every sample is made in a scope of its own, "sample N", and every step of the loop in "train step". With `killed` a worker
kills itself in the middle of sample KILLED.
"""
import os
import signal
import sys

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset

SAMPLES, BATCH, EPOCHS, WORKERS = 24, 4, 2, 2
KILLED = 17


class Samples(Dataset):
    def __init__(self, killed):
        self.killed = killed

    def __len__(self):
        return SAMPLES

    def __getitem__(self, i):
        with record_function(f"sample {i}"):
            if i == self.killed:
                os.kill(os.getpid(), signal.SIGKILL)
            return torch.full((8,), float(i)).add(1)


def main(how, lives):
    loader = DataLoader(Samples(KILLED if how == "killed" else None), BATCH, num_workers=WORKERS,
                        multiprocessing_context="fork" if how == "killed" else how,
                        persistent_workers=lives == "persistent")
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    seen = 0
    try:
        for _ in range(EPOCHS):
            for batch in loader:
                with record_function("train step"):
                    optimizer.zero_grad()
                    model(batch).sum().backward()
                    optimizer.step()
                seen += len(batch)
    except (RuntimeError, OSError) as error:  # OSError: in the middle of a tensor
        print("a worker was killed" if how == "killed" else error)
    else:
        print(seen, "samples")


if __name__ == "__main__":
    main(*sys.argv[1:])
