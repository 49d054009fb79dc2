#!/usr/bin/env python3
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small character-level transformer on this project's own documentation, on the CPU.

An ordinary PyTorch program: it knows nothing of Ferret. Run it as it is, or recorded:

    bazel-bin/tools/ferret run --export chrome_trace:trace.json.gz -- python3 examples/train_charlm.py

Fails if the loss has not fallen.
"""
import argparse
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_corpus(at_least=20_000):
    """README and change log, then headers until there is enough text."""
    files = [ROOT / "README.md", ROOT / "CHANGELOG.md"] + sorted(ROOT.glob("include/**/*.h"))
    text = ""
    for number, file in enumerate(files):
        if file.is_file() and (number < 2 or len(text) < at_least):
            text += file.read_text(encoding="utf-8")
    if not text:
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
    return text * -(-at_least // len(text))


class Characters(Dataset):
    """Windows of `context` characters and the same windows one character later."""

    def __init__(self, text, context):
        self.alphabet = sorted(set(text))
        index = {character: i for i, character in enumerate(self.alphabet)}
        self.data = torch.tensor([index[character] for character in text])
        self.context = context

    def __len__(self):
        return len(self.data) - self.context

    def __getitem__(self, i):
        window = self.data[i : i + self.context + 1]
        return window[:-1], window[1:]


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer, each behind a layer norm and a residual."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attention = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class CharacterModel(nn.Module):
    def __init__(self, alphabet, context, width, heads, blocks):
        super().__init__()
        self.characters, self.positions = nn.Embedding(alphabet, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.head = nn.Linear(width, alphabet)

    def forward(self, x):
        return self.head(self.blocks(self.characters(x) + self.positions.weight[: x.shape[1]]))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--context", type=int, default=64, help="characters the model sees at once")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--workers", type=int, default=2, help="loader processes")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    text = read_corpus()
    dataset = Characters(text, args.context)
    sampler = torch.utils.data.RandomSampler(dataset, num_samples=args.steps * args.batch_size)
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, num_workers=args.workers)
    model = CharacterModel(len(dataset.alphabet), args.context, args.width, args.heads, args.blocks)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    print(f"{len(text):,} characters, {sum(p.numel() for p in model.parameters()):,} parameters")

    losses = []
    for step, (inputs, targets) in enumerate(loader):
        logits = model(inputs)
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d}  loss {losses[-1]:.4f}")

    few = max(1, len(losses) // 10)
    first, last = sum(losses[:few]) / few, sum(losses[-few:]) / few
    if not last < first:
        sys.exit(f"the loss did not fall: {first:.4f} -> {last:.4f}")


if __name__ == "__main__":
    main()
