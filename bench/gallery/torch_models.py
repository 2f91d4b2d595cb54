"""Models made of torch.nn's own modules: layers, transformers, recurrent nets, convolutional nets, and others."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

import torch
from torch import nn
from torch.nn import functional as F

from bench.gallery.cases import Arguments, Case

Tensor = torch.Tensor
WIDTH = 16


def _rows(batch: int) -> Tensor:
    return torch.randn(batch, WIDTH)


def _sequence(batch: int) -> Tensor:
    return torch.randn(batch, 6, WIDTH)


def _picture(batch: int) -> Tensor:
    return torch.randn(batch, 3, 16, 16)


def _words(batch: int) -> Tensor:
    return torch.randint(0, 50, (batch, 6))


def _called(name: str, make: Callable[[int], Tensor]) -> Callable[[int], Arguments]:
    return lambda batch: {name: make(batch)}


class Attention(nn.Module):
    """nn.MultiheadAttention over a sequence, with a residual connection."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.norm = nn.LayerNorm(WIDTH)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]) if self.causal else None
        found, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        return self.norm(x + found)


class Translator(nn.Module):
    """nn.Transformer between two sequences of words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, WIDTH)
        self.transformer = nn.Transformer(WIDTH, 4, 2, 2, 32, batch_first=True)
        self.head = nn.Linear(WIDTH, 50)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.head(self.transformer(self.words(source), self.words(target), tgt_mask=mask))


class Decoder(nn.Module):
    """nn.TransformerDecoder over a memory."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerDecoderLayer(WIDTH, 4, 32, batch_first=True)
        self.layers = nn.TransformerDecoder(layer, 2)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        return self.layers(x, memory)


class Recurrent(nn.Module):
    """One of torch's recurrent layers between an embedding and a head."""

    def __init__(self, layer: Callable[..., nn.Module], **options: Any) -> None:
        super().__init__()
        self.words = nn.Embedding(50, WIDTH)
        self.layer = layer(WIDTH, WIDTH, batch_first=True, **options)
        self.head = nn.Linear(WIDTH * (2 if options.get("bidirectional") else 1), 50)

    def forward(self, words: Tensor) -> Tensor:
        embedded = torch.tanh(self.words(words))
        states, _ = self.layer(embedded)
        return self.head(torch.relu(states))


class Cells(nn.Module):
    """A cell of a recurrent net, called in a loop over the sequence."""

    def __init__(self, cell: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.cell = cell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, x: Tensor) -> Tensor:
        state = None
        outputs = []
        for part in x.unbind(1):
            state = self.cell(part, state)
            outputs.append(self.head(state[0] if isinstance(state, tuple) else state))
        return torch.stack(outputs, dim=1)


class SequenceToSequence(nn.Module):
    """An encoder and a decoder of GRU cells with attention."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, WIDTH)
        self.encoder = nn.GRUCell(WIDTH, WIDTH)
        self.decoder = nn.GRUCell(2 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 50)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        state = torch.zeros(source.shape[0], WIDTH)
        states: List[Tensor] = []
        for word in self.words(source).unbind(1):
            state = self.encoder(word, state)
            states.append(state)
        memory = torch.stack(states, dim=1)
        logits = []
        for word in self.words(target).unbind(1):
            weights = torch.softmax((memory @ state.unsqueeze(2)).squeeze(2), dim=1)
            context = (weights.unsqueeze(1) @ memory).squeeze(1)
            state = self.decoder(torch.cat([word, context], dim=1), state)
            logits.append(self.head(state))
        return torch.stack(logits, dim=1)


class StateSpace(nn.Module):
    """A linear state-space layer, scanned over the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.linspace(-1, 1, WIDTH))
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.outer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(x.shape[0], WIDTH)
        found = []
        for part in self.inner(x).unbind(1):
            state = torch.sigmoid(self.decay) * state + part
            found.append(self.outer(F.silu(state)))
        return torch.stack(found, dim=1)


class Residual(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, width: int, wider: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, wider, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(wider),
            nn.ReLU(inplace=True),
            nn.Conv2d(wider, wider, 3, padding=1, bias=False),
            nn.BatchNorm2d(wider),
        )
        self.short = nn.Conv2d(width, wider, 1, stride=2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.short(x))


class Dense(nn.Module):
    """Convolutions, each of which gets what all earlier ones found."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(3 + 4 * number, 4, 3, padding=1) for number in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, torch.relu(layer(x))], dim=1)
        return x


class SmallUNet(nn.Module):
    """A U-Net of two levels with a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU())
        self.middle = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, 8, 3, padding=1))
        self.up = nn.Upsample(scale_factor=2, mode="bilinear")
        self.out = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        fine = self.down(x)
        coarse = self.middle(F.avg_pool2d(fine, 2))
        return self.out(torch.cat([fine, self.up(coarse)], dim=1))


class Variational(nn.Module):
    """A variational autoencoder: it draws its code at random."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(WIDTH, 2 * 4)
        self.decoder = nn.Sequential(nn.Linear(4, WIDTH), nn.Tanh())

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        code = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1)
        return {"found": self.decoder(code), "divergence": divergence}


class Experts(nn.Module):
    """A mixture of experts: each row goes to the two that a gate selects."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, 4)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = torch.softmax(self.gate(x), dim=1).topk(2, dim=1)
        found = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            weight = (weights * (chosen == number)).sum(1, keepdim=True)
            found = found + weight * expert(x)
        return found


class GraphConvolution(nn.Module):
    """Messages along the edges of a graph, summed at its nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(2 * WIDTH, WIDTH)
        self.update = nn.GRUCell(WIDTH, WIDTH)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        for _ in range(2):
            messages = torch.relu(self.message(torch.cat([nodes[edges[0]], nodes[edges[1]]], dim=1)))
            nodes = self.update(torch.zeros_like(nodes).index_add(0, edges[1], messages), nodes)
        return nodes


class Spectral(nn.Module):
    """A Fourier layer: a convolution by weights of a few frequencies."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(3, 3, 4, 2) / 4)

    def forward(self, x: Tensor) -> Tensor:
        waves = torch.fft.rfft(x)
        low = torch.einsum("bif,iof->bof", waves[..., :4], torch.view_as_complex(self.weights))
        return torch.fft.irfft(F.pad(low, (0, waves.shape[-1] - 4)), n=x.shape[-1])


class Radiance(nn.Module):
    """A network over positions, encoded as waves, with a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3 * 8, 32)
        self.second = nn.Linear(32 + 3 * 8, 4)

    def forward(self, points: Tensor) -> Tensor:
        scaled = [points * 2**power for power in range(4)]
        waves = torch.cat([wave(one) for one in scaled for wave in (torch.sin, torch.cos)], dim=-1)
        return self.second(torch.cat([torch.relu(self.first(waves)), waves], dim=-1))


class CausalConvolutions(nn.Module):
    """Dilated causal convolutions with gates, as in WaveNet."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(WIDTH, 2 * WIDTH, 2, dilation=2**power) for power in range(3))

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(1, 2)
        for layer in self.layers:
            filtered, gate = layer(F.pad(x, (layer.dilation[0], 0))).chunk(2, dim=1)
            x = x + torch.tanh(filtered) * torch.sigmoid(gate)
        return x.transpose(1, 2)


class Mixer(nn.Module):
    """Linear layers over places and over channels in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6))
        self.channels = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.places(x.transpose(1, 2)).transpose(1, 2)
        return x + self.channels(x)


class Bags(nn.Module):
    """nn.EmbeddingBag and nn.Bilinear."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(50, WIDTH, mode="mean")
        self.pair = nn.Bilinear(WIDTH, WIDTH, 4)

    def forward(self, words: Tensor) -> Tensor:
        found = self.words(words)
        return self.pair(found, found.roll(1, 0))


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))


def _convolutions(number: int) -> nn.Module:
    convolution, norm, pool = {
        1: (nn.Conv1d, nn.BatchNorm1d, nn.AdaptiveAvgPool1d),
        2: (nn.Conv2d, nn.BatchNorm2d, nn.AdaptiveMaxPool2d),
        3: (nn.Conv3d, nn.InstanceNorm3d, nn.AdaptiveAvgPool3d),
    }[number]
    parts: Sequence[nn.Module] = (convolution(3, 8, 3, padding=1), norm(8), nn.GELU(), pool(2), nn.Flatten())
    return nn.Sequential(*parts, nn.Linear(8 * 2**number, 4))


def _generator() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (WIDTH, 1, 1)),
        nn.ConvTranspose2d(WIDTH, 8, 4),
        nn.BatchNorm2d(8),
        nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1),
        nn.Tanh(),
    )


def _sharpener() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.PReLU(), nn.Conv2d(8, 12, 3, padding=1), nn.PixelShuffle(2))


def _autoencoder() -> nn.Module:
    encoder = nn.Sequential(nn.Linear(WIDTH, 8), nn.ELU(), nn.Linear(8, 2))
    return nn.Sequential(encoder, nn.Sequential(nn.Linear(2, 8), nn.ELU(), nn.Linear(8, WIDTH)))


def _encoder(**options: Any) -> nn.Module:
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 32, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def _resnet() -> nn.Module:
    return nn.Sequential(Residual(3, 8), Residual(8, 16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))


def _pair(batch: int) -> Arguments:
    return {"source": _words(batch), "target": _words(batch)}


_INPUT = "input"  # what nn.Sequential and torch's layers call their argument
_X = _called("x", _sequence)
_MAKERS: Dict[str, Callable[[], Case]] = {
    "mlp": lambda: Case(_mlp(), _called(_INPUT, _rows)),
    "autoencoder": lambda: Case(_autoencoder(), _called(_INPUT, _rows)),
    "variational": lambda: Case(Variational(), _called("x", _rows)),
    "experts": lambda: Case(Experts(), _called("x", _rows)),
    "bags": lambda: Case(Bags(), _called("words", _words)),
    "conv1d": lambda: Case(_convolutions(1), _called(_INPUT, lambda batch: torch.randn(batch, 3, 16))),
    "conv2d": lambda: Case(_convolutions(2), _called(_INPUT, _picture)),
    "conv3d": lambda: Case(_convolutions(3), _called(_INPUT, lambda batch: torch.randn(batch, 3, 4, 8, 8))),
    "resnet": lambda: Case(_resnet(), _called(_INPUT, _picture)),
    "dense": lambda: Case(Dense(), _called("x", _picture)),
    "unet": lambda: Case(SmallUNet(), _called("x", _picture)),
    "generator": lambda: Case(_generator(), _called(_INPUT, _rows)),
    "sharpener": lambda: Case(_sharpener(), _called(_INPUT, _picture)),
    "spectral": lambda: Case(Spectral(), _called("x", lambda batch: torch.randn(batch, 3, 32))),
    "radiance": lambda: Case(Radiance(), _called("points", lambda batch: torch.randn(batch, 5, 3))),
    "attention": lambda: Case(Attention(), _X),
    "causal_attention": lambda: Case(Attention(causal=True), _X),
    "transformer_encoder": lambda: Case(_encoder(), _called("src", _sequence)),
    "transformer_encoder_norm_first": lambda: Case(_encoder(norm_first=True), _called("src", _sequence)),
    "transformer_decoder": lambda: Case(
        Decoder(), lambda batch: {"x": _sequence(batch), "memory": torch.randn(batch, 4, WIDTH)}
    ),
    "transformer": lambda: Case(Translator(), _pair),
    "mixer": lambda: Case(Mixer(), _X),
    "causal_convolutions": lambda: Case(CausalConvolutions(), _X),
    "state_space": lambda: Case(StateSpace(), _X),
    "lstm": lambda: Case(Recurrent(nn.LSTM, num_layers=2), _called("words", _words)),
    "bidirectional_lstm": lambda: Case(Recurrent(nn.LSTM, bidirectional=True), _called("words", _words)),
    "gru": lambda: Case(Recurrent(nn.GRU), _called("words", _words)),
    "rnn": lambda: Case(Recurrent(nn.RNN, nonlinearity="relu"), _called("words", _words)),
    "lstm_cells": lambda: Case(Cells(nn.LSTMCell), _X),
    "gru_cells": lambda: Case(Cells(nn.GRUCell), _X),
    "rnn_cells": lambda: Case(Cells(nn.RNNCell), _X),
    "sequence_to_sequence": lambda: Case(SequenceToSequence(), _pair),
    "graph_convolution": lambda: Case(
        GraphConvolution(), lambda batch: {"nodes": _rows(4 * batch), "edges": torch.randint(0, 4 * batch, (2, 9))}
    ),
}


def architectures() -> List[str]:
    """Return the names of the models."""
    return list(_MAKERS)


def build(name: str) -> Case:
    """Return the model of that name."""
    return _MAKERS[name]()
