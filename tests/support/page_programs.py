"""Programs whose pages are opened in a browser: `depyf run page_programs.py NAME`."""

from __future__ import annotations

import sys

import torch


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def toy():
    """Run the example of the README, both ways of its branch."""
    compiled = torch.compile(toy_example)
    for sign in (1, -1):
        compiled(torch.linspace(-1, 1, 10), sign * torch.ones(10))


class Block(torch.nn.Module):
    """One block of a transformer, with a graph break between its two halves."""

    def __init__(self, width):
        super().__init__()
        self.project = torch.nn.Linear(width, 3 * width)
        self.norm = torch.nn.LayerNorm(width)
        self.widen = torch.nn.Linear(width, 2 * width)
        self.narrow = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        query, key, value = self.project(self.norm(x)).chunk(3, dim=-1)
        scores = query @ key.transpose(-2, -1)
        weights = torch.softmax(scores * 0.25, dim=-1)
        x = x + weights @ value
        print("half way")
        return x + self.narrow(torch.nn.functional.gelu(self.widen(x)))


def transformer():
    """Train a small transformer for two steps, the second with another length."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(Block(8), torch.nn.Linear(8, 4))
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for length in (4, 6):
        loss = compiled(torch.randn(2, length, 8)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def hugging_face():
    """Run a model of transformers, with random weights and two layers."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, vocab_size=64)
    model = BertModel(BertConfig(max_position_embeddings=32, **sizes)).eval()
    with torch.no_grad():
        torch.compile(model)(torch.arange(8)[None])


def shift(x, rank):
    x = x.sin() + 1
    if rank == 1:
        print("rank 1 breaks here")
    return x * 2


def ranks():
    """Compile on two ranks, the second of which has a graph break that the first has not."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    torch.compile(shift, backend="aot_eager")(torch.ones(3), dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    {"toy": toy, "transformer": transformer, "hugging_face": hugging_face, "ranks": ranks}[sys.argv[1]]()
