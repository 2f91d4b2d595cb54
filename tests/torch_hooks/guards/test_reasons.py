"""Why Dynamo broke a graph or gave a frame up, in its own words without what surrounds them."""

from __future__ import annotations


def test_what_a_backend_raised_is_told_and_not_only_that_it_raised():
    from depyf.torch_hooks.frames.graph_breaks import failure_reason, reason_in

    assert reason_in("backend='mine' raised:\nValueError: no such shape") == (
        "backend='mine' raised: ValueError: no such shape"
    )
    twice = "One thing\n  Explanation: It is `x`.\n  Hint: none\n\nAnother thing\n  Explanation: so\n"
    assert reason_in(twice) == "One thing: It is `x`, and then Another thing"
    assert failure_reason("plain") == "plain" and reason_in("") == ""
