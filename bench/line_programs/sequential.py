"""nn.Sequential inside nn.Sequential, with a module of one's own in it."""

import torch


class Wave(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) * 0.5


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, 8),
            torch.nn.Sequential(Wave(), torch.nn.ReLU(), torch.nn.LayerNorm(8)),
            torch.nn.Dropout(0.0),
            torch.nn.Linear(8, 2),
        )

    def forward(self, x):
        return torch.cosh(self.layers(x))


def run(compiled):
    step = compiled(Net())
    step(torch.randn(4, 8)).sum().backward()
