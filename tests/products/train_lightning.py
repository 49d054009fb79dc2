# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A Lightning fit: python3 train_lightning.py FOLDER"""
import sys

import lightning
import torch
from torch import nn

STEPS = 10


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
        self.loss = None

    def training_step(self, batch, _):
        (inputs,) = batch
        self.loss = self.layers(inputs).square().mean()
        return self.loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def main():
    lightning.seed_everything(0, verbose=False)
    data = torch.utils.data.TensorDataset(torch.randn(4 * STEPS, 16))
    model = Model()
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, default_root_dir=sys.argv[1])
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=4, num_workers=0))
    print(f"loss {model.loss.item():.4f} after {trainer.global_step} steps")


if __name__ == "__main__":
    main()
