"""Compile tiny Hugging Face models with and without depyf: every frame must be replaced, every output equal.

    python bench/hf_models.py --out FOLDER                                   all models, eager, without and with breaks
    python bench/hf_models.py --out FOLDER --backends inductor --models bert,llama
    python bench/hf_models.py --out FOLDER --shard 1/4 --backends eager,inductor

Needs torch and `transformers`; weights are random, nothing is downloaded. Each variant (model, backend, breaks)
is compiled and run inside `depyf.prepare_debug` on cold caches, and once more without depyf, from the same seeds,
two calls each. It is good when

- depyf replaced each frame that Dynamo compiled with its decompiled text (by manifest.json) and recorded no
  problem, and each .py file of the folder parses;
- all output tensors are equal, bit by bit, and Dynamo compiled as many frames and graphs as without depyf.

`breaks` is `none`, or `layers`: a forward hook with a graph break on each layer of each stack of layers.
Results go to FOLDER/results.jsonl, one line each; variants with a good result there are not run again (`--again`
runs them). Dump folders of good variants are removed (`--keep` keeps them).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from typing import Any, Dict, Iterator, List, Set, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from hf_zoo import KINDS, build

Variant = Tuple[str, str, str]  # model, backend, breaks
Result = Dict[str, Any]


# -- one variant, in the worker's process


def run_variant(variant: Variant, folder: str) -> Result:
    """Compile and run the model with depyf, then without, and compare."""
    import depyf

    name, backend, breaks = variant
    shutil.rmtree(folder, ignore_errors=True)
    begin = time.process_time()
    with depyf.prepare_debug(folder):
        with_depyf, counts_with = _compiled_outputs(name, backend, breaks)
    middle = time.process_time()
    without, counts_without = _compiled_outputs(name, backend, breaks)
    result = {
        **_from_manifest(folder),
        "outputs": len(without),
        "equal": _all_equal(with_depyf, without),
        "counts": counts_with,
        "counts_without": counts_without,
        "seconds_with": round(middle - begin, 1),
        "seconds_without": round(time.process_time() - middle, 1),
    }
    result["why"] = "; ".join(_complaints(result))
    return result


def _compiled_outputs(name: str, backend: str, breaks: str) -> Tuple[List[Any], Dict[str, int]]:
    """Return all tensors in the outputs of two calls of the compiled model, and how much Dynamo compiled."""
    import torch
    from torch._dynamo.convert_frame import register_bytecode_hook
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    frames: List[str] = []
    counting = register_bytecode_hook(lambda code, new_code: frames.append(code.co_name))
    model, inputs = build(name)
    if breaks == "layers":
        for layer in _layers(model):
            layer.register_forward_hook(_break_the_graph)
    compiled = torch.compile(model, backend=backend)
    found = []
    torch.manual_seed(2)
    with torch.no_grad():
        for _ in range(2):
            found.extend(_tensors(compiled(**inputs), set()))
    counting.remove()
    return found, {"frames": len(frames), "graphs": counters["stats"]["unique_graphs"]}


def _layers(model: Any) -> List[Any]:
    import torch

    stacks = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    return [layer for stack in stacks or [model] for layer in stack.children()]


def _break_the_graph(module: Any, args: Any, output: Any) -> None:
    import torch

    torch._dynamo.graph_break()


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


def _from_manifest(folder: str) -> Result:
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    frames = manifest["frames"]
    installed = [frame["installed"] for frame in frames]
    return {
        "frames": len(frames),
        "replaced": installed.count("replaced"),
        "rungs": sorted({frame["rung"] for frame in frames}),
        "graphs": len(manifest["graphs"]),
        "breaks": sum(len(frame["graph_breaks"]) for frame in frames),
        "problems": manifest["problems"],
        "unparsable": [name for name in manifest["files"] if not _parses(os.path.join(folder, name))],
    }


def _parses(path: str) -> bool:
    if not path.endswith(".py"):
        return True
    with open(path, encoding="utf-8") as file:
        try:
            ast.parse(file.read())
        except SyntaxError:
            return False
    return True


def _complaints(result: Result) -> Iterator[str]:
    """Yield the reasons why a variant is not good."""
    if not result["frames"]:
        yield "no frame was seen"
    if result["replaced"] != result["frames"]:
        yield f"{result['frames'] - result['replaced']} frames were not replaced"
    if result["frames"] != result["counts"]["frames"]:
        yield f"Dynamo compiled {result['counts']['frames']} frames, the manifest has {result['frames']}"
    if not result["equal"]:
        yield "the outputs differ"
    if result["counts"] != result["counts_without"]:
        yield f"Dynamo compiled {result['counts']} with depyf and {result['counts_without']} without"
    if result["problems"]:
        yield f"problems: {result['problems']}"
    if result["unparsable"]:
        yield f"not Python: {result['unparsable']}"


def work(variants: List[Variant], out: str, limit: int) -> None:
    """Run the variants and print starts and results as lines of JSON."""

    def too_slow(*_: object) -> None:
        raise TimeoutError(f"took more than {limit} s")

    signal.signal(signal.SIGALRM, too_slow)
    for variant in variants:
        print(json.dumps({"begin": variant}), flush=True)
        signal.alarm(limit)
        try:
            result = run_variant(variant, _dump_folder(out, variant))
        except Exception as error:
            tail = traceback.format_exc().splitlines()[-6:]
            result = {"why": f"{type(error).__name__}: {error}"[:300], "traceback": tail}
        signal.alarm(0)
        print(json.dumps({"variant": variant, **result}), flush=True)


def _dump_folder(out: str, variant: Variant) -> str:
    return os.path.join(out, "-".join(variant))


# -- the driver


def drive(variants: List[Variant], options: argparse.Namespace) -> None:
    """Run the variants in worker processes, a few models each, and keep their results."""
    done = _results(options.out)
    waiting = [one for one in variants if options.again or done.get(one, {"why": "never run"})["why"]]
    while waiting:
        models = list(dict.fromkeys(variant[0] for variant in waiting))[: options.models_per_process]
        batch = [variant for variant in waiting if variant[0] in models]
        finished = _run_batch(batch, options)
        waiting = [variant for variant in waiting if variant not in finished]


def _run_batch(batch: List[Variant], options: argparse.Namespace) -> List[Variant]:
    """Run a worker; return the variants that it finished, and the one that it died of."""
    cache = os.path.join(options.out, "inductor_cache")
    shutil.rmtree(cache, ignore_errors=True)  # cold for the run with depyf
    environment = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", **os.environ}
    environment.update(TORCHINDUCTOR_CACHE_DIR=cache, TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1")
    names = [":".join(variant) for variant in batch]
    command = [sys.executable, os.path.abspath(__file__), "--out", options.out, "--limit", str(options.limit)]
    finished: List[Variant] = []
    running: Variant | None = None
    with open(os.path.join(options.out, "stderr.txt"), "a") as errors:
        worker = subprocess.Popen(
            [*command, "--worker", *names], stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
        )
        assert worker.stdout is not None
        for line in worker.stdout:
            if line.startswith('{"begin"'):
                running = _variant(json.loads(line)["begin"])
            elif line.startswith('{"variant"'):
                finished.append(_keep(json.loads(line), options))
                running = None
        worker.wait()
    if running is not None or not finished:
        died = running or batch[0]
        finished.append(_keep({"variant": died, "why": f"the process ended with {worker.returncode}"}, options))
    return finished


def _variant(parts: List[str]) -> Variant:
    model, backend, breaks = parts
    return model, backend, breaks


def _keep(result: Result, options: argparse.Namespace) -> Variant:
    variant = _variant(list(result["variant"]))
    with open(os.path.join(options.out, "results.jsonl"), "a") as file:
        file.write(json.dumps(result) + "\n")
    if not result["why"] and not options.keep:
        shutil.rmtree(_dump_folder(options.out, variant), ignore_errors=True)
    print(_row(variant, result), flush=True)
    return variant


def _results(out: str) -> Dict[Variant, Result]:
    path = os.path.join(out, "results.jsonl")
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    return {_variant(line["variant"]): line for line in lines}  # the last one counts


def _row(variant: Variant, result: Result) -> str:
    name, backend, breaks = variant
    numbers = f"{result.get('replaced', '?'):>3} of {result.get('frames', '?'):>3} frames"
    numbers += f" {result.get('graphs', '?'):>3} graphs {result.get('outputs', '?'):>3} outputs"
    seconds = f"{result.get('seconds_with', '?'):>6} s of CPU, {result.get('seconds_without', '?'):>6} s without"
    return f"{name:22} {backend:9} {breaks:7} {numbers} {seconds}  {result['why'] or 'good'}"


def report(variants: List[Variant], out: str) -> int:
    """Print the totals; return the number of variants that are not good."""
    results = _results(out)
    bad = 0
    for backend in dict.fromkeys(variant[1] for variant in variants):
        for breaks in dict.fromkeys(variant[2] for variant in variants):
            chosen = [one for one in variants if one[1:] == (backend, breaks)]
            ran = [results[one] for one in chosen if one in results]
            good = [result for result in ran if not result["why"]]
            frames = sum(result.get("frames", 0) for result in ran)
            replaced = sum(result.get("replaced", 0) for result in ran)
            equal = sum(result.get("equal", False) for result in ran)
            print(
                f"{backend:9} breaks {breaks:7} {len(good)} good of {len(ran)} run ({len(chosen)} asked for); "
                f"{replaced} of {frames} frames replaced; outputs equal {equal}"
            )
            bad += len(chosen) - len(good)
    for variant in variants:
        if variant in results and results[variant]["why"]:
            print(_row(variant, results[variant]))
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", required=True, help="folder for results and dumps")
    parser.add_argument("--models", default=",".join(KINDS), help="comma-separated; all by default")
    parser.add_argument("--backends", default="eager", help="comma-separated: eager, aot_eager, inductor")
    parser.add_argument("--breaks", default="none,layers", help="comma-separated: none, layers")
    parser.add_argument("--shard", default="1/1", help="i/n: each n-th model, starting with the i-th")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one variant")
    parser.add_argument("--models-per-process", type=int, default=6, help="models that one worker process runs")
    parser.add_argument("--again", action="store_true", help="also run variants that have a good result")
    parser.add_argument("--keep", action="store_true", help="keep the dump folders")
    parser.add_argument("--report", action="store_true", help="run nothing, print the totals")
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    if options.worker is not None:
        work([_variant(one.split(":")) for one in options.worker], options.out, options.limit)
        return 0
    os.makedirs(options.out, exist_ok=True)
    number, shards = (int(part) for part in options.shard.split("/"))
    models = options.models.split(",")[number - 1 :: shards]
    variants = [
        (model, backend, breaks)
        for model in models
        for backend in options.backends.split(",")
        for breaks in options.breaks.split(",")
    ]
    if not options.report:
        drive(variants, options)
    return 1 if report(variants, options.out) else 0


if __name__ == "__main__":
    sys.exit(main())
