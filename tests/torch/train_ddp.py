# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A data-parallel training for torchrun, over gloo. Only rank 0 prints."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 6


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.AdamW(model.parameters())
    torch.manual_seed(dist.get_rank())
    for _ in range(STEPS):
        loss = model(torch.randn(8, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # Asynchronous: a thread of the process group ends what this one begins.
        mean = loss.detach()
        pending = [dist.all_reduce(mean, async_op=True), dist.all_reduce(torch.ones(1000), async_op=True)]
        for work in pending:
            work.wait()
    if dist.get_rank() == 0:
        print(f"{mean.item() / dist.get_world_size():.6f}")
    # PyTorch 2.13 aborts, with or without a profiler, when a thread of gloo's is the last to let go of the group.
    time.sleep(1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
