"""What readers of the folders of real models could not find, or found twice, each in a small program."""

from __future__ import annotations

import functools
import importlib
import re
import sys

import pytest

torch = pytest.importorskip("torch")

from torch._dynamo import convert_frame  # noqa: E402
from torch_probes import (  # noqa: E402
    GUARDS_WEIGHTS,
    NAMES_FIRST_BREAK,
    NOTES_SIZE_READS,
    keeps_what_is_there,
    needs,
    resume_name,
)

import depyf  # noqa: E402
from depyf.report.generated_names import terms_used  # noqa: E402
from depyf.text.stable_repr import describe  # noqa: E402


class Run:
    """A program under depyf: its summary and its stories, the lines of comments joined."""

    def __init__(self, folder, capsys):
        self.folder = folder
        self._capsys = capsys
        self.summary = ""

    def __call__(self, main, **options):
        torch._dynamo.reset()
        self._capsys.readouterr()
        with depyf.prepare_debug(self.folder, include_earlier=False) as context:
            main(lambda function: torch.compile(function, backend="eager", **options))
        assert not context.record.problems
        self.summary = self._capsys.readouterr().err
        return self

    def story(self, name):
        return re.sub(r"\n#     +", " ", (self.folder / f"full_code_for_{name}.py").read_text())


@pytest.fixture
def run(tmp_path, capsys):
    return Run(tmp_path / "dump", capsys)


LARGEST = []


def clipped(x):
    return x / LARGEST[0] if LARGEST else x * 2


def test_a_value_that_only_one_version_needs_is_in_the_table_of_versions(run):
    def main(compiled):
        LARGEST.clear()
        call = compiled(clipped)
        call(torch.ones(3))
        LARGEST.append(3.75)
        call(torch.ones(3))

    run(main)
    (row,) = re.findall(r"^#   0/1: (.*)$", run.story("clipped_0"), re.MULTILINE)
    assert "len(LARGEST) == 1" in row and "LARGEST[0] == 3.75" in row and not re.search(r"\b1 more", row)


LIBRARY = """\
import torch


def counted(x):
    number = x.sum().item()
    for _ in range(2):
        x = x + number
        torch._dynamo.graph_break()
    return x
"""


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_the_rest_of_a_library_s_function_that_a_loop_leaves_to_python_is_in_the_summary(run, tmp_path, monkeypatch):
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "loops_after_breaks.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(packages))
    library = importlib.import_module("loops_after_breaks")
    try:
        run(lambda compiled: compiled(lambda x: library.counted(x + 1) * 2)(torch.ones(3)))
    finally:
        del sys.modules["loops_after_breaks"]
    block = run.summary.partition("not compiled: the rest of counted after line 5 (")[2]
    assert "a graph break inside a loop: " in block.partition("\n")[0]
    assert "loops_after_breaks.py:8: torch._dynamo.graph_break()" in block
    assert "story: full_code_for_counted_0.py\n" in block


class Part(torch.nn.Module):
    def forward(self, x):
        x = x * 3
        torch._dynamo.graph_break()
        return x + 1


class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        return self.part(x * 2)


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_a_size_that_reaches_many_functions_is_one_cause(run):
    def main(compiled):
        model = compiled(Whole())
        for length in (6, 10):
            model(torch.ones(2, length))

    run(main)
    assert run.summary.count("because 0/0 needs x.size(1) == 6, now 10") == 1
    assert "compiled 2 times: Whole.forward (" in run.summary and "compiled 2 times: Part" not in run.summary
    likewise = re.findall(r"^ +likewise (\d+/1), (.+): (.+) == 6, now 10", run.summary, re.MULTILINE)
    named = {title: about for _, title, about in likewise}
    assert named["Part.forward"] == "x.size(1)" and len(named) >= 2
    assert " (full_code_for_Part.forward_0.py)\n" in run.summary


def test_the_rest_of_a_function_stands_below_the_call_that_led_to_it(run):
    def add(x):
        return x + 1

    def outer(x):
        y = x.cos()
        torch._dynamo.graph_break()
        return y + 1

    def main(compiled):
        first, second = compiled(add), compiled(outer)
        for length in (3, 4):
            first(torch.ones(length))
            second(torch.ones(length))

    run(main)
    of_add, of_outer = (run.summary.partition(f"compiled 2 times: {name} (")[2] for name in ("add", "outer"))
    assert "the rest of outer" not in of_add.partition("story: ")[0]
    assert "the rest of outer" in of_outer.partition("story: ")[0]


def test_functions_that_the_program_calls_itself_each_have_a_block(run):
    def double(x):
        return x * 2

    def halve(x):
        return x / 2

    def main(compiled):
        for function in (compiled(double), compiled(halve)):
            function(torch.ones(2))
            function(torch.ones(3))

    run(main)
    assert run.summary.count("compiled 2 times: ") == 2 and run.summary.count("in the call at ") == 2


def traced(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    return wrapper


class Decorated(torch.nn.Module):
    @traced
    def forward(self, x, **kwargs):
        x = x * 2
        torch._dynamo.graph_break()
        return x + sum(kwargs.values())


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_a_break_and_open_first_name_one_story_and_its_decorator_has_another_name(run):
    run(lambda compiled: compiled(Decorated())(torch.ones(3)))
    assert "story: full_code_for_Decorated.forward_0.py\n" in run.summary
    assert run.summary.partition("open first: ")[2].partition("\n")[0].endswith("/full_code_for_Decorated.forward_0.py")
    stories = sorted(path.name for path in run.folder.glob("full_code_for_*Decorated*"))
    assert stories == ["full_code_for_Decorated.forward_0.py", "full_code_for_traced_of_Decorated.forward_0.py"]


def test_the_key_that_went_is_named_beside_another_cause(run):
    def add(x, **kwargs):
        return x + sum(kwargs.values())

    def main(compiled):
        call = compiled(add)
        call(torch.ones(2), alpha=torch.ones(1), beta=torch.ones(1))
        call(torch.ones(3), alpha=torch.ones(1))

    run(main)
    gone = ["'beta' in kwargs, now it is not", "len(kwargs) == 2, now 1, without 'beta'"]  # by torch's guard
    assert sum(words in run.summary for words in gone) == 1
    compares_keys = "needs set(kwargs.keys()) == {'alpha', 'beta'}, now {'alpha'};" in run.summary  # torch 2.2
    assert ("also: x.size(0) == 2, now 3" if compares_keys else "needs x.size(0) == 2, now 3") in run.summary


def added(x, alpha=None, beta=None, gamma=None):
    return x + sum([one for one in (alpha, beta, gamma) if one is not None])


def handed_on(x, **kwargs):
    return added(x, **kwargs)


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_the_table_of_versions_names_the_keys_of_a_dictionary(run):
    def main(compiled):
        call = compiled(handed_on)
        call(torch.ones(2), alpha=torch.ones(1), beta=torch.ones(1))
        call(torch.ones(2), alpha=torch.ones(1))
        call(torch.ones(2), alpha=torch.ones(1), gamma=torch.ones(1))

    run(main)
    table = run.story("handed_on_0").partition("What sets the 3 versions")[2].partition("# ----")[0]
    assert "len(kwargs) == 2 (with 'beta')" in table and "len(kwargs) == 2 (with 'gamma')" in table
    assert "needs 'beta' in kwargs, now it is not" in run.summary and "in torch's words" not in run.summary


def test_a_loop_after_a_block_that_broke_is_shown_as_a_loop(run):
    def scaled(x):
        with torch.no_grad():
            torch._dynamo.graph_break()
            y = x + 1
        for number in range(3):
            y = y + number
        return y

    codes = {}
    hook = convert_frame.register_bytecode_hook(lambda code, _: codes.__setitem__(code.co_name, code))
    try:
        run(lambda compiled: compiled(scaled)(torch.ones(3)))
    finally:
        hook.remove()
    story = run.story("scaled_0")
    if not all(keeps_what_is_there(code) for name, code in codes.items() if "resume_in" in name):
        pytest.skip("the handlers that this torch makes keep one value more than there is: no source of it is proved")
    first = scaled.__code__.co_firstlineno + 2
    assert "\n    for number in range(3):\n        y = y + number\n    return y\n" in story.partition(f"def {resume_name('scaled', first)}(")[2]
    assert "state = " not in story


class Loud(torch.nn.Module):
    def forward(self, x):
        return x * x.sum().item()


class Louder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Loud(), Loud()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_a_line_that_breaks_is_one_break_where_a_loop_around_it_gives_up_as_well(run):
    run(lambda compiled: compiled(Louder())(torch.ones(3)))
    assert " 1 graph break in " in run.summary and run.summary.count("graph break at ") == 1
    assert "not compiled: Louder.forward (" in run.summary


KEPT = []


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_an_object_that_lives_for_one_call_is_named_where_torch_drops_a_version_with_it(run):
    def keep(x):
        KEPT.append(x.sum().item())
        return x + 1

    def main(compiled):
        KEPT.clear()
        call = compiled(keep)
        call(torch.ones(2))
        call(torch.ones(2))

    run(main)
    assert "in torch's words" not in run.summary


def expanded(x, scale):
    for size in x.shape[-1:]:
        if size % 2:
            return x
    wide = scale.expand(x.shape[0])
    return x.sum(1) * wide


def measured(x):
    rows, columns = x.size()
    return torch.zeros(columns, rows).t() + x


def counted_rows(x):
    y = x.cos()
    return y + len(x)


def rows_of(x):
    return torch.arange(len(x))


def handed_to_a_helper(x):
    rows = rows_of(x)
    return x.sum(1) + rows


@needs(NOTES_SIZE_READS, "methods of Dynamo's that read sizes")
@pytest.mark.parametrize(
    ("function", "inputs", "line"),
    [
        (expanded, [torch.ones(1)], "wide = scale.expand(x.shape[0])"),
        (measured, [], "rows, columns = x.size()"),
        (counted_rows, [], "y = x.cos()"),
        (handed_to_a_helper, [], "return torch.arange(len(x))"),
    ],
)
def test_a_size_that_is_read_as_a_number_is_first_used_there(run, function, inputs, line):
    run(lambda compiled: [compiled(function)(torch.ones(rows, 4), *inputs) for rows in (2, 3)])
    (cause,) = [one for one in run.summary.splitlines() if "needs x.size(0) == 2, now 3" in one]
    assert cause.partition("; first used at ")[2].partition(", reached from ")[0].endswith(f": {line}")


def handed_on_first(x, y):
    pair = (x, y)
    wide = torch.ones(1).expand(pair[0].shape[0])
    return pair[0] + wide, pair[1].sum()


def of_guards(story, size):
    """Return the headings of the groups of guards that have this condition."""
    _, _, guards = story.partition("# The guards of ")
    return [group.partition("\n")[0] for group in re.split(r"\n +# ", guards) if size in group]


@needs(NOTES_SIZE_READS, "methods of Dynamo's that read sizes")
def test_guards_on_a_size_stand_below_the_line_that_the_reason_of_the_recompile_names(run):
    run(lambda compiled: [compiled(handed_on_first)(torch.ones(size), torch.ones(4)) for size in (2, 3)])
    assert "first used at" in run.summary and "wide = torch.ones(1).expand(pair[0].shape[0])\n" in run.summary
    (heading,) = of_guards(run.story("handed_on_first_0"), "x.size() == (2,)")
    assert heading.endswith(": wide = torch.ones(1).expand(pair[0].shape[0])")


class Activated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = torch.nn.SiLU()

    def forward(self, x):
        return self.activation(x) * 2


@needs(NOTES_SIZE_READS, "methods of Dynamo's that read sizes")
def test_guards_on_a_size_stand_below_the_line_of_the_reason_where_a_module_of_torch_s_uses_it_first(run):
    def main(compiled):
        call = compiled(Activated())
        for size in (2, 3):
            call(torch.ones(size))

    run(main)
    assert "first used at" in run.summary and ": return self.activation(x) * 2\n" in run.summary
    (heading,) = of_guards(run.story("Activated.forward_0"), "x.size() == (2,)")
    assert heading.endswith(": return self.activation(x) * 2")


def touched_first(x):
    kind = x.dtype
    return x.sin().to(kind)


@needs(NOTES_SIZE_READS, "methods of Dynamo's that read sizes")
def test_a_size_of_one_is_first_used_where_another_size_is(run):
    run(lambda compiled: [compiled(touched_first)(torch.ones(size)) for size in (2, 3, 1)])
    causes = [one for one in run.summary.splitlines() if "first used at" in one]
    assert "2 <= x.size(0), now 1" in causes[1]
    assert all(one.endswith(": return x.sin().to(kind)") for one in causes)


class Called:
    def __call__(self, module, args, output):
        torch._dynamo.graph_break()
        return output * 2


def test_an_object_and_a_partial_that_are_hooks_are_named_as_such(run):
    def main(compiled):
        for hook in (Called(), functools.partial(Called())):
            model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
            model[1].register_forward_hook(hook)
            compiled(model)(torch.ones(2))
            torch._dynamo.reset()

    run(main)
    assert "in Called.__call__, a hook of Sequential[1]" in run.summary


LIBRARY_OF_LAYERS = """\
import functools
import torch


def counted(function):
    @functools.wraps(function)
    def forward(self, *args):
        return function(self, *args)
    return forward


class Layer(torch.nn.Module):
    @counted
    def forward(self, hidden):
        return hidden.sin() * 2


class Block(torch.nn.Module):
    def forward(self, hidden):
        states = hidden
        return states.cos() + 1
"""


@needs(NOTES_SIZE_READS, "methods of Dynamo's that read sizes")
@pytest.mark.parametrize(
    ("name", "place"), [("Layer", "15: return hidden.sin() * 2"), ("Block", "21: return states.cos() + 1")]
)
def test_an_argument_of_a_library_s_function_has_the_line_that_uses_it(run, tmp_path, monkeypatch, name, place):
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "layers_with_decorators.py").write_text(LIBRARY_OF_LAYERS)
    monkeypatch.syspath_prepend(str(packages))
    library = importlib.import_module("layers_with_decorators")

    def main(compiled):
        call = compiled(getattr(library, name)())
        for size in (2, 3):
            call(torch.ones(size))

    try:
        run(main)
    finally:
        del sys.modules["layers_with_decorators"]
    assert f"first used at layers_with_decorators.py:{place}" in run.summary


def joined(x, y):
    return x + y


def test_equal_sizes_have_a_heading_of_their_own(run):
    def main(compiled):
        call = compiled(joined)
        for size in (2, 3):
            call(torch.ones(size), torch.ones(size))

    run(main)
    story = run.story("joined_0")
    relation = re.search(r"\n +# (.*)\n +and (\w)\.size\(\)\[0\] == (\w)\.size\(\)\[0\]\n", story)
    if relation is None:
        pytest.skip("this torch asks for it in another way")
    assert "Dynamo itself" not in relation[1] and relation[2] != relation[3]


def test_no_file_runs_in_one_place_of_the_story_and_not_in_another(run):
    run(lambda compiled: compiled(joined)(torch.ones(2), torch.ones(2)))
    story = run.story("joined_0")
    assert "does not run" not in story and "runs:   the code below" not in story
    assert "#   runs:   that file, in place of Dynamo's bytecode; the code below is a copy of it\n" in story


def test_what_broke_has_its_place_in_the_story_before_the_rest(run):
    def broken(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    run(lambda compiled: compiled(broken)(torch.ones(2)))
    assert "what broke there runs as it is, in Python, before what is left" in run.story("broken_0")


def doubled(x):
    y = x * 2
    torch._dynamo.graph_break()
    return y, y + 1


def uses_pair(x):
    y, z = doubled(x + 1)
    return y + z


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_a_value_without_a_name_at_a_break_is_explained_where_the_summary_names_it(run):
    run(lambda compiled: [compiled(uses_pair)(torch.ones(size)) for size in (2, 3)])
    if "___stack0" not in run.summary:
        pytest.skip("this torch names the value")
    explained = "___stack<i>: a value that had no name at the graph break, such as what the call there returned\n"
    assert explained in run.summary


def test_a_device_in_the_code_is_described_as_the_program_spells_it():
    assert describe(torch.device("cpu")) == "torch.device(type='cpu')"


def test_words_of_dynamo_are_explained_however_a_call_is_broken_into_lines():
    call = "    return __resume_at_6_3(  # after model.py:9\n        [],\n        [],\n        x,\n    )\n"
    names = "    y = ___module_collections_0.f(utils.call_stride(x, 0), utils.dict_getitem(d, 1))\n"
    words = "\n".join(terms_used(call + names))
    for word in ("[], [] handed to it", "___module_<name>_<n>: ", "call_stride(x, i): ", "dict_getitem(d, k): "):
        assert word in words
