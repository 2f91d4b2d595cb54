"""Take one frame from Dynamo's hook to a file on disk, and to the code that runs from it."""

from __future__ import annotations

import dataclasses
import os
from types import CodeType
from typing import Dict, List, Sequence, Tuple

from depyf.decompiler.recompile.relabelling import relabel
from depyf.problems import Problems
from depyf.record.records import FrameRecord, FunctionRecord, GuardRecord, Location, NodeSource
from depyf.record.vocabulary import BY_RESUME, RELABELLED, REPLACED, UNTOUCHED, Installed
from depyf.text import python_source
from depyf.torch_hooks.disk.file_names import file_stem
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.frames.bytecode_files import dump_code
from depyf.torch_hooks.frames.bytecode_listing import listing
from depyf.torch_hooks.frames.decompiled_text import Decompiled, decompile_or_list, fits
from depyf.torch_hooks.frames.functions import Functions, resume_parameters
from depyf.torch_hooks.frames.line_comments import WIDTH, ShortPaths, UserSource, with_comments
from depyf.torch_hooks.frames.line_links import UserLine, carrying, line_links, user_lines, with_graph_call
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.stable_names import Renames

_BYTECODE_SUFFIXES = (".original_bytecode", ".transformed_bytecode", ".decompiled_and_compiled_back_bytecode")
_LISTING_SUFFIX = ".bytecode.txt"


class Frames:
    """Writes the file of each frame and decides which code runs for it."""

    def __init__(
        self,
        folder: OutputFolder,
        functions: Functions,
        problems: Problems,
        log_bytecode: bool,
        earlier: Tuple[FrameRecord, ...] = (),
    ) -> None:
        self._folder = folder
        self._functions = functions
        self._problems = problems
        self._log_bytecode = log_bytecode
        self._renames = Renames()
        self._short_paths = ShortPaths()
        self.records: List[FrameRecord] = list(earlier)
        # compile id -> the newest frame with it: after a reset Dynamo counts from the start again
        self._places = {frame.compile_id: place for place, frame in enumerate(earlier)}

    def add(
        self, code: CodeType, new_code: CodeType, compile_id: str, key: str, sources: Tuple[NodeSource, ...] = ()
    ) -> CodeType:
        """Write the frame that Dynamo made of `code`; return the code to run in place of `new_code`.

        `key` is that of its function, `sources` are those of the graph that it calls.
        """
        return self._add(code, new_code, compile_id, key, is_new=True, sources=sources)

    def add_cached(self, code: CodeType, new_code: CodeType, compile_id: str, key: str) -> None:
        """Write a version from Dynamo's cache: what runs for it can be shown, but not replaced any more."""
        self._add(code, new_code, compile_id, key, is_new=False)

    def _add(
        self,
        code: CodeType,
        new_code: CodeType,
        compile_id: str,
        key: str,
        is_new: bool,
        sources: Tuple[NodeSource, ...] = (),
    ) -> CodeType:
        template = "__transformed_code_{}_for_" + file_stem(code.co_name) + ".py"
        index = self._folder.number(
            template, beside=(*_BYTECODE_SUFFIXES, _LISTING_SUFFIX) if self._log_bytecode else ()
        )
        name = template.format(index)
        path = self._folder.of(name)
        renames = self._renames.of(new_code)
        hints: Dict[str, Tuple[str, ...]] = {}
        with self._problems.shield("looking up the resume functions of a frame"):
            hints = dict(resume_parameters(code, new_code))
        result = decompile_or_list(new_code, code, path, renames, hints, self._problems)
        source, lines = self._user_lines(code, new_code, result, sources)
        installed: Installed
        is_original = new_code is code  # another program's hook may return it
        if (
            is_new
            and result.code is not None
            and fits(code, result.code)
            and (not is_original or _mark_as_output(code))
        ):
            installed, to_run = REPLACED, carrying(result.code, lines)
        elif not is_new or is_original:
            installed, to_run = UNTOUCHED, new_code
        else:
            installed, to_run = RELABELLED, carrying(relabel(new_code, path, result.lines, first_line=1), lines)
        record = FrameRecord(
            compile_id=compile_id,
            function=key,
            index=index,
            file=name,
            source=source,
            installed=installed,
            grade=result.grade,
            assumptions=result.assumptions,
            divergence=result.divergence,
            rung=result.rung,
            from_cache=not is_new,
            line_links=line_links(code, lines),
            linked_to=new_code.co_filename if not is_new and new_code.co_filename != code.co_filename else "",
        )
        function = self._functions.get(key)
        self._folder.write(name, _titled(source, function) + _notes(record, function))
        self._places[compile_id] = len(self.records)
        self.records.append(record)
        if self._log_bytecode:
            with self._problems.shield("writing bytecode files"):
                self._write_bytecode(code, new_code, result, renames)
            with self._problems.shield("listing the bytecode of a frame"):
                title = f"Compilation {compile_id} of {function.display_name} ({function.shown_place}), {name}"
                text = listing(title, code, new_code, source, result.lines, renames)
                self._folder.write(name + _LISTING_SUFFIX, text)
        return to_run

    def _user_lines(
        self, code: CodeType, new_code: CodeType, result: Decompiled, sources: Tuple[NodeSource, ...]
    ) -> Tuple[str, Tuple[UserLine, ...]]:
        """Return the text with the user's line beside each that stems from one, and those lines."""
        with self._problems.shield("finding the user's lines of a frame"):
            lines = with_graph_call(user_lines(code, new_code, result), code, result, sources)
            return with_comments(result.source, lines, UserSource(code), self._short_paths), lines
        return result.source, ()

    def _write_bytecode(self, code: CodeType, new_code: CodeType, result: Decompiled, renames: Dict[str, str]) -> None:
        record = self.records[-1]
        stored = {**renames, self._folder.of(record.file): record.file}
        versions = [code, new_code, *([] if result.code is None else [result.code])]
        names = []
        for suffix, version in zip(_BYTECODE_SUFFIXES, versions):
            names.append(record.file + suffix)
            self._folder.write_bytes(names[-1], dump_code(version, stored))
        self.records[-1] = dataclasses.replace(record, bytecode_files=tuple(names))

    def update(self, index: int, **changes: object) -> None:
        """Set fields of a frame's record that become known later."""
        self.records[index] = dataclasses.replace(self.records[index], **changes)  # type: ignore[arg-type]

    def guards_of(self, compile_id: str) -> Sequence[GuardRecord]:
        """Return the guards of the version with that compile id; empty while they are not known."""
        place = self._places.get(compile_id)
        return () if place is None else self.records[place].guards

    def user_call(self, call: Location) -> Location | None:
        """Return the user's line for one of transformed code, where it is known; any other line as it is."""
        folder, name = os.path.split(call.file)
        if not name.startswith("__transformed_code_"):
            return call
        links = [
            link
            for frame in self.records
            if frame.file == name and folder == self._folder.known_path
            for link in frame.line_links
            if link.line == call.line
        ]
        links.sort(key=lambda link: link.found_by == BY_RESUME)  # which is called last on its line
        return dataclasses.replace(call, file=links[0].user_file, line=links[0].user_line) if links else None

    def shown_names(self, code: CodeType) -> Dict[str, str]:
        """Return {name in the code: name in the text} for the names that differ."""
        return self._renames.of(code)


def _mark_as_output(code: CodeType) -> bool:
    """Keep Dynamo from compiling `code` again, as if a hook had returned it and not a copy; False if it cannot."""
    codes = private_hooks.find("output_codes")
    if codes is None:
        return False
    codes.add(code)
    return True


def _titled(source: str, function: FunctionRecord) -> str:
    """Return the text with what the user calls the function behind its first line, where that is not its own name."""
    first, end, rest = source.partition("\n")
    titled = f"{first}  # {python_source.printable(function.display_name)}"
    has_room = first.strip() and '"""' not in first and not first.endswith("\\") and len(titled) <= WIDTH
    return titled + end + rest if has_room and function.display_name != function.name else source


def _notes(record: FrameRecord, function: FunctionRecord) -> str:
    """Return the comments at the end of the file, where they move no line."""
    lines = ["", f"Compilation {record.compile_id} of {function.display_name} ({function.shown_place})."]
    if record.installed == REPLACED:
        lines.append(f"The code above runs in place of what Dynamo made: {record.grade}.")
        lines.extend(f"  assuming: {assumption}" for assumption in record.assumptions)
    elif record.from_cache:
        lines.append(f"It was compiled before and read from Dynamo's cache, as source: {record.grade}.")
        lines.append("Breakpoints here are not hit: what runs is not linked to this file.")
        lines.extend([f"It is linked to {record.linked_to}"] if record.linked_to else [])
    else:
        lines.append(f"Dynamo's own instructions run, shown above: {record.grade}.")
    lines.extend(f"  {line}" for line in record.divergence.splitlines())
    return "\n" + "".join(comment + "\n" for line in lines[1:] for comment in python_source.wrapped_comment(line))
