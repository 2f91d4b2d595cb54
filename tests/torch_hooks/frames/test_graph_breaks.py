"""Reasons of graph breaks and skipped frames, extracted from Dynamo's messages."""

from __future__ import annotations


def test_the_exception_of_a_backend_is_part_of_the_reason():
    from depyf.torch_hooks.frames.graph_breaks import failure_reason, reason_in

    assert reason_in("backend='mine' raised:\nValueError: no such shape") == (
        "backend='mine' raised: ValueError: no such shape"
    )
    twice = "One thing\n  Explanation: It is `x`.\n  Hint: none\n\nAnother thing\n  Explanation: so\n"
    assert reason_in(twice) == "One thing: It is `x`, and then Another thing"
    assert failure_reason("plain") == "plain" and reason_in("") == ""
