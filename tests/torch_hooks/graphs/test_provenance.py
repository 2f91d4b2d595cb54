"""What torch's provenance tracking records, read for the kernels of one module alone."""

from __future__ import annotations

import json

from depyf.torch_hooks.graphs.provenance import NODES_EVENT, STACKS_EVENT, with_artifact

MODULE = "\n# [Provenance debug handles] cpp_fused_sin_0:3\n    cpp_fused_sin_0(buf0)\n"
STACK = '  File "a.py", line 3, in f\n    x.sin()\n'


def test_nodes_and_lines_of_a_kernel_come_from_two_artifacts():
    nodes = json.dumps({"cppCodeToPost": {"cpp_fused_sin_0:3": ["sin", "mul"]}, "version": 2.0})
    found = with_artifact((), NODES_EVENT, nodes, MODULE)
    (found,) = with_artifact(found, STACKS_EVENT, json.dumps({"cpp_fused_sin_0:3": [STACK, STACK]}), MODULE)
    assert (found.kernel, found.nodes) == ("cpp_fused_sin_0:3", ("sin", "mul"))
    assert [[place.line for place in calls] for calls in found.calls] == [[3]]


def test_kernels_of_other_modules_in_the_lists_of_torch_are_left_out():
    others = {"cpp_fused_sin_0:1": [STACK], "cpp_fused_cos_0:2": [STACK]}
    assert with_artifact((), STACKS_EVENT, json.dumps(others), MODULE) == ()
    (plain,) = with_artifact((), STACKS_EVENT, json.dumps({"triton_0": [STACK], "triton_1": []}), "triton_0.run(x)")
    assert plain.kernel == "triton_0", "torch before 2.9 has no numbers"


def test_an_artifact_without_content_changes_nothing():
    for payload in ("", "null", "{", '{"version": 2.0}', "[]"):
        assert with_artifact((), NODES_EVENT, payload, MODULE) == with_artifact((), STACKS_EVENT, payload, MODULE) == ()
