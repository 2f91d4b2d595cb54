"""The gallery compiles models, shows them and fails where depyf does, or the largest regression test would be blind."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from repository import ROOT

pytest.importorskip("torch")
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch_probes import calls_sequences_by_keyword  # noqa: E402

from bench.gallery import __main__ as command_line  # noqa: E402
from bench.gallery import catalogue, children, measures, trial  # noqa: E402
from bench.gallery.cases import Case  # noqa: E402
from bench.gallery.index_page import page  # noqa: E402

MODELS = "torch/mlp,torch/lstm,torch/attention,loops/classifier_sgd"
VARIANTS = "forward,training-breaks"


def make(folder, *options):
    command = [sys.executable, "-m", "bench.gallery", "-o", str(folder), "--only", MODELS, "--variants", VARIANTS]
    return subprocess.run(
        [*command, *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=600,
    )


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    if not calls_sequences_by_keyword():
        pytest.skip("this torch has no keyword arguments of nn.Sequential, which torch/mlp is")
    folder = tmp_path_factory.mktemp("gallery")
    done = make(folder, "--jobs", "2")
    assert done.returncode == 0, done.stdout
    assert "7 trials of 4 models: 7 good, 0 failures of depyf" in done.stdout
    return folder


def test_the_index_leads_to_a_page_for_each_trial(gallery):
    index = (gallery / "index.html").read_text()
    links = re.findall(r'href="([^"]+)"', index)
    assert len(links) == 7
    assert [link for link in links if not (gallery / link).exists()] == []


def test_a_run_that_was_stopped_continues_where_it_stopped(gallery, tmp_path):
    shutil.copytree(gallery, tmp_path / "g")
    (tmp_path / "g" / "torch" / "mlp" / "forward.json").unlink()
    done = make(tmp_path / "g", "--jobs", "1")
    assert [line for line in done.stdout.splitlines() if line.startswith("[")] == [
        line for line in done.stdout.splitlines() if line.startswith("[1/1, ")
    ]
    assert "7 trials of 4 models" in done.stdout


def test_the_index_keeps_what_earlier_runs_made(gallery, tmp_path):
    shutil.copytree(gallery, tmp_path / "g")
    done = make(tmp_path / "g", "--index", "--only", "torch/mlp")
    assert "2 trials of 1 models" in done.stdout
    assert (tmp_path / "g" / "index.html").read_text() == (gallery / "index.html").read_text()


def test_a_failure_of_depyf_fails_the_command(gallery, tmp_path):
    shutil.copytree(gallery, tmp_path / "g")
    path = tmp_path / "g" / "torch" / "mlp" / "forward.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "status": trial.DEPYF, "why": "outputs differ"}))
    done = make(tmp_path / "g", "--index")
    assert done.returncode == 1
    assert "1 failures of depyf" in done.stdout


@pytest.mark.parametrize(
    "damage, expected",
    [
        (("replaced", "untouched"), "is untouched"),
        (("PROVED_UNDER", "UNPROVED"), "is UNPROVED"),
    ],
)
def test_a_frame_that_is_not_replaced_or_not_proved_is_a_failure(gallery, tmp_path, damage, expected):
    shutil.copytree(gallery / "torch" / "mlp" / "training-breaks", tmp_path / "dump")
    frames = json.loads((gallery / "torch" / "mlp" / "training-breaks.json").read_text())["frames"]
    assert list(measures.complaints(str(tmp_path / "dump"), frames)) == []
    manifest = tmp_path / "dump" / "manifest.json"
    text = manifest.read_text()
    assert f'"{damage[0]}"' in text
    manifest.write_text(text.replace(*[f'"{word}"' for word in damage]))
    assert any(expected in line for line in measures.complaints(str(tmp_path / "dump"), frames))


def test_a_frame_that_the_record_lacks_is_a_failure(gallery):
    folder = gallery / "torch" / "mlp" / "forward"
    assert list(measures.complaints(str(folder), 9)) == ["Dynamo compiled 9 frames, the manifest has 2"]


def test_a_page_that_lacks_a_graph_is_a_failure(gallery, tmp_path):
    shutil.copytree(gallery / "torch" / "mlp" / "forward", tmp_path / "dump")
    (tmp_path / "dump" / "page" / "graph_1.js").unlink()
    assert list(measures.complaints(str(tmp_path / "dump"), 2)) == ["the page shows 1 of 2 graphs"]


def test_outputs_are_compared_by_name_value_and_type():
    forward = catalogue.VARIANTS["forward"]
    wanted = {"x": torch.ones(2), "y": torch.tensor(float("nan"))}
    assert trial.differing(wanted, {name: tensor.clone() for name, tensor in wanted.items()}, forward) == ""
    assert trial.differing(wanted, {**wanted, "x": torch.ones(2) + 1e-3}, forward).startswith("x: Tensor-likes")
    assert "dtype" in trial.differing(wanted, {**wanted, "x": torch.ones(2, dtype=torch.float64)}, forward)
    assert trial.differing(wanted, {"x": torch.ones(2)}, forward) == "other outputs: ['y']"


def test_a_failure_is_torchs_only_if_it_is_the_same_without_depyf():
    right, wrong, other = (trial.Run({"x": torch.full((2,), value)}) for value in (1.0, 2.0, 3.0))
    failed, otherwise = (trial.Run({}, error=text) for text in ("ValueError: a", "ValueError: b"))
    forward = catalogue.VARIANTS["forward"]

    def blamed(found, plain, again=right):
        return trial.blamed(right, found, plain, again, forward).status

    assert blamed(wrong, wrong) == blamed(failed, failed) == trial.TORCH
    assert blamed(wrong, right) == blamed(wrong, other) == blamed(wrong, failed) == trial.DEPYF
    assert blamed(failed, right) == blamed(failed, otherwise) == blamed(failed, wrong) == trial.DEPYF
    assert blamed(wrong, other, again=other) == trial.MODEL


def test_the_limit_is_one_of_processor_time():
    before = sum(os.times()[:4])  # of this process and of its children that have ended
    taken = children.cpu_seconds(os.getpid())
    assert before - 1 <= taken <= sum(os.times()[:4]) + 1
    assert children.cpu_seconds(2**22 + 1) == 0


def test_reasons_are_shown_as_text():
    result = {"model": "torch/a", "variant": "forward", "seconds": 1.0, "status": trial.TORCH, "why": "<b> & co"}
    assert "&lt;b&gt; &amp; co" in page([result])


def test_there_are_more_than_150_architectures(monkeypatch):
    monkeypatch.setattr(catalogue, "missing_libraries", lambda: [])
    models = {exhibit.model for exhibit in catalogue.exhibits([], ["training"])}
    assert len(models) > 400


def test_models_of_a_library_that_is_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(catalogue, "missing_libraries", lambda: ["timm", "transformers", "diffusers"])
    assert {exhibit.family for exhibit in catalogue.exhibits([], ["training"])} == {"torch", "loops"}


class Drawing(torch.nn.Module):
    """A model that draws random numbers by numpy, as speech models do for their masks."""

    def forward(self, x):
        import numpy

        return x + torch.from_numpy(numpy.random.rand(4))


def test_numbers_that_a_model_draws_by_numpy_are_those_of_the_uncompiled_run(monkeypatch):
    pytest.importorskip("numpy")
    case = Case(Drawing(), lambda batch: {"x": torch.zeros(batch, 4)})
    monkeypatch.setattr(trial, "build", lambda family, name: case)
    variant = catalogue.VARIANTS["forward"]
    exhibit = catalogue.Exhibit("torch", "drawing", "forward")
    eager = trial.run(exhibit, variant, lambda model: model)
    compiled = trial.run(exhibit, variant, trial.compiler(variant))
    assert not compiled.error and compiled.frames
    assert trial.differing(eager.tensors, compiled.tensors, variant) == ""


def test_a_run_that_is_stopped_has_tried_models_of_every_family():
    models = {"torch": "mlp", "timm": "vit", "diffusers": "unet", "transformers": "bert"}
    exhibits = [
        catalogue.Exhibit(family, f"{name}_{number}", variant)
        for variant in ("inductor", "forward")
        for family, name in models.items()
        for number in range(20)
    ]
    order = command_line.mixed(exhibits)
    assert sorted(order, key=exhibits.index) == exhibits
    assert [one.variant for one in order] == ["forward"] * 80 + ["inductor"] * 80
    assert all({one.family for one in part} == set(models) for part in (order[:40], order[40:80]))


def test_the_run_without_depyf_does_not_read_what_inductor_cached_under_it():
    import torch._inductor.config as config

    reads_cache = (
        (lambda: not config.force_disable_caches)
        if hasattr(config, "force_disable_caches")
        else lambda: config.fx_graph_cache
    )
    with config.patch(fx_graph_cache=True):
        assert reads_cache()
        with trial.compiled_afresh(catalogue.VARIANTS["inductor"]):
            assert not reads_cache()
        with trial.compiled_afresh(catalogue.VARIANTS["forward"]):
            assert reads_cache()
