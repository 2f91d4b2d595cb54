"""The functions that Dynamo compiled or skipped, each with its own text."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections import Counter
from types import CodeType, FunctionType
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from depyf.problems import Problems
from depyf.record.records import FrameRecord, FunctionRecord, Location, OriginalFunction, SkipRecord
from depyf.record.vocabulary import FROM_FILE, MISSING, SourceOrigin
from depyf.text import python_source, resume_names
from depyf.torch_hooks.disk.file_names import file_stem
from depyf.torch_hooks.frames import identities, source_files
from depyf.torch_hooks.frames.function_texts import DecompiledTexts
from depyf.torch_hooks.frames.identities import Identity
from depyf.torch_hooks.guards.module_paths import Hooked
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.qualified_names import qualified_name
from depyf.torch_hooks.internals.stable_names import RESUME_FUNCTION, RESUME_NAME, parameter_names, resumed_name


class _Records(Dict[str, FunctionRecord]):
    """Records by key, and the keys that were set since the last `take_changed`."""

    def __init__(self, records: Iterable[Tuple[str, FunctionRecord]]) -> None:
        super().__init__(records)
        self.changed: Dict[str, None] = {}

    def __setitem__(self, key: str, record: FunctionRecord) -> None:
        super().__setitem__(key, record)
        self.changed[key] = None


class Functions:
    """One FunctionRecord for each function that has a name of its own for the user, made when it is first met."""

    def __init__(self, problems: Problems, earlier: Tuple[FunctionRecord, ...] = ()) -> None:
        self._problems = problems
        self._records = _Records((one.key, _not_called(one)) for one in earlier)
        self._earlier = {_text_and_place(record): record.key for record in reversed(earlier)}
        self._keys: Dict[int, Dict[str, str]] = {}  # id of a code -> {title, or key of what it continues: key}
        self._codes: List[CodeType] = []  # keeps the ids valid
        self._texts = DecompiledTexts(problems)
        self._next: Dict[str, int] = {}  # beginning of a key -> a number below which all are taken

    @property
    def records(self) -> Tuple[FunctionRecord, ...]:
        """The records in the order in which Dynamo met the functions."""
        return tuple(self._records.values())

    def take_changed(self) -> List[FunctionRecord]:
        """Return the records that are new or have changed since the last call."""
        changed, self._records.changed = self._records.changed, {}
        return [self._records[key] for key in changed]

    def key_of(self, code: CodeType, identity: Identity | None = None, parent: str = "") -> str:
        """Return the key of the record for `code`, which is made when there is none.

        Wrappers share their code, and resume functions of such do: `identity` decides which function this is, or
        `parent`, the key of the function that a resume function continues. Without either it is the first one.
        """
        known = self._keys.get(id(code), {})
        which = parent or ("" if identity is None or _is_generated(code) else identity.title)
        key = known.get(which) if which else next(iter(known.values()), None)
        if key is None and parent:
            key = next((one for one in known.values() if self._records[one].resume_of in (None, parent)), None)
        if key is None:
            key = self._add(code, identities.of_code(code) if identity is None else identity)
        if id(code) not in self._keys:
            self._codes.append(code)
        self._keys.setdefault(id(code), {})[which or self._records[key].title] = key
        return key

    def _add(self, code: CodeType, identity: Identity) -> str:
        name = code.co_name if _is_generated(code) else identity.title
        described = _describe(code, identity, self._new_key(name), self._texts)
        key = self._earlier_key(described) or described.key
        if key == described.key:
            self._records[key] = described
        return key

    def count_calls(self, compiled: Iterable[Tuple[str, Identity | None]]) -> None:
        """Record, given what was compiled and what the program was calling then, how often the latter was the case."""
        titled: Dict[Tuple[str, str, int], List[FunctionRecord]] = {}
        for known in self._records.values():
            for place in (_ANYWHERE, (known.shown_file, known.shown_line)):
                titled.setdefault((known.title, *place), []).append(known)
        for key, entry in compiled:
            called = None
            if entry is not None:
                code = entry.original
                place = _ANYWHERE if code is None else (code.co_filename, code.co_firstlineno)
                called = _called(titled.get((entry.title, *place), ()))
            record = self._records[self._root(key) if called is None else called]
            self._records[record.key] = dataclasses.replace(record, compiled_in_calls=record.compiled_in_calls + 1)

    def has(self, code: CodeType) -> bool:
        """Return whether `code` has a record."""
        return id(code) in self._keys

    def resumes_without_parent(self) -> List[CodeType]:
        """Return the resume functions for which no recorded frame is known that calls them."""
        generated = [code for code in self._codes if _is_generated(code)]
        return [code for code in generated if self._records[self.key_of(code)].resume_of is None]

    def _earlier_key(self, described: FunctionRecord) -> str | None:
        """Return the key that an earlier session in this folder gave to the same function, if it did.

        Sessions do not keep code objects alive for each other, so functions are compared by text and place.
        """
        # Taken out when found: a second code object with that text is another function.
        return self._earlier.pop(_text_and_place(described), None)

    def _new_key(self, name: str) -> str:
        stem = file_stem(name)
        number = self._next.get(stem, 0)
        while f"{stem}_{number}" in self._records:
            number += 1
        self._next[stem] = number
        return f"{stem}_{number}"

    def get(self, key: str) -> FunctionRecord:
        """Return the record with that key."""
        return self._records[key]

    def set_full_code_file(self, key: str, name: str) -> None:
        """Record the `full_code` file of a function."""
        if self._records[key].full_code_file != name:
            self._records[key] = dataclasses.replace(self._records[key], full_code_file=name)

    def add_resume(self, code: CodeType, name: str, parent: str) -> str:
        """Record that a frame of `parent` calls the resume function `code` by the global `name`; return its key."""
        key = self.key_of(code, parent=parent)
        record = self._records[key]
        names = record.resume_names if name in record.resume_names else record.resume_names + (name,)
        continues = record.resume_of or (parent if parent != key else None)
        title = record.title
        if continues is not None:
            title = resume_names.title(self._records[self._root(continues)].display_name, record.first_line)
        self._records[key] = dataclasses.replace(record, resume_of=continues, resume_names=names, title=title)
        return key

    def _root(self, key: str) -> str:
        """Return the key of the function that a resume function belongs to, or its own."""
        passed = set()
        while key not in passed and self._records[key].resume_of in self._records:
            passed.add(key)
            key = str(self._records[key].resume_of)
        return key

    def add_call(self, key: str, call: Location) -> None:
        """Record a line that calls a function: a few of them."""
        record = self._records[key]
        if record.resume_of is None and call not in record.called_at and len(record.called_at) < _MOST_CALLERS:
            self._records[key] = dataclasses.replace(record, called_at=record.called_at + (call,))

    def add_hook(self, key: str, hooked: Hooked) -> None:
        """Record the modules that a function is a hook of."""
        if hooked.number > self._records[key].hooked_modules:
            found = dataclasses.replace(self._records[key], hook_of=hooked.paths, hooked_modules=hooked.number)
            self._records[key] = found

    def add_skip(self, key: str, skip: SkipRecord) -> None:
        """Record why Dynamo compiled no version of a function, once for each reason."""
        record = self._records[key]
        known = [(one.kind, one.reason) for one in record.skips]
        if (skip.kind, skip.reason) not in known:
            self._records[key] = dataclasses.replace(record, skips=record.skips + (skip,))

    def key_at(self, name: str, file: str, line: int) -> str | None:
        """Return the key of the function that starts there; None for a resume function that is not recorded yet."""
        for known in self._records.values():
            if (known.name, known.file, known.first_line) == (name, file, line):
                return known.key
        if RESUME_FUNCTION.match(name):  # it is not known which function it continues
            return None
        source = source_files.text_at(file, line)
        is_whole = _is_definition(source)
        record = FunctionRecord(
            key=self._new_key(name),
            name=name,
            qualified_name=name,
            file=file,
            first_line=line,
            source=source if is_whole else "",
            source_origin=FROM_FILE if is_whole else MISSING,
            written_in="" if is_whole else source,
        )
        self._records[record.key] = record
        return record.key

    def count_earlier(self, frames: Sequence[FrameRecord]) -> None:
        """Record how many cached versions of each function are missing from `frames`."""
        entries = private_hooks.find("cache_entries")
        versions = Counter(frame.function for frame in frames)
        for code in self._codes if entries is not None else ():
            key, *others = dict.fromkeys(self._keys[id(code)].values())
            missing = max(0, len(entries(code)) - sum(versions[one] for one in (key, *others)))
            if missing != self._records[key].earlier_versions:
                self._records[key] = dataclasses.replace(self._records[key], earlier_versions=missing)


_MOST_CALLERS = 8


def _not_called(record: FunctionRecord) -> FunctionRecord:
    """Return the record with its calls as those of an earlier context; the same object where it has none."""
    if not record.compiled_in_calls:
        return record
    earlier = record.compiled_in_calls + record.compiled_in_earlier_calls
    return dataclasses.replace(record, compiled_in_calls=0, compiled_in_earlier_calls=earlier)


def _text_and_place(record: FunctionRecord) -> Tuple[object, ...]:
    place = (record.title, record.qualified_name, record.name, record.file, record.first_line, record.parameters)
    return (*place, record.source, record.written_in)


_ANYWHERE = ("", 0)  # stands for the place of a function that is not known


def _called(found: Sequence[FunctionRecord]) -> str | None:
    """Return the key of the function that a call meets, of those that go by its name; None where there is none.

    Where Dynamo met decorators of it alone, that is the outermost, which it meets first: a call goes there.
    """
    itself = next((known for known in reversed(found) if not known.decorators), None)
    return itself.key if itself is not None else found[0].key if found else None


def _describe(code: CodeType, identity: Identity, key: str, texts: DecompiledTexts) -> FunctionRecord:
    source, origin, written = _text(code, texts)
    resumed = resume_names.title(resumed_name(identity.title), code.co_firstlineno)
    return FunctionRecord(
        key=key,
        name=code.co_name,
        qualified_name=_qualified_name(code, identity),
        file=code.co_filename,
        first_line=code.co_firstlineno,
        source=source,
        source_origin=origin,
        parameters=parameter_names(code),
        written_in=written,
        title=resumed if _is_generated(code) else identity.title,
        decorators=identity.decorators,
        original=_class_text(identity) if identity.original is None else _original(identity.original, texts),
        passed_on=identity.passed_on,
    )


def _qualified_name(code: CodeType, identity: Identity) -> str:
    """Return the qualified name of the function that the user calls."""
    original = code if not identity.decorators else identity.original
    if original is None:
        return identity.title
    found = qualified_name(original)
    return found if found != original.co_name or hasattr(original, "co_qualname") else identity.title


def _class_text(identity: Identity) -> OriginalFunction | None:
    """Return the text of the dataclass for which Python generated a method; None for any other function."""
    found = None if identity.made_for is None else source_files.class_of(identity.made_for)
    return None if found is None else OriginalFunction(*found, FROM_FILE)


def _original(code: CodeType, texts: DecompiledTexts) -> OriginalFunction:
    source, origin, written = _text(code, texts)
    return OriginalFunction(code.co_filename, code.co_firstlineno, source or written, origin)


def _text(code: CodeType, texts: DecompiledTexts) -> Tuple[str, SourceOrigin, str]:
    """Return the text of a function, where it is from, and the statement that holds it where it is a lambda."""
    whole = written = "" if _is_generated(code) else source_files.definition_of(code)
    if not whole and not _is_generated(code):
        written = source_files.text_of(code)
    if whole or _is_definition(written):
        return written, FROM_FILE, ""
    source, origin = texts.of(code)
    return source, origin, written


def _is_definition(text: str) -> bool:
    """Return whether `text` is a function and nothing else; that of a lambda is the statement that holds it."""
    return python_source.definition(python_source.in_its_scope(text)) is not None


def _is_generated(code: CodeType) -> bool:
    """Return whether this is a resume function: its file, that of the function it continues, has no text of it."""
    return RESUME_FUNCTION.match(code.co_name) is not None


def function_named(qualified_name: str, file: str) -> CodeType | None:
    """Return the code of the function of that name in the module loaded from `file`; None when there is none."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            found: Any = module
            for part in qualified_name.split("."):
                found = inspect.getattr_static(found, part, None)
            while callable(getattr(found, "_torchdynamo_orig_callable", None)):
                found = found._torchdynamo_orig_callable
            return found.__code__ if isinstance(found, FunctionType) else None
    return None


def code_behind(installed: Any) -> CodeType | None:
    """Return the code of a resume function that Dynamo installed as a global: a function, or a maker of closures."""
    if not isinstance(installed, FunctionType):
        return None
    if _is_generated(installed.__code__):
        return installed.__code__
    for cell in installed.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if isinstance(content, CodeType):
            return content
    return None


def resume_parameters(code: CodeType, new_code: CodeType) -> Mapping[str, Tuple[str, ...]]:
    """Return the parameter names of the resume functions that the frame `new_code` of `code` calls, as far as known.

    Dynamo installs the functions under names that carry the offset where they resume, and keeps their code by
    that offset.  Where two resume functions have one offset, both are left out.
    """
    cache = private_hooks.find("resume_code_cache")
    known = cache.get(code) if cache is not None else None
    by_offset: Dict[int, List[CodeType]] = {}
    for key, resume in (known or {}).items():
        if isinstance(key, tuple) and key and isinstance(key[0], int) and isinstance(resume, CodeType):
            by_offset.setdefault(key[0], []).append(resume)
    hints: Dict[str, Tuple[str, ...]] = {}
    for name in new_code.co_names:
        match = RESUME_NAME.match(name)
        codes = by_offset.get(int(match.group("offset")), []) if match else []
        if len(codes) == 1:
            hints[name] = parameter_names(codes[0])
    return hints
