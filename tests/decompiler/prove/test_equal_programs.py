"""Equal programs must be proved equal, or a correct decompilation would be discarded."""

from __future__ import annotations

import dis
import textwrap
from opcode import opmap
from types import CodeType

import pytest
from decompile_tools import newer_bytecode, skip_newer_syntax

from depyf.decompiler.bytecode.python_facts import RUNNING, RUNNING_VERSION
from depyf.decompiler.decode import decode
from depyf.decompiler.decode.instructions import raw_instructions
from depyf.decompiler.prove import Assumption, Grade, prove
from depyf.decompiler.prove.signatures import same_operations


def function_code(source: str) -> CodeType:
    """Return the code of the one function that `source` defines."""
    skip_newer_syntax(source)
    module = compile(textwrap.dedent(source), "<test>", "exec")
    (code,) = [const for const in module.co_consts if isinstance(const, CodeType)]
    return code


SAME = {
    "a branch turned round": (
        "def f(a):\n if not a: return 1\n return 2",
        "def f(a):\n if a: return 2\n return 1",
    ),
    "is None turned round": (
        "def f(a):\n if a is None: return g(1)\n else: return g(2)",
        "def f(a):\n if a is not None: return g(2)\n else: return g(1)",
    ),
    "in turned round": (
        "def f(a, b):\n if a in b: return 1\n return 2",
        "def f(a, b):\n if a not in b: return 2\n return 1",
    ),
    "while with a break": (
        "def f(a):\n while a(): b()",
        "def f(a):\n while True:\n  if not a(): break\n  b()",
    ),
    "continue against nesting": (
        "def f(a):\n for x in a:\n  if x is None: continue\n  g(x)",
        "def f(a):\n for x in a:\n  if x is not None: g(x)",
    ),
    "a copied tail": (
        "def f(a):\n if a: g()\n else: h()\n k()\n return 1",
        "def f(a):\n if a:\n  g()\n  k()\n  return 1\n h()\n k()\n return 1",
    ),
    "and as nested ifs": (
        "def f(a, b):\n if a and b: return 1\n return 2",
        "def f(a, b):\n if a:\n  if b: return 1\n return 2",
    ),
    "try-except-finally split in two": (
        "def f(a):\n try: g(a)\n except E as e: h(e)\n finally: k()\n return 1",
        "def f(a):\n try:\n  try: g(a)\n  except E as e: h(e)\n finally: k()\n return 1",
    ),
    "a return moved out of the try that cannot fail": (
        "def f(a):\n try:\n  x = g(a)\n except E:\n  return 1\n return x",
        "def f(a):\n try: x = g(a)\n except E: return 1\n else: return x",
    ),
    "call with a list display": (
        "def f(a, b): return g(*[a, b], **{'k': a})",
        "def f(a, b): return g(a, b, k=a)",
    ),
    "an empty star call": ("def f(): return g(*())", "def f(): return g()"),
    "a list taken apart again": (
        "def f(a, b):\n return g([a, b][1], [a, b, 1][0:2], (a, b)[-1])",
        "def f(a, b):\n return g(b, [a, b], b)",
    ),
    "a constant tuple against one that is built": (
        "def f(a):\n (x, y) = (1, 2)\n return g((x, y), a)",
        "def f(a):\n x, y = 1, 2\n return g((1, 2), a)",
    ),
    "in a display of constants": ("def f(a): return a in {1, 2}", "def f(a): return a in {2, 1}"),
    "keyword arguments by name and by dict": (
        "def f(a): return g(k=a, l=1)",
        "def f(a): return g(**{'k': a, 'l': 1})",
    ),
    "globals read in another order": (
        "def f():\n _x = a\n _y = b\n return g(_x, _y)",
        "def f():\n _y = b\n _x = a\n return g(_x, _y)",
    ),
    "a state machine": (
        "def f(a):\n g()\n if a: h()\n return k()",
        """
        def f(a):
            _s = 0
            while True:
                if _s == 0:
                    g()
                    _s = 1 if a else 2
                elif _s == 1:
                    h()
                    _s = 2
                else:
                    return k()
        """,
    ),
    "a temporary of ours that holds a bool": (
        "def f(a, b):\n if a is None or b is None: return g()\n return h()",
        "def f(a, b):\n _c = a is None\n if not _c: _c = b is None\n if _c: return g()\n return h()",
    ),
    "a closure over a cell": (
        "def f(a):\n x = a()\n def h(): return x\n if a is None: return h\n return h(), x",
        "def f(a):\n x = a()\n def h(): return x\n if a is not None: return h(), x\n return h",
    ),
    "a loop with else": (
        "def f(a):\n for x in a:\n  if x(): break\n else: return 1\n return 2",
        "def f(a):\n for x in a:\n  if x(): return 2\n return 1",
    ),
    "nested loops with a comprehension": (
        "def f(a):\n for x in a:\n  y = [z(q) for q in x if not q]\n  if not y: continue\n  g(y)",
        "def f(a):\n for x in a:\n  y = [z(q) for q in x if not q]\n  if y: g(y)",
    ),
    "with and an early return": (
        "def f(a):\n with a as b:\n  if not b: return 1\n  return g(b)",
        "def f(a):\n with a as b:\n  if b: return g(b)\n  return 1",
    ),
    "a generator": (
        "def f(a):\n while 1:\n  x = yield a\n  if not x: return\n  a = yield from x",
        "def f(a):\n while True:\n  x = yield a\n  if x: a = yield from x\n  else: return",
    ),
    "async code": (
        "async def f(a):\n async with a as b:\n  async for x in b:\n   if not x: continue\n   await x",
        "async def f(a):\n async with a as b:\n  async for x in b:\n   if x: await x",
    ),
    "an except star": (
        "def f(a):\n try: a()\n except* E as e:\n  if not e: g()\n  else: h()",
        "def f(a):\n try: a()\n except* E as e:\n  if e: h()\n  else: g()",
    ),
    "a match statement": (
        "def f(a):\n match a:\n  case {'k': v, **r}: return v\n  case [x, *_]: return x\n  case C(y=1): return 2",
        "def f(a):\n match a:\n  case {'k': v, **r}: return v\n  case [x, *_]: return x\n  case C(y=1): return 2\n return None",
    ),
    "endless loops": ("def f():\n while True: pass", "def f():\n while 1:\n  while 1: pass"),
    "a dead store before the return": (
        "def f(a):\n x = g(a)\n return x",
        "def f(a):\n x = g(a)\n y = x\n return y",
    ),
}


@pytest.mark.parametrize("title", SAME)
def test_an_equal_program_written_differently_is_proved(title: str) -> None:
    first, second = SAME[title]
    a, b = function_code(first), function_code(second)
    for left, right in ((a, b), (b, a)):
        own = set(left.co_varnames) ^ set(right.co_varnames)
        verdict = prove(left, right, own_names=own)
        assert verdict.holds, str(verdict)


@newer_bytecode
def test_the_pairs_of_a_proof_map_offsets_of_the_original_to_the_copy() -> None:
    a = function_code("def f(a):\n if not a: return g(1)\n return h(2)")
    b = function_code("def f(a):\n if a: return h(2)\n return g(1)")
    pairs = dict(prove(a, b).pairs)
    calls = [[at for at in range(0, len(code.co_code), 2) if code.co_code[at] == dis.opmap["CALL"]] for code in (a, b)]
    assert pairs[calls[0][0]] == calls[1][1] and pairs[calls[0][1]] == calls[1][0]


def test_installed_globals_are_an_assumption_only_where_they_are_needed() -> None:
    a = function_code("def f(x): return __compiled_fn_1(__import_torch.enter(), x)")
    b = function_code("def f(x):\n _t = __import_torch.enter()\n return __compiled_fn_1(_t, x)")

    def installed(name: str) -> bool:
        return name.startswith("__")

    assert not prove(a, b).holds
    assert Assumption.INSTALLED_GLOBALS_CONSTANT in prove(a, b, constant_globals=installed).assumptions
    assert prove(a, a.replace(co_name="f2"), constant_globals=installed).grade is Grade.PROVED


def test_a_value_may_be_freed_before_a_temporary_of_the_original_freed_it_under_an_assumption() -> None:
    a = function_code("def f(x):\n tmp = g(x)\n h(tmp)\n k()\n return 1")
    b = function_code("def f(x):\n tmp = g(x)\n h(tmp)\n del tmp\n k()\n return 1")
    assert prove(a, b, own_names={"tmp"}).assumptions == (Assumption.TEMPORARIES,)
    assert prove(a, b).grade is Grade.REFUTED, "values in the user's own variables must not be freed early"
    assert prove(b, a, own_names={"tmp"}).grade is Grade.REFUTED, "holding a value longer is never allowed"


def test_a_frame_that_reads_its_local_names_must_keep_them() -> None:
    a = function_code("def f(x):\n tmp = x\n return locals()")
    b = function_code("def f(x):\n other = x\n return locals()")
    assert not prove(a, b, own_names={"tmp"}).holds
    assert prove(a, function_code("def f(x):\n tmp = x\n return locals()"), own_names={"tmp"}).holds


def test_long_straight_code_is_proved() -> None:
    source = "def f(x):\n" + "".join(f" x = x.a{i % 7}(x, {i})\n" for i in range(8000)) + " return x"
    a = function_code(source)
    assert prove(a, a.replace(co_consts=(*a.co_consts, None))).grade is Grade.PROVED


def test_a_row_of_branches_without_effects_takes_linear_time() -> None:
    lines = "".join(f" if a{i} is None: a{i} = D{i}\n" for i in range(40))
    flipped = "".join(f" if a{i} is not None: pass\n else: a{i} = D{i}\n" for i in range(40))
    head = "def f(" + ", ".join(f"a{i}" for i in range(40)) + "):\n"
    a, b = function_code(head + lines + " return a1"), function_code(head + flipped + " return a1")
    assert prove(a, b).grade is Grade.PROVED


def test_a_long_list_of_calls_is_proved() -> None:
    source = "def f(g):\n return [" + ", ".join(f"g({i})" for i in range(6000)) + "]"
    a = function_code(source)
    assert prove(a, a.replace(co_consts=a.co_consts + (None,))).grade is Grade.PROVED


def test_globals_are_not_taken_to_be_constant_in_functions_that_outlive_the_frame() -> None:
    a = function_code("def f(x):\n def k(): return __compiled_fn_1(x.y)\n return k")
    b = function_code("def f(x):\n def k():\n  _y = x.y\n  return __compiled_fn_1(_y)\n return k")
    assert not prove(a, b, constant_globals=lambda name: True).holds


IN_PLACE = {
    "a list that is made here and grows": ("x = []\n    x += [a, b]\n    return x", "return [a, b]", True),
    "in another order": ("x = []\n    x += [a, b]\n    return x", "return [b, a]", False),
    "a dict that is made here and grows": ("x = {'k': a}\n    x |= {'l': b}\n    return x", "return {'k': a, 'l': b}", True),
    "a dict that holds itself": ("x = {}\n    x |= {'k': x}\n    return x", "x = {}\n    x['k'] = x\n    return x", True),
    "a dict of which another holds a copy": ("x = {}\n    x |= {'k': x}\n    return x", "return {'k': {}}", False),
    "a list of somebody else": ("a += [b]\n    return a", "a.extend([b])\n    return a", False),
    # A set that is built of its elements is an event, one made from a constant is computed.
    "a set with one constant twice": ("return {1, 1.0, True}", "return {1}", RUNNING.constant_sets_are_unpacked),
    "a set with another constant": ("return {1, 1.0, True}", "return {2}", False),
    "constant strings and formatted values": ("return ''.join((a, b))", "return f'{a}{b}'", False),
    "strings joined by another": ("return ''.join((a, b))", "return '-'.join((a, b))", False),
}


@pytest.mark.parametrize("title", IN_PLACE)
def test_in_place_operations_are_computed_only_for_containers_made_in_the_frame(title: str) -> None:
    first, second, are_same = IN_PLACE[title]
    codes = [function_code(f"def f(a, b):\n    {body}") for body in (first, second)]
    assert prove(*codes).holds is are_same


READS_THE_FRAME = {
    "locals()": True,
    "vars()": True,
    "vars(x)": False,
    "dir(x)": False,
    "list(map(dir, x))": True,
    "exec('y = tmp')": True,
    "exec('y = tmp', None)": True,
    "exec('y = tmp', x)": True,  # which may be None
    "exec('y = tmp', {}, x)": False,
    "exec('import math')": False,
    "eval('max(1, 2)')": False,
    "eval('max(1, x)')": True,
    "eval('(lambda: locals())()')": True,
    "eval('tmp', {'tmp': 1})": False,
    "__builtins_dict___1['exec']('y = tmp', {}, x)": False,
    "__builtins_dict___1['exec']('y = tmp')": True,
    "sys._getframe().f_locals": True,
}


@pytest.mark.parametrize("expression", READS_THE_FRAME)
def test_local_names_must_match_exactly_where_the_frame_can_read_them(expression: str) -> None:
    a = function_code(f"def f(x):\n tmp = x\n return {expression}")
    b = function_code(f"def f(x):\n other = x\n return {expression}")
    assert prove(a, b, own_names={"tmp"}).holds is not READS_THE_FRAME[expression]


def test_a_builtin_called_without_arguments_elsewhere_counts_as_reading_the_frame() -> None:
    source = "def f(x):\n look = vars\n {} = look(x)\n return look()"
    assert not prove(*(function_code(source.format(name)) for name in ("tmp", "other")), own_names={"tmp"}).holds


def test_dropping_a_store_of_a_variable_into_itself_is_proved_under_an_assumption() -> None:
    source = "def f(x):\n def g(): return x\n use(g)\n {}\n return use(g)"
    stores, leaves = function_code(source.format("x = x")), function_code(source.format("pass"))
    assert prove(stores, leaves, drops_self_stores=True).assumptions == (Assumption.SHARED_VARIABLES_BOUND,)
    assert not prove(stores, leaves).holds, "only code that Dynamo made may lose such a store"
    assert not prove(leaves, stores, drops_self_stores=True).holds
    other = function_code("def f(x, y):\n def g(): return x, y\n use(g)\n x = y\n return use(g)")
    assert not prove(other, function_code("def f(x, y):\n def g(): return x, y\n use(g)\n return use(g)")).holds


@newer_bytecode
def test_instructions_that_do_nothing_need_no_simulation() -> None:
    a = function_code("def f(a): return a.b")
    start = next(raw for raw in raw_instructions(a, RUNNING_VERSION) if raw.opname == "RESUME").after
    b = a.replace(co_code=a.co_code[:start] + bytes([opmap["NOP"], 0]) + a.co_code[start:])
    assert same_operations(decode(a), decode(b)) and prove(a, b).grade is Grade.PROVED


def test_equal_constants_of_other_types_are_not_the_same_operations() -> None:
    for one, other in (("1", "True"), ("0.0", "-0.0"), ("(1,)", "(1.0,)")):
        a, b = function_code(f"def f(): return {one}"), function_code(f"def f(): return {other}")
        assert not same_operations(decode(a), decode(b)) and not prove(a, b).holds
