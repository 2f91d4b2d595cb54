"""The guards of one compiled version, as records that a person can read.

When to call this.  The bytecode hook runs before Dynamo builds the guards, so they cannot be described there.
There are two later moments, and `describe_guards` serves both with the same result:

- Dynamo emits the structured trace event `dynamo_cpp_guards_str` once the guards are built, with the compile
  id of the version and the printed guard tree as payload.  Pass that text.  This is the better moment: it
  does not depend on the cache entry, which may be gone (with its module) when the session ends.
- `torch._dynamo.eval_frame._debug_get_cache_entry_list(code)` lists the entries that live now; pass the
  `guard_manager` of one.  This also works for what was compiled before anyone looked.

Torch keeps no structured form of a guard, so both ways end in printed lines; `guard_text` reads one of them.
The printed tree is the whole interface, and nothing here imports torch.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from types import CodeType, ModuleType

from depyf.record import GuardRecord, Location
from depyf.torch_hooks.guard_names import opens_string, readable
from depyf.torch_hooks.guard_text import Leaf, conditions_of, type_from_repr

# `verbose_code_parts` pads the condition and appends where it came from:
#     L['n'] == 3     # y = x * n  # src/model.py:9 in forward (HINT: ...)
_ORIGIN = re.compile(
    r"  # (?:(?P<code>.*)  # )?(?P<file>[^#]*?):(?P<line>\d+) in (?P<function>[^()]+?)(?P<note> \(.*\))?$",
    re.DOTALL,
)
_MANAGER = re.compile(
    r"(?:KeyManager: |ValueManager: )?\w*GuardManager: source=(?P<source>.*?), (?:accessed_by|type)="
)
_LEAF = re.compile(r"(?P<kind>[A-Z][A-Z0-9_]+)(?:: (?P<text>.*))?$", re.DOTALL)
_ABSENT_MARK = re.compile(r"hasattr\([^ ]*, '_dynamo_(?P<mark>\w+)_indices'\) == False *(?:#|$)")
_ROOT = re.compile(r"[^'\"]*?\b([LG])\[(?:'([^']*)'|\"([^\"]*)\")\]")
_NODE = re.compile(
    r"^(?P<depth>(?:\| )*)\+- (?P<rest>.*(?:\n(?!(?:\| )*\+- |TREE_GUARD_MANAGER|Guard latency).*)*)", re.MULTILINE
)

# Guards that torch hangs on the first of the values they relate.
_ON_SEVERAL_VALUES = ("NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "SYMBOLIC_SHAPE_GUARD")

# Ambient guards are asked for by this function of torch, for every frame and by no line of the user's.
_AMBIENT = "init_ambient_guards"


def describe_guards(guard_manager: object, code: CodeType) -> tuple[GuardRecord, ...]:
    """The guards of one version of `code`, in reading order.

    `guard_manager` is a guard manager of torch's or the text that one prints.  The order is that of the
    parameters, then globals, then conditions on several values, then the state of torch itself; it does not
    depend on which guards failed how often (torch moves those to the front).  Text in an unknown form yields
    what of it could be read.
    """
    records: list[tuple[tuple[int, int, str, int], GuardRecord]] = []
    names = code.co_varnames + code.co_freevars + code.co_cellvars
    places: dict[str, tuple[Location | None, bool]] = {}  # many guards have few origins
    for position, (leaf, origin) in enumerate(_leaves(str(guard_manager))):
        said = "" if origin is None else origin[0]
        if said not in places:
            found = location_of(origin, code.co_filename)
            places[said] = found, found is not None and _is_in_torch(found.file)
        location, in_torch = places[said]
        for condition in conditions_of(leaf):
            record = GuardRecord(
                condition.text, condition.is_python, leaf.source, leaf.kind, location, in_torch
            )
            records.append((_reading_order(leaf, names, position), record))
    records.sort(key=lambda item: item[0])
    return _without_repetition([record for _, record in records])


def _leaves(text: str) -> list[tuple[Leaf, re.Match[str] | None]]:
    """The leaves of a printed guard tree, with the value each looks at and where it was asked for."""
    found: list[tuple[Leaf, re.Match[str] | None]] = []
    # For each depth, the source and type of the manager that the lines below it belong to.
    managers: list[tuple[str, str]] = []
    marks: list[str] = []  # names of dimension marks that are absent, gathered while they are about one value
    for depth, line in _logical_lines(text):
        manager = _MANAGER.match(line) if "GuardManager: source=" in line else None
        if manager is not None:
            del managers[depth:]
            managers += [("", "")] * (depth - len(managers))
            managers.append((manager["source"], type_from_repr(line.rpartition(", type=")[2])))
            continue
        match = _LEAF.match(line)
        if match is None or match["text"] is None:
            # The root's own line, a pair of dict managers, or a guard on several values printed before.
            continue
        source, type_name = managers[depth - 1] if 0 < depth <= len(managers) else ("", "")
        mark = _ABSENT_MARK.match(match["text"]) if "_dynamo_" in line else None
        if mark is not None:
            marks.append(mark["mark"])
            if len(marks) > 1:
                found[-1] = (Leaf(match["kind"], _no_marks(source, marks), source, type_name), found[-1][1])
                continue
        else:
            marks = []
        condition, origin = split_origin(match["text"])
        condition = condition if mark is None else _no_marks(source, marks)
        found.append((Leaf(match["kind"], condition, source, type_name), origin))
    return found


def _no_marks(source: str, marks: list[str]) -> str:
    """One condition for the five attributes that `mark_dynamic` and its like may leave on a tensor."""
    return f"not any(hasattr({source}, f'_dynamo_{{mark}}_indices') for mark in {tuple(marks)!r})"


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """(depth, text) of each node of the tree; the value of a guard may print on many lines."""
    lines: list[tuple[int, str]] = []
    for match in _NODE.finditer(text):
        rest = match["rest"]
        if "\n" in rest:
            rest = "\n".join([line for line in rest.split("\n") if line.strip()])
        lines.append((len(match["depth"]) // 2, rest))
    return lines


def split_origin(text: str) -> tuple[str, re.Match[str] | None]:
    """A printed guard -> its condition, and the origin that torch appended to it."""
    cut = text.find("  # ")
    while cut >= 0 and opens_string(text[:cut]) and text.find("  # ", cut + 1) >= 0:
        cut = text.find("  # ", cut + 1)  # the mark was inside a text constant
    if cut < 0:
        return text.strip(), None
    return text[:cut].strip(), _ORIGIN.match(text, cut) or _ORIGIN.search(text, cut)


def location_of(origin: re.Match[str] | None, file: str) -> Location | None:
    """Where a guard was asked for, if a line of some program asked for it; `file` is that of the frame."""
    if origin is None or origin["function"] == _AMBIENT:
        return None
    code = (origin["code"] or "").strip()
    name = _full_name(origin["file"].strip(), file)
    return Location(name, int(origin["line"]), origin["function"].strip(), code)


def _full_name(shortened: str, file: str) -> str:
    """The file that torch means; `shortened` itself where that is not clear.

    Torch cuts the beginning that a name shares with torch's own folder, in the middle of a word if need be
    (`/tmp/model.py` is `mp/model.py`).  Names of files in torch are left short: they are clear, and the same
    on every machine.
    """
    if _is_in_torch(shortened):
        return shortened
    if _may_mean(shortened, file):
        return file
    return _loaded_file(shortened)


@functools.lru_cache(maxsize=1024)
def _loaded_file(shortened: str) -> str:
    """The one file of a loaded module that a name of torch's can mean, else that name."""
    found = set()
    for module in list(sys.modules.values()):
        # Not by `getattr`: a lazy module would be loaded by it.
        file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        if isinstance(file, str) and file.endswith(shortened) and _may_mean(shortened, file):
            found.add(file)
    return found.pop() if len(found) == 1 else shortened


def _is_in_torch(shortened: str) -> bool:
    """Whether the name is that of a file of torch's, without the folder."""
    torch = sys.modules.get("torch")
    if torch is None or os.path.isabs(shortened):
        return False
    return os.path.exists(os.path.join(os.path.dirname(torch.__file__ or ""), shortened))


def _may_mean(shortened: str, name: str) -> bool:
    return name.endswith(shortened) and os.path.basename(name) == os.path.basename(shortened)


def _reading_order(leaf: Leaf, names: tuple[str, ...], position: int) -> tuple[int, int, str, int]:
    """Sort key: parameters in order, globals, conditions on several values, then torch's own state."""
    if leaf.kind in _ON_SEVERAL_VALUES:
        return (2, 0, "", position)
    root = _ROOT.match(leaf.source)
    if root is not None and root.group(1) == "L":
        name = root.group(2) or root.group(3) or ""
        return (0, names.index(name) if name in names else len(names), "", position)
    if root is not None:
        return (1, 0, readable(leaf.source), position)
    if leaf.kind == "LAMBDA_GUARD" and re.search(r"\b[LG]\[", leaf.text):
        return (2, 1, "", position)
    return (3, 0, "", position)


def _without_repetition(records: list[GuardRecord]) -> tuple[GuardRecord, ...]:
    """The records without those whose condition was given before."""
    seen: set[str] = set()
    kept = []
    for record in records:
        if record.condition not in seen:
            seen.add(record.condition)
            kept.append(record)
    return tuple(kept)
