"""`python -m depyf`: decompile code, show a summary again, ask which lines belong together, complete a folder."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from typing import Any, List, Optional

from depyf.decompiler import DecompilationError, decompilation_of, decompile, source_with_note
from depyf.decompiler.code_search import NotFound, code_of_file, code_of_module, nested
from depyf.decompiler.decode.coverage import coverage
from depyf.errors import UserError
from depyf.text.lines import printable, shortened


def target(text: str) -> Any:
    """Return what a target names: FILE.py, FILE.pyc, module, or one of these with `:qualified.name`."""
    place, _, name = text.partition(":")
    if os.path.exists(place) or place.endswith((".py", ".pyc")):
        code = code_of_file(place)
        return nested(code, name) if name else code
    try:
        if not name:
            return code_of_module(place)
        found: Any = importlib.import_module(place)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except NotFound:
        raise
    except (Exception, SystemExit) as error:  # importing a module or its package runs it
        raise NotFound(f"{text} cannot be imported: {type(error).__name__}: {error}") from error


def run_decompile(options: argparse.Namespace) -> int:
    """Print the source text; return 1 if it is not proved or not all of it is source, 2 if the target is wrong."""
    try:
        thing = target(options.target)
        if options.strict:
            return _print(decompile(thing, strict=True, python=options.python))
        result = decompilation_of(thing, python=options.python)
    except DecompilationError as error:
        return _fail(error, 1)
    except (UserError, TypeError) as error:
        return _fail(error, 2)
    except (MemoryError, RecursionError) as error:
        return _fail(f"{options.target} needs more memory or deeper calls than there are ({type(error).__name__})", 2)
    status = _print(source_with_note(thing, result))
    if status or (result.proved and not result.shows_instructions):
        return status
    if result.proved:
        return _fail("; ".join(result.stand_ins), 1)
    if not result.shows_instructions:
        return _fail(f"the text is not proved: {result.verdict.reason}; --python names one", 1)
    return _fail(f"no source was proved, these are the instructions: {result.verdict}", 1)


def _print(text: str) -> int:
    """Write a text to stdout; return 2, with a line on stderr, where that is not possible."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except UnicodeEncodeError as error:
        return _fail(f"the text cannot be written as {error.encoding}: try PYTHONIOENCODING=utf-8", 2)
    except BrokenPipeError:  # the reader has seen enough; Python flushes stdout once more when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return 0


def _fail(message: object, status: int) -> int:
    """Write one line to stderr, without what a terminal would act on; return the status."""
    sys.stderr.write(f"depyf: {printable(shortened(str(message)))}\n")
    return status


def run_coverage(options: argparse.Namespace) -> int:
    """Print the opcodes of this interpreter; return 1 if one is not supported."""
    opcodes = coverage()
    for name, is_supported in opcodes.items():
        sys.stdout.write(f"{name:35} {'supported' if is_supported else 'NOT SUPPORTED'}\n")
    supported = sum(opcodes.values())
    sys.stdout.write(f"Python {platform.python_version()}: {supported} of {len(opcodes)} opcodes supported\n")
    return 0 if supported == len(opcodes) else 1


def run_finish(options: argparse.Namespace) -> int:
    """Complete a folder that a killed process left, and print a summary of it."""
    from depyf.torch_hooks.entry_points.killed_processes import finish

    try:
        sys.stdout.write(finish(options.folder).text(options.folder))
    except (UserError, OSError) as error:
        return _fail(error, 2)
    return 0


def run_show(options: argparse.Namespace) -> int:
    """Print the summary that a folder keeps."""
    from depyf.torch_hooks.entry_points.kept_summary import summary_of

    try:
        return _print(summary_of(options.folder))
    except (UserError, OSError) as error:
        return _fail(error, 2)


def run_where(options: argparse.Namespace) -> int:
    """Print what was made of a line, or what a line or a kernel stems from; return 1 where nothing is known of it."""
    from depyf.line_table import folders, questions
    from depyf.report import where

    try:
        tables = folders.read_tables(options.folder)
        return _print(where.render(questions.ask(options.place, tables)))
    except questions.NoAnswer as error:
        return _fail(error, 1)
    except UserError as error:
        return _fail(error, 2)


def run_lines(options: argparse.Namespace) -> int:
    """Print the whole table of lines of a folder as JSON."""
    from depyf.line_table import folders
    from depyf.report import where

    try:
        return _print(where.render_table(folders.read_tables(options.folder)))
    except UserError as error:
        return _fail(error, 2)


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m depyf",
        description="Decompile Python code, or ask about the folder that prepare_debug wrote.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    text = commands.add_parser("decompile", help="print the source text of a file, module, class or function")
    text.add_argument("target", help="FILE.py, FILE.pyc or module, each alone or with :qualified.name")
    text.add_argument("--strict", action="store_true", help="fail where the text cannot be proved")
    text.add_argument(
        "--python", metavar="PATH", help="for a .pyc file of another version, its interpreter; else one is searched for"
    )
    text.set_defaults(run=run_decompile)
    opcodes = commands.add_parser("coverage", help="list this interpreter's opcodes and which are supported")
    opcodes.set_defaults(run=run_coverage)
    show = commands.add_parser("show", help="print the summary of a folder again: breaks, recompiles, what to open")
    show.add_argument("folder", help="the folder that prepare_debug was given")
    show.set_defaults(run=run_show)
    where = commands.add_parser(
        "where", help="print what became of a line: transformed code, nodes of graphs, kernels; or where one stems from"
    )
    where.add_argument("place", help="FILE:LINE of the program or of a file in the folder, or the name of a kernel")
    where.add_argument("folder", help="the folder that prepare_debug was given")
    where.set_defaults(run=run_where)
    lines = commands.add_parser("lines", help="print all links that `where` answers from, as JSON")
    lines.add_argument("folder", help="the folder that prepare_debug was given")
    lines.set_defaults(run=run_lines)
    rest = commands.add_parser(
        "finish", help="complete the folder of a program that was killed or hangs, and compare its ranks"
    )
    rest.add_argument("folder", help="the folder that prepare_debug was given")
    rest.set_defaults(run=run_finish)
    options = parser.parse_args(arguments)
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
