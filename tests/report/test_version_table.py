"""The table of versions: each row sets its version apart from every other, by what a person would act on."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from torch_probes import GUARDS_WEIGHTS, SIZES_HAVE_LINES, needs  # noqa: E402

import depyf  # noqa: E402
from depyf.record.guard_conditions import PythonTest, SameObject, TypeTest, ValueTest  # noqa: E402
from depyf.record.records import FrameRecord, GuardRecord  # noqa: E402
from depyf.report.version_table import version_table  # noqa: E402


def frame(number, *tests):
    guards = tuple(GuardRecord(test) for test in tests)
    return FrameRecord(f"0/{number}", "f_0", number, f"__transformed_code_{number}_for_f.py", "", "replaced", "PROVED",
                       guards=guards)  # fmt: skip


def rows(lines):
    """Return the text of each version."""
    return "\n".join(lines[1:]).replace("\n       ", "").split("\n")


class Block(torch.nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.a, self.b, self.c, self.d = (torch.nn.Linear(4, inside) for _ in range(4))
        self.out_projection = torch.nn.Linear(inside, outside)

    def forward(self, x):
        return self.out_projection(self.a(x) + self.b(x) + self.c(x) + self.d(x))


@needs(GUARDS_WEIGHTS, "guards on weights and attributes of modules")
def test_modules_that_differ_in_one_weight_alone_have_rows_of_their_own(tmp_path):
    def call(block, x):
        return block(x)

    torch._dynamo.reset()
    compiled = torch.compile(call, backend="eager", dynamic=False)
    with depyf.prepare_debug(tmp_path / "dump", include_earlier=False) as context:
        for inside, outside in ((4, 4), (4, 5), (6, 5), (6, 4)):
            compiled(Block(inside, outside), torch.ones(2, 4))
    found = rows(version_table(context.record.frames, "call"))
    assert len(found) == 4 and len({row.partition(": ")[2] for row in found}) == 4


def test_a_value_that_one_version_leaves_free_is_named_there():
    free = frame(1, TypeTest("number", "int"))
    lines = version_table([frame(0, ValueTest("number", "int", "number == 0")), free], "f")
    assert rows(lines) == ["  0/0: number == 0", "  0/1: number: any int"]
    lines = version_table([frame(0, PythonTest("'mask' in kwargs"), PythonTest("a == 1")),
                           frame(1, PythonTest("a == 1"))], "f")  # fmt: skip
    assert rows(lines) == ["  0/0: 'mask' in kwargs", "  0/1: 'mask' in kwargs not tested"]


def test_what_a_person_would_act_on_is_not_hidden_behind_a_number():
    noise = [PythonTest(f"'_hook_{number}' not in self.__dict__") for number in range(50)]
    sizes = [PythonTest("x.size() == (2, 3)"), PythonTest("x.size() == (2, 4)")]
    kinds = [ValueTest("self.kind", "str", f"self.kind == {kind!r}") for kind in ("sparse", "full")]
    lines = version_table([frame(0, sizes[0], kinds[0]), frame(1, *noise, sizes[1], kinds[1])], "f")
    assert rows(lines) == [
        "  0/0: self.kind == 'sparse' and x.size() == (2, 3)",
        "  0/1: self.kind == 'full' and x.size() == (2, 4) and 50 more",
    ]


def test_two_conditions_are_shown_and_not_counted():
    few = [PythonTest(f"x{number}.size() == (2, 3)") for number in range(2)]
    lines = version_table(
        [frame(0, ValueTest("a", "int", "a == 0")), frame(1, ValueTest("a", "int", "a == 1"), *few)], "f"
    )
    assert all(test.text in " ".join(lines) for test in few) and " more" not in "".join(lines)


def test_versions_whose_guards_read_the_same_point_to_the_reason():
    same = [SameObject("block"), PythonTest("a == 1")]
    lines = version_table([frame(0, *same), frame(1, *same), frame(2, SameObject("block"), PythonTest("a == 2"))], "f")
    assert rows(lines)[1] == "  0/1: a == 1 and (as 0/0: see why it was compiled)"


@pytest.mark.parametrize("seed", range(20))
def test_no_two_versions_have_the_same_row(seed):
    chance = random.Random(seed)
    names = ["x", "y.z", "self.k", "self.inner.k", "self._private", "len(d)", "self.a.b.c.d", "x.size()", "n"]
    frames = []
    for number, changed in enumerate(chance.sample(range(1, 2 ** len(names)), 9)):
        values = {name: changed >> place & 1 for place, name in enumerate(names)}
        left = [f"{name} == {value}" for name, value in values.items() if value or chance.random() < 0.9]
        frames.append(frame(number, PythonTest("always == 1"), *map(PythonTest, left)))
    frames += [frame(9 + place, PythonTest("always == 1"), *[PythonTest(f"{name} == {int(name == one)}")
               for name in names]) for place, one in enumerate(names)]  # fmt: skip
    distinct = {tuple(sorted(guard.condition for guard in one.guards)): one for one in frames}
    found = [row.partition(": ")[2] for row in rows(version_table(list(distinct.values()), "f"))]
    assert len(found) == len(distinct) == len(set(found))


def test_a_size_that_must_equal_that_of_another_argument_is_shown_so(tmp_path):
    def multiply(x, y, z):
        return x @ y, x + z

    torch._dynamo.reset()
    compiled = torch.compile(multiply, backend="eager")
    with depyf.prepare_debug(tmp_path / "dump", include_earlier=False) as context:
        for size in (2, 3):
            compiled(torch.ones(size, 4), torch.ones(4, 5), torch.ones(size, 4))
    last = rows(version_table(context.record.frames, "multiply"))[1]
    assert "x.size() == (2 or more, 4)" in last and "z.size() == (x.size(0), 4)" in last, last


@needs(SIZES_HAVE_LINES, "lines for guards on symbolic sizes")
def test_a_bound_that_nothing_in_the_program_asks_for_names_the_line_of_torch(tmp_path):
    class Up(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = torch.nn.Conv2d(4, 4, 3)

        def forward(self, x):
            return self.convolution(x + 1)

    torch._dynamo.reset()
    compiled = torch.compile(Up(), backend="eager")
    with depyf.prepare_debug(tmp_path / "dump", include_earlier=False) as context, torch.no_grad():
        for size in (2, 3):
            compiled(torch.ones(size, 4, 8, 8))
    if " to 15," not in "".join(version_table(context.record.frames, "forward")):
        pytest.skip("this torch takes one way for any batch")
    story = (tmp_path / "dump" / context.record.stories[0].full_code_file).read_text()
    compared = "compared the size when it traced torch/nn/modules/conv.py:"
    assert f"#   x.size(0) <= 15 is torch's: it {compared}" in story
    assert f"        # from torch itself, which {compared}" in story
