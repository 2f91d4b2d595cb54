"""More programs for `backend_programs`: backends that hold, copy, cache and call graphs in ways that no example shows.

`python unusual_backends.py FOLDER NAME ...` observes the programs of both modules.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import io
import operator
import pickle
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import torch
from backend_programs import (
    PROGRAMS,
    compiled_with,
    main,
    math,
    pieces,
    program,
    split_at_sines,
    trained_with,
    with_cosines,
)
from torch import fx

# -- graphs that are copied, saved and loaded


@program
def pickled_graph():
    return compiled_with(lambda module, inputs: pickle.loads(pickle.dumps(module)))


@program
def saved_and_loaded_graph():
    def backend(module, inputs):
        stream = io.BytesIO()
        torch.save(fx.GraphModule({}, copy.deepcopy(module.graph)), stream)
        stream.seek(0)
        return torch.load(stream, weights_only=False)

    return compiled_with(backend)


@program
def exported_and_decomposed():
    def backend(module, inputs):
        return torch.export.export(module, tuple(inputs)).run_decompositions({}).module()

    return compiled_with(backend)


KEPT = {}


@program
def made_while_compiling_and_kept_in_a_global():
    def backend(module, inputs):
        KEPT["made"] = with_cosines(fx.GraphModule(module, copy.deepcopy(module.graph)))
        return lambda *args: KEPT["made"](*args)

    return compiled_with(backend)


@program
def pieces_inlined_again():
    def backend(module, inputs):
        from torch.fx.experimental.const_fold import _inline_module

        split = split_at_sines(module)
        for name in pieces(split):
            _inline_module(split, name)
        split.recompile()
        return split

    return compiled_with(backend)


@program
def pieces_of_pieces():
    def backend(module, inputs):
        split = split_at_sines(module)
        for name in pieces(split):
            setattr(split, name, split_at_sines(getattr(split, name)))
        return split

    return compiled_with(backend)


@program
def fused_by_a_partitioner():
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import OperatorSupport

    class Sines(OperatorSupport):
        def is_node_supported(self, submodules, node):
            return node.op == "call_method" and node.target == "sin"

    def backend(module, inputs):
        return CapabilityBasedPartitioner(module, Sines(), allows_single_node_partition=True).partition_and_fuse()

    return compiled_with(backend)


@program
def edited_after_the_first_call():
    def backend(module, inputs):
        calls = []

        def run(*args):
            calls.append(args)
            return (with_cosines(module) if len(calls) == 2 else module)(*args)

        return run

    return compiled_with(backend)


# -- callables of all kinds


@program
def generator():
    def backend(module, inputs):
        def work():
            out = None
            while True:
                args = yield out
                out = module(*args)

        working = work()
        next(working)
        return lambda *args: working.send(args)

    return compiled_with(backend)


@program
def coroutine():
    def backend(module, inputs):
        async def work(*args):
            await asyncio.sleep(0)
            return module(*args)

        return lambda *args: asyncio.run(work(*args))

    return compiled_with(backend)


@program
def thread():
    def backend(module, inputs):
        pool = ThreadPoolExecutor(1)
        return lambda *args: pool.submit(module, *args).result()

    return compiled_with(backend)


@program
def lru_cache():
    """Hold the graph, and run what is made of it once for each rank."""

    def backend(module, inputs):
        @functools.lru_cache(maxsize=None)
        def variant(rank):
            return with_cosines(copy.deepcopy(module))

        return lambda *args: variant(args[0].dim())(*args)

    return compiled_with(backend)


@program
def without_a_python_function():
    call = getattr(operator, "call", None)  # Python 3.11
    return compiled_with(lambda module, inputs: module if call is None else functools.partial(call, module))


@program
def overridden_call():
    class Lowered(torch.nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def __call__(self, *args):
            return self.module.forward(*args)

    return compiled_with(lambda module, inputs: Lowered(module))


@program
def slots_with_an_edited_graph():
    class Holder:
        __slots__ = ("run",)

        def __init__(self, run):
            self.run = run

        def call(self, *args):
            return self.run(*args)

    return compiled_with(lambda module, inputs: Holder(with_cosines(copy.deepcopy(module)).forward).call)


@program
def one_module_for_graphs_with_the_same_code():
    known = {}
    compiled = torch.compile(
        lambda x: x.sin() * 2, backend=lambda module, inputs: known.setdefault(module.code, module), dynamic=False
    )

    def run():
        for size in (2, 3, 4):
            compiled(torch.ones(size))

    return run


@program
def source_of_the_graph_executed_by_the_backend():
    """Run code of the backend's own, which no file claims to be."""

    def backend(module, inputs):
        names = {**vars(torch), **{name: builtin.obj for name, builtin in fx.graph._custom_builtins.items()}}
        exec(module.code, names)
        return lambda *args: names["forward"](module, *args)

    return compiled_with(backend)


# -- functions that are not the forward of the module they run with


@program
def class_with_the_forward_of_another_graph():
    def backend(module, inputs):
        other = with_cosines(copy.deepcopy(module))
        other(torch.ones(4))
        type(module).forward = type(other).forward
        return module

    return compiled_with(backend)


@program
def class_with_a_forward_of_the_backends_own():
    def backend(module, inputs):
        other = with_cosines(copy.deepcopy(module))
        type(module).forward = lambda self, *args: other(*args)
        return module

    return compiled_with(backend)


@program
def function_made_of_the_code_of_the_graph():
    def backend(module, inputs):
        module(torch.ones(4))
        forward = type(module).forward
        run = types.FunctionType(forward.__code__, forward.__globals__, "run")
        return lambda *args: run(module, *args)

    return compiled_with(backend)


@program
def graph_called_by_the_program_alone():
    def backend(module, inputs):
        KEPT["captured"] = module
        return lambda x: (x.cos(),)

    compiled = torch.compile(math, backend=backend)

    def run():
        compiled(torch.ones(4))
        KEPT["captured"](torch.ones(4))

    return run


# -- compilers


@program
def compiled_by_aot_autograd_at_the_second_call():
    from functorch.compile import make_boxed_func
    from torch._functorch.aot_autograd import aot_module_simplified

    def compiler(module, inputs):
        return make_boxed_func(module.forward)

    def backend(module, inputs):
        calls, compiled = [], []

        def run(*args):
            calls.append(1)
            if len(calls) > 1 and not compiled:
                compiled.append(aot_module_simplified(copy.deepcopy(module), list(args), fw_compiler=compiler))
            return (compiled[0] if compiled else module)(*args)

        return run

    return trained_with(backend)


@program
def registered_with_a_partitioner():
    from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd

    backend = aot_autograd(
        fw_compiler=lambda module, inputs: make_boxed_func(module.forward),
        bw_compiler=lambda module, inputs: make_boxed_func(copy.deepcopy(module)),
        partition_fn=min_cut_rematerialization_partition,
    )
    torch._dynamo.register_backend(backend, name="depyf_test_of_partitions")
    return trained_with("depyf_test_of_partitions")


@program
def pieces_compiled_for_each_shape_when_it_comes():
    """Compile a piece by standalone_compile for each shape, at the first call with it, as vLLM does."""

    class Piece:
        def __init__(self, module):
            self.module = module
            self.known = {}

        def __call__(self, *args):
            shape = next(arg.shape for arg in args if isinstance(arg, torch.Tensor))
            if shape not in self.known:
                module = copy.deepcopy(self.module)
                self.known[shape] = torch._inductor.standalone_compile(
                    module, list(args), dynamic_shapes="from_example_inputs"
                )
            out = self.known[shape](*args)
            is_tuple = isinstance(next(iter(reversed(self.module.graph.nodes))).args[0], tuple)
            return out if is_tuple or not isinstance(out, (tuple, list)) else out[0]

    def backend(module, inputs):
        split = split_at_sines(module)
        for name in pieces(split):
            split.__dict__[name] = Piece(getattr(split, name))
        return split

    compiled = torch.compile(math, backend=backend, dynamic=True)

    def run():
        for size in (4, 8):
            compiled(torch.ones(size))

    return run


# -- graphs inside graphs


@program
def conditional_of_aot_autograd():
    def choose(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    return compiled_with("aot_eager", choose)


@program
def loop():
    from torch._higher_order_ops.while_loop import while_loop

    def count(x):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.sin()), (torch.tensor(0), x))

    return compiled_with("aot_eager", count)


@program
def checkpoint():
    from torch.utils.checkpoint import checkpoint

    return trained_with("aot_eager", lambda x: checkpoint(lambda y: (y.sin() * 2).sin(), x, use_reentrant=False) + 1)


@program
def attention_with_a_score_function():
    from torch.nn.attention.flex_attention import flex_attention

    def attend(x):
        return flex_attention(x, x, x, score_mod=lambda score, b, h, i, j: score + (i - j))

    return compiled_with("eager", attend, torch.ones(1, 1, 16, 16))


@program
def nested_compile_region_in_training():
    @torch.compiler.nested_compile_region
    def region(x):
        return x.sin() + 1

    return trained_with("aot_eager", lambda x: region(region(x)) * 2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or PROGRAMS)
