"""Call back when the program has imported the part of torch that compiles.

To import torch for the program would change it: torch and its parts read the environment while they are imported, and
a program may set variables before it imports them. So nothing is imported; a finder on `sys.meta_path` waits.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Sequence

_AWAITED = ("torch", "torch._dynamo")


def when_torch_compiles(call: Callable[[], None]) -> None:
    """Call once, as soon as torch and torch._dynamo are imported."""
    finder = _Finder(call)
    sys.meta_path.insert(0, finder)
    finder.look()


class _Finder:
    """Finds nothing by itself: it asks the other finders, and listens to the end of the import."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._imported = {name for name in _AWAITED if name in sys.modules}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return what the next finder that has the module returns."""
        if name not in _AWAITED:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
                return spec
        return None

    def add_imported(self, name: str) -> None:
        """Note that a module is imported to its end; torch may import torch._dynamo before it ends itself."""
        self._imported.add(name)
        self.look()

    def look(self) -> None:
        """Call back, and stop waiting, if all is imported."""
        if len(self._imported) == len(_AWAITED) and self in sys.meta_path:
            sys.meta_path.remove(self)
            self._call()


class _Loader:
    """Loads a module by its own loader, which the module gets back, and reports the end."""

    def __init__(self, real: Any, finder: _Finder) -> None:
        self._real = real
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the module's own loader creates."""
        created: ModuleType | None = self._real.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """Run the module by its own loader."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        module.__loader__ = self._real
        self._real.exec_module(module)
        self._finder.add_imported(module.__name__)
