"""The garbage collector rests while depyf works, and is as the program left it afterwards."""

import gc
import sys

import pytest
import torch
from capture_tools import run_toy, toy_example

import depyf
from depyf.torch_hooks.internals.collector_pause import with_collector_paused


@pytest.fixture(autouse=True)
def collector_as_before():
    was_on, thresholds = gc.isenabled(), gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    (gc.enable if was_on else gc.disable)()


@with_collector_paused
def is_on_inside():
    return gc.isenabled()


@with_collector_paused
def fails():
    raise KeyboardInterrupt


def test_the_collector_is_off_while_the_function_runs_and_on_after_it():
    gc.enable()
    assert not is_on_inside()
    assert gc.isenabled()


def test_the_collector_is_on_again_after_an_interrupt():
    gc.enable()
    with pytest.raises(KeyboardInterrupt):
        fails()
    assert gc.isenabled()


def test_a_program_that_has_the_collector_off_keeps_it_off():
    gc.disable()
    assert not is_on_inside()
    assert not gc.isenabled()


def _depyf_modules_below(frame):
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(("depyf.decompiler", "depyf.report", "depyf.page", "depyf.torch_hooks.guards")):
            yield name
        frame = frame.f_back


def test_no_collection_falls_into_the_decompiler_the_guards_or_the_reports(tmp_path):
    """A full one that would not have been due otherwise costs a program with torch 0.2 s."""
    inside, collections = set(), []

    def watch(phase, info):
        if phase == "start":
            inside.update(_depyf_modules_below(sys._getframe(1)))
            collections.append(info["generation"])

    torch._dynamo.reset()
    gc.enable()
    gc.set_threshold(50, 5, 5)
    gc.callbacks.append(watch)
    try:
        with depyf.prepare_debug(str(tmp_path)):
            run_toy(torch.compile(toy_example, backend="eager"))
    finally:
        gc.callbacks.remove(watch)
    assert not inside
    assert len(collections) > 10
