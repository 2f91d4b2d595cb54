"""Where the captured graph is finite and the kernels are not, the call that wrote the first NaN is found."""

from __future__ import annotations

import linecache

import pytest

torch = pytest.importorskip("torch")

from depyf.torch_hooks.numerics.kernel_search import KernelSearch  # noqa: E402

MODULE = """\
def call(args):
    arg0_1, = args
    buf0 = empty_strided(4)
    fused_fine_0(arg0_1, buf0)
    buf1 = empty_strided(4)
    fused_wrong_1(buf0, buf1)
    del buf0
    buf2 = buf1; del buf1
    fused_fine_0(arg0_1, arg0_1)
    return (buf2,)
"""


def module_of(name):
    """Return the namespace of a module in the form that Inductor generates."""
    linecache.cache[name] = (len(MODULE), None, MODULE.splitlines(True), name)
    space = {
        "assert_size_stride": object(),
        "empty_strided": lambda size: torch.full((size,), float("nan")),
        "fused_fine_0": lambda source, target: target.copy_(source),
        "fused_wrong_1": lambda source, target: target.copy_(source * float("inf") * 0),
    }
    exec(compile(MODULE, name, "exec"), space)
    return space


def test_the_call_that_writes_the_first_nan_is_found():
    call = module_of("<kernels of a test>")["call"]
    with KernelSearch() as search:
        call([torch.ones(4)])
    assert (search.found.line, search.found.code) == (6, "fused_wrong_1(buf0, buf1)")


def test_the_trace_function_of_a_debugger_is_put_back():
    import sys

    before = sys.gettrace()
    with KernelSearch():
        pass
    assert sys.gettrace() is before
