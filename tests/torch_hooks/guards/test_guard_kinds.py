"""Guards as readable conditions: true, without ids, with the line of the program that caused each."""

from __future__ import annotations

import ast
import builtins
import collections
import enum
import math
import re
import sys
import types

import pytest

from depyf.torch_hooks.guards.condition_cache import tests_of as read_with_cache
from depyf.torch_hooks.guards.guard_kinds import Leaf, read_guard
from depyf.torch_hooks.guards.guard_tree import describe_guards
from depyf.torch_hooks.guards.source_names import readable
from depyf.torch_hooks.internals import torch_behaviours

# ---------------------------------------------------------------- single lines of torch's guard text


@pytest.mark.parametrize(
    ("torch_says", "we_say"),
    [
        ("L['a'] is L['b']", "a is b"),
        ("G['torch'].abs", "torch.abs"),
        ("L['self']._modules['l']._modules['0']._parameters['weight']", "self.l[0].weight"),
        ("getattr(getattr(L['self'].l, '0').parts, '1').weight", "self.l[0].parts[1].weight"),  # torch 2.4
        ("L['self']._modules['a b']._buffers['0']", "self._modules['a b']._buffers['0']"),
        ("G['__import_torch_dot_nn_dot_modules_dot_linear'].F", "torch.nn.modules.linear.F"),
        ("G['__builtins_dict___0']['len']", "builtins.len"),
        ("L['.0']", "L['.0']"),
        ("L['class']", "L['class']"),
        ("x == \"L['a']\"", "x == \"L['a']\""),
        ("__import__('torch').utils._pytree.NODES", "torch.utils._pytree.NODES"),
        ("L['d'] == device(type='cpu')", "d == torch.device(type='cpu')"),
        ("f(device=1)", "f(device=1)"),
        ("not tokens: '", "not tokens: '"),
    ],
)
def test_values_are_spelled_as_the_user_does(torch_says, we_say):
    assert readable(torch_says) == we_say


SIZES = (
    " (user code shown is first use of this value--the guard itself is not due user code but due to 0/1 specialization in "
    "the framework; to avoid specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim))"
)
INSIDE = " (_dynamo/variables/tensor.py:2606 in evaluate_expr)"


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (
            "2 <= L['x'].size()[0]  # if a:  # src/m.py:4 in f" + SIZES,
            [("2 <= x.size()[0]", 4, "if a:", True)],
        ),
        (
            f"2 <= L['x'].size()[0] <= 4  # if a:  # src/m.py:4 in f{SIZES} and if b:  # src/m.py:9 in f{INSIDE}",
            [("2 <= x.size()[0]", 4, "if a:", True), ("x.size()[0] <= 4", 9, "if b:", False)],
        ),
        (
            f"3 <= L['n'] <= 6  # if a (or b) and c:  # src/m.py:4 in f{INSIDE} and if b:  # src/m.py:9 in f{INSIDE}",
            [("3 <= n", 4, "if a (or b) and c:", False), ("n <= 6", 9, "if b:", False)],
        ),
        (
            f"3 <= L['n'] <= 6  # if a:  # src/m.py:4 in f{INSIDE} and if a:  # src/m.py:4 in f{INSIDE}",
            [("3 <= n <= 6", 4, "if a:", False)],
        ),
    ],
)
def test_each_bound_of_a_size_is_one_condition_without_the_remark_on_sizes_0_and_1(printed, expected):
    guards = describe_guards(f"+- LAMBDA_GUARD: {printed}", f.__code__)
    found = [(one.condition, one.location.line, one.location.code, one.of_sizes) for one in guards]
    assert found == expected
    assert all(one.location.file == "src/m.py" and one.location.function == "f" for one in guards)


def test_an_aliasing_guard_is_not_shown_as_a_comparison_with_itself():
    ((words, is_python),) = conditions_for("OBJECT_ALIASING", "G['torch'].a is __import__('torch').a")
    assert words == "torch.a is one object, on whichever of two ways torch comes to it" and not is_python
    assert conditions_for("OBJECT_ALIASING", "L['a'] is L['b']") == [("a is b", True)]


def test_a_guard_that_an_optimizer_is_alive_has_no_id():
    name = "G['__optimizer_140356497080080_140356408064288_c6']()"
    tree = f"+- RootGuardManager\n| +- GuardManager: source={name}, type=<class 'int'>\n| | +- NOT_NONE: {name} is not None"
    (guard,) = describe_guards(tree, f.__code__)
    assert guard.condition == "the optimizer that this was compiled with still lives" and not guard.is_python
    assert guard.expression == "G['__optimizer_..._..._c6']()"


def conditions_for(kind: str, text: str, source: str = "", type_name: str = "") -> list[tuple[str, bool]]:
    return [(one.text, one.is_python) for one in read_with_cache(Leaf(kind, text, source, type_name))]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("TYPE_MATCH", "___check_type_id(L['n'], 140332543343840), type=<class 'int'>", "type(n) is int"),
        ("TYPE_MATCH", "___check_type_id(L['m'], 94), type=<class '__main__.M'>", "type(m) is M"),
        (
            "TYPE_MATCH",
            "___check_type_id(L['m'], 94), type=<class '__main__.f.<locals>.M'>",
            "type(m).__module__ + '.' + type(m).__qualname__ == '__main__.f.<locals>.M'",
        ),
        ("TRUE_MATCH", "G['FLAG'] == True", "FLAG is True"),
        ("DICT_CONTAINS", "not ___dict_contains('forward', L['m'].__dict__)", "'forward' not in m.__dict__"),
        ("SET_CONTAINS", "set.__contains__(L['s'], 3)", "3 in s"),
        ("DICT_CONTAINS", "___dict_contains(<class 'tuple'>, G['n'].nodes)", "tuple in n.nodes"),
        ("DICT_CONTAINS", "not ___dict_contains(<class 'torch.Tensor'>, G['n'])", "torch.Tensor not in n"),
        (
            "DICT_CONTAINS",
            "___dict_contains('heads', G['known'][\"<class 'models.Bert'>\"])",
            "'heads' in known[\"<class 'models.Bert'>\"]",
        ),
        ("EQUALS_MATCH", "L['c'] == '<Color.RED: 1>'", "c == '<Color.RED: 1>'"),
        ("NO_TENSOR_ALIASING", "check_no_aliasing(L['a'], L['b'])", "a is not b"),
        ("NO_TENSOR_ALIASING", "check_no_aliasing(L['a'], L['b'], L['c'])", "len({id(a), id(b), id(c)}) == 3"),
        ("LENGTH_CHECK", "len(L['x']) == 2", "len(x) == 2"),
        ("EQUALS_MATCH", "L['c'] == <Color.RED: 1>", "c == Color.RED"),
        ("EQUALS_MATCH", "L['c'] == {'b', 'a'}", "c == {'a', 'b'}"),
        ("EQUALS_MATCH", "L['c'] == frozenset({frozenset({2, 1}), 'a'})", None),
        ("LAMBDA_GUARD", "2*L['a'].size()[0] > L['b'].size()[1]", "2*a.size()[0] > b.size()[1]"),
        ("SOMETHING_NEW", "L['a'].shiny == 3", "a.shiny == 3"),
    ],
)
def test_conditions_are_python_expressions_where_possible(kind, text, expected):
    ((condition, is_python),) = conditions_for(kind, text)
    assert is_python
    if expected is not None:
        assert condition == expected
    ast.parse(condition, mode="eval")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ID_MATCH", "___check_obj_id(G['torch'].abs, 140332528815456), type=<class 'builtin_function_or_method'>"),
        ("ID_MATCH", "___check_obj_id(L['z'].__code__, 140646538256144), type=<class 'code'>"),
        ("ID_MATCH", "___check_obj_id(G['gone'], 140646538256144), type=<class 'module'>"),
        ("DICT_VERSION", "___dict_version(L['d']) == 140332543"),
        ("LAMBDA_GUARD", "__dtensor_spec_140332528815456"),
        ("LAMBDA_GUARD", "___check_opaque_guard_fn_140332528815456_c0/0"),
        ("EQUALS_MATCH", "L['f'] == <function g at 0x7f1234567890>"),
        ("LAMBDA_GUARD", "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == (140332528815456, 1)"),
        ("TENSOR_MATCH", "check_tensor(in a form that nobody knows yet, 140332528815456)"),
        ("GLOBAL_STATE", "___check_global_state() in another form"),
        ("EQUALS_MATCH", "L['x'] == Weird(\n  0x7f1234567890)"),
    ],
)
def test_conditions_that_are_no_expression_are_described_without_ids(kind, text):
    ((condition, is_python),) = conditions_for(kind, text)
    assert not is_python
    assert "\n" not in condition
    assert not re.search(r"\d{6,}|0x", condition)


def test_a_guard_on_a_module_names_it():
    text = f"___check_obj_id(G['m'], {id(math)}), type=<class 'module'>"
    assert conditions_for("ID_MATCH", text) == [("m is sys.modules['math']", True)]


def test_equality_includes_the_type_because_torch_checks_it():
    assert conditions_for("EQUALS_MATCH", "L['n'] == 1", "L['n']", "int") == [("type(n) is int and n == 1", True)]


TENSOR = (
    "check_tensor(L['a'], Tensor, DispatchKeySet(CUDA, BackendSelect, ADInplaceOrView, AutogradCUDA), "
    "torch.float16, device=1, requires_grad=True, size=[None, 4], stride=[4, 1])"
)


def test_a_tensor_is_described_dimension_by_dimension():
    assert conditions_for("TENSOR_MATCH", TENSOR, "L['a']", "torch.nn.parameter.Parameter") == [
        (
            "type(a) is torch.nn.Parameter and a.dtype is torch.float16 and a.device == torch.device('cuda', 1) "
            "and a.requires_grad is True and a.dim() == 2 and a.size(1) == 4 and a.stride() == (4, 1)",
            True,
        )
    ]


def test_unusual_dispatch_keys_are_shown():
    conditions = conditions_for("TENSOR_MATCH", TENSOR.replace("AutogradCUDA", "AutogradCUDA, Negative"), "L['a']")
    assert conditions[1] == (
        "a has the dispatch keys CUDA, BackendSelect, ADInplaceOrView, AutogradCUDA, Negative",
        False,
    )


# ---------------------------------------------------------------- printed guard trees

TREE = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None                # _dynamo/output_graph.py:1122 in init_ambient_guards
| +- GuardManager: source=L['b'], accessed_by=FrameLocalsGuardAccessor(key='b'), type=<class 'str'>, tag_safe=(False, False)
| | +- EQUALS_MATCH: L['b'] == 'x  # y:1 in z'                        # if b == "x  # y:1 in z":  # src/model.py:8 in f (HINT: h)
| +- GuardManager: source=L['a'], accessed_by=FrameLocalsGuardAccessor(key='a'), type=<class 'int'>, tag_safe=(False, False)
| | +- TYPE_MATCH: ___check_type_id(L['a'], 1403325433), type=<class 'int'>  # a + 1  # src/model.py:9 in f (HINT: type int)
| | +- DIMENSION_DYNAMIC_MARKING_GUARD: hasattr(L['a'], '_dynamo_dynamic_indices') == False  # a + 1  # src/model.py:9 in f
| | +- DIMENSION_DYNAMIC_MARKING_GUARD: hasattr(L['a'], '_dynamo_static_indices') == False   # a + 1  # src/model.py:9 in f
+- LAMBDA_GUARD: 2 <= L['a']  # a + 1  # src/model.py:9 in f (user code shown is first use of this value)

Guard latency = 3.14 us
"""


def f(a, b):
    return a, b


def test_a_printed_tree_becomes_records_in_the_order_of_the_parameters():
    records = describe_guards(TREE, f.__code__)
    assert [(record.condition, record.location and record.location.line) for record in records] == [
        ("type(a) is int", 9),
        ("not any(hasattr(a, f'_dynamo_{mark}_indices') for mark in ('dynamic', 'static'))", 9),
        ("type(b) is str and b == 'x  # y:1 in z'", 8),
        ("2 <= a", 9),
        ("torch.utils._device.CURRENT_DEVICE is None", None),
    ]
    location = records[2].location
    assert location is not None
    assert (location.file, location.function, location.code) == ("src/model.py", "f", 'if b == "x  # y:1 in z":')


@pytest.mark.parametrize("text", ["", "nonsense", "+- ", "| | +- X: ", "\x00\n| +- GuardManager: source="])
def test_an_unknown_form_of_guards_yields_what_is_readable(text):
    describe_guards(text, f.__code__)


# ---------------------------------------------------------------- guards of a compiled function


class Color(enum.Enum):
    RED = 1


SCALE = 3


def many(a, b, table, chosen, text, dtype, none, ratio, numbers, od):
    x = a + b.view(-1)[0] * SCALE
    for key, value in table.items():
        x = x + value
    if 3 in chosen:
        x = x * 2
    if "# hi" in text:
        x = x + len(text)
    x = x.to(dtype)
    for number in numbers:
        x = x + number
    if none is None:
        x = x * ratio
    return x + od["q"] + max(1, 2)


def arguments(torch):
    return [
        torch.randn(10),
        torch.randn(3, 4, requires_grad=True),
        {"p": torch.ones(1), 2: 3},
        {1, 3},
        "a # hi",
        torch.float64,
        None,
        2.5,
        [1, 2],
        collections.OrderedDict(q=1),
    ]


@pytest.fixture(scope="module")
def compiled_guards():
    torch = pytest.importorskip("torch")
    from depyf.torch_hooks.frames.cache_entries import versions_of

    torch._dynamo.reset()
    values = arguments(torch)
    torch.compile(many, backend="eager")(*values)
    (version,) = versions_of(many.__code__)
    return torch, values, describe_guards(version.guard_manager, many.__code__)


def failing(torch, guards, values) -> list[str]:
    scope = {"torch": torch, "sys": sys, "types": types, "math": math, "builtins": builtins}
    scope.update(collections=collections, SCALE=SCALE)
    scope.update(zip(many.__code__.co_varnames, values))
    return [guard.condition for guard in guards if guard.is_python and not eval(guard.condition, scope)]


def test_the_conditions_hold_for_the_arguments_they_were_made_for(compiled_guards):
    torch, values, guards = compiled_guards
    assert failing(torch, guards, values) == []
    assert len([guard for guard in guards if guard.is_python]) > 15


OF_TREES = (0, 1, 9)  # arguments whose guards can be read after compiling only from a tree: tensors, a class


@pytest.mark.parametrize(
    ("index", "other"),
    [
        (0, lambda torch: torch.randn(11)),
        (0, lambda torch: torch.randn(10, dtype=torch.float64)),
        (0, lambda torch: torch.randn(20)[::2]),
        (0, lambda torch: torch.randn(10, requires_grad=True)),
        (1, lambda torch: torch.randn(3, 4)),
        (2, lambda torch: {2: 3, "p": torch.ones(1)}),
        (2, lambda torch: {"p": torch.ones(1), 2: 4}),
        (3, lambda torch: {3}),
        (4, lambda torch: "a"),
        (5, lambda torch: torch.float32),
        (6, lambda torch: 1),
        (7, lambda torch: 2),
        (8, lambda torch: [1, 2, 3]),
        (8, lambda torch: (1, 2)),
        (9, lambda torch: {"q": 1}),
    ],
)
def test_a_condition_fails_when_dynamo_would_recompile(compiled_guards, index, other):
    torch, values, guards = compiled_guards
    if index in OF_TREES and not torch_behaviours.has("guard_trees"):
        pytest.skip("this torch has no guard trees")
    changed = list(values)
    changed[index] = other(torch)
    assert failing(torch, guards, changed) or not recompiles(torch, changed)  # 2.6 takes one kind of dict for another


def recompiles(torch, values) -> bool:
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    before = len(_debug_get_cache_entry_list(many.__code__))
    torch.compile(many, backend="eager")(*values)
    return len(_debug_get_cache_entry_list(many.__code__)) > before


def test_no_ids_no_addresses_and_every_location_is_a_line_of_the_function(compiled_guards):
    _, _, guards = compiled_guards
    first = many.__code__.co_firstlineno
    for guard in guards:
        assert not re.search(r"\d{8,}|0x[0-9a-f]{4,}", guard.condition)
        if guard.location is not None:
            assert guard.location.function == "many"
            assert first < guard.location.line < first + 20


def test_text_of_the_structured_trace_gives_the_same_as_the_live_manager(compiled_guards):
    from depyf.torch_hooks.frames.cache_entries import versions_of

    (version,) = versions_of(many.__code__)
    text = f"{version.guard_manager}\nGuard latency = 1.23 us"
    assert describe_guards(text, many.__code__) == compiled_guards[2]


@pytest.mark.parametrize(
    ("shortened", "full"),
    [("mp/project/model.py", "/tmp/project/model.py"), ("other.py", "other.py"), ("x/model.py", "x/model.py")],
)
def test_file_names_that_torch_shortened_are_completed(shortened, full):
    from depyf.torch_hooks.guards.origins import _full_name

    assert _full_name(shortened, "/tmp/project/model.py") == full


# ---------------------------------------------------------------- many guards of few forms


@pytest.mark.parametrize(
    "source",
    [
        "L['x']",
        "L['self']._modules['layers']._modules['0']._parameters['weight']",
        "L['self']._modules['a b']._buffers['0']",
        "L['self'].__dict__['f'].__code__",
        "G['__builtins_dict___0']['len']",
        "G['__builtins_dict___0']",
        "G['obj_140332533783168']",
        "L['LOOKED_AT']",
        "L['x'][0].y",
        "list(dict.keys(L['self']._modules))[0]",
        "L['d'][\"it's\"]",
        "",
    ],
)
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("TYPE_MATCH", "___check_type_id({}, 94004335554816), type=<class 'm.f.<locals>.Model'>"),
        ("TYPE_MATCH", "___check_type_id({}, 94004335554816)"),
        ("EQUALS_MATCH", "{} == 'L'"),
        ("EQUALS_MATCH", "{} == 007"),
        ("EQUALS_MATCH", "{} == 12"),
        ("EQUALS_MATCH", "{} == {{3, 1, 2}}"),
        ("DICT_CONTAINS", "not ___dict_contains('forward', {}.__dict__)"),
        ("DICT_CONTAINS", "not ___dict_contains('forward', {})"),
        ("DICT_LENGTH", "len({}) == 3"),
        ("OTHER", "{0} is {0}.x and {0}[1]"),
        (
            "TENSOR_MATCH",
            "check_tensor({}, Tensor, DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), torch.float32, "
            "device=None, requires_grad=False, size=[4, 16], stride=[16, 1])",
        ),
        ("ODD", "not any(hasattr({}, f'_dynamo_{{mark}}_indices') for mark in ('dynamic', 'weak_dynamic'))"),
    ],
)
def test_a_guard_reads_the_same_with_a_cold_and_a_warm_cache_of_forms(source, kind, text):
    leaf = Leaf(kind, text.format(source), source, "torch.Tensor")
    read_with_cache(Leaf(kind, text.format("L['before']"), "L['before']", "torch.Tensor"))
    assert read_with_cache(leaf) == read_guard(leaf)


def test_parameters_and_submodules_are_spelled_as_attributes_wherever_torch_reads_them() -> None:
    assert readable("L['self']._modules['lin']._parameters['weight']") == "self.lin.weight"
    assert readable("L['self'].__dict__['_modules']['lin']._parameters['weight']") == "self.lin.weight"
    assert readable("L['self'].__dict__['_modules']['0'].__dict__") == "self[0].__dict__"
    assert readable("'calls' not in L['self'].__dict__['_buffers']") == "'calls' not in self.__dict__['_buffers']"
