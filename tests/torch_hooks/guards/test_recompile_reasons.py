"""Each recompile shows the failed guard, the version it belongs to, its line, and the values then and now."""

from __future__ import annotations

import json
from collections import OrderedDict
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch_probes import GUARDS_WEIGHTS, HAS_GUARD_TREES, RECOMPILE_LIMIT, needs  # noqa: E402

import depyf  # noqa: E402
from depyf.record.saved_form import from_json  # noqa: E402
from depyf.torch_hooks.guards.failed_guards import failed_guards, failures  # noqa: E402
from depyf.torch_hooks.guards.frame_values import Unreadable, Variables, describe, read  # noqa: E402
from depyf.torch_hooks.guards.recompile_reasons import read_reasons  # noqa: E402

SHARED = 1


def read_failed_guards(payload, variables):
    return failed_guards(failures(read_reasons(payload), variables), lambda version: ())


class Settings:
    scale = 2

    def __init__(self, value):
        self.value = value


class Doubled(Settings):
    pass


def calculate(x, n=None, settings=None):
    y = x * 2
    if n is not None:
        y = y + (n if isinstance(n, int) else len(n))
    if settings is not None:
        y = y + settings.value
    return y + SHARED


def of_two(a, b):
    return a + b


def of_a_dictionary(values):
    return sum(values.values())


@pytest.fixture(scope="module")
def why(tmp_path_factory):
    """Map a name to (condition, then, now, line within the function) of the first failed guard."""
    folder = tmp_path_factory.mktemp("recompiles") / "d"
    found = {}

    def run(name, function, *calls, **options):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="eager", **options)
        with depyf.prepare_debug(folder / name) as context:
            for call in calls:
                call(compiled) if callable(call) else compiled(*call)
        record = from_json((folder / name / "manifest.json").read_text())
        assert record == context.record and not record.problems
        failed = record.frames[-1].failed_guards[0]
        line = failed.location and failed.location.line - function.__code__.co_firstlineno
        found[name] = (failed.version, failed.condition, failed.then, failed.now, line)

    def without_grad(compiled):
        with torch.no_grad():
            compiled(three)

    three = torch.ones(3)
    run("size", calculate, (three,), (torch.ones(4),))
    run("rank", calculate, (three,), (torch.ones(1, 2),))
    run("dtype", calculate, (three,), (three.double(),))
    run("grad", calculate, (three,), (torch.ones(3, requires_grad=True),))
    run("kind of tensor", calculate, (three,), (torch.nn.Parameter(three),))
    run("int", calculate, (three, 2), (three, 3))
    run("type", calculate, (three, [1]), (three, (1,)))
    run("length", calculate, (three, [1]), (three, [1, 2]))
    run("attribute", calculate, (three, None, Settings(1)), (three, None, Settings(2)))
    run("class", calculate, (three, None, Settings(1)), (three, None, Doubled(1)))
    run("shape", calculate, (three,), (torch.ones(1),), dynamic=True)
    run("state", calculate, (three,), without_grad)
    run("alias", of_two, (three, torch.ones(3)), (three, three))
    run("keys", of_a_dictionary, ({"a": three},), ({"a": three, "b": three},))
    found["story"] = (folder / "int" / "full_code_for_calculate_0.py").read_text()
    return found


# With guard trees, and without: torch 2.3 and older.
KEYS = {True: ("len(values) == 1", "1", "2, with 'b'"), False: ("set(values.keys()) == {'a'}", "{'a'}", "{'a', 'b'}")}


@pytest.mark.parametrize(
    ("name", "condition", "then", "now", "line"),
    [
        ("size", "x.size(0) == 3", "3", "4", 1),
        ("rank", "x.dim() == 1", "1", "2", 1),
        ("dtype", "x.dtype is torch.float32", "torch.float32", "torch.float64", 1),
        ("grad", "x.requires_grad is False", "False", "True", 1),
        ("kind of tensor", "type(x) is torch.Tensor", "torch.Tensor", "torch.nn.parameter.Parameter", 1),
        ("int", "n == 2", "2", "3", 2),
        ("type", "type(n) is list", "list", "tuple", 2),
        ("length", "len(n) == 1", "1", "2", 2),
        ("attribute", "settings.value == 1", "1", "2", 5),
        ("class", f"type(settings) is {__name__}.Settings", f"{__name__}.Settings", f"{__name__}.Doubled", 4),
        ("shape", "2 <= x.size(0)", "", "1", 1),  # without a line of torch's, that of the first use
        ("alias", "a, b to be different tensors", "different tensors", "one tensor", None),
        ("keys", *KEYS[HAS_GUARD_TREES], 1),
    ],
)
def test_a_recompile_shows_the_failed_guard_with_both_values_and_its_line(why, name, condition, then, now, line):
    assert why[name] == ("0/0", condition, then, now, line)


def test_a_switch_of_torch_that_changed_is_named_with_both_values(why):
    version, condition, then, now, _ = why["state"]
    assert (condition, then, now) == ("torch.is_grad_enabled() is True", "True", "False")


def test_the_full_code_shows_the_reason_beside_the_version(why):
    head = why["story"].split("compiled version 2 of 2")[1].split("file:")[0]
    assert "why:    0/0 needs n == 2\n" in head and "#             now 3\n" in head
    assert "asked for by test_recompile_reasons.py:" in head and "if n is not None:" in head


def test_an_unknown_wording_of_torch_is_kept_verbatim():
    variables = Variables(local={"x": 1}, of_module={})
    (failed,) = read_failed_guards("3/1: the moon is full", variables)
    assert (failed.version, failed.condition, failed.then, failed.now) == ("3/1", "the moon is full", "", "")
    assert read_failed_guards("", variables) == ()
    assert str(failed) == "3/1 does not fit, in torch's words: the moon is full"
    newer = "0/0: expected type of 'x' to be <class 'torch.Tensor'>, but found <class 'int'>"
    older = "0/0: ___check_type_id(x, 140697113297952)"
    for text in (newer, older):
        (failed,) = read_failed_guards(text, variables)
        assert failed.now == "int" and failed.condition == "x to have the type it had", "no ids"


@pytest.mark.parametrize(
    ("condition", "now"),
    [
        ("2*L['n'] <= L['m']", "n is 3, m is 5"),
        ("((L['n']*L['m']) // L['n']) != 4", "n is 3, m is 5"),
        ("-L['n'] + 1 == 0 and L['m'] != 5", "n is 3, m is 5"),
        ("L['n'] <= L['unknown']", "n is 3"),
    ],
)
def test_the_values_inside_a_computed_condition_are_shown(condition, now):
    (failed,) = read_failed_guards(f"0/0: {condition}", Variables(local={"n": 3, "m": 5}, of_module={}))
    assert failed.now == now


@pytest.mark.parametrize(("n", "condition", "of_sizes"), [(1, "2 <= n", True), (7, "n <= 4", False)])
def test_the_failed_bound_of_a_range_is_shown_with_its_origin(n, condition, of_sizes):
    aside = "user code shown is first use of this value, due to 0/1 specialization in the framework"
    text = f"0/0: 2 <= L['n'] <= 4  # a  # m.py:1 in f ({aside}) and b  # m.py:2 in f (x.py:3 in g)"
    (failed,) = read_failed_guards(text, Variables(local={"n": n}, of_module={}))
    assert (failed.condition, failed.of_sizes, failed.now) == (condition, of_sizes, str(n))
    assert failed.location.code == ("a" if of_sizes else "b")


def test_a_changed_backend_is_reported_without_the_advice_of_torch():
    text = (
        "0/0: BACKEND_MATCH failure: torch.compile detected different backend callables. Cached backend: "
        "Wrapper (id=0x7f0). New backend: {} (id=0x7f1). If this is unexpected, wrap your backend in ..."
    )
    (same,) = read_failed_guards(text.format("Wrapper"), Variables(local={}, of_module={}))
    (other,) = read_failed_guards(text.format("Mine"), Variables(local={}, of_module={}))
    assert (same.condition, same.then) == ("the backend Wrapper", "Wrapper")
    assert same.now == "another Wrapper, or one with other options" and other.now == "Mine"


def test_a_race_of_threads_is_not_reported_as_a_bug_of_torch():
    text = (
        "0/0: Unexpected recompilation: runtime guards failed even though they passed during recompilation-reason "
        "analysis. Please open an issue with a minimal repro: https://github.com/pytorch/pytorch"
    )
    (failed,) = read_failed_guards(text, Variables(local={}, of_module={}))
    assert str(failed) == "0/0 fits this call too: most likely another thread compiled it at the same time"


# ---------------------------------------------------------------- many versions


@pytest.fixture(scope="module")
def often(tmp_path_factory):
    """Return the folder of a function compiled twelve times, for a different int each time."""
    folder = tmp_path_factory.mktemp("often") / "d"

    def scaled(x, n):
        y = x * n
        torch._dynamo.graph_break()
        return y + 1

    torch._dynamo.reset()
    compiled = torch.compile(scaled, backend="eager", dynamic=False)
    with torch._dynamo.config.patch({RECOMPILE_LIMIT: 64}), depyf.prepare_debug(folder):
        for n in range(12):
            compiled(torch.ones(3), n)
    return folder


def test_many_versions_that_fail_for_one_reason_are_one_line(often):
    record = from_json((often / "manifest.json").read_text())
    last = [frame for frame in record.frames if frame.compile_id == "0/11"][0]
    (failed,) = last.failed_guards
    assert (failed.version, failed.condition, failed.then, failed.now) == ("0/10", "n == 10", "10", "11")
    assert (failed.others, failed.then_of_others) == ("0/0 to 0/9", "0, ..., 6, 7, 8, 9")
    assert last.recompile_reasons == ("0/10: this failed: n == 10 (likewise 0/0 to 0/9)",)
    story = (often / "full_code_for_scaled_0.py").read_text()
    head = story.split("compiled version 12 of 12")[1].split("file:")[0]
    assert head.count("why:") == 1 and "0/0 to 0/9: needs 0, ..., 6, 7, 8, 9" in head


def test_the_summary_names_the_values_of_each_version_that_differs_in_the_same_ones(tmp_path, capsys):
    def scaled(x, n, flag):
        return x * n + flag

    torch._dynamo.reset()
    compiled = torch.compile(scaled, backend="eager", dynamic=False)
    with torch._dynamo.config.patch({RECOMPILE_LIMIT: 64}), depyf.prepare_debug(tmp_path, include_earlier=False):
        for n, flag in [(0, False), (1, False), (1, True), (2, False), (3, False), (4, False), (5, False), (6, False)]:
            compiled(torch.ones(3), n, flag)
    lines = [line.strip() for line in (tmp_path / "summary.txt").read_text().splitlines()]
    assert [line.split()[0] for line in lines if " because " in line] == ["0/1", "0/2"]
    likewise = [line for line in lines if " likewise: " in line]
    assert likewise[-2:] == [
        "0/6 likewise: 0/5 needs n == 4, now 5",
        "0/7 likewise: 0/6 needs n == 5, now 6",
    ]
    terminal = capsys.readouterr().err
    assert "... 2 more in the same way, with other values: see summary.txt" in terminal
    assert likewise[-1] in terminal and likewise[0] not in terminal


def test_a_resume_function_with_many_names_is_shown_under_one(often):
    story = (often / "full_code_for_scaled_0.py").read_text()
    assert "It has 12 names, one for each version of its caller:\n#   __resume_at_" in story
    assert max(map(len, story.splitlines())) < 150
    names = [one for frame in from_json((often / "manifest.json").read_text()).frames for one in frame.resumes]
    assert len({one.name for one in names}) == 12
    assert all(story.count(one.name) >= 3 for one in names), "in the call, in the note beside it, in the dispatcher"


@pytest.mark.parametrize(
    ("versions", "named"),
    [
        (("0/1", "0/0"), "0/0"),
        (("0/9", "0/8", "0/7", "0/2"), "0/2, 0/7, 0/8"),
        (tuple(f"0/{number}" for number in range(40, 0, -2)), "0/2, 0/4, 0/6, 0/8, 0/10 ... 0/38 (19 versions)"),
    ],
)
def test_versions_with_the_same_reason_are_named_as_ranges(versions, named):
    payload = json.dumps([f"{version}: L['n'] == {number}" for number, version in enumerate(versions)])
    (failed,) = read_failed_guards(payload, Variables(local={"n": 7}, of_module={}))
    assert (failed.version, failed.others, failed.now) == (versions[0], named, "7")


def test_different_reasons_are_not_grouped():
    texts = (
        "0/3: tensor 'x' size mismatch at index 0. expected 3, actual 9",
        "0/2: tensor 'x' size mismatch at index 1. expected 3, actual 9",
        "0/1: L['n'] == 3   # one line  # a.py:8 in f",
        "0/0: L['n'] == 3   # another line  # a.py:9 in f",
    )
    found = read_failed_guards(json.dumps(texts), Variables(local={"n": 7}, of_module={}))
    assert [failed.version for failed in found] == ["0/3", "0/2", "0/1", "0/0"]
    assert not any(failed.others for failed in found)


# ---------------------------------------------------------------- no user code is run


class Loud:
    ran = False

    @property
    def computed(self):
        Loud.ran = True

    def __getattr__(self, name):
        Loud.ran = True
        raise AttributeError(name)

    def __len__(self):
        Loud.ran = True
        return 0

    def __getitem__(self, key):
        Loud.ran = True

    @property
    def __class__(self):
        Loud.ran = True
        return int


@pytest.mark.parametrize(
    "expression",
    ["loud.computed", "loud.missing", "len(loud)", "loud[0]", "loud()", "loud.__class__", "loud + 1", "(("],
)
def test_a_value_that_needs_user_code_to_run_is_left_out(expression):
    with pytest.raises(Unreadable):
        read(expression, {"loud": Loud()}, {})
    assert describe("a" * 200) == repr("a" * 200)[:80] + "..."
    assert describe(Loud()) == f"a {__name__}.Loud"
    assert Loud.ran is False


def test_values_inside_modules_and_objects_are_found():
    module = torch.nn.Sequential(torch.nn.Linear(2, 3))
    names = {"self": SimpleNamespace(module=module, table={"a": [1, 2]}), "L": 1}
    assert read("self.table['a'][1]", names, {}) == 2
    assert read("L['self'].module._modules['0'].weight.size()[0]", names, {}) == 3
    assert read("L['self'].module[0].weight.size()[0]", names, {}) == 3
    assert read("getattr(L['self'].module, '0').weight.size()[0]", names, {}) == 3  # torch 2.4
    assert read("G['here']", {}, {"here": 5}) == 5
    assert read("len(self.module)", names, {}) == 1 and read("self.table.keys()", names, {}) == ["a"]
    vars(module[0])["_parameters"] = OrderedDict(module[0]._parameters)  # as in torch 2.4
    assert read("self.module._modules['0'].weight.size()[0]", names, {}) == 3
    assert read("settings.scale", {"settings": Settings(1)}, {}) == 2
    assert describe(read("self.module", names, {})) == "a torch.nn.modules.container.Sequential"


def test_reading_shapes_does_not_trigger_a_torch_function_mode_of_the_program():
    class Recording(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            called.append(function)
            return function(*args, **(kwargs or {}))

    called, x = [], torch.ones(3)
    with Recording():
        assert read("x.size()[0]", {"x": x}, {}) == 3
        assert describe(x) == "a tensor of torch.float32 (3,) on cpu"
    assert not called


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_advice_of_torch_is_no_part_of_the_value(tmp_path, capsys):
    class Scaled(torch.nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(size))

        def forward(self, x):
            return x * self.weight

    def scale(module, x):
        return module(x)

    torch._dynamo.reset()
    compiled = torch.compile(scale, backend="eager")
    with depyf.prepare_debug(tmp_path):
        for size in (2, 3, 4):
            compiled(Scaled(size), torch.ones(1))
    summary = capsys.readouterr().err
    assert "needs module.weight.size(0) == 3, now 4; 0/0: needs 2; first used at" in summary
    assert summary.count("hint: Guard failed on a parameter, consider using torch._dynamo.config.force") == 1
    assert summary.count("in the call at") == 1, "all of them were compiled again in one line of the program"
    assert "#             hint: Guard failed on a parameter" in (tmp_path / "full_code_for_scale_0.py").read_text()
