"""`inspect`: show what is compiled now, without a session, without files and without running anything again.

    >>> depyf.inspect(compiled)             # an overview
    >>> print(depyf.inspect(compiled))      # the whole story, graphs and kernels included

The versions in Dynamo's caches go through the same modules as those of a session (frames, guards, graphs, functions),
into a folder that is a dictionary; the result is the same record.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Dict, List, Mapping, Sequence

from depyf.errors import UserError
from depyf.problems import Problems
from depyf.record.records import SessionRecord
from depyf.report import inspection_overview
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.entry_points.inspection_targets import codes_of, identities_of
from depyf.torch_hooks.frames import cache_entries
from depyf.torch_hooks.frames.cached_functions import CachedFunctions
from depyf.torch_hooks.frames.functions import Functions
from depyf.torch_hooks.frames.transformed_code import Frames
from depyf.torch_hooks.frames.user_files import UserFiles
from depyf.torch_hooks.graphs.first_lines import without_file
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.internals.code_owners import import_folders
from depyf.torch_hooks.session.software_versions import versions

_EVERYTHING: Any = object()


@dataclass(frozen=True, repr=False)
class Inspection(SessionRecord):
    """The record of what is compiled now.  Its `repr` is an overview, its `str` the whole story.

    `texts` has what `prepare_debug` would write as files: the transformed code, the graphs, the kernels.
    """

    texts: Mapping[str, str] = field(default_factory=dict)  # name of the file -> its text

    def __repr__(self) -> str:
        return inspection_overview.render(self)

    def __str__(self) -> str:
        return inspection_overview.whole_story(self, {name: without_file(text) for name, text in self.texts.items()})

    def _repr_html_(self) -> str:
        """Return the view of the function on the page, which notebooks show."""
        from depyf.page import embedded, page_data  # which nobody else pays for

        data = page_data.page_data(self, lambda name: self.texts.get(name, ""))
        return embedded.embedded_page(data, {}, embedded.address_of(data))

    def story(self) -> str:
        """Return the whole story without the graphs and kernels: the text of `full_code_for_*.py`."""
        return inspection_overview.whole_story(self, {})


class _FolderInMemory(OutputFolder):
    """A folder that keeps the texts in memory."""

    def __init__(self, problems: Problems) -> None:
        super().__init__("inspect", problems)
        self.texts: Dict[str, str] = {}
        self._numbers: Counter[str] = Counter()

    def number(self, template: str, beside: Sequence[str] = ()) -> int:
        self._numbers[template] += 1
        return self._numbers[template] - 1

    def of(self, name: str) -> str:
        return name

    def write_bytes(self, name: str, content: bytes) -> str:
        self.texts[name] = content.decode("utf-8")
        self.files.add(name)
        return name


def inspect(target: Any = _EVERYTHING) -> Inspection:
    """Return what torch.compile made of `target`, as far as this process has it now; nothing is compiled or run.

    `target` is a function, a method, a module, what torch.compile returned, or a code object; without one,
    everything that is compiled in this process is shown.  A function that was never compiled gives a record without
    versions of it.  UserError for what holds no Python code, and without torch.
    """
    _require_torch()
    problems = Problems()
    folder = _FolderInMemory(problems)
    functions = Functions(problems)
    frames = Frames(folder, functions, problems, log_bytecode=False)
    graphs = Graphs(folder, problems)
    if target is _EVERYTHING:
        CachedFunctions(functions, frames, graphs, problems, link=False).add_all()
    else:
        codes, names = codes_of(target), identities_of(target)
        compiled = CachedFunctions(functions, frames, graphs, problems, link=False, names=names)
        if not [code for code in codes if compiled.add(code)]:
            shown = _not_compiled(codes)
            functions.key_of(shown, names.get(id(shown)))
    graphs.finish()
    files = UserFiles()
    files.add(function.shown_file for function in functions.records)
    return Inspection(
        versions=versions(),
        functions=functions.records,
        frames=tuple(frames.records),
        graphs=graphs.records,
        files=tuple(sorted(folder.files)),
        problems=tuple(problems.lines),
        user_files=files.records,
        import_folders=import_folders(),
        texts={name: folder.texts[name] for name in sorted(folder.texts)},
    )


def _not_compiled(codes: List[CodeType]) -> CodeType:
    """Return the code to show where none has a compiled version: one that Dynamo met, if it met any."""
    met = set(map(id, cache_entries.met_codes()))
    return next((code for code in codes if id(code) in met), codes[0])


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise UserError(
            "depyf.inspect shows what torch.compile made, and torch cannot be imported here "
            "(depyf.decompile works without)."
        ) from error
