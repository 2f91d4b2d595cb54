"""The command line of the gallery; see the docstring of the package."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import pathlib
import signal
import sys
import tempfile
import time
import zlib
from typing import Dict, Iterable, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))

from bench.gallery import catalogue, children, results, trial
from bench.gallery.index_page import write_index
from bench.gallery.trial import DEPYF, GOOD

# A child that uses the threads of its parent waits for ever. torch reads these variables when it is imported.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_OFFLINE": "1",
}
INDEX_EVERY = 30.0  # seconds: the index can be read while the gallery is made


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m bench.gallery", description="Compile models under depyf.")
    parser.add_argument("-o", "--out", required=True, help="folder of the results and of the index")
    parser.add_argument("--only", default="", help="comma-separated: families, models, patterns such as timm/*vit*")
    parser.add_argument("--variants", default=",".join(catalogue.VARIANTS), help="comma-separated (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--limit", type=float, default=200.0, help="seconds of the processor for one trial")
    parser.add_argument("--again", action="store_true", help="repeat trials that have a result")
    parser.add_argument("--retry", action="store_true", help="repeat trials whose result is not good")
    parser.add_argument("--index", action="store_true", help="run nothing, write the index anew")
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    options.only = [one for one in options.only.split(",") if one]
    options.variants = options.variants.split(",")
    for variant in options.variants:
        if variant not in catalogue.VARIANTS:
            parser.error(f"{variant} is no variant; there are {', '.join(catalogue.VARIANTS)}")
    return options


def import_once(exhibits: List[catalogue.Exhibit]) -> None:
    """Import what the children need before they are forked: it takes as long as compiling a small model."""
    libraries = {catalogue.FAMILIES[exhibit.family][1] for exhibit in exhibits}
    if any(exhibit.variant == "inductor" for exhibit in exhibits):
        libraries.add("torch._inductor.compile_fx")
    for name in sorted(libraries):
        with contextlib.suppress(ImportError):  # of what a library itself needs: the child's to report
            importlib.import_module(name)
    if "torch._inductor.compile_fx" in libraries:
        _pick_vector_instructions()
    _warm_up({exhibit.family: exhibit for exhibit in reversed(exhibits)})


def _pick_vector_instructions() -> None:
    """Let Inductor find the vector instructions of this processor, which it does by compiling programs for each kind.

    Torch keeps what it found, and children inherit it; otherwise every one of them repeats some seven seconds of work.
    """
    with contextlib.suppress(ImportError, AttributeError):  # older torch keeps it elsewhere; the child then finds it
        importlib.import_module("torch._inductor.cpu_vec_isa").pick_vec_isa()


def _warm_up(first: Dict[str, catalogue.Exhibit]) -> None:
    """Build one model of each family, and compile one: only so is everything imported that children would import.

    There is no backward pass here: it starts threads, and a fork of a process with threads of autograd hangs.
    """
    import torch

    with contextlib.suppress(Exception):  # a failure here is the child's to report
        for family, exhibit in first.items():
            catalogue.build(family, exhibit.name)
        with tempfile.TemporaryDirectory() as folder:
            trial.try_exhibit(catalogue.Exhibit("torch", "mlp", "forward"), folder)
    torch._dynamo.reset()


def is_due(options: argparse.Namespace, exhibit: catalogue.Exhibit) -> bool:
    """Return whether an exhibit is to be tried: it has no result, or the options ask for it again."""
    result = results.read(options.out, exhibit)
    return result is None or options.again or (options.retry and result["status"] != GOOD)


def mixed(exhibits: Iterable[catalogue.Exhibit]) -> List[catalogue.Exhibit]:
    """Return the exhibits of each variant in a fixed mixed order: a stopped run then has some of every family."""
    numbers = {variant: number for number, variant in enumerate(catalogue.VARIANTS)}
    return sorted(exhibits, key=lambda one: (numbers[one.variant], zlib.crc32(one.model.encode())))


def make(options: argparse.Namespace, exhibits: List[catalogue.Exhibit]) -> None:
    """Try what is due, show how far it is, and keep each result."""
    due = mixed(exhibit for exhibit in exhibits if is_due(options, exhibit))
    if not due:
        return
    import_once(due)
    begun = written = time.monotonic()
    for number, result in enumerate(children.run_all(due, options.out, options.jobs, options.limit), 1):
        results.write(options.out, result)
        left = (time.monotonic() - begun) / number * (len(due) - number)
        print(f"[{number}/{len(due)}, {left / 60:.0f} min left] {results.row(result)}", flush=True)
        if time.monotonic() - written > INDEX_EVERY:
            write_index(options.out, found(options, whole()))
            written = time.monotonic()


def whole() -> List[catalogue.Exhibit]:
    """Return all exhibits: the index has every result of its folder, whichever run it is from."""
    return list(catalogue.exhibits([], list(catalogue.VARIANTS)))


def found(options: argparse.Namespace, exhibits: List[catalogue.Exhibit]) -> List[results.Result]:
    """Return the results of the exhibits, as far as there are any."""
    read = (results.read(options.out, exhibit) for exhibit in exhibits)
    return [result for result in read if result is not None]


def main() -> int:
    """Make the gallery; return 1 if a failure is depyf's."""
    options = parsed()
    os.environ.update(ENVIRONMENT)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that children end with their parent
    os.makedirs(options.out, exist_ok=True)
    missing = catalogue.missing_libraries()
    if missing:
        print(f"not installed, so their models are left out: {', '.join(missing)}", file=sys.stderr)
    exhibits = list(catalogue.exhibits(options.only, options.variants))
    if not options.index:
        make(options, exhibits)
    chosen = found(options, exhibits)
    index = write_index(options.out, found(options, whole()))
    print("\n".join(results.totals(chosen)))
    print(index)
    return 1 if any(result["status"] == DEPYF for result in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
