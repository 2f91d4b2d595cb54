"""A training step with a loss and an optimizer outside of the graph."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x):
        hidden = torch.sin(self.first(x))
        hidden = hidden + torch.cosh(hidden) * 0.01
        return torch.sigmoid(self.second(hidden))


def run(compiled):
    net = Net()
    step = compiled(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (step(torch.randn(4, 8)) - 1).pow(2).mean()
        loss.backward()
        optimizer.step()
