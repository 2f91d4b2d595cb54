"""What did torch.compile do to this function?  Run it, then open the folder it names.

python examples/toy.py [output folder]
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import torch

import depyf


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def choose_backend() -> str:
    """Inductor where it can build its kernels, else aot_eager."""
    compilers = (os.environ.get("CXX", "g++"), "c++", "clang++")
    has_compiler = any(shutil.which(name) for name in compilers)
    has_headers = (Path(sysconfig.get_paths()["include"]) / "Python.h").exists()
    if has_compiler and has_headers:
        return "inductor"
    missing = "C++ compiler" if not has_compiler else "Python.h (the Python development headers)"
    print(f"No {missing} found: using backend aot_eager instead of inductor, so there will be no kernels.\n")
    return "aot_eager"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "depyf_output/toy")
    torch.manual_seed(0)
    compiled = torch.compile(toy_example, backend=choose_backend())

    with depyf.prepare_debug(folder):
        for _ in range(100):
            compiled(torch.randn(10), torch.randn(10))

    entry = folder / "__transformed_code_0_for_toy_example.py"
    print(f"\nThe whole story is in {folder / 'full_code_for_toy_example_0.py'}")
    print(f"The entry frame, as Dynamo rewrote it, is in {entry}:\n")
    print(entry.read_text())


if __name__ == "__main__":
    main()
