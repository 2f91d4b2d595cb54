"""A small GPT: embeddings, causal attention, two layers, cross entropy."""

import math

import torch
from torch.nn import functional as F


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.mix = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.mix(x).split(width, dim=2)
        q = q.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        k = k.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        v = v.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        mask = torch.tril(torch.ones(length, length, dtype=torch.bool))
        scores = scores.masked_fill(~mask, float("-inf"))
        mixed = F.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.wide = torch.nn.Linear(width, 4 * width)
        self.narrow = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.before(x))
        hidden = F.gelu(self.wide(self.after(x)))
        return x + self.narrow(hidden)


class Gpt(torch.nn.Module):
    def __init__(self, words=50, width=16, heads=2, layers=2):
        super().__init__()
        self.words = torch.nn.Embedding(words, width)
        self.places = torch.nn.Embedding(32, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = torch.nn.Linear(width, words, bias=False)

    def forward(self, tokens, targets):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def run(compiled):
    step = compiled(Gpt())
    tokens = torch.randint(0, 50, (2, 8))
    step(tokens, tokens).backward()
