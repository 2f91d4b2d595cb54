"""Compile ids are read and compared in one place: a frame must be filed under the id that torch prints."""

from __future__ import annotations

import pytest

from depyf.record import compile_ids


@pytest.mark.parametrize(
    ("metadata", "printed"),
    [
        ({"frame_id": 0, "frame_compile_id": 1, "attempt": 2}, "0/1"),
        ({"compiled_autograd_id": 2, "frame_id": 0, "frame_compile_id": 1}, "!2/0/1"),
        ({"compiled_autograd_id": 2, "frame_id": None}, "!2"),
        ({"rank": 0}, ""),
    ],
)
def test_an_event_is_filed_under_the_id_that_torch_prints(metadata, printed):
    assert compile_ids.from_metadata(metadata) == printed


def test_versions_are_shown_in_the_order_in_which_they_were_compiled():
    ids = ["0/10", "0/9", "!1/0/10", "!1/0/9", compile_ids.unknown()]
    assert sorted(ids, key=compile_ids.sort_key) == ["?/?", "0/9", "0/10", "!1/0/9", "!1/0/10"]


def test_all_versions_of_a_function_share_what_stands_before_the_last_slash():
    assert compile_ids.frame_of("!1/0/10") == compile_ids.frame_of("!1/0/2") == "!1/0"


def test_an_id_that_depyf_made_up_is_not_taken_for_one_of_torch():
    assert compile_ids.is_unknown(compile_ids.unknown(3))
    assert not any(map(compile_ids.is_unknown, ("0/0", "!1/0/0", "")))
    assert compile_ids.is_of_autograd("!1/0/0") and not compile_ids.is_of_autograd("0/0")
