"""Lines that read sizes are noted however Dynamo calls the methods of a tensor."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from types import ModuleType, SimpleNamespace

from depyf.torch_hooks.guards.size_reads import SizeReads
from depyf.torch_hooks.internals import private_hooks


class TensorVariable:
    """Like that of torch 2.14, which has a table of the functions behind its methods."""

    ndim = 2
    source = SimpleNamespace(name="L['x']")
    proxy = SimpleNamespace(node=SimpleNamespace(op="placeholder", users=()))

    def method_size(self, *args):
        return "the size"

    tp_methods = {"size": SimpleNamespace(handler=method_size), "dim": SimpleNamespace(handler=lambda self: 2)}


def test_a_read_through_the_table_of_methods_is_noted_and_the_table_is_as_it_was_afterwards(monkeypatch):
    home = ModuleType("torch_2_14")
    home.TensorVariable = TensorVariable
    home.stack_now = lambda: [SimpleNamespace(filename="f.py", lineno=3, name="f")]
    monkeypatch.setitem(sys.modules, home.__name__, home)
    for name in ("size_reader", "tensor_methods", "traced_stack"):
        row = private_hooks.hook(name)
        attribute = "stack_now" if name == "traced_stack" else row.attribute
        changed = dataclasses.replace(row, module=home.__name__, attribute=attribute)
        monkeypatch.setitem(private_hooks._BY_NAME, name, changed)
    handlers = {name: entry.handler for name, entry in TensorVariable.tp_methods.items()}
    reads = SizeReads()
    reads.begin()
    detach = reads.attach(lambda what: contextlib.nullcontext())
    assert TensorVariable.tp_methods["size"].handler(TensorVariable(), 0) == "the size"
    detach()
    assert [read.axis for read in reads.found()["L['x']"]] == [0]
    assert {name: entry.handler for name, entry in TensorVariable.tp_methods.items()} == handlers
    assert TensorVariable.method_size is handlers["size"]
