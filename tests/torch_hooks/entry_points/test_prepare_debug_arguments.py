"""Calls of `prepare_debug` as programs have them in print, and what a wrong one gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from depyf.errors import UserError
from depyf.torch_hooks.entry_points.prepare_debug_arguments import Arguments, read_arguments


def function() -> None: ...


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        (("./dump",), {}, Arguments("./dump", True, False)),
        ((Path("dump"), False, True), {}, Arguments("dump", False, True)),
        ((), {"dump_src_dir": "dump", "log_bytecode": 1}, Arguments("dump", True, True)),
        ((function, "dump"), {}, Arguments("dump", True, False)),
        (("dump",), {"func": function}, Arguments("dump", True, False)),
    ],
)
def test_every_form_of_the_call_that_is_in_print_is_accepted(args, kwargs, expected):
    assert read_arguments(*args, **kwargs) == expected


@pytest.mark.parametrize(
    ("args", "kwargs", "what"),
    [
        ((), {}, "prepare_debug() missing 1 required positional argument: 'dump_src_dir'"),
        ((3,), {}, "expected str, bytes or os.PathLike object, not int"),
        (("dump",), {"log_bytecode": "yes"}, "log_bytecode must be True or False, not 'yes'"),
        (("",), {}, "'' cannot be the name of a folder"),
        (("dump",), {"folder": 1}, "prepare_debug() got an unexpected keyword argument 'folder'"),
    ],
)
def test_a_wrong_call_is_answered_with_the_right_form(args, kwargs, what):
    with pytest.raises(TypeError) as caught:
        read_arguments(*args, **kwargs)
    assert isinstance(caught.value, UserError)
    form = "expected prepare_debug(dump_src_dir, clean_wild_fx_code=True, log_bytecode=False, include_earlier=True, debug=False, page=True, timeline=False)"
    assert str(caught.value) == f"{what}; {form}"
