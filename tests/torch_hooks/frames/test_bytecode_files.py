"""The bytecode files of each frame can be loaded by other tools."""

from __future__ import annotations

import pickle
import subprocess
import sys
import types

import capture_tools as tools
import pytest
import torch
from capture_tools import dump, run_toy, same

from depyf.torch_hooks.frames.bytecode_files import dump_code


def test_bytecode_files_load_with_plain_pickle_and_with_dill(tmp_path):
    folder = tmp_path / "d"
    _, record, _ = dump(folder, tools.toy_example, run_toy, prepare={"log_bytecode": True})
    dill = pytest.importorskip("dill")
    for frame in record.frames:
        assert f"{frame.file}.original_bytecode" in frame.bytecode_files
        assert f"{frame.file}.transformed_bytecode" in frame.bytecode_files
        for name in frame.bytecode_files:
            for loader in (pickle, dill):
                with open(folder / name, "rb") as stream:
                    assert isinstance(loader.load(stream), types.CodeType)
    with open(folder / f"{record.frames[0].file}.original_bytecode", "rb") as stream:
        code = pickle.load(stream)
    assert code.co_code == tools.toy_example.__code__.co_code
    check = "import pickle, sys; c = pickle.load(open(sys.argv[1], 'rb')); assert 'depyf' not in sys.modules"
    for name in record.frames[0].bytecode_files:
        subprocess.run([sys.executable, "-I", "-c", check, str(folder / name)], check=True)
    revived = types.FunctionType(code, tools.toy_example.__globals__)
    assert same(run_toy(revived), run_toy(tools.toy_example))


def test_bytecode_with_unpicklable_constants_is_stored():
    import pickle

    code = tools.straight.__code__
    odd = code.replace(co_consts=code.co_consts + (sys, torch.device("cpu"), object(), lambda: 1, code, -0.0))
    loaded = pickle.loads(dump_code(odd, {"relu": "RELU"}))
    assert loaded.co_code == code.co_code and "RELU" in loaded.co_names
    assert loaded.co_consts[-2].co_code == code.co_code
    assert repr(loaded.co_consts[-1]) == "-0.0" and torch.device("cpu") in loaded.co_consts
    assert dump_code(odd, {}) == dump_code(odd, {})
    assert b"0x7" not in dump_code(odd, {})
