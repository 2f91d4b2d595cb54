"""Lines that read the sizes of an input before any operation uses it: `x.shape[0]`, `x.size()`, `len(x)`.

Where sizes are fixed Dynamo reads them as plain numbers: the graph has no node for it, so its stacks name the line of
the first operation alone. Here each read is noted while Dynamo traces it, until the first operation on the tensor.
Where Dynamo starts again, to break the graph before a call, the reads inside that call stay: the program comes to them.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
from typing import Any, Callable, ContextManager, Dict, List, NamedTuple, Sequence, Tuple

from depyf.record.records import Location
from depyf.torch_hooks.internals import private_hooks

_ROWS = ("shape_reader", "size_reader", "element_counter")  # of the table of private hooks
_RANK = re.compile(r"\blen\([\w.]+\.shape\)")  # the number of dimensions
_SIZES = r"(?:\.shape\b|\.size\((?P<argument>[^()]*)\))(?:\s*\[(?P<index>[^\[\]]*)\])?"
_NUMBER = r"\s*(-?\d+)?\s*"
_INDEX = re.compile(rf"{_NUMBER}(?P<colon>:)?{_NUMBER}")

Shield = Callable[[str], ContextManager[Any]]  # keeps failures inside depyf, given what is done


class SizeRead(NamedTuple):
    """A line that reads sizes of a tensor."""

    calls: Tuple[Location, ...]  # to the line, which is the last; outermost first, without their code
    rank: int  # of the tensor
    axis: int | None  # the one that is read; None: the code of the line has it

    def is_of(self, axis: int, name: str, code: str) -> bool:
        """Return whether the line, whose code is given, reads the size of this axis; `name`: of the tensor."""
        if self.axis is not None:
            return self.axis % max(self.rank, 1) == axis
        is_written = ".shape" in code or ".size" in code
        return reads_size(code, axis, self.rank, name) if is_written else True


def reads_size(code: str, axis: int, rank: int, name: str) -> bool:
    """Return whether a line of code reads the size of this axis of a tensor; `name` is what it may be called there."""
    code = _RANK.sub("", code)
    found = list(re.finditer(rf"\b{re.escape(name)}{_SIZES}", code)) or list(re.finditer(_SIZES, code))
    return any(_has(one["index"] or one["argument"], axis, rank) for one in found)


def _has(index: str | None, axis: int, rank: int) -> bool:
    """Return whether an index of a tuple of sizes takes this one, as far as that can be read."""
    found = _INDEX.fullmatch(index) if index else None
    if found is None:
        return True
    first, last = (None if number is None else int(number) for number in (found[1], found[3]))
    if found["colon"]:
        return axis in range(rank)[first:last]
    return first is None or first % max(rank, 1) == axis


class SizeReads:
    """Collects the reads of the compilation that runs now, in each thread, by torch's spelling of the tensor."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def attach(self, shield: Shield) -> Callable[[], None]:
        """Listen to reads of sizes; returns the function that stops it."""
        stops = [self._attach_to(row, shield) for row in _ROWS]

        def detach() -> None:
            for stop in stops:
                stop()

        return detach

    def _attach_to(self, name: str, shield: Shield) -> Callable[[], None]:
        original, stack_now = private_hooks.find(name), private_hooks.find("traced_stack")
        row = private_hooks.hook(name)
        class_name, _, method = row.attribute.partition(".")
        home: Any = getattr(sys.modules.get(row.module), class_name, None)
        if original is None or stack_now is None or method not in vars(home):
            return lambda: None
        note = self._note
        table = private_hooks.find("tensor_methods")
        entries = [one for one in table.values() if one.handler is original] if table else []

        @functools.wraps(original)
        def reader(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(tensor, "source", None) is not None:  # an input
                with shield("noting a line that reads the size of a tensor"):
                    note(tensor, (*args, *kwargs.values()), stack_now)
            return original(tensor, *args, **kwargs)

        def detach() -> None:
            if vars(home).get(method) is reader:
                setattr(home, method, original)
            for entry in entries:
                if entry.handler is reader:
                    entry.handler = original

        setattr(home, method, reader)
        for entry in entries:
            entry.handler = reader
        return detach

    def begin(self) -> None:
        """Forget the reads so far: a compilation starts in this thread."""
        self._of_thread.reads = {}

    def found(self) -> Dict[str, List[SizeRead]]:
        """Return the reads since `begin`, by torch's spelling of the tensor, in the order in which they were traced."""
        reads: Dict[str, List[SizeRead]] = self._of_thread.__dict__.get("reads", {})
        return reads

    def _note(self, tensor: Any, arguments: Sequence[Any], stack_now: Callable[[], Any]) -> None:
        """Note a read of an input that no operation has used so far."""
        known, proxy = self._of_thread.__dict__, tensor.proxy
        if "reads" not in known or proxy.node.op != "placeholder" or proxy.node.users:
            return
        name = tensor.source.name
        stack = [one for one in stack_now() if one.filename]
        numbers = [getattr(one, "value", one) for one in arguments]
        axis = next((one for one in numbers if type(one) is int), None)
        calls = tuple([Location(one.filename, int(one.lineno or 0), one.name) for one in stack])
        read = SizeRead(calls, int(tensor.ndim), axis)
        reads = known["reads"].setdefault(name() if callable(name) else name, [])
        if calls and read not in reads:
            reads.append(read)
