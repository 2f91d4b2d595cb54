"""`depyf` and `python -m depyf`: run a program, ask about the folder that it wrote, decompile code."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import platform
import sys
from typing import Any, List, NoReturn, Optional, Tuple

from depyf.commands.memory_limit import limited_memory
from depyf.decompiler import DecompilationError, decompilation_of, decompile, source_with_note
from depyf.decompiler.code_search import NotFound, code_of_file, code_of_module, nested
from depyf.decompiler.decode.coverage import coverage
from depyf.errors import UserError
from depyf.text.lines import printable, shortened
from depyf.version import __version__


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


def run_program(options: argparse.Namespace) -> int:
    """Run a program under prepare_debug; its exit status is the status."""
    from depyf.commands import run

    program = [options.script, *options.arguments]
    try:
        return run.run(program, options.is_module, options.output, options.provenance, options.open, options.timeline)
    except UserError as error:
        return _fail(error, 2)


def run_doctor(options: argparse.Namespace) -> int:
    """Print what is supported here; return 1 if something is not."""
    from depyf.commands import doctor

    found = doctor.examine()
    status = _print(doctor.render_json(found) if options.json else doctor.render(found))
    return status or int(bool(found.problems))


def run_diff(options: argparse.Namespace) -> int:
    """Print what two runs did not do alike; return 1 if there is something."""
    from depyf.commands import diff

    try:
        found = diff.differences(options.first, options.second)
    except UserError as error:
        return _fail(error, 2)
    status = _print(diff.render_json(found) if options.json else diff.render(found))
    return status or int(any(differences for _, differences in found))


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
    from depyf.torch_hooks.entry_points.kept_summary import data_of, summary_of

    try:
        return _print((data_of if options.json else summary_of)(options.folder))
    except (UserError, OSError) as error:
        return _fail(error, 2)


def run_report(options: argparse.Namespace) -> int:
    """Make the page of a folder, and print where it is; or print its findings."""
    from depyf.commands import page_report, sarif_report

    try:
        if options.sarif:
            return _print(sarif_report.report(options.folder))
        paths = page_report.report(options.folder, options.output or "")
    except UserError as error:
        return _fail(error, 2)
    options.page = paths[0]
    return _print(f"{paths[0]}\n")


def run_where(options: argparse.Namespace) -> int:
    """Print what was made of a line, or what a line or a kernel stems from; return 1 where nothing is known of it."""
    from depyf.line_table import folders, questions
    from depyf.report import where

    try:
        tables = folders.read_tables(options.folder)
        answer = questions.ask(options.place, tables)
        return _print((where.render_json if options.json else where.render)(answer))
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


class _Parser(argparse.ArgumentParser):
    """Answers a wrong argument with one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(_fail(f"{message} (see {self.prog} --help)", 2))


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command line; return the exit status."""
    parser = _parser()
    own, of_program = split_program(sys.argv[1:] if arguments is None else arguments)
    options, unknown = parser.parse_known_args(own)
    if unknown:
        parser.exit(_fail(f"unrecognized arguments: {' '.join(unknown)} (see depyf {options.command} --help)", 2))
    if options.command == "run":
        options.arguments = of_program
        return int(options.run(options))
    is_program = arguments is None
    try:
        with limited_memory() if is_program and options.command in _READERS else contextlib.nullcontext():
            status = int(options.run(options))
    except (MemoryError, RecursionError) as error:  # of a folder, log or file that asks for too much
        return _fail(f"{options.command} needs more memory or deeper calls than there are ({type(error).__name__})", 2)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        if options.command not in _READERS:
            raise
        return _fail(
            f"a record there is not as depyf writes it, and cannot be read: {type(error).__name__}: {error}", 2
        )
    if getattr(options, "page", "") and options.open:  # not inside the limit, which a browser would inherit
        from depyf.commands.page_report import open_page

        open_page(options.page)
    return status


_READERS = ("report", "show", "where", "lines", "diff")  # of what others may have written


def split_program(arguments: List[str]) -> Tuple[List[str], List[str]]:
    """Return depyf's arguments, and of `run` those of the program: all behind the script or the name of the module."""
    if arguments[:1] != ["run"]:
        return arguments, []
    place = 1
    while place < len(arguments) and arguments[place].startswith("-") and len(arguments[place]) > 1:
        place += 2 if arguments[place] in ("-o", "--output") else 1
    return arguments[: place + 1], arguments[place + 1 :]


def _parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="depyf",
        description="See what torch.compile made of a program: run it, then ask about the folder that it wrote. "
        "Or decompile Python code.",
        epilog="Begin with: depyf run script.py. `depyf COMMAND --help` describes each.",
    )
    parser.add_argument("--version", action="version", version=f"depyf {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(commands)
    _add_decompile(commands)
    _add_coverage(commands)
    _add_show(commands)
    _add_report(commands)
    _add_where(commands)
    _add_lines(commands)
    _add_finish(commands)
    _add_diff(commands)
    _add_doctor(commands)
    return parser


def _add_decompile(commands: Any) -> None:
    parser = commands.add_parser(
        "decompile",
        help="print the source text of a file, module, class or function",
        description="Print the source text of compiled Python code. The status is 0 for a text that is proved to be "
        "the same program, 1 where none was found, 2 where the target cannot be read.",
        epilog="For example: depyf decompile json.decoder:JSONDecoder.decode, or depyf decompile old.pyc",
    )
    parser.add_argument("target", help="FILE.py, FILE.pyc or module, each alone or with :qualified.name")
    parser.add_argument("--strict", action="store_true", help="fail where the text cannot be proved")
    parser.add_argument(
        "--python", metavar="PATH", help="for a .pyc file of another version, its interpreter; else one is searched for"
    )
    parser.set_defaults(run=run_decompile)


def _add_coverage(commands: Any) -> None:
    parser = commands.add_parser(
        "coverage",
        help="list this interpreter's opcodes and which are supported",
        epilog="For example: depyf coverage",
    )
    parser.set_defaults(run=run_coverage)


def _add_show(commands: Any) -> None:
    parser = commands.add_parser(
        "show",
        help="print the summary of a folder again: breaks, recompiles, what to open",
        description="Print what a run compiled, where its graphs broke, what was compiled again and why, and what to "
        "open first: the lines that the run printed at its end, all of them.",
        epilog="For example: depyf show depyf_output",
    )
    parser.add_argument("folder", help="the folder that `depyf run` or prepare_debug wrote")
    parser.add_argument(
        "--json", action="store_true", help="print it as data: what broke, why, at which line, which kernel"
    )
    parser.set_defaults(run=run_show)


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="make the page of a folder or of a TORCH_TRACE log: index.html, to open in a browser",
        description="Make index.html and the folder page/ beside it, from the files of a folder alone, and print the "
        "path. Each of several processes gets a page of its own, which the first one links to. A log that TORCH_TRACE "
        "wrote (.log, .gz, or a folder of them) gets the same page in a folder of its own, less what such logs lack.",
        epilog="For example: depyf report --open depyf_output, or depyf report trace.log.gz -o from_log",
    )
    parser.add_argument("folder", help="the folder that `depyf run` or prepare_debug wrote, or a log of TORCH_TRACE")
    parser.add_argument("-o", "--output", metavar="DIR", help="of a log: where to write (depyf_report)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    parser.add_argument(
        "--sarif",
        action="store_true",
        help="print graph breaks and recompiles for editors and code review (SARIF 2.1.0) and make no page",
    )
    parser.set_defaults(run=run_report)


def _add_where(commands: Any) -> None:
    parser = commands.add_parser(
        "where",
        help="print what became of a line: transformed code, nodes of graphs, kernels; or where one stems from",
        description="Print what torch.compile made of a line of your program, or which of your lines a line of a "
        "graph, or a kernel, stems from. The status is 1 where nothing is known of it.",
        epilog="For example: depyf where model.py:42 depyf_output, or depyf where triton_poi_fused_add_0 depyf_output",
    )
    parser.add_argument("place", help="FILE:LINE of the program or of a file in the folder, or the name of a kernel")
    parser.add_argument("folder", help="the folder that `depyf run` or prepare_debug wrote")
    parser.add_argument("--json", action="store_true", help="print it as data, the links as `depyf lines` has them")
    parser.set_defaults(run=run_where)


def _add_lines(commands: Any) -> None:
    parser = commands.add_parser(
        "lines",
        help="print all links that `where` answers from, as JSON",
        description="Print all links between lines of the program, of graphs and of kernels as JSON, one a line.",
        epilog="For example: depyf lines depyf_output > lines.json",
    )
    parser.add_argument("folder", help="the folder that `depyf run` or prepare_debug wrote")
    parser.set_defaults(run=run_lines)


def _add_finish(commands: Any) -> None:
    parser = commands.add_parser(
        "finish",
        help="complete the folder of a program that was killed or hangs, and compare its ranks",
        description="Write what a killed program could not: its stories, its page, its manifest. Folders of processes "
        "that still run are read and not changed: that is how to inspect a job that hangs.",
        epilog="For example: depyf finish depyf_output",
    )
    parser.add_argument("folder", help="the folder that `depyf run` or prepare_debug wrote")
    parser.set_defaults(run=run_finish)


def _add_diff(commands: Any) -> None:
    parser = commands.add_parser(
        "diff",
        help="print what two runs did not do alike: functions, graphs, kernels, breaks",
        description="Compare two runs, function by function, and print what differs: versions, breaks, graphs, "
        "kernels. The status is 0 where nothing does, 1 where something does.",
        epilog="For example: depyf run -o before train.py, change a line, depyf run -o after train.py, and then "
        "depyf diff before after",
    )
    parser.add_argument("first", help="the folder of one run")
    parser.add_argument("second", help="the folder of another")
    parser.add_argument("--json", action="store_true", help="print it as data")
    parser.set_defaults(run=run_diff)


def _add_doctor(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor",
        help="print what of this Python and this torch is supported, and try it",
        description="Print which parts of depyf work with this Python and this torch, what is lost where one does not, "
        "and try it on a small program. The status is 1 where something is lost.",
        epilog="For example: depyf doctor, before you report a problem",
    )
    parser.add_argument("--json", action="store_true", help="print it as data")
    parser.set_defaults(run=run_doctor)


def _add_run(commands: Any) -> None:
    """Add `run`: everything behind the script or the module is the program's."""
    parser = commands.add_parser(
        "run",
        help="run a program and write what torch.compile makes of it: depyf run script.py ...",
        description="Run a script, or a module with -m, as python does, and write what torch.compile makes of it to a "
        "folder. The program is not changed, and its exit status is the status. With several ranks: "
        "torchrun ... -m depyf run script.py ...",
        epilog="For example: depyf run --open train.py --epochs 1, or depyf run -m package.train; then read the lines "
        "that it prints, and depyf show depyf_output",
        usage="depyf run [-o DIR] [--provenance] [--timeline] [--open] (SCRIPT | -m MODULE) [argument ...]",
    )
    parser.add_argument("-o", "--output", metavar="DIR", default="depyf_output", help="the folder (%(default)s)")
    parser.add_argument(
        "--provenance",
        action="store_true",
        help="have torch record which lines each kernel implements; it compiles anew for it, as its caches differ",
    )
    parser.add_argument(
        "--timeline",
        action="store_true",
        help="record torch's own timers, too: the timeline of the page shows the phases inside each compilation",
    )
    parser.add_argument("--open", action="store_true", help="open the page of the run in the browser when it has ended")
    parser.add_argument("-m", dest="is_module", action="store_true", help="what follows is the name of a module")
    parser.add_argument("script", metavar="SCRIPT", help="the file to run, or the module")
    parser.add_argument("arguments", nargs="*", default=[], metavar="argument", help="the arguments of the program")
    parser.set_defaults(run=run_program)


if __name__ == "__main__":
    sys.exit(main())
