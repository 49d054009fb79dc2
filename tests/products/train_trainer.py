# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer on a small random GPT-2, with two loader workers: python3 train_trainer.py FOLDER"""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainingArguments, set_seed

STEPS = 10


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        ids = (torch.arange(32) * (i + 1)) % 97
        return {"input_ids": ids, "labels": ids}


def main():
    set_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=97, n_positions=32, n_embd=32, n_layer=2, n_head=2))
    arguments = TrainingArguments(sys.argv[1], max_steps=STEPS, per_device_train_batch_size=4, use_cpu=True,
                                  dataloader_num_workers=2, report_to=[], save_strategy="no", disable_tqdm=True,
                                  logging_strategy="no", seed=0)
    trainer = Trainer(model, arguments, train_dataset=Tokens())
    trainer.remove_callback(PrinterCallback)  # prints how long it took
    result = trainer.train()
    print(f"loss {result.training_loss:.4f} after {result.global_step} steps")


if __name__ == "__main__":
    main()
