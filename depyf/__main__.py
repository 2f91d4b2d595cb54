"""`python -m depyf`: source text of a file, module or function; and which opcodes are supported."""

from __future__ import annotations

import argparse
import dis
import importlib
import os
import sys
from typing import Any, List, Optional

from .decompiler import DecompilationError, Decompiler, decompile
from .decompiler.find import code_of_file, code_of_module, nested
from .errors import UserError

# Pseudo-instructions, which only the compiler sees, have numbers beyond a byte or no place in a code object.
_NEVER_IN_CODE = frozenset({
    "JUMP", "JUMP_NO_INTERRUPT", "LOAD_SUPER_METHOD", "LOAD_ZERO_SUPER_ATTR", "LOAD_ZERO_SUPER_METHOD", "POP_BLOCK",
    "SETUP_CLEANUP", "SETUP_FINALLY", "SETUP_WITH", "STORE_FAST_MAYBE_NULL",
})  # fmt: skip


def target(text: str) -> Any:
    """What a target names: FILE.py, FILE.pyc, module, or one of these with `:qualified.name`."""
    place, _, name = text.partition(":")
    if os.path.exists(place) or place.endswith((".py", ".pyc")):
        code = code_of_file(place)
        return nested(code, name) if name else code
    if not name:
        return code_of_module(place)
    found: Any = importlib.import_module(place)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def run_decompile(options: argparse.Namespace) -> int:
    """Print the text; 1 if it is not proved."""
    try:
        sys.stdout.write(decompile(target(options.target), strict=options.strict))
    except DecompilationError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (UserError, ImportError, AttributeError, TypeError) as error:
        sys.stderr.write(f"depyf: {error}\n")
        return 2
    return 0


def run_coverage(options: argparse.Namespace) -> int:
    """Print the opcodes of this interpreter; 1 if one is not supported."""
    supported = set(Decompiler.supported_opnames())
    names = sorted(name for name in dis.opmap if name not in _NEVER_IN_CODE and not name.startswith("INSTRUMENTED_"))
    for name in names:
        sys.stdout.write(f"{name:35} {'supported' if name in supported else 'NOT SUPPORTED'}\n")
    missing = [name for name in names if name not in supported]
    version = ".".join(map(str, sys.version_info[:3]))
    sys.stdout.write(f"Python {version}: {len(names) - len(missing)} of {len(names)} opcodes supported\n")
    return 1 if missing else 0


def main(arguments: Optional[List[str]] = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m depyf", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    text = commands.add_parser("decompile", help="print the source text of a file, module, class or function")
    text.add_argument("target", help="FILE.py, FILE.pyc or module, each alone or with :qualified.name")
    text.add_argument("--strict", action="store_true", help="fail where the text cannot be proved")
    text.set_defaults(run=run_decompile)
    coverage = commands.add_parser("coverage", help="list this interpreter's opcodes and which are supported")
    coverage.set_defaults(run=run_coverage)
    options = parser.parse_args(arguments)
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
