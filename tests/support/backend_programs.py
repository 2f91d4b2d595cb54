"""Programs with many kinds of backends, for tests that compare what the folder reports with what a tracer observes.

Each program compiles a function with its backend and returns a function without arguments that calls it.
`python backend_programs.py FOLDER NAME ...` runs each inside prepare_debug under a profiler, runs it once more under
a debugger with a breakpoint on each line, and prints as JSON which files of the folder ran and which were hit.
"""

from __future__ import annotations

import copy
import functools
import importlib
import json
import os
import sys
import threading
import traceback
import weakref

import torch
from torch import fx

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def math(x):
    return (x.sin() * 2).sin() + 3


def compiled_with(backend, function=math, x=None, **options):
    compiled = torch.compile(function, backend=backend, **options)
    x = torch.ones(4) if x is None else x
    return lambda: compiled(x)


def trained_with(backend, function=math):
    compiled = torch.compile(function, backend=backend)

    def step():
        x = torch.ones(4, requires_grad=True)
        with torch.autograd.set_multithreading_enabled(False):  # the profiler is of one thread
            compiled(x).sum().backward()

    return step


# -- backends of torch's


@program
def eager():
    return compiled_with("eager")


@program
def aot_eager():
    return compiled_with("aot_eager")


@program
def aot_eager_training():
    return trained_with("aot_eager")


@program
def inductor():
    return compiled_with("inductor")


@program
def inductor_training():
    return trained_with("inductor")


@program
def inductor_backward_never_called():
    compiled = torch.compile(math, backend="inductor")
    return lambda: compiled(torch.ones(4, requires_grad=True))


@program
def inductor_with_break():
    def broken(x):
        x = x.sin() + 1
        torch._dynamo.graph_break()
        return x.cos() * 2

    return compiled_with("inductor", broken)


@program
def inductor_cpp_wrapper():
    return compiled_with("inductor", options={"cpp_wrapper": True})


# -- edited and new graphs


def with_cosines(module):
    for node in module.graph.nodes:
        if "sin" in str(node.target):
            node.target = {"call_method": "cos"}.get(node.op, torch.cos)
    module.recompile()
    return module


@program
def edited_graph():
    return compiled_with(lambda module, inputs: with_cosines(module))


@program
def edited_graph_forward():
    return compiled_with(lambda module, inputs: with_cosines(module).forward)


@program
def edited_graph_that_is_announced():
    def backend(module, inputs):
        from torch._dynamo.utils import lazy_format_graph_code

        with_cosines(module)
        lazy_format_graph_code("with cosines", module)
        return module

    return compiled_with(backend)


@program
def copied_graph():
    return compiled_with(lambda module, inputs: copy.deepcopy(module))


@program
def transformed_graph():
    class Cosines(fx.Transformer):
        def call_method(self, target, args, kwargs):
            return super().call_method("cos" if target == "sin" else target, args, kwargs)

    return compiled_with(lambda module, inputs: Cosines(module).transform())


@program
def edited_at_each_call():
    def backend(module, inputs):
        def run(*args):
            with_cosines(module)
            return module(*args)

        return run

    return compiled_with(backend)


@program
def retraced_graph():
    def backend(module, inputs):
        from torch.fx.experimental.proxy_tensor import make_fx

        return make_fx(module)(*inputs)

    return compiled_with(backend)


# -- graphs that are split, as vLLM does


def split_at_sines(module):
    from torch.fx.passes.split_module import split_module

    sines = 0

    def piece_of(node):
        nonlocal sines
        sines += "sin" in str(node.target)
        return sines

    return split_module(module, None, piece_of)


def pieces(split):
    return [name for name, _ in split.named_children() if name.startswith("submod")]


def inputs_of(split, inputs):
    """Return the example inputs of each piece."""
    found = {}

    class Recorder(fx.Interpreter):
        def call_module(self, target, args, kwargs):
            found[target] = list(args)
            return super().call_module(target, args, kwargs)

    Recorder(split).run(*inputs)
    return found


def compile_piece(piece, inputs):
    from torch._inductor.compile_fx import compile_fx

    compiled = compile_fx(copy.deepcopy(piece), inputs)
    is_tuple = isinstance(next(iter(reversed(piece.graph.nodes))).args[0], tuple)

    def call(*args):
        out = compiled(*args)
        return out if is_tuple or not isinstance(out, (tuple, list)) else out[0]

    return call


def split_and_compiled(module, inputs):
    split = split_at_sines(module)
    examples = inputs_of(split, inputs)
    for name in pieces(split):
        split.__dict__[name] = compile_piece(getattr(split, name), examples[name])
    return split


@program
def split_graph():
    return compiled_with(lambda module, inputs: split_at_sines(module))


@program
def split_graph_forward():
    return compiled_with(lambda module, inputs: split_at_sines(module).forward)


@program
def compiled_pieces():
    return compiled_with(split_and_compiled)


@program
def compiled_pieces_forward():
    return compiled_with(lambda module, inputs: split_and_compiled(module, inputs).forward)


@program
def compiled_pieces_call():
    return compiled_with(lambda module, inputs: split_and_compiled(module, inputs).__call__)


@program
def one_compiled_piece():
    def backend(module, inputs):
        split = split_at_sines(module)
        name = pieces(split)[1]
        split.__dict__[name] = compile_piece(getattr(split, name), inputs_of(split, inputs)[name])
        return split

    return compiled_with(backend)


@program
def vllm_piecewise_backend():
    """Pieces replaced by objects that compile a version for a shape when the shape first comes."""

    class Piece:
        def __init__(self, module, inputs):
            self.module = module
            self.general = compile_piece(module, inputs)
            self.by_shape = {}

        def __call__(self, *args):
            shape = next(arg.shape for arg in args if isinstance(arg, torch.Tensor))
            if shape[0] > 4:
                return self.general(*args)
            if shape not in self.by_shape:
                self.by_shape[shape] = compile_piece(self.module, list(args))
            return self.by_shape[shape](*args)

    def backend(module, inputs):
        split = split_at_sines(module)
        examples = inputs_of(split, inputs)
        for name in pieces(split):
            split.__dict__[name] = Piece(getattr(split, name), examples[name])
        return split

    return compiled_with(backend)


@program
def pieces_that_edit_when_first_called():
    """Pieces replaced by callables that edit a copy of the piece at the first call, without Inductor."""

    def lazily(piece):
        made = []

        def call(*args):
            if not made:
                made.append(with_cosines(copy.deepcopy(piece)))
            return made[0](*args)

        return call

    def backend(module, inputs):
        split = split_at_sines(module)
        for name in pieces(split):
            split.__dict__[name] = lazily(getattr(split, name))
        return split.forward

    return compiled_with(backend)


@program
def pieces_set_as_modules():
    class Wrapper(torch.nn.Module):
        def __init__(self, call):
            super().__init__()
            self.call = call

        def forward(self, *args):
            return self.call(*args)

    def backend(module, inputs):
        split = split_at_sines(module)
        examples = inputs_of(split, inputs)
        for name in pieces(split):
            setattr(split, name, Wrapper(compile_piece(getattr(split, name), examples[name])))
        return split

    return compiled_with(backend)


# -- interpreters


class Cosines(fx.Interpreter):
    def call_method(self, target, args, kwargs):
        return super().call_method("cos" if target == "sin" else target, args, kwargs)


@program
def interpreter():
    return compiled_with(lambda module, inputs: fx.Interpreter(module).run)


@program
def interpreter_subclass():
    return compiled_with(lambda module, inputs: Cosines(module).run)


@program
def interpreter_made_at_each_call():
    return compiled_with(lambda module, inputs: lambda *args: Cosines(module).run(*args))


@program
def interpreter_boxed():
    from torch._dynamo.backends.common import aot_autograd

    def compiler(module, inputs):
        module.graph.set_codegen(fx.graph.CodeGen())

        def run(args):
            return fx.Interpreter(module).boxed_run(args)

        run._boxed_call = True
        return run

    return compiled_with(aot_autograd(fw_compiler=compiler))


@program
def interpreter_in_a_module():
    class Run(torch.nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, *args):
            return Cosines(self.module).run(*args)

    return compiled_with(lambda module, inputs: Run(module))


@program
def interpreter_of_the_split_graph():
    """Interpret the split module; its pieces are called."""
    return compiled_with(lambda module, inputs: fx.Interpreter(split_at_sines(module)).run)


# -- wrappers


@program
def partial():
    def call(module, factor, *args):
        return module(*args)

    return compiled_with(lambda module, inputs: functools.partial(call, module, 2))


@program
def wrapped_in_lambda():
    return compiled_with(lambda module, inputs: lambda *args: module(*args))


@program
def callable_object():
    class Call:
        __slots__ = ("module",)

        def __init__(self, module):
            self.module = module

        def __call__(self, *args):
            return self.module.forward(*args)

    return compiled_with(lambda module, inputs: Call(module))


@program
def boxed_call():
    from torch._dynamo.backends.common import aot_autograd

    def compiler(module, inputs):
        def run(args):
            values = list(args)
            args.clear()
            return module(*values)

        run._boxed_call = True
        return run

    return compiled_with(aot_autograd(fw_compiler=compiler))


@program
def weakly_referenced():
    def backend(module, inputs):
        reference = weakref.ref(module)
        COMPILED["strong"] = module
        return lambda *args: reference()(*args)

    return compiled_with(backend)


@program
def forward_of_the_instance():
    def backend(module, inputs):
        other = with_cosines(copy.deepcopy(module))
        module.forward = lambda *args: other(*args)
        return module

    return compiled_with(backend)


COMPILED = {}


@program
def compiled_graphs_in_a_global():
    def backend(module, inputs):
        COMPILED["module"] = with_cosines(copy.deepcopy(module))
        return lambda *args: COMPILED["module"](*args)

    return compiled_with(backend)


@program
def nothing_of_the_graph():
    return compiled_with(lambda module, inputs: lambda x: (((x.cos() * 2).cos() + 3),))


# -- AOTAutograd


@program
def aot_autograd_with_boxed_compilers():
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    compiler = lambda module, inputs: make_boxed_func(module.forward)  # noqa: E731
    return trained_with(aot_autograd(fw_compiler=compiler, bw_compiler=compiler))


@program
def aot_autograd_that_edits():
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def compiler(module, inputs):
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.sin.default:
                node.target = torch.ops.aten.cos.default
        module.recompile()
        return make_boxed_func(module.forward)

    return trained_with(aot_autograd(fw_compiler=compiler, bw_compiler=compiler))


@program
def aot_module_simplified_that_edits():
    from functorch.compile import make_boxed_func
    from torch._functorch.aot_autograd import aot_module_simplified

    def compiler(module, inputs):
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.sin.default:
                node.target = torch.ops.aten.cos.default
        module.recompile()
        return make_boxed_func(module)

    def backend(module, inputs):
        return aot_module_simplified(module, inputs, fw_compiler=compiler)

    return compiled_with(backend)


@program
def aot_autograd_interpreted():
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    return trained_with(aot_autograd(fw_compiler=lambda module, inputs: make_boxed_func(fx.Interpreter(module).run)))


# -- choices


@program
def one_backend_then_another():
    """Run the first graph as it is, and compile the second by Inductor."""
    from torch._inductor.compile_fx import compile_fx

    seen = []

    def backend(module, inputs):
        seen.append(module)
        return module if len(seen) % 2 else compile_fx(module, inputs)

    def broken(x):
        x = x.sin() + 1
        torch._dynamo.graph_break()
        return x.cos() * 2

    return compiled_with(backend, broken)


@program
def two_ways_compiled_and_one_chosen():
    from torch._inductor.compile_fx import compile_fx

    def backend(module, inputs):
        choices = [with_cosines(copy.deepcopy(module)), compile_fx(copy.deepcopy(module), inputs)]
        return lambda *args: choices[len(args[0].shape) % 2](*args)

    return compiled_with(backend)


@program
def choice_timed_at_the_first_call():
    from torch._inductor.compile_fx import compile_fx

    def backend(module, inputs):
        choices = [module, compile_fx(copy.deepcopy(module), inputs)]

        def run(*args):
            results = [choice(*args) for choice in choices]
            return results[0]

        return run

    return compiled_with(backend)


@program
def shapes_with_graphs_of_their_own():
    compiled = torch.compile(math, backend="eager", dynamic=False)

    def run():
        for size in (2, 3, 4):
            compiled(torch.ones(size))

    return run


# -- other compilers inside a backend


@program
def jit_trace():
    return compiled_with(lambda module, inputs: torch.jit.trace(module, tuple(inputs)))


@program
def jit_script():
    return compiled_with(lambda module, inputs: torch.jit.script(fx.GraphModule(module, module.graph)))


@program
def exported_in_the_backend():
    return compiled_with(lambda module, inputs: torch.export.export(module, tuple(inputs)).module())


@program
def compiled_again_in_the_backend():
    return compiled_with(lambda module, inputs: torch.compile(module, backend="aot_eager"))


# -- regions


@program
def regional_compilation():
    blocks = torch.nn.Sequential(*(Mathematics() for _ in range(3)))
    for block in blocks:
        block.compile(backend="inductor")

    def run():
        with torch.no_grad():
            blocks(torch.ones(2, 4))

    return run


@program
def nested_compile_region():
    @torch.compiler.nested_compile_region
    def region(x):
        return x.sin() + 1

    def twice(x):
        return region(region(x)) * 2

    return compiled_with("eager", twice)


@program
def nested_compile_region_in_inductor():
    @torch.compiler.nested_compile_region
    def region(x):
        return x.sin() + 1

    def twice(x):
        return region(region(x)) * 2

    return compiled_with("inductor", twice)


@program
def compiled_inside_disabled_inside_compiled():
    inner = torch.compile(lambda x: x.sin() * 3, backend="eager")

    @torch.compiler.disable
    def between(x):
        return inner(x) + 1

    def outer(x):
        x = x.cos()
        return between(x).relu()

    return compiled_with("aot_eager", outer)


@program
def conditional():
    def choose(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    return compiled_with("eager", choose)


# -- without Dynamo


@program
def standalone_compile():
    made = []

    def run():
        if not made:
            module = fx.symbolic_trace(lambda x: (x.sin() * 2,))
            made.append(
                torch._inductor.standalone_compile(module, [torch.ones(3)], dynamic_shapes="from_example_inputs")
            )
        made[0](torch.ones(3))

    return run


@program
def aot_inductor():
    made = []

    def run():
        if not made:
            exported = torch.export.export(Mathematics(), (torch.ones(4),))
            package = torch._inductor.aoti_compile_and_package(exported)
            made.append(torch._inductor.aoti_load_package(package))
        made[0](torch.ones(4))

    return run


class Mathematics(torch.nn.Module):
    def forward(self, x):
        return math(x)


# -- the tracer


class Profiler:
    """Which generated code runs, by a profiler that has nothing to do with depyf."""

    def __init__(self, folder):
        self.folder = os.path.realpath(folder)
        self.ran = set()  # files of the folder
        self.elsewhere = set()  # code of fx and Inductor that is linked to none

    def __call__(self, frame, event, argument):
        name = frame.f_code.co_filename
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        if os.path.dirname(name) == self.folder:
            self.ran.add(os.path.basename(name))
        elif "eval_with_key" in name or "torchinductor" in name:
            self.elsewhere.add(f"{name} {frame.f_code.co_name}")

    def __enter__(self):
        self.elsewhere.clear()
        sys.setprofile(self)
        threading.setprofile(self)

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)


def hit_by_breakpoints(folder, call):
    """Return the files in which a breakpoint is hit, with one on each line of each file."""
    from capture_tools import Breakpoints

    debugger = Breakpoints()
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith(".py") and name.startswith("__compiled_fn"):
            with open(path) as stream:
                for number, _ in enumerate(stream, 1):
                    debugger.set_break(path, number)
    debugger.reset()
    sys.settrace(debugger.trace_dispatch)
    try:
        call()
    finally:
        sys.settrace(None)
    return {name for name, _, _ in debugger.hits}


def observe(name, folder):
    """Run a program and return what the profiler and the debugger observed of the files of graphs."""
    import depyf

    profiler = Profiler(folder)
    with depyf.prepare_debug(folder):
        call = PROGRAMS[name]()
        for _ in range(2):
            with profiler:
                call()
    hit = hit_by_breakpoints(folder, call)
    graphs = lambda names: sorted(name for name in names if name.startswith("__compiled_fn"))  # noqa: E731
    return {"program": name, "ran": graphs(profiler.ran), "hit": graphs(hit), "elsewhere": sorted(profiler.elsewhere)}


def main(top, names):
    """Observe each program in a forked child of its own; print a line of JSON for each."""
    for module in ("depyf", "torch._inductor.compile_fx", "torch.export", "functorch.compile", "torch._dynamo"):
        importlib.import_module(module)  # before the fork, so that each child has it
    for name in names or PROGRAMS:
        child = os.fork()
        if child == 0:
            try:
                seen = observe(name, os.path.join(os.path.realpath(top), name))
            except BaseException:
                traceback.print_exc()
                seen = {"program": name, "error": traceback.format_exc(limit=-1)}
            print("RESULT " + json.dumps(seen), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
