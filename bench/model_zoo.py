"""Compile tiny models with and without depyf: results must be equal, and stories fit for a person to read.

    python bench/model_zoo.py --out FOLDER                                    the scoreboard
    python bench/model_zoo.py --out FOLDER --models toys/blocks,timm/test_vit
    python bench/model_zoo.py --out FOLDER --models transformers --backends eager,inductor --breaks none,layers
    python bench/model_zoo.py --out FOLDER --report                           run nothing, print the table

Needs torch, and `transformers`, `diffusers` and `timm` for their models; weights are random, nothing is downloaded.
Each variant (model, backend, breaks) has a process of its own. It compiles and runs the model inside
`depyf.prepare_debug` on cold caches, and once more without depyf, from the same seeds. A variant is good when

- all output tensors are equal, bit by bit, and Dynamo compiled as many frames and graphs as without depyf;
- depyf replaced each frame that Dynamo compiled with its decompiled text (by manifest.json) and recorded no
  problem, and each .py file of the folder parses;
- no story, file, line of the summary or function of the manifest is called `wrapper`, `inner` or `forward` alone,
  and "open first" names what the program called;
- no line of a story, transformed code or graph is longer than 120 characters, users' own source aside, and the
  stories of the models in `zoo_checks.STORY_LINES` are no longer than that.

`breaks` is `none`, or `layers`: a forward hook with a graph break on each layer of each stack of layers, which the
summary has to name. Results go to FOLDER/results.jsonl, one line each; variants with a good result there are not
run again (`--again` runs them). Dump folders are kept for reading.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import multiprocessing
import os
import shutil
import sys
import time
import traceback
from typing import Any, Dict, Iterator, List, Set, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from zoo_checks import LONGEST_LINE, Result, complaints, measure
from zoo_models import DIFFUSERS, KINDS, TIMM, build

Variant = Tuple[str, str, str]  # model, backend, breaks

TOYS = ["blocks", "small_gpt", "sequential", "generate"]
CATALOGUE = {"toys": TOYS, "transformers": list(KINDS), "diffusers": list(DIFFUSERS), "timm": TIMM.split()}
_CHOSEN = """
    albert bart bert bloom convnext deberta-v2 distilbert falcon gemma3_text gpt2 llama mamba mistral mixtral phi3
    qwen3 t5 vit wav2vec2
"""
SCOREBOARD: List[Variant] = [
    *[
        (f"{library}/{name}", "eager", "none")
        for library in ("toys", "diffusers", "timm")
        for name in CATALOGUE[library]
    ],
    *[(f"transformers/{name}", "eager", "none") for name in _CHOSEN.split()],
    *[(name, "eager", "layers") for name in ("transformers/llama", "timm/test_vit", "diffusers/UNet2DModel")],
    *[(name, "inductor", "none") for name in ("transformers/bert", "timm/test_resnet", "toys/small_gpt")],
]


# -- one variant, in a process of its own


def run_variant(variant: Variant, folder: str) -> Result:
    """Compile and run the model with depyf, then without, and compare."""
    import depyf

    name, backend, breaks = variant
    shutil.rmtree(folder, ignore_errors=True)
    errors = io.StringIO()
    begin = time.process_time()
    with contextlib.redirect_stderr(errors), depyf.prepare_debug(folder):
        with_depyf, counts_with, called = _compiled_outputs(name, backend, breaks)
    middle = time.process_time()
    without, counts_without, _ = _compiled_outputs(name, backend, breaks)
    result = {
        **measure(folder, _summary(errors.getvalue()), called),
        "called": called,
        "outputs": len(without),
        "equal": _all_equal(with_depyf, without),
        "counts": counts_with,
        "counts_without": counts_without,
        "break_line": _break_line() if breaks == "layers" else "",
        "seconds_with": round(middle - begin, 1),
        "seconds_without": round(time.process_time() - middle, 1),
    }
    result["why"] = "; ".join(complaints(name, result))
    return result


def _summary(errors: str) -> str:
    """Return the summary out of what was written on stderr: depyf's first line that is no warning, and the rest."""
    _, found, rest = errors.partition("depyf: ")
    return found + rest


def _compiled_outputs(name: str, backend: str, breaks: str) -> Tuple[List[Any], Dict[str, int], str]:
    """Return all tensors that calls of the compiled model return, how much Dynamo compiled, and what was called."""
    import torch
    from torch._dynamo.convert_frame import register_bytecode_hook
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    frames: List[str] = []
    counting = register_bytecode_hook(lambda code, new_code: frames.append(code.co_name))
    case = build(name)
    if breaks == "layers":
        for layer in _layers(case.model):
            layer.register_forward_hook(_break_the_graph)
    torch.manual_seed(2)
    results = case.run(lambda thing: torch.compile(thing, backend=backend))
    found = [tensor for result in results for tensor in _tensors(result, set())]
    counting.remove()
    return found, {"frames": len(frames), "graphs": counters["stats"]["unique_graphs"]}, case.called


def _layers(model: Any) -> List[Any]:
    import torch

    stacks = [module for module in model.modules() if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential))]
    return [layer for stack in stacks or [model] for layer in stack.children()]


def _break_the_graph(module: Any, args: Any, output: Any) -> None:
    import torch

    torch._dynamo.graph_break()


def _break_line() -> str:
    code = _break_the_graph.__code__
    return f"{os.path.basename(code.co_filename)}:{max(line for _, _, line in code.co_lines() if line)}"


def _tensors(value: Any, seen: Set[int]) -> Iterator[Any]:
    """Yield the tensors in an output, also in attributes of its objects (a cache of keys and values)."""
    import torch

    if id(value) in seen or isinstance(value, (type, torch.nn.Module)):
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        yield value
        return
    items: List[Any] = []
    if isinstance(value, dict):
        items = list(value.values())
    elif isinstance(value, (list, tuple)):
        items = list(value)
    elif hasattr(value, "__dict__") and not callable(value):
        items = list(vars(value).values())
    for item in items:
        yield from _tensors(item, seen)


def _all_equal(some: List[Any], others: List[Any]) -> bool:
    """Return whether all tensors are equal bit by bit; a NaN equals itself."""
    import torch

    return len(some) == len(others) and all(
        one.dtype == other.dtype
        and torch.equal(one.isnan(), other.isnan())
        and torch.equal(one.nan_to_num(), other.nan_to_num())
        for one, other in zip(some, others)
    )


# -- the driver


def run_all(variants: List[Variant], options: argparse.Namespace) -> None:
    """Run each variant that has no good result yet in a process of its own, and keep its result."""
    done = _results(options.out)
    waiting = [one for one in variants if options.again or done.get(one, {"why": "never run"})["why"]]
    cache = os.path.join(options.out, "inductor_cache")
    os.environ.update(TORCHINDUCTOR_CACHE_DIR=cache, TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1")
    _import_once({variant[0].partition("/")[0] for variant in waiting})
    for variant in waiting:
        shutil.rmtree(cache, ignore_errors=True)  # cold for the run with depyf
        result = _in_child(variant, options)
        with open(os.path.join(options.out, "results.jsonl"), "a") as file:
            file.write(json.dumps(result) + "\n")
        print(_row(variant, result), flush=True)


def _import_once(libraries: Set[str]) -> None:
    """Import what all children need before they fork: it takes longer than most models."""
    for variable in ("OMP_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS"):
        os.environ.setdefault(variable, "1")  # a child that is forked cannot use the threads of its parent
    for name in ["torch._dynamo.convert_frame", *sorted(libraries - {"toys"})]:
        importlib.import_module(name)


def _in_child(variant: Variant, options: argparse.Namespace) -> Result:
    """Run the variant in a child; return its result, or why there is none."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send_result, args=(variant, options.out, sender))
    child.start()
    sender.close()
    try:
        if receiver.poll(options.limit):
            return dict(receiver.recv())
    except EOFError:
        child.join()
        return {"variant": variant, "why": f"the process ended with {child.exitcode}"}
    finally:
        child.kill()
        child.join()
    return {"variant": variant, "why": f"took more than {options.limit} s"}


def _send_result(variant: Variant, out: str, sender: Any) -> None:
    with open(os.path.join(out, "stderr.txt"), "a") as errors:
        os.dup2(errors.fileno(), 2)
    try:
        result = run_variant(variant, _dump_folder(out, variant))
    except Exception as error:
        tail = traceback.format_exc().splitlines()[-8:]
        result = {"why": f"{type(error).__name__}: {error}"[:300], "traceback": tail}
    sender.send({"variant": variant, **result})


def _dump_folder(out: str, variant: Variant) -> str:
    return os.path.join(out, "-".join(variant).replace("/", "-"))


def _variant(parts: List[str]) -> Variant:
    model, backend, breaks = parts
    return model, backend, breaks


def _results(out: str) -> Dict[Variant, Result]:
    path = os.path.join(out, "results.jsonl")
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    return {_variant(line["variant"]): line for line in lines}  # the last one counts


# -- the table


_COLUMNS = {
    "frames": "frames",
    "graphs": "graphs",
    "stories": "stories",
    "lines": "story_lines",
    "all lines": "all_lines",
    "to code": "lines_before_code",
    "manifest": "manifest_bytes",
    "bad names": "anonymous",
    "CPU s": "seconds_with",
    "without": "seconds_without",
}


def _heading() -> str:
    return f"{'model':34} {'':15} {' '.join(f'{name:>9}' for name in _COLUMNS)}  line  first  equal"


def _row(variant: Variant, result: Result) -> str:
    name, backend, breaks = variant
    start = f"{name:34} {backend:8} {breaks:6}"
    if "frames" not in result:
        return f"{start} {result['why']}"
    cells = [result[key] for key in _COLUMNS.values()]
    numbers = " ".join(f"{len(cell) if isinstance(cell, list) else cell:>9}" for cell in cells)
    verdicts = ["yes" if result[key] else "NO" for key in ("open_first_is_right", "equal")]
    return (
        f"{start} {numbers} {result['longest_line'][0]:>5}  {verdicts[0]:5}  {verdicts[1]:5} {result['why'] or 'good'}"
    )


def report(variants: List[Variant], out: str) -> int:
    """Print the table and the totals; return the number of variants that are not good."""
    results = _results(out)
    ran = [(variant, results[variant]) for variant in variants if variant in results]
    good = [variant for variant, result in ran if not result["why"]]
    whole = [result for _, result in ran if "frames" in result]
    print(_heading())
    for variant, result in ran:
        print(_row(variant, result))
    print(f"{len(good)} good of {len(ran)} run ({len(variants)} asked for)")
    print(
        f"{sum(one['replaced'] for one in whole)} of {sum(one['frames'] for one in whole)} frames replaced; "
        f"outputs equal in {sum(one['equal'] for one in whole)} of {len(whole)}, "
        f"'open first' right in {sum(one['open_first_is_right'] for one in whole)}, "
        f"names known in {sum(not one['anonymous'] for one in whole)}, "
        f"lines short in {sum(one['longest_line'][0] <= LONGEST_LINE for one in whole)}"
    )
    return len(variants) - len(good)


def _chosen(options: argparse.Namespace) -> List[Variant]:
    """Return the variants that the options ask for: the scoreboard, unless models are named."""
    if not options.models:
        variants = SCOREBOARD
    else:
        names = []
        for name in options.models.split(","):
            names += [name] if "/" in name else [f"{name}/{model}" for model in CATALOGUE[name]]
        backends, breaks = (options.backends or "eager").split(","), (options.breaks or "none").split(",")
        variants = [(name, backend, how) for name in names for backend in backends for how in breaks]
    number, shards = (int(part) for part in options.shard.split("/"))
    return variants[number - 1 :: shards]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", required=True, help="folder for results and dumps")
    parser.add_argument("--models", help="comma-separated: library/model, or a library; the scoreboard by default")
    parser.add_argument("--backends", help="comma-separated: eager, aot_eager, inductor; with --models")
    parser.add_argument("--breaks", help="comma-separated: none, layers; with --models")
    parser.add_argument("--shard", default="1/1", help="i/n: each n-th variant, starting with the i-th")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one variant")
    parser.add_argument("--again", action="store_true", help="also run variants that have a good result")
    parser.add_argument("--report", action="store_true", help="run nothing, print the table")
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    os.makedirs(options.out, exist_ok=True)
    variants = _chosen(options)
    if not options.report:
        run_all(variants, options)
    return 1 if report(variants, options.out) else 0


if __name__ == "__main__":
    sys.exit(main())
