"""Run CPython's own tests with every module decompiled, and compare each test's result with that of a plain run.

    python bench/cpython_tests.py [MODULE ...] [--texts FOLDER] [--seconds S] [--show K]

Each test module runs twice in a process of its own, started by `tools/decompiled_run.py`: from its sources, and with
every module that it imports, the standard library and the test module among them, run from its decompiled text. A test
module counts as the same if each of its tests ends in the same way, and if it and the module that it tests did run from
their texts. A test whose result differs is run plainly once more: what differs there, too, is not held against it.
Prints a line for each, and exits 1 if a result is different. Needs Lib/test of the running interpreter.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from decompiled_run import ROOT, TextStore, run

ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")  # of objects that the names of subtests show
RECORDER = str(ROOT / "bench" / "test_recorder.py")
# Modules of Lib/test -> what each tests.
MODULES: Dict[str, str] = {
    "test_abc": "_py_abc", "test_argparse": "argparse", "test_ast": "ast", "test_base64": "base64",
    "test_bisect": "bisect", "test_calendar": "calendar", "test_collections": "collections",
    "test_colorsys": "colorsys", "test_configparser": "configparser", "test_contextlib": "contextlib",
    "test_contextlib_async": "contextlib", "test_copy": "copy", "test_csv": "csv", "test_dataclasses": "dataclasses",
    "test_datetime": "datetime", "test_defaultdict": "collections", "test_deque": "collections",
    "test_difflib": "difflib", "test_dictviews": "collections", "test_enum": "enum", "test_fileinput": "fileinput",
    "test_fnmatch": "fnmatch", "test_fractions": "fractions", "test_functools": "functools",
    "test_genericpath": "genericpath", "test_getopt": "getopt", "test_glob": "glob", "test_graphlib": "graphlib",
    "test_hashlib": "hashlib", "test_heapq": "heapq", "test_hmac": "hmac", "test_html": "html",
    "test_htmlparser": "html.parser", "test_ipaddress": "ipaddress", "test_json": "json", "test_keyword": "keyword",
    "test_linecache": "linecache", "test_locale": "locale", "test_mimetypes": "mimetypes", "test_netrc": "netrc",
    "test_ntpath": "ntpath", "test_numeric_tower": "numbers", "test_opcodes": "opcode", "test_operator": "operator",
    "test_ordered_dict": "collections", "test_pathlib": "pathlib", "test_pickle": "pickle",
    "test_plistlib": "plistlib", "test_posixpath": "posixpath", "test_pprint": "pprint", "test_queue": "queue",
    "test_quopri": "quopri", "test_random": "random", "test_re": "re", "test_reprlib": "reprlib",
    "test_sched": "sched", "test_secrets": "secrets", "test_shelve": "shelve", "test_shlex": "shlex",
    "test_shutil": "shutil", "test_statistics": "statistics", "test_string": "string",
    "test_stringprep": "stringprep", "test_tempfile": "tempfile", "test_textwrap": "textwrap",
    "test_timeit": "timeit", "test_typing": "typing", "test_types": "types", "test_urlparse": "urllib.parse",
    "test_userdict": "collections", "test_userlist": "collections", "test_userstring": "collections",
    "test_uuid": "uuid", "test_weakref": "weakref", "test_weakset": "_weakrefset", "test_xmlrpc": "xmlrpc.client",
    "test_zipapp": "zipapp", "test_asyncio.test_tasks": "asyncio.tasks", "test_asyncio.test_queues": "asyncio.queues",
    "test_asyncio.test_locks": "asyncio.locks", "test_asyncio.test_futures": "asyncio.futures",
    "test_asyncio.test_runners": "asyncio.runners", "test_asyncio.test_streams": "asyncio.streams",
}  # fmt: skip


class Comparison(NamedTuple):
    """One test module, run twice."""

    tests: int
    different: List[str]
    unsure: List[str]  # different in two plain runs as well
    missing: List[str]  # of the test module and the module that it tests: those that did not run from their texts
    texts: int  # modules that ran from their texts
    others: Dict[str, str]


def results(place: Path) -> Dict[str, List[str]]:
    """Return the results that a run wrote, by test."""
    found: Dict[str, List[str]] = {}
    for line in place.read_text(encoding="utf-8").splitlines() if place.exists() else ():
        name, _, outcome = line.partition("\t")
        found.setdefault(ADDRESS.sub("0x...", name), []).append(outcome)
    return found


def differing(one: Dict[str, List[str]], other: Dict[str, List[str]]) -> List[str]:
    """Return the tests whose results are not the same."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def compare(module: str, tested: str, texts: Path, seconds: float) -> Comparison:
    """Run one test module with and without the hook."""
    store = TextStore(texts)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)

        def one_run(name: str, used: Optional[TextStore]) -> Dict[str, List[str]]:
            own = folder / name
            own.mkdir()
            os.chdir(own)
            run(RECORDER, [str(folder / f"{name}.txt"), f"test.{module}"], used, seconds=seconds, quiet=True)
            os.chdir(ROOT)
            return results(folder / f"{name}.txt")

        plain, decompiled = one_run("plain", None), one_run("decompiled", store)
        different = differing(plain, decompiled)
        unsure = differing(plain, one_run("again", None)) if different else []
    wanted = [f"test/{module.replace('.', '/')}", tested.replace(".", "/")]
    ran = [path for path in store.decompiled if "the end" in decompiled]
    missing = [name for name in wanted if not any(_is_module(path, name) for path in ran)]
    different = [name for name in different if name not in unsure]
    return Comparison(len(plain) - 1, different, unsure, missing, len(store.decompiled), store.others)


def _is_module(path: str, name: str) -> bool:
    return path.endswith((f"/{name}.py", f"/{name}/__init__.py"))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", help="modules of Lib/test; default: those of the table")
    parser.add_argument("--texts", default="", help="folder that keeps the texts for other runs")
    parser.add_argument("--seconds", type=float, default=600, help="limit of each run")
    parser.add_argument("--show", type=int, default=5, help="how many tests that differ are named")
    options = parser.parse_args(arguments)
    same, failed = 0, 0
    others: Dict[str, str] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for module in options.modules or MODULES:
            begin = time.monotonic()
            found = compare(module, MODULES.get(module, module), Path(options.texts or temporary), options.seconds)
            if found.tests < 0:
                print(f"{module}: there is none here", flush=True)
                continue
            is_same = not found.different and not found.missing
            same, failed = same + is_same, failed + bool(found.different)
            others.update(found.others)
            print(
                f"{module}: {'the same' if is_same else 'NOT THE SAME'}, {found.tests} tests, {found.texts} modules "
                f"from their texts, {len(found.others)} not, {len(found.unsure)} differ in plain runs, "
                f"{time.monotonic() - begin:.0f} s",
                flush=True,
            )
            for name in found.missing:
                print(f"    not run from its text: {name}", flush=True)
            for name in found.different[: options.show]:
                print(f"    differs: {name}", flush=True)
    for path, why in others.items():
        print(f"no text: {path}: {why[:200]}")
    print(f"{same} test modules give the same results, {failed} do not; Python {sys.version.split()[0]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
