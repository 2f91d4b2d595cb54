"""What programs written for depyf 0.20 import and call."""

import depyf
import depyf.explain.global_variables
from depyf.explain import dump_src, enable_debugging
from depyf.explain.utils import get_current_compiled_fn_name, write_code_to_file_template
from depyf.utils import decompile_ensure, get_code_owner, safe_create_directory

print(sorted(depyf.__all__), "torch" in __import__("sys").modules)

import torch

from depyf.optimization import TorchCompileWrapperWithCustomDispatcher


class Scaled(TorchCompileWrapperWithCustomDispatcher):
    def __init__(self, factor):
        self.factor = factor
        super().__init__(torch.compile(self.forward, backend="eager"))

    def forward(self, x, *, shift=1):
        return x * self.factor + shift

    def __call__(self, x):
        if self.compiled_codes:
            with self.dispatch_to_code(0):
                return self.forward(x)
        return self.compiled_callable(x)


def backend(graph_module, example_inputs):
    name = get_current_compiled_fn_name()
    write_code_to_file_template(graph_module.code, f"{name}.mine.%s.py")
    return graph_module


def program(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


x = torch.ones(3)
one, other = Scaled(2), Scaled(3)
with depyf.prepare_debug("dump/dispatcher"):
    for _ in range(2):
        print(one(x).tolist(), other(x).tolist())
    one.factor = 5
    print(one(x).tolist(), one.compiled_callable(x).tolist(), len(one.compiled_codes))
print(one.original_code_object is Scaled.forward.__code__)
try:
    one.dispatch_to_code(7)
except Exception as error:
    print(type(error).__name__, error)

data = depyf.explain.global_variables.data
context = enable_debugging.prepare_debug("dump/bare", log_bytecode=True)
context.__enter__()
print(dict(data))
torch.compile(program, backend=backend)(x)
context.__exit__(None, None, None)
print(dict(data))
print(dump_src(program))
print(decompile_ensure(program.__code__), decompile_ensure(program.__code__, "renamed"))
print(get_code_owner(torch.compile(program)).__name__, get_code_owner(one.forward).__qualname__)
safe_create_directory("made/deep")
