"""A recompile names the true cause, also where another guard is the first that torch finds to fail."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from torch_probes import GUARDS_WEIGHTS, needs  # noqa: E402

import depyf  # noqa: E402
from depyf.record.guard_conditions import PythonTest  # noqa: E402
from depyf.record.records import FailedGuard, GuardRecord  # noqa: E402
from depyf.record.saved_form import from_json  # noqa: E402
from depyf.torch_hooks.guards.mismatches import EXPRESSION, Mismatch  # noqa: E402
from depyf.torch_hooks.guards.other_causes import GuardedVersion, distances_of, with_other_causes  # noqa: E402


class Layer(torch.nn.Module):
    """A layer with a number, as many libraries have them; whether its cache is filled is tested first."""

    def __init__(self, number):
        super().__init__()
        self.inner = torch.nn.Identity()
        self.inner.number = number

    def forward(self, x, filled=None):
        if filled is not None and filled[0]:
            x = x + 1
        return x * (self.inner.number + 2)


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(0), Layer(1)])

    def forward(self, x, filled):
        for layer in self.layers:
            x = layer(x, filled)
            torch._dynamo.graph_break()
            filled = [True]
        return x


class Block(torch.nn.Module):
    """A block that has a shortcut or not."""

    def __init__(self, shortcut):
        super().__init__()
        self.shortcut = torch.nn.Linear(4, 4) if shortcut else None

    def forward(self, x):
        return x + 1 if self.shortcut is None else self.shortcut(x)


class Switching(torch.nn.Module):
    """A module whose first call sets an attribute that all later calls read."""

    def __init__(self):
        super().__init__()
        self.kind = "sparse"

    def forward(self, x):
        y = x + 1 if self.kind == "sparse" else x - 1
        torch._dynamo.graph_break()
        self.kind = "full"
        return y


class Cache:
    value = 2


class Run:
    """A program under depyf: its record, summary and stories."""

    def __init__(self, folder, capsys):
        self.folder = folder
        self._capsys = capsys
        self.summary = ""
        self.frames = {}

    def __call__(self, main, **options):
        torch._dynamo.reset()
        self._capsys.readouterr()
        with depyf.prepare_debug(self.folder, include_earlier=False) as context:
            main(lambda function: torch.compile(function, backend="eager", **options))
        assert not context.record.problems
        self.summary = self._capsys.readouterr().err
        record = from_json((self.folder / "manifest.json").read_text())
        self.frames = {frame.compile_id: frame for frame in record.frames}
        return self

    @property
    def stories(self):
        return "".join(path.read_text() for path in sorted(self.folder.glob("full_code_for_*.py")))

    def also(self, compile_id):
        """Return what the version has changed beside the first guard that failed."""
        return [str(one) for failed in self.frames[compile_id].failed_guards for one in failed.also]


@pytest.fixture
def run(tmp_path, capsys):
    return Run(tmp_path / "dump", capsys)


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_another_layer_is_named_where_torch_names_another_argument(run):
    run(lambda compiled: compiled(Stack())(torch.ones(2, 4), [False]))
    (failed,) = run.frames["1/1"].failed_guards
    if not failed.condition.startswith("filled[0]"):
        pytest.skip("this torch (2.8 and older) does not find the argument first")
    which = "self is another Layer: layers[1], not layers[0] (no guard tests which)"
    assert run.also("1/1") == [which, "self.inner.number == 0, now 1"]
    line = f"also: self.inner.number == 0, now 1; {which}\n"
    assert line in run.summary and f"#             {line}" in run.stories.replace("\n#                  ", "")
    assert [run.frames[one].module for one in ("1/0", "1/1")] == ["layers[0]", "layers[1]"]
    assert "#   self:   layers[1], when it was compiled\n" in run.stories


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_a_change_of_the_batch_alone_is_not_blamed_on_another_layer(run):
    def main(compiled):
        model = compiled(Stack())
        for size in (2, 3):
            model(torch.ones(size, 4), [False])

    run(main)
    # Layer 0 with another batch: the version of layer 1 is compared as well, and is not the nearest.
    (failed,) = [one for one in run.frames["1/2"].failed_guards if one.about == "x.size(0)"]
    assert failed.also == () and failed.beside == "1/0 is the nearest: no other cause was found"
    assert failed is run.frames["1/2"].failed_guards[0], "the version that differs in the batch alone comes first"


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_an_attribute_that_the_first_call_set_is_named_beside_the_size(run):
    def main(compiled):
        model = compiled(Switching())
        for size in (2, 3):
            model(torch.ones(size))

    run(main)
    (failed,) = run.frames["0/1"].failed_guards
    assert failed.about in ("x.size(0)", "self.kind")
    found = [failed.condition, *[one.condition for one in failed.also]]
    assert "self.kind == 'sparse'" in found and "self is another" not in run.summary


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_a_module_with_an_optional_part_is_named_beside_the_size(run):
    def main(compiled):
        def call(block, x):
            return block(x)

        call = compiled(call)
        call(Block(False), torch.ones(2, 4))
        call(Block(True), torch.ones(3, 4))

    run(main, dynamic=False)
    (failed,) = run.frames["0/1"].failed_guards
    named = [failed.about, *[one.about for one in failed.also]]
    assert "block.shortcut" in named and "x.size(0)" in named
    assert "block is another Block (no guard tests which)" in run.also("0/1"), "the first block is gone by then"
    assert "block.shortcut is None, now a Linear" in run.summary


def test_sizes_that_change_alike_are_not_counted_as_causes_of_their_own(run):
    def main(compiled):
        def add(x, y, z, flag):
            return x + y + z if flag else x - y - z

        add = compiled(add)
        add(torch.ones(2), torch.ones(2), torch.ones(2), True)
        add(torch.ones(3), torch.ones(3), torch.ones(3), False)

    run(main, dynamic=False)
    (failed,) = run.frames["0/1"].failed_guards
    assert {failed.about, *[one.about for one in failed.also]} == {"x.size(0)", "flag"} and failed.also_more == 0


def test_a_version_whose_guards_were_not_seen_is_not_taken_for_the_nearest():
    def version(name, *conditions):
        return GuardedVersion(name, tuple(GuardRecord(PythonTest(one)) for one in conditions))

    failed, mismatch = FailedGuard("0/1", "n == 1"), Mismatch(EXPRESSION, text="n == 1", parts=(("n", "2"),))
    seen, unseen, new = version("0/1", "n == 1", "k == 1"), version("0/0"), version("0/2", "n == 2", "k == 2")
    assert distances_of(mismatch, [unseen, seen], new) == {"0/0": math.inf, "0/1": 1}
    found, distance = with_other_causes(failed, mismatch, seen, new)
    assert ([str(one) for one in found.also], distance) == (["k == 1, now 2"], 1)
    assert with_other_causes(failed, mismatch, unseen, new) == (failed, math.inf)


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_an_older_version_is_named_where_it_is_the_one_of_which_nothing_else_changed(run):
    def main(compiled):
        layers = [Layer(0), Layer(1)]
        call = compiled(lambda layer, x: layer(x))
        for size in (2, 3):
            for layer in layers if size == 2 else layers[:1]:
                call(layer, torch.ones(size, 4))

    run(main, dynamic=False)
    first = run.frames["0/2"].failed_guards[0]
    assert (first.about, first.version, first.also) == ("x.size(0)", "0/0", ()) and first.others == "0/1"
    assert first.beside == "0/0 is the nearest: no other cause was found"
    assert first.beside in run.summary and first.beside in run.stories


def test_many_other_causes_are_a_few_and_a_number(run):
    class Settings:
        def __init__(self, value):
            self.alpha = self.beta = self.gamma = self.delta = self.epsilon = self.zeta = value

    def main(compiled):
        def scale(x, one):
            return x * one.alpha + one.beta - one.gamma * one.delta + one.epsilon - one.zeta

        scale = compiled(scale)
        for value in (2, 3):
            scale(torch.ones(2), Settings(value))

    run(main, dynamic=False)
    (failed,) = run.frames["0/1"].failed_guards
    assert len(failed.also) == 3 and failed.also_more == 2 and failed.beside.endswith("; 2 more")


def test_no_cause_is_folded_into_a_number_of_one(run):
    class Settings:
        def __init__(self, value):
            self.alpha = self.beta = self.gamma = self.delta = self.epsilon = value

    def main(compiled):
        def scale(x, one):
            return x * one.alpha + one.beta - one.gamma * one.delta + one.epsilon

        scale = compiled(scale)
        for value in (2, 3):
            scale(torch.ones(2), Settings(value))

    run(main, dynamic=False)
    (failed,) = run.frames["0/1"].failed_guards
    assert len(failed.also) == 4 and failed.also_more == 0 and "more" not in failed.beside


def test_the_object_that_came_in_place_of_none_is_not_called_another_one(run):
    def main(compiled):
        def add(x, cache):
            return x + 1 if cache is None else x + cache.value

        add = compiled(add)
        add(torch.ones(2), None)
        add(torch.ones(2), Cache())

    run(main)
    assert f"0/0 needs cache is None, now a {__name__}.Cache;" in run.summary


def test_a_line_that_first_uses_a_tensor_is_not_blamed_for_its_size(run):
    def main(compiled):
        def add(x, mode):
            y = x.to(torch.float32)
            return y + len(mode)

        add = compiled(add)
        add(torch.ones(2), "a")
        add(torch.ones(3), "a")
        add(torch.ones(3), "bc")

    run(main)
    assert "needs x.size(0) == 2, now 3; first used at " in run.summary
    summary = run.summary.replace("; 0/0: needs the same", "")  # torch 2.2 names the older version, too
    assert "needs mode == 'a', now 'bc'; asked for by " in summary
    assert "#             first used at " in run.stories


class Adding(torch.nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return x + 1


class Handing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Adding()

    def forward(self, x):
        return self.inner(x)


def asked_in(run, needs):
    """Return the code of the line that the summary names for a guard; empty where it names none."""
    (line,) = [line for line in run.summary.splitlines() if needs in line]
    return line.partition("; first used at ")[2].partition(": ")[2]


def test_a_line_that_reads_another_size_or_hands_the_tensor_on_is_not_named(run):
    def main(compiled):
        def helper(x):
            return x * 2

        def add(x):
            columns = x.shape[1] + x.ndim + len(x.shape)
            y = x
            return helper(y) + columns

        def count(x):
            rows = x.shape[0]
            return torch.ones(rows)

        for function in (add, count, Handing()):
            for size in (2, 3):
                compiled(function)(torch.ones(size, 4))

    run(main, dynamic=False)
    assert asked_in(run, "0/1 because").startswith("return x * 2, reached from ")
    assert asked_in(run, "1/1 because") == "rows = x.shape[0]"
    assert asked_in(run, "2/1 because") == "", "the frame has no graph: it hands the tensor on"


def test_values_of_older_versions_stand_in_the_order_of_the_versions(run):
    def main(compiled):
        def scale(x, n):
            return x * n

        scale = compiled(scale)
        for n in (16, 8, 4, 2):
            scale(torch.ones(2), n)

    run(main, dynamic=False)
    assert "0/3 because 0/2 needs n == 4, now 2; 0/0, 0/1: needs 16, 8;" in run.summary


def halves(x):
    n = x.shape[0] // 2
    return x[:n] + x[n:]


def calls_halves(x):
    return halves(x * 2) + halves(x)


def test_a_line_is_not_reached_from_another_line_of_its_own_function(run):
    run(lambda compiled: [compiled(halves)(torch.ones(size)) for size in (4, 6)])
    assert "n = x.shape[0] // 2\n" in run.summary and "reached from" not in run.summary + run.stories


def test_a_line_of_a_helper_is_reached_from_the_call_of_the_helper(run):
    run(lambda compiled: [compiled(calls_halves)(torch.ones(size)) for size in (4, 6)])
    failed = run.frames["0/1"].failed_guards[0]
    assert "halves" not in {call.function for call in failed.stack}, "it is where the line is"


class Deep(torch.nn.Module):
    depth = 2

    def forward(self, x):
        for _ in range(self.depth):
            x = x + 1
        return x


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_a_value_that_only_the_new_version_tests_is_the_value_now_and_no_other_cause(run):
    def main(compiled):
        call = compiled(Deep())
        call(torch.ones(2))
        Deep.depth = 3
        try:
            call(torch.ones(2))
        finally:
            Deep.depth = 2

    run(main)
    (failed,) = run.frames["0/1"].failed_guards
    assert str(failed).replace("type(self)", "self") == "0/0 needs self.depth == 2, now 3", "older torch: of the object"
    assert not failed.also


def emptied(x, seen):
    return x + len(seen)


def test_the_length_of_a_list_that_is_no_longer_empty_is_no_other_cause(run):
    def main(compiled):
        for seen in ([], [1]):
            compiled(emptied)(torch.ones(2), seen)

    run(main)
    (failed,) = run.frames["0/1"].failed_guards
    assert failed.condition in ("not seen", "len(seen) == 0") and not failed.also


def flagged(x, flag):
    return x * 2 if flag else x


def test_a_number_that_equals_the_one_before_has_its_class_beside_it(run):
    def main(compiled):
        for flag in (True, 1):
            compiled(flagged)(torch.ones(2), flag)

    run(main)
    assert "0/0 needs flag == True, now 1, an int" in run.summary


class Counting(torch.nn.Module):
    """Counts its calls, which compiles each of them; the size changes, too."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x, temperature):
        self.calls += 1
        return x.sin() / temperature


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_a_size_that_the_new_version_fits_in_general_is_a_cause_for_each_version_before(run):
    def main(compiled):
        model = Counting()
        for size in (4, 4, 6):
            compiled(model)(torch.ones(size), 1.0)

    run(main)
    assert "x.size() == (4,)" not in str(run.frames["0/2"].guards), "any size fits: nothing tells which one came"
    causes = {one.version: {one.condition, *[also.condition for also in one.also]} for one in _failed(run, "0/2")}
    assert {version: "x.size(0) == 4" in found for version, found in causes.items()} == {"0/0": True, "0/1": True}
    # Torch 2.6 lets the second version fit any number of calls: then the size is its only cause.
    assert ("is the nearest" in run.summary) == (causes["0/1"] == {"x.size(0) == 4"})


def divided(x, temperature):
    return x / temperature


def test_a_number_that_the_new_version_fits_in_general_is_a_cause_beside_the_size(run):
    def main(compiled):
        compiled(divided)(torch.ones(4), 1.0)
        compiled(divided)(torch.ones(6), 1.5)

    run(main)
    (failed,) = _failed(run, "0/1")
    told = {failed.condition: failed.now, **{one.condition: one.now for one in failed.also}}
    assert told == {"x.size(0) == 4": "6", "temperature == 1.0": "1.5"}


def summed(x, **kwargs):
    return x.sum() + kwargs["mask"].sum() * kwargs["scale"]


def test_a_size_inside_of_keyword_arguments_is_a_cause_beside_the_first(run):
    def main(compiled):
        for size, mask, scale in ((4, 5, 1.0), (6, 7, 1.5)):
            compiled(summed)(torch.ones(size), mask=torch.ones(mask), scale=scale, label="x" * 1000, seed=1 << 20000)

    run(main)
    (failed,) = _failed(run, "0/1")
    told = {failed.condition, *[one.condition for one in failed.also]}
    assert told == {"x.size(0) == 4", "kwargs['mask'].size(0) == 5", "kwargs['scale'] == 1.0"}


def _failed(run, compile_id):
    return run.frames[compile_id].failed_guards
