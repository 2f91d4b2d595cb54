"""Private names: inside `class C`, `__x` means `_C__x`; and the bytecode has `_C__x`."""

from __future__ import annotations

from typing import Any, List, Optional

from depyf.decompiler import syntax as s


def mangled(name: str, class_name: Optional[str]) -> str:
    """Return `name` as the compiler mangles it inside the class."""
    prefix = _prefix(class_name)
    if not prefix or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    return prefix + name


def class_around(qualified: str) -> Optional[str]:
    """Return the innermost class in which a function of this qualified name was written."""
    parts = qualified.split(".")
    for position in range(len(parts) - 2, -1, -1):
        if parts[position] != "<locals>" and parts[position + 1] != "<locals>":
            return parts[position]
    return None


def unmangle(body: List[s.Statement], class_name: str) -> None:
    """Write `__x` for `_C__x` in the body of a class, in place; classes inside it have their own names."""
    prefix = _prefix(class_name)
    if not prefix:
        return
    start = prefix + "__"

    def short(name: str) -> str:
        return name[len(prefix) :] if name.startswith(start) and not name.endswith("__") else name

    work: List[Any] = list(body)
    while work:
        node = work.pop()
        if isinstance(node, s.Name):
            node.id = short(node.id)
        elif isinstance(node, s.Attribute):
            node.attr = short(node.attr)
        elif isinstance(node, s.arg):
            node.arg = short(node.arg)
        elif isinstance(node, (s.Global, s.Nonlocal)):
            node.names = [short(name) for name in node.names]
        if isinstance(node, s.ClassDef):
            work.extend([*node.decorator_list, *node.bases, *node.keywords])
        elif not isinstance(node, s.Constant):
            work.extend(s.children(node))


def _prefix(class_name: Optional[str]) -> str:
    stripped = (class_name or "").lstrip("_")
    return "_" + stripped if stripped else ""
