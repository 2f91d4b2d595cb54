"""Models of a page each, with the traits that make stories long or names hard: for `model_zoo.py`."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator

import torch
from torch import nn
from zoo_models import Case, Compile, two_batches

Tensor = torch.Tensor


class Block(nn.Module):
    """A norm and a linear layer with a residual connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.relu(self.linear(self.norm(x)))


class Blocks(nn.Module):
    """A hundred blocks, one after the other."""

    def __init__(self, count: int = 100, width: int = 8) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class Attention(nn.Module):
    """Causal attention with one projection for queries, keys and values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = self.projection(x).split(width, dim=2)
        shape = (batch, length, self.heads, width // self.heads)
        parts = [part.view(shape).transpose(1, 2) for part in (query, key, value)]
        found = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        return self.output(found.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """Attention and a feed-forward network."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.second_norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first_norm(x))
        return x + self.feed(self.second_norm(x))


class SmallGPT(nn.Module):
    """A small GPT: six layers, and a loss where targets are given."""

    def __init__(self, words: int = 64, width: int = 32, heads: int = 4, layers: int = 6) -> None:
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.positions = nn.Embedding(32, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor, targets: Any = None) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def _blocks() -> Case:
    return two_batches(Blocks(), [{"x": torch.randn(2, 8)}, {"x": torch.randn(3, 8)}])


def _small_gpt() -> Case:
    """Return a case that trains for a step, then generates without gradients."""
    model = SmallGPT()
    tokens, targets = torch.randint(64, (2, 2, 16)).unbind()

    def run(compile_model: Compile) -> Iterator[Any]:
        compiled = compile_model(model)
        loss = compiled(tokens, targets)
        loss.backward()
        yield loss
        model.eval()
        with torch.no_grad():
            yield compiled(tokens)

    return Case(model, run, "SmallGPT.forward")


def _sequential() -> Case:
    """Return a case whose `forward` is of torch alone."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    return two_batches(model, [{"input": torch.randn(2, 8)}, {"input": torch.randn(3, 8)}])


def _generate() -> Case:
    """Return a case that generates tokens with a cache of fixed size, as transformers' documentation does it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "vocab_size": 100}
    config = LlamaConfig(num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, **sizes)
    model = LlamaForCausalLM(config).eval()
    tokens = torch.randint(3, 99, (1, 6))

    def run(compile_method: Compile) -> Iterator[Any]:
        model.forward = compile_method(model.forward)
        for prompt in (tokens, tokens[:, :4]):
            length = 14 - prompt.shape[1]
            yield model.generate(
                prompt, max_new_tokens=length, do_sample=False, cache_implementation="static", pad_token_id=0
            )

    return Case(model, run, "LlamaForCausalLM.forward")


TOYS: Dict[str, Callable[[], Case]] = {
    "blocks": _blocks,
    "small_gpt": _small_gpt,
    "sequential": _sequential,
    "generate": _generate,
}
