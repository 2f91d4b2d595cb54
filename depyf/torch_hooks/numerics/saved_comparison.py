"""Save a graph that differs as a script that shows it by itself: the graph as text, and its inputs in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

from depyf.torch_hooks.numerics.graph_replay import KeptInputs

_SCRIPT = '''"""Shows that {backend} computes this graph otherwise than eager code. Run it: python {script}

{found}
"""
import torch
from torch import device, inf, nan, tensor
{imports}

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
    return [*outputs, *[one for one in gradients if one is not None]]


torch._inductor.config.fallback_random = True
for index, (ours, theirs) in enumerate(zip(run(torch.compile(graph, backend={backend!r})), run(graph))):
    print(index, tuple(theirs.shape), theirs.dtype, "greatest difference", (ours - theirs).abs().max().item())
'''


def write_script(folder: Path, module: Any, kept: KeptInputs, backend: str, found: str) -> str:
    """Write `difference.py` and `difference.pt`; return the path of the script."""
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
    names = [name for name in python_code.globals if name not in ("torch", "device", "inf", "nan", "tensor")]
    imports = "\n".join(f"# the graph also reads the global {name}" for name in names)
    path = folder / "difference.py"
    text = _SCRIPT.format(backend=backend, script=path.name, found=found, imports=imports, forward=forward)
    path.write_text(text, encoding="utf-8")
    return str(path)
