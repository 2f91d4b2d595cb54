"""What `nested` inlines."""

import torch


def wave(x):
    return inner_wave(x) * 2


def inner_wave(x):
    return torch.sin(x)


def twice(function, x):
    return function(function(x))
