"""Run as a program by test_stability: everything in one process, each backend into its own folder."""

from __future__ import annotations

import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import capture_tools as tools  # noqa: E402


def interpreted(graph):
    """Return whether a graph is run node by node, as aot_eager did before torch 2.13."""
    return any(part.execution == "node by node" for part in graph.stages)


root, *backends = sys.argv[1:]
for backend in backends:
    for name, function, run in [
        ("toy", tools.toy_example, lambda f: tools.run_toy(f, grad=True)),
        ("docs", tools.docs_example, tools.run_docs),
    ]:
        if backend == "inductor" and name == "docs":
            continue  # the toy covers the same in half the time
        folder = os.path.join(root, f"{name}_{backend}")
        results, record, _ = tools.dump(folder, function, run, backend, prepare={"log_bytecode": True})
        torch._dynamo.reset()
        assert tools.same(results, run(function)), (name, backend)
        assert all(graph.running_files or interpreted(graph) for graph in record.graphs), (name, backend)
        tools.assert_all_parse(folder)
