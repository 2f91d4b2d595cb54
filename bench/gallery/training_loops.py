"""Training loops: a call is one whole step, compiled with its loss, its backward pass and its optimizer."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import torch
from torch import nn
from torch.nn import functional as F

from bench.gallery.cases import Arguments, Case

Tensor = torch.Tensor


class Step(nn.Module):
    """One step of supervised training."""

    def __init__(self, model: nn.Module, optimizer: Callable[..., Any], loss: Callable[..., Tensor]) -> None:
        super().__init__()
        self.model = model
        self.optimizer = optimizer(model.parameters(), lr=0.01)
        self.loss = loss

    def forward(self, x: Tensor, wanted: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), wanted)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class ClippedStep(Step):
    """A step whose gradients are clipped, and that is skipped where they are not finite."""

    def forward(self, x: Tensor, wanted: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), wanted)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if bool(torch.isfinite(norm)):
            self.optimizer.step()
        return loss.detach()


class AdversarialStep(nn.Module):
    """A step of a generator against a discriminator."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
        self.judge = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
        self.of_generator = torch.optim.Adam(self.generator.parameters(), lr=0.01)
        self.of_judge = torch.optim.Adam(self.judge.parameters(), lr=0.01)

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        self.of_judge.zero_grad()
        made = self.generator(noise)
        judged = F.softplus(-self.judge(x)).mean() + F.softplus(self.judge(made.detach())).mean()
        judged.backward()
        self.of_judge.step()
        self.of_generator.zero_grad()
        fooled = F.softplus(-self.judge(made)).mean()
        fooled.backward()
        self.of_generator.step()
        return torch.stack([judged.detach(), fooled.detach()])


class PolicyStep(nn.Module):
    """A step of policy gradients over a short episode that the policy itself plays."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
        self.optimizer = torch.optim.RMSprop(self.policy.parameters(), lr=0.01)

    def forward(self, state: Tensor) -> Tensor:
        found, rewards = [], []
        for _ in range(4):
            chances = F.log_softmax(self.policy(state), dim=-1)
            action = chances.argmax(dim=-1)
            found.append(chances.gather(1, action.unsqueeze(1)).squeeze(1))
            state = state * 0.9 + F.one_hot(action, 3).sum(1, keepdim=True) * 0.1
            rewards.append(state.mean(dim=1))
        returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(found) * returns).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def _classifier() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))


def _labelled(batch: int) -> Arguments:
    return {"x": torch.randn(batch, 8), "wanted": torch.randint(0, 3, (batch,))}


def _step(optimizer: Callable[..., Any], step: Callable[..., Any] = Step) -> Case:
    return Case(step(_classifier(), optimizer, F.cross_entropy), _labelled, trains_itself=True)


def _regression() -> Case:
    model = nn.Sequential(nn.Conv1d(2, 4, 3), nn.SiLU(), nn.Flatten(), nn.Linear(24, 1))
    step = Step(model, torch.optim.SGD, F.huber_loss)
    inputs = lambda batch: {"x": torch.randn(batch, 2, 8), "wanted": torch.randn(batch, 1)}  # noqa: E731
    return Case(step, inputs, trains_itself=True)


_MAKERS: Dict[str, Callable[[], Case]] = {
    "classifier_sgd": lambda: _step(torch.optim.SGD),
    "classifier_adam": lambda: _step(torch.optim.Adam),
    "classifier_adamw": lambda: _step(torch.optim.AdamW),
    "classifier_adagrad": lambda: _step(torch.optim.Adagrad),
    "clipped_sgd": lambda: _step(torch.optim.SGD, ClippedStep),
    "regression": _regression,
    "adversarial": lambda: Case(
        AdversarialStep(),
        lambda batch: {"x": torch.randn(batch, 8), "noise": torch.randn(batch, 4)},
        trains_itself=True,
    ),
    "policy": lambda: Case(PolicyStep(), lambda batch: {"state": torch.randn(batch, 4)}, trains_itself=True),
}


def architectures() -> List[str]:
    """Return the names of the loops."""
    return list(_MAKERS)


def build(name: str) -> Case:
    """Return the loop of that name."""
    return _MAKERS[name]()
