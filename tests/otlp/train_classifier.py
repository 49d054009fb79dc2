# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""An ordinary training with a DataLoader and an optimizer: python3 train_classifier.py"""
import torch
from torch import nn
from torch.nn import functional

STEPS, BATCH = 4, 8

torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(STEPS * BATCH, 16), torch.randint(4, (STEPS * BATCH,)))
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, classes in torch.utils.data.DataLoader(data, BATCH):
    model.zero_grad()
    loss = functional.cross_entropy(model(inputs), classes)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
