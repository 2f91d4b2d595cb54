"""Stop the events of torch's structured trace that nobody reads, before torch formats them.

Torch formats every event as soon as its trace logger has a handler, and most of them describe single tensors. While
depyf's handler is the only one, the function that raises events is bound to one that drops the kinds which depyf does
not read, in the modules of `_ROWS`. Events whose text depyf does not need arrive with the function that would format
it. As soon as anybody else listens, the names are bound back: a log of TORCH_TRACE, and any other handler, gets the
same events from the same places as without depyf.
"""

from __future__ import annotations

import functools
import logging
import sys
from types import ModuleType
from typing import Any, Callable, Container, Dict, List, Tuple

from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.dynamo_disabled import skipped_by_dynamo
from depyf.torch_hooks.internals.printed_graphs import GraphPrinter

# Rows of the table of private hooks. Dynamo reads the name in `torch._logging` at each call; others have imported it.
_ROWS = ("raise_event", "raise_tensor_event", "raise_symbol_event", "raise_aot_event", "raise_inductor_event")

_GRAPHS = ("dynamo_output_graph",)


class Unformatted(str):
    """The payload of an event that torch has not formatted: an empty text, with the function that formats it."""

    format_payload: Callable[[], object]


class UnreadEvents:
    """Drops events of kinds that are not in `read` as long as `handler` is the only one that listens.

    The payloads of kinds in `unformatted` are not formatted.
    """

    def __init__(
        self, logger: logging.Logger, handler: logging.Handler, read: Container[str], unformatted: Container[str] = ()
    ) -> None:
        self._logger = logger
        self._handler = handler
        self._read = read
        self._unformatted = unformatted
        self._printer = GraphPrinter()
        self._bound: List[Tuple[ModuleType, str, Any, Any]] = []  # module, name, torch's function, ours
        self._loaded: Dict[str, None] = {}  # modules that were loaded when the names were bound first
        self._add_handler: Callable[[logging.Handler], None] | None = None

    def stop(self) -> None:
        """Bind the names to functions that drop events, in modules that are loaded, unless others listen."""
        if not self._is_alone():
            self.resume()
            return
        if self._add_handler is None:
            self._loaded = dict.fromkeys(sys.modules)
            self._watch_handlers()
        done = {module.__name__ for module, *_ in self._bound}
        for row in map(private_hooks.hook, _ROWS):
            original = private_hooks.find_loaded(row.name) if row.module not in done else None
            if original is not None and not hasattr(original, "_drops_events_for"):
                replacement = self._dropping(original)
                self._bound.append((sys.modules[row.module], row.attribute, original, replacement))
                setattr(sys.modules[row.module], row.attribute, replacement)

    def resume(self) -> None:
        """Bind the names to torch's function again, also in modules that have imported ours in the meantime."""
        bound, self._bound = self._bound, []
        for module, name, original, replacement in bound:
            if getattr(module, name, None) is replacement:
                setattr(module, name, original)
        names = {name for _, name, _, _ in bound}
        originals = {id(replacement): original for _, _, original, replacement in bound}
        for loaded in [name for name in list(sys.modules) if name not in self._loaded] if bound else ():
            namespace = getattr(sys.modules.get(loaded), "__dict__", {})
            for name in names:
                if id(namespace.get(name)) in originals:
                    namespace[name] = originals[id(namespace[name])]
        if self._add_handler is not None and vars(self._logger).get("addHandler") is self._add_handler:
            del self._logger.addHandler
        self._add_handler = None

    def _is_alone(self) -> bool:
        logger = self._logger
        return logger.handlers == [self._handler] and not logger.propagate and not logger.filters

    def _watch_handlers(self) -> None:
        """Resume the events before another handler is added: the first event that it gets is whole then."""
        add_handler = self._logger.addHandler

        def resume_and_add(handler: logging.Handler) -> None:
            if handler is not self._handler:
                self.resume()
            add_handler(handler)

        if "addHandler" not in vars(self._logger):
            self._add_handler = resume_and_add
            self._logger.addHandler = resume_and_add  # type: ignore[method-assign, assignment]

    def _dropping(self, original: Any) -> Any:
        read, unformatted, is_alone, resume = self._read, self._unformatted, self._is_alone, self.resume
        printer = self._printer

        @skipped_by_dynamo
        @functools.wraps(original)
        def raise_read_event(name: str, metadata_fn: Any = dict, *args: Any, **kwargs: Any) -> Any:
            if not is_alone():  # a handler that was put into the list itself
                resume()
                return original(name, metadata_fn, *args, **kwargs)
            if name == "artifact":
                metadata = metadata_fn()
                if isinstance(metadata, dict) and metadata.get("name") not in read:
                    return None
                return original(name, lambda: metadata, *args, **kwargs)
            if name not in read:
                return None
            if name in _GRAPHS and "payload_fn" in kwargs:
                metadata_fn, kwargs["payload_fn"] = dict, functools.partial(printer.payload, kwargs["payload_fn"])
            if name in unformatted and "payload_fn" in kwargs:
                payload = Unformatted()
                payload.format_payload = kwargs["payload_fn"]
                kwargs["payload_fn"] = lambda: payload
            return original(name, metadata_fn, *args, **kwargs)

        raise_read_event._drops_events_for = self  # type: ignore[attr-defined]
        return raise_read_event
