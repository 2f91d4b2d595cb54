"""Save a graph that differs as a script that shows it by itself: the graph as text, and its inputs in a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict

from depyf.torch_hooks.numerics.graph_replay import KeptInputs

_SCRIPT = '''"""Shows that {backend} computes this graph otherwise than eager code. Run it: python {script}

{found}
"""
import torch
import torch._inductor.config
from torch import device, inf, nan, tensor
{imports}
{choice}

class Graph(torch.nn.Module):
{forward}

saved = torch.load(__file__.replace(".py", ".pt"), weights_only=True)
graph = Graph()
for name, value in saved["attributes"].items():
    setattr(graph, name, value)
torch.set_grad_enabled(saved["has_gradients"])


def copy(tensor):
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def run(function):
    torch.set_rng_state(saved["random_state"])
    args = [copy(one) if isinstance(one, torch.Tensor) else one for one in saved["args"]]
    outputs = [one for one in function(*args) if isinstance(one, torch.Tensor)]
    ends = [one for one in outputs if one.grad_fn is not None]
    inputs = [one for one in args if isinstance(one, torch.Tensor) and one.requires_grad]
    gradients = torch.autograd.grad([one.sum() for one in ends], inputs, allow_unused=True) if ends and inputs else []
    kinds = {{"output": outputs, "argument, afterwards": args, "gradient": gradients}}
    values = [(f"{{kind}} {{i}}", one) for kind in kinds for i, one in enumerate(kinds[kind])]
    return [(name, one) for name, one in values if isinstance(one, torch.Tensor)]


def form(tensor):
    return f"{{tensor.dtype}} {{tuple(tensor.shape)}}"


torch._inductor.config.fallback_random = True
for (name, ours), (_, theirs) in zip(run(torch.compile(graph, backend=backend)), run(graph)):
    if form(ours) != form(theirs):
        print(f"{{name}}: {{form(ours)}} compiled, {{form(theirs)}} eagerly")
    elif ours.numel():
        wide = torch.complex128 if ours.is_complex() else torch.float64
        print(f"{{name}}: {{form(ours)}}, greatest difference", (ours.to(wide) - theirs.to(wide)).abs().max().item())
'''
_REGISTERED = "backend = {name!r}"
_OWN = """backend = None  # {name}, a function of your program: import it here
if backend is None:
    raise SystemExit("difference.py: give `backend` the program's own backend, {name}")"""
_IMPORTS = {  # of the names that torch gives to every graph
    "NoneType": "NoneType = type(None)",
    "fx_pytree": "import torch.fx._pytree as fx_pytree",
    "pytree": "import torch.utils._pytree as pytree",
}


def write_script(folder: Path, module: Any, kept: KeptInputs, backend: str, found: str) -> str:
    """Write `difference.py` and `difference.pt`; return the path of the script.

    `backend`: its name; that of a function which is not registered is all that a script can hold of it.
    """
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    python_code = module.graph.python_code("self")
    attributes: Dict[str, Any] = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    states = dict(kept.random_states)
    torch.save(
        {
            "args": list(kept.args),
            "attributes": {name: value.detach() for name, value in attributes.items() if "." not in name},
            "random_state": states["cpu"],
            "has_gradients": kept.has_gradients,
        },
        folder / "difference.pt",
    )
    forward = "\n".join("    " + line for line in python_code.src.strip().split("\n"))
    known = ("torch", "device", "inf", "nan", "tensor")
    names = [
        one for one in python_code.globals if one not in known and re.search(rf"\b{re.escape(one)}\b", python_code.src)
    ]
    imports = "\n".join(_IMPORTS.get(name, f"# the graph also reads the global {name}") for name in names)
    is_registered = backend in torch._dynamo.list_backends(exclude_tags=())
    choice = (_REGISTERED if is_registered else _OWN).format(name=backend)
    path = folder / "difference.py"
    text = _SCRIPT.format(
        backend=backend, script=path.name, found=found, imports=imports, choice=choice, forward=forward
    )
    path.write_text(text, encoding="utf-8")
    return str(path)
