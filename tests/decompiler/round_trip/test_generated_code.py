"""Bytecode that only code generators emit: calls between a value and its use, bare iterators, odd names."""

from __future__ import annotations

import dis
import math
from types import CellType, CodeType, FunctionType
from typing import Sequence, Tuple

import pytest
from decompile_tools import function_code, newer_bytecode

from depyf.decompiler import DecompilationError, decompile
from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.decode import decode
from depyf.decompiler.decode.instructions import opcode_widths
from depyf.decompiler.decode.opcodes import COMMON_CONSTANTS
from depyf.decompiler.pipeline import decompile_frame
from depyf.torch_hooks.internals.generated_code import DYNAMO

LOAD_NONE = "LOAD_COMMON_CONSTANT" if None in COMMON_CONSTANTS[: RUNNING.common_constants] else "LOAD_CONST"


def patched(source: str, opname: str, *instead: str) -> CodeType:
    """Return the code of a function with one instruction (and its caches) overwritten by others."""
    code = function_code(source)
    (offset,) = [i.offset for i in dis.get_instructions(code) if i.opname == opname]
    raw = bytearray(code.co_code)
    overwrite(raw, offset, [(name, 0) for name in instead])
    return code.replace(co_code=bytes(raw))


def overwrite(raw: bytearray, offset: int, instead: Sequence[Tuple[str, int]]) -> None:
    """Overwrite one instruction by others, and what is left of its caches by NOPs."""
    width = opcode_widths(RUNNING_VERSION)[raw[offset]]
    for index in range(width // 2):
        name, arg = instead[index] if index < len(instead) else ("NOP", 0)
        raw[offset + 2 * index : offset + 2 * index + 2] = bytes([dis.opmap[name], arg])


def owning(code: CodeType) -> CodeType:
    """Return the code with loads that own what they push: what it leaves on the stack must not be borrowed."""
    raw = bytearray(code.co_code)
    for i in dis.get_instructions(code):
        if i.opname == "LOAD_FAST_BORROW":
            raw[i.offset] = dis.opmap["LOAD_FAST"]
    return code.replace(co_code=bytes(raw))


class Logged:
    """Log when it is freed."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name

    def __del__(self) -> None:
        self.log.append(f"{self.name} is gone")


@newer_bytecode
def test_a_value_left_on_the_stack_during_a_call_is_freed_before_the_result_is_unpacked() -> None:
    code = patched("def f(make, between, use):\n    x, = use(make() + between())\n    return x", "BINARY_OP", "POP_TOP", "NOP")
    result = decompile_frame(code, reference=code)
    assert result.proved, result.source
    assert result.code is not None

    def run(code: CodeType) -> Sequence[str]:
        log: list[str] = []

        class Result:
            def __iter__(self):  # type: ignore[no-untyped-def]
                log.append("unpacked")
                return iter((1,))

        FunctionType(code, {})(
            lambda: Logged(log, "value"), lambda: log.append("between"), lambda value: Result()
        )
        return log

    assert run(code) == run(result.code) == ["between", "value is gone", "unpacked"]


@pytest.mark.skipif(RUNNING.iterators_have_indices, reason="what GET_ITER pushes is for loops only")
def test_an_iterator_outside_a_loop_is_made_by_the_builtin_iter() -> None:
    code = patched("def f(x):\n    return -x", "UNARY_NEGATIVE", "GET_ITER")
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert "# __builtin_iter is the built-in iter" in result.source
    assert "return __builtin_iter(x)" in result.source
    assert result.code is not None
    shadowed = {"iter": None, "__builtin_iter": None}
    assert next(FunctionType(result.code, shadowed)([7])) == 7


@pytest.mark.skipif(not hasattr(function_code("def f(): pass"), "co_qualname"), reason="code has no qualified name here")
def test_a_nested_function_keeps_its_qualified_name() -> None:
    code = function_code("def f(x):\n    def g():\n        return 1\n    return g, x")
    consts = [c.replace(co_qualname="elsewhere.g") if isinstance(c, CodeType) else c for c in code.co_consts]
    code = code.replace(co_consts=tuple(consts))
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.code is not None
    assert FunctionType(result.code, {})(0)[0].__qualname__ == "elsewhere.g"


@newer_bytecode
def test_an_in_place_operation_on_a_stack_value_works_on_a_temporary() -> None:
    code = function_code("def f(a, b):\n    a += b()\n    return a")
    raw = bytearray(code.co_code)
    operation = next(i.offset for i in dis.get_instructions(code) if i.opname == "BINARY_OP")
    for i in dis.get_instructions(code):  # drop the store and the load after it: the result stays on the stack
        if i.offset > operation and i.opname in ("STORE_FAST", "LOAD_FAST", "LOAD_FAST_BORROW", "STORE_FAST_LOAD_FAST"):
            raw[i.offset : i.offset + 2] = bytes([dis.opmap["NOP"], 0])
    code = code.replace(co_code=bytes(raw))
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.code is not None
    for run in (code, result.code):
        given = [1]
        assert FunctionType(run, {})(given, lambda: [2]) is given and given == [1, 2]


@newer_bytecode
def test_a_parameter_with_an_unspellable_name_still_receives_its_argument() -> None:
    code = patched("def f(make, between):\n    return __resume_at_30_2(make() + between())", "BINARY_OP", "POP_TOP", "NOP")
    result = decompile_frame(code, reference=code, hints={"__resume_at_30_2": ("@py_assert0",)}, generator=DYNAMO)
    assert result.proved, result.verdict
    assert "return __resume_at_30_2(py_assert0)" in result.source


def test_a_loop_over_a_given_iterator_is_proved_assuming_that_it_is_an_iterator() -> None:
    no_index = "PUSH_NULL" if RUNNING.iterators_have_indices else "NOP"
    code = owning(patched("def f(it, use):\n    for x in it:\n        use(x)", "GET_ITER", no_index))
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert "for x in it:" in result.source
    assert "its `__iter__` gives itself" in str(result.verdict)


@newer_bytecode
def test_a_dict_whose_keys_run_code_is_built_before_later_effects() -> None:
    source = "def f(make, between, use):\n    return use({(1, 2.5): make(), 'a': 1} + between())"
    result = decompile_frame(patched(source, "BINARY_OP", "POP_TOP", "NOP"))
    assert result.proved, result.verdict
    assert result.source.index("{(1, 2.5): make(), 'a': 1}") < result.source.index("between()")


@newer_bytecode
def test_clearing_an_unset_variable_is_decompiled_as_a_variable_that_is_never_set() -> None:
    result = decompile_frame(patched("def f(r):\n    i = None\n    return r, i", LOAD_NONE, "PUSH_NULL"))
    if RUNNING.local_loads_are_unchecked:  # the load would crash the interpreter
        assert "LOAD_FAST" in str(result.verdict) and "may have no value" in str(result.verdict)
        return
    assert result.proved, result.verdict
    assert result.source.strip() == "def f(r):\n    if False:\n        i = None\n    return r, i"


@newer_bytecode
def test_clearing_a_set_variable_is_not_dropped() -> None:
    result = decompile_frame(patched("def f(i):\n    i = None\n    return i", LOAD_NONE, "PUSH_NULL"))
    assert not result.proved


def with_an_unspellable_function(source: str, name: str) -> CodeType:
    """Return code with a nested function that updates a dict in place, as code generators do."""
    code = function_code(source)
    (inner,) = [const for const in code.co_consts if isinstance(const, CodeType) and const.co_name == name]
    raw = bytearray(inner.co_code)
    operation = next(i.offset for i in dis.get_instructions(inner) if i.opname == "BINARY_OP")
    overwrite(raw, operation, [("DICT_UPDATE", 1)])
    changed = inner.replace(co_code=bytes(raw))
    return code.replace(co_consts=tuple([changed if const is inner else const for const in code.co_consts]))


@newer_bytecode
def test_an_unspellable_nested_function_is_listed_and_the_rest_is_source() -> None:
    source = """
        def f(given, k):
            def update(a, b):
                return a + b, k
            def other(a):
                return -a
            return update({}, given), other(k)
    """
    code = with_an_unspellable_function(source, "update")
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.rung == "listings inside"
    assert result.source.startswith("# Not self-contained")
    assert "# update: no source of it was proved; it keeps its own code" in result.source
    assert "DICT_UPDATE" in result.source and "return -a" in result.source
    assert result.code is not None
    assert FunctionType(result.code, {})({"a": 1}, 2) == FunctionType(code, {})({"a": 1}, 2) == (({"a": 1}, 2), -2)
    with pytest.raises(DecompilationError, match="update"):
        decompile(code, strict=True)


@newer_bytecode
def test_of_two_values_used_in_reverse_order_only_the_first_gets_a_name() -> None:
    code = function_code("def f(make, find):\n    x = make() + find()\n    return x")
    raw = bytearray(code.co_code)
    start = next(i.offset for i in dis.get_instructions(code) if i.opname == "BINARY_OP")
    end = next(i.offset for i in dis.get_instructions(code) if i.opname == "RETURN_VALUE")
    words = [("SWAP", 2), ("BINARY_OP", raw[start + 1]), ("CACHE", 0), *[("NOP", 0)] * ((end - start) // 2 - 3)]
    raw[start:end] = b"".join(bytes([dis.opmap[name], arg]) for name, arg in words)
    result = decompile_frame(code.replace(co_code=bytes(raw)))
    assert result.proved, result.verdict
    assert [line.strip() for line in result.source.splitlines()[1:]] == [
        "make_result = make()",
        "return find() + make_result",
    ]


def rewritten(source: str, at: str, *instead: tuple[str, int], before: int = 0) -> CodeType:
    """Return code with instructions overwritten, starting `before` instructions before the last `at`."""
    code = function_code(source)
    raw = bytearray(code.co_code)
    offset = max(i.offset for i in dis.get_instructions(code) if i.opname == at) - 2 * before
    for index, (name, argument) in enumerate(instead):
        raw[offset + 2 * index : offset + 2 * index + 2] = bytes([dis.opmap[name], argument])
    return code.replace(co_code=bytes(raw))


def test_an_import_where_the_module_is_used_is_kept_as_that_import() -> None:
    code = rewritten("def f():\n    import math\n    return math.pi", "IMPORT_NAME", ("BUILD_TUPLE", 0), before=1)
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert "import math as math_1" in result.source
    assert result.code is not None

    def asked(code: CodeType) -> list[object]:
        calls: list[object] = []

        def spy(name: str, globals: object, locals: object, *rest: object) -> object:
            calls.append((name, *rest))
            return __import__(name)

        calls.append(FunctionType(code, {"__builtins__": {"__import__": spy}})())
        return calls

    assert asked(code) == asked(result.code) == [("math", (), 0), math.pi]


@pytest.mark.parametrize("made_here", [False, True])
@newer_bytecode
def test_a_function_over_cells_of_another_function_gets_those_cells(made_here: bool) -> None:
    source = "def f(given):\n    x = 1\n    def g():\n        return x\n    return g"
    closure = ("BUILD_TUPLE", 1) if made_here else ("NOP", 0)
    code = rewritten(source, "BUILD_TUPLE", ("LOAD_FAST", 0), closure, before=1)
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert "globals=__builtin_globals())" in result.source
    assert result.code is not None

    def run(code: CodeType) -> tuple[object, ...]:
        cell = CellType(7)
        made = FunctionType(code, {"__name__": "here"})(cell if made_here else (cell,))
        return made(), made.__closure__[0] is cell, made.__globals__, made.__name__, made.__qualname__, made.__module__

    assert run(code) == run(result.code)
    assert run(code)[:2] == (7, True)


@newer_bytecode
def test_a_function_over_cells_of_another_function_and_one_of_its_own() -> None:
    source = "def f(given):\n    x = y = 1\n    def g():\n        return x, y\n    return g"
    code = function_code(source)
    load = next(i.offset for i in dis.get_instructions(code) if i.argval == "x" and i.opname.startswith("LOAD"))
    raw = bytearray(code.co_code)
    raw[load : load + 2] = bytes([dis.opmap["LOAD_FAST"], 0])
    code = code.replace(co_code=bytes(raw))
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.code is not None
    assert FunctionType(result.code, {})(CellType(7))() == FunctionType(code, {})(CellType(7))() == (7, 1)


@newer_bytecode
def test_a_call_with_the_keywords_of_function_creation_is_not_mistaken_for_it() -> None:
    source = "def f(given):\n    x = 1\n    def g():\n        return x\n    return g"
    code = decompile_frame(rewritten(source, "BUILD_TUPLE", ("LOAD_FAST", 0), ("NOP", 0), before=1)).code
    assert code is not None
    assert "MAKE_FUNCTION" in [op.kind for op in decode(code).ops]
    consts = [dict if const is FunctionType else const for const in code.co_consts]
    other = code.replace(co_consts=(*consts, FunctionType))
    assert "MAKE_FUNCTION" not in [op.kind for op in decode(other).ops]
    assert sorted(FunctionType(other, {})(())) == ["closure", "code", "globals"]


def test_strings_formatted_earlier_are_joined_as_the_f_string_would() -> None:
    code = function_code("def f(first, x):\n    return f'{first}-{x}'")
    raw = bytearray(code.co_code)
    formats = [i.offset for i in dis.get_instructions(code) if i.opname in ("FORMAT_VALUE", "FORMAT_SIMPLE")]
    raw[formats[0] : formats[0] + 2] = bytes([dis.opmap["NOP"], 0])
    code = code.replace(co_code=bytes(raw))
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert "return ''.join((first, '-', f'{x}'))" in result.source
    assert result.code is not None
    assert FunctionType(result.code, {})("a", 1) == FunctionType(code, {})("a", 1) == "a-1"
    for run in (code, result.code):
        with pytest.raises(TypeError, match="expected str"):
            FunctionType(run, {})(1, 1)


@pytest.mark.skipif("CONVERT_VALUE" not in dis.opmap, reason="conversion and formatting are one instruction")
def test_a_conversion_without_a_format_calls_the_builtin() -> None:
    code = patched("def f(x):\n    return f'{x!r}'", "FORMAT_SIMPLE", "NOP")
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert "return __builtin_repr(x)" in result.source
    assert result.code is not None
    assert FunctionType(result.code, {"repr": None})("a") == "'a'"


def test_unspellable_names_are_restored_inside_a_class() -> None:
    code = function_code("def f():\n    class C:\n        def g(self, x):\n            at_x = x\n            return at_x\n    return C")

    def renamed(code: CodeType) -> CodeType:
        consts = [renamed(const) if isinstance(const, CodeType) else const for const in code.co_consts]
        names = ["@x" if name == "at_x" else name for name in code.co_varnames]
        return code.replace(co_consts=tuple(consts), co_varnames=tuple(names))

    result = decompile_frame(renamed(code))
    assert result.proved, result.verdict
    assert result.rung == "idioms"


@pytest.mark.parametrize("name", ["class", "None", "a b", "resume_in_<lambda>_at_3", "é"])
def test_a_function_with_an_unspellable_name_is_shown_under_another_and_keeps_its_own(name: str) -> None:
    code = function_code("def f(x):\n    def g():\n        return x\n    return [g]").replace(co_name=name)
    assert decompile_frame(code).proved
    raw = bytearray(code.co_code)
    for i in dis.get_instructions(code):
        if i.argval in ("g", ("g", "g")):  # drop the store and the load: the function stays on the stack
            raw[i.offset : i.offset + 2] = bytes([dis.opmap["NOP"], 0])
    consts = [const.replace(co_name=name) if isinstance(const, CodeType) else const for const in code.co_consts]
    code = code.replace(co_code=bytes(raw), co_consts=tuple(consts))
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.rung == "idioms"
    assert result.code is not None and result.code.co_name == name
    assert [made.__name__ for made in FunctionType(result.code, {})(1)] == [name]


@newer_bytecode
def test_a_private_function_inside_a_method_is_defined_under_its_mangled_name() -> None:
    class Some:
        def method(self, x):  # type: ignore[no-untyped-def]
            def __inner(y):  # type: ignore[no-untyped-def]
                return x + y

            return __inner(1), __inner

    result = decompile_frame(Some.method.__code__)
    assert result.proved, result.verdict
    assert result.rung == "idioms"
    assert "def _Some__inner(y):" in result.source
    assert result.code is not None
    assert FunctionType(result.code, {})(None, 1)[1].__name__ == "__inner"


def test_a_large_dict_with_computed_keys_is_proved() -> None:
    pairs = ", ".join(f"k({number}): x" for number in range(21))
    assert decompile_frame(function_code(f"def f(k, x): return {{{pairs}}}")).proved


def test_many_pairs_whose_keys_run_code_keep_their_order() -> None:
    parts = "".join(f"    k({number % 19})\n    x\n" for number in range(21))
    code = function_code(f"def f(k, x):\n{parts}    return -x")
    raw = bytearray(code.co_code)
    for i in dis.get_instructions(code):
        if i.opname in ("POP_TOP", "UNARY_NEGATIVE"):
            raw[i.offset : i.offset + 2] = bytes([dis.opmap["NOP"], 0])
    last = max(i.offset for i in dis.get_instructions(code) if i.opname in ("LOAD_FAST", "LOAD_FAST_BORROW"))
    raw[last : last + 2] = bytes([dis.opmap["BUILD_MAP"], 21])
    code = code.replace(co_code=bytes(raw), co_stacksize=60)
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.rung == "idioms"
    assert result.code is not None

    def run(code: CodeType) -> list[object]:
        log: list[object] = []

        class Key:
            def __init__(self, number: int) -> None:
                self.number = number

            def __hash__(self) -> int:
                log.append(("hash", self.number))
                return 1

            def __eq__(self, other: object) -> bool:
                assert isinstance(other, Key)
                log.append(("eq", self.number, other.number))
                return self.number == other.number

        made = FunctionType(code, {})(Key, 5)
        return [*log, *((key.number, value) for key, value in made.items())]

    assert run(code) == run(result.code)


@pytest.mark.skipif(not RUNNING.unpacked_calls_have_both, reason="before 3.14 such a call has one NULL")
def test_a_call_whose_two_nulls_are_pushed_behind_its_arguments_is_proved() -> None:
    code = function_code("def f(g, a):\n    return g(*a, *a)")
    names = [("RESUME", 0), ("LOAD_FAST", 0), ("LOAD_FAST", 1), ("PUSH_NULL", 0), ("PUSH_NULL", 0)]
    names += [("SWAP", 3), ("SWAP", 2), ("CALL_FUNCTION_EX", 1), ("RETURN_VALUE", 0)]
    widths = opcode_widths(RUNNING_VERSION)
    raw = b"".join(bytes([dis.opmap[name], arg]).ljust(widths[dis.opmap[name]], b"\0") for name, arg in names)
    assert len(raw) <= len(code.co_code)
    raw += bytes([dis.opmap["NOP"], 0]) * ((len(code.co_code) - len(raw)) // 2 - 1) + bytes([dis.opmap["RETURN_VALUE"], 0])
    result = decompile_frame(code.replace(co_code=raw, co_stacksize=6), reference=code)
    assert result.proved, result.verdict
    assert "return g(*a)" in result.source
