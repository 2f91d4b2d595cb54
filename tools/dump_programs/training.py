"""Training: graph breaks in a model with dropout and batch norm, a compiled optimizer, train and eval."""

import torch

import depyf


class Block(torch.nn.Module):
    def __init__(self, width, breaks):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(width)
        self.linear = torch.nn.Linear(width, width)
        self.drop = torch.nn.Dropout(0.5)
        self.breaks = breaks
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = self.linear(self.norm(x)).relu()
        if self.breaks:
            torch._dynamo.graph_break()
        return x + self.drop(y)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(4, number == 1) for number in range(3))
        self.head = torch.nn.Linear(4, 2)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x, target=None):
        for block in self.blocks:
            x = block(x)
        self.seen += x.shape[0]
        out = self.head(x)
        if target is None:
            return out
        loss = torch.nn.functional.cross_entropy(out, target)
        if loss > 100:
            loss = loss * 0.1
        return loss


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
compiled = torch.compile(net, backend="aot_eager")


@torch.compile(backend="eager")
def step():
    optimizer.step()


with depyf.prepare_debug("dump"):
    for size in (6, 6, 8):
        optimizer.zero_grad()
        loss = compiled(torch.randn(size, 4), torch.zeros(size, dtype=torch.long))
        loss.backward()
        step()
        print(f"{loss.item():.4f}")
    net.eval()
    with torch.no_grad():
        print(compiled(torch.ones(2, 4)).argmax(-1).tolist())
