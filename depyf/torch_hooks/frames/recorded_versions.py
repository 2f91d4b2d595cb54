"""The versions that contexts of this process have recorded: a later context need not record them again.

With a context for each test, each would otherwise write what all tests before it compiled.  Why a version was compiled,
and why its graph broke, torch reports while it compiles and at no other time: what a context received is kept here for
later contexts and for `inspect`.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Dict, NamedTuple, Tuple

from depyf.record.records import FailedGuard, GraphBreak
from depyf.torch_hooks.frames.identities import Identity


class Reasons(NamedTuple):
    """What torch reported of one version while it compiled it."""

    graph_breaks: Tuple[GraphBreak, ...] = ()
    recompile_reasons: Tuple[str, ...] = ()
    failed_guards: Tuple[FailedGuard, ...] = ()


class RecordedVersions:
    """Code objects by identity, as long as they live: `==` compares all of two code objects."""

    def __init__(self) -> None:
        self._known: Dict[int, weakref.ref[CodeType]] = {}
        self._reasons: Dict[int, Reasons] = {}
        self._identities: Dict[int, Identity] = {}
        self._compile_ids: Dict[int, str] = {}

    def add(self, code: CodeType, identity: Identity | None = None, compile_id: str = "") -> None:
        """Record that a context has recorded the version that runs as `code`, of the function of this identity."""
        number = id(code)
        if number not in self._known:
            self._known[number] = weakref.ref(code, lambda _: self._forget(number))
            if identity is not None:
                self._identities[number] = identity
            if compile_id:
                self._compile_ids[number] = compile_id

    def _forget(self, number: int) -> None:
        self._known.pop(number, None)
        self._reasons.pop(number, None)
        self._identities.pop(number, None)
        self._compile_ids.pop(number, None)

    def __contains__(self, code: CodeType) -> bool:
        return id(code) in self._known

    def explain(self, code: CodeType, reasons: Reasons) -> None:
        """Keep what torch reported of the version that runs as `code`, which was added before."""
        if code in self and any(reasons):
            self._reasons[id(code)] = reasons

    def reasons_of(self, code: CodeType) -> Reasons:
        """Return what torch reported of a version; nothing where no context received it."""
        return self._reasons.get(id(code), Reasons()) if code in self else Reasons()

    def identity_of(self, code: CodeType) -> Identity | None:
        """Return what the function is called whose version runs as `code`; None where no context has recorded it."""
        return self._identities.get(id(code)) if code in self else None

    def compile_id_of(self, code: CodeType) -> str:
        """Return the compile id of the version that runs as `code`; empty where no context has recorded it."""
        return self._compile_ids.get(id(code), "") if code in self else ""


RECORDED = RecordedVersions()  # of this process
