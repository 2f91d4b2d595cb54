"""Commands that read a folder read nothing else, and a folder that somebody made up gets one line."""

from __future__ import annotations

import builtins
import io
import json
import os
import random
import subprocess
import sys

import pytest
from page_runs import SAMPLE, hostile_record, sample_folder, write_run
from repository import ROOT

from depyf.__main__ import main

COMMANDS = (
    ["report", "FOLDER"],
    ["report", "--sarif", "FOLDER"],
    ["show", "FOLDER"],
    ["show", "--json", "FOLDER"],
    ["where", "PLACE", "FOLDER"],
    ["lines", "FOLDER"],
    ["diff", "FOLDER", "OTHER"],
)
PLACE = "net.py:9"


def arguments(command, folder) -> list[str]:
    names = {"FOLDER": str(folder), "OTHER": str(SAMPLE), "PLACE": PLACE}
    return [names.get(word, word) for word in command]


@pytest.fixture
def opened(monkeypatch):
    """Return the paths of files that are opened."""
    paths: list[str] = []
    real, low = io.open, os.open

    def watched(file, *args, **kwargs):
        paths.append(os.path.realpath(str(file)))
        return real(file, *args, **kwargs)

    def watched_low(file, *args, **kwargs):
        paths.append(os.path.realpath(str(file)))
        return low(file, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setattr(io, "open", watched)
    monkeypatch.setattr(os, "open", watched_low)
    return paths


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_file_that_a_record_names_is_read(tmp_path, monkeypatch, opened, capsys, command):
    secret = tmp_path / "net.py"
    secret.write_text("SECRET = 1\n" * 60)
    folder = sample_folder(tmp_path)
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    files = {one["file"] for one in json.loads(text)["functions"]}
    for file in files:
        text = text.replace(json.dumps(file), json.dumps(str(secret)))
    (folder / "manifest.json").write_text(text.replace('"timings.json"', '"../net.py"'), encoding="utf-8")
    monkeypatch.chdir(folder)
    del opened[:]
    main(arguments(command, folder))
    assert opened and str(secret) not in opened
    assert "SECRET" not in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_links_in_a_folder_lead_nowhere(tmp_path, opened, capsys, command):
    folder = sample_folder(tmp_path)
    record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    secret = tmp_path / "secret"
    secret.write_text("SECRET = 1\n")
    for name in record["files"]:
        if name != "manifest.json":
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(secret)
    del opened[:]
    main(arguments(command, folder))
    assert str(secret) not in opened


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_manifest_that_is_a_link_is_not_read(tmp_path, capsys, command):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.json").symlink_to(SAMPLE / "manifest.json")
    assert main(arguments(command, folder)) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_record_with_anything_in_it_gets_one_line_at_most(tmp_path, capsys, command):
    folder = sample_folder(tmp_path)
    whole = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    chance = random.Random(7)
    for _ in range(40):
        changed = json.loads(json.dumps(whole))
        for _ in range(chance.randint(1, 3)):
            _change(changed, chance)
        (folder / "manifest.json").write_text(json.dumps(changed), encoding="utf-8")
        assert main(arguments(command, folder)) in (0, 1, 2)
        assert capsys.readouterr().err.count("\n") <= 1


def _change(data: object, chance: random.Random) -> None:
    """Put something else in a random place."""
    value: object = data
    while True:
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))  # type: ignore[arg-type]
        if not items:
            return
        key, inner = chance.choice(items)
        if isinstance(inner, (dict, list)) and inner and chance.random() < 0.8:
            value = inner
            continue
        other = chance.choice([None, 3, -1, 10**30, 1.5, "x", "../../x", [], {}, [[1]], {"a": 1}, True])
        value[key] = other  # type: ignore[index]
        return


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_hostile_program_is_text_in_every_command(tmp_path, capsys, command):
    folder = write_run(tmp_path / "run", *hostile_record())
    main(arguments(command, folder))
    out = capsys.readouterr()
    assert "\x1b" not in out.out + out.err and "\x00" not in out.out + out.err
    assert out.err.count("\n") <= 1


@pytest.mark.parametrize("command", [["show"], ["show", "--json"], ["report", "--sarif"]], ids=" ".join)
def test_a_record_of_a_newer_depyf_is_an_error_and_not_a_run_that_compiled_nothing(tmp_path, capsys, command):
    folder = sample_folder(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps({**manifest, "schema": 99}), encoding="utf-8")
    assert main([*command, str(folder)]) == 2
    out = capsys.readouterr()
    assert out.out == "" and "schema 99" in out.err


MANIFESTS = {
    "nested": b"[" * 30_000_000,
    "lists": b'{"schema": 3, "versions": {"depyf": "1"}, "frames": [' + b"[],[]," * 25_000_000 + b"[]]}",
    "numbers": b'{"schema": ' + b"9" * 50_000_000 + b"}",
    "nulls": b"\0" * 400_000_000,
}


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is Linux's")
@pytest.mark.parametrize("kind", MANIFESTS)
@pytest.mark.parametrize("command", ["report", "show"])
def test_a_large_manifest_gets_one_line_within_a_gigabyte(tmp_path, kind, command):
    (tmp_path / "manifest.json").write_bytes(MANIFESTS[kind])
    code = (
        "import sys\nfrom depyf.__main__ import main\nstatus = main()\n"
        "peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM')]\n"
        "print(peak[0].split()[1])\nsys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command, str(tmp_path)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert int(done.stdout) < 1 << 20  # kilobytes
