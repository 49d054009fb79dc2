# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a model that torch.compile has compiled."""
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 1))
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        loss = compiled(torch.randn(8, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
