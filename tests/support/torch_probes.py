"""Behaviour of the installed torch where versions differ, probed in torch itself."""

from __future__ import annotations

import inspect

import torch
from torch._dynamo import guards, symbolic_convert
from torch._dynamo.backends import debugging
from torch._functorch import aot_autograd

TORCH = tuple(int(number) for number in torch.__version__.split(".")[:2])
# torch 2.9: aot_eager interprets its graphs node by node; 2.13: it calls their forward
AOT_EAGER_INTERPRETS = "Interpreter(fx_g).boxed_run" in inspect.getsource(debugging.boxed_nop)
# torch 2.13: the reason of a skipped frame includes the first graph break; 2.9: it does not
NAMES_FIRST_BREAK = "graph break in loop" in inspect.getsource(symbolic_convert)
# torch 2.13: a guard on a type prints its name; 2.9: only its id
NAMES_TYPES = "type=" in inspect.getsource(guards.GuardBuilder.TYPE_MATCH)
# torch 2.13: a hit in AOTAutograd's cache skips the pre-grad passes; 2.9 and 2.11 run them before the lookup
SKIPS_PRE_GRAD = "pre_grad_passes" in inspect.signature(aot_autograd.aot_module_simplified).parameters
