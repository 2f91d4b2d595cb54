"""Many guards on modules: nested ones, containers, hooks, parametrizations, modules compiled one by one."""

import torch

import depyf


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).unbind(2)
        scores = torch.einsum("blhd,bmhd->bhlm", q, k).softmax(-1)
        return self.out(torch.einsum("bhlm,bmhd->blhd", scores, v).reshape(batch, length, width))


class Layer(torch.nn.Module):
    def __init__(self, width, heads, kind):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norms = torch.nn.ModuleDict({"before": torch.nn.LayerNorm(width), "after": torch.nn.LayerNorm(width)})
        self.feed = torch.nn.Sequential(torch.nn.Linear(width, 2 * width), kind(), torch.nn.Linear(2 * width, width))
        self.scales = torch.nn.ParameterList([torch.ones(width), torch.ones(width)])

    def forward(self, x):
        x = x + self.attention(self.norms["before"](x)) * self.scales[0]
        return x + self.feed(self.norms["after"](x)) * self.scales[1]


class Model(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embed = torch.nn.Embedding(10, 8)
        self.layers = torch.nn.ModuleList(
            Layer(8, 2, torch.nn.GELU if number % 2 else torch.nn.ReLU) for number in range(layers)
        )
        self.register_buffer("position", torch.arange(5.0))
        self.collect = {}

    def forward(self, tokens):
        x = self.embed(tokens) + self.position[: tokens.shape[1], None]
        for number, layer in enumerate(self.layers):
            x = layer(x)
            self.collect[f"layer {number}"] = x.shape
        return x @ self.embed.weight.T


class Parametrized(torch.nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).transpose(-1, -2)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).relu()


torch.manual_seed(0)
tokens = torch.arange(10).view(2, 5)
with depyf.prepare_debug("dump/model"):
    model = Model(6)
    compiled = torch.compile(model, backend="aot_eager")
    print(compiled(tokens).shape)
    model.eval()
    with torch.inference_mode():
        print(compiled(tokens[:, :3]).shape)

with depyf.prepare_debug("dump/eager"):
    print(torch.compile(Model(2), backend="eager")(tokens).shape)

with depyf.prepare_debug("dump/hooks"):
    linear = torch.nn.Linear(3, 3)
    linear.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    linear.register_forward_hook(lambda module, args, out: out + 1)
    torch.nn.utils.parametrize.register_parametrization(linear, "weight", Parametrized())
    torch.compile(linear, backend="aot_eager")(torch.ones(2, 3)).sum().backward()

with depyf.prepare_debug("dump/one_by_one"):
    x = torch.ones(2, 4)
    for block in [Block() for _ in range(4)]:
        block.compile(backend="aot_eager")
        x = block(x)
    convolution = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.MaxPool2d(2))
    torch.compile(convolution, backend="eager")(torch.ones(1, 3, 8, 8))
    torch.compile(torch.nn.LSTMCell(3, 4), backend="eager")(torch.ones(2, 3))
