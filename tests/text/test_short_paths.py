"""Paths are short and always the same: as Python imports the file."""

from __future__ import annotations

import pytest

from depyf.text.short_paths import ShortPaths, is_recognised

FOLDERS = ("/home/me/project", "/home/me/project/vendored", "/venv/lib/python3.11/site-packages", "/")


@pytest.mark.parametrize(
    ("file", "short"),
    [
        ("/home/me/project/train.py", "train.py"),
        ("/home/me/project/models/net.py", "models/net.py"),
        ("/home/me/project/vendored/lib/a.py", "lib/a.py"),
        ("/venv/lib/python3.11/site-packages/torch/nn/linear.py", "torch/nn/linear.py"),
        ("/usr/lib/python3/dist-packages/yaml/nodes.py", "yaml/nodes.py"),
        ("/home/me/project_2/train.py", "/home/me/project_2/train.py"),
        ("<string>", "<string>"),
        ("toy.py", "toy.py"),
    ],
)
def test_a_path_is_relative_to_the_folder_that_python_imports_from(file, short):
    assert ShortPaths(FOLDERS).of(file) == short


@pytest.mark.parametrize(
    "file",
    ["/work/.venv/lib/python3.11/site-packages/torch/nn/linear.py", "/work/.venv/lib/python3.11/torch/nn/linear.py"],
)
def test_folders_of_installed_packages_are_recognised_inside_that_of_the_program(file):
    assert is_recognised(file.partition("/torch/")[0])
    assert ShortPaths(("/work",)).of(file) == "torch/nn/linear.py"


def test_a_folder_inside_an_installed_package_has_to_be_given():
    folder = "/venv/lib/python3.11/site-packages/package/vendored"
    assert not is_recognised(folder)
    assert ShortPaths(("/work", folder)).of(f"{folder}/net.py") == "net.py"


def test_files_of_the_program_are_distinguished_from_those_of_libraries():
    paths = ShortPaths(FOLDERS)
    assert paths.is_of_program("/home/me/project/models/net.py") and paths.is_of_program("toy.py")
    assert not paths.is_of_program("/venv/lib/python3.11/site-packages/torch/nn/linear.py")
    assert not paths.is_of_program("/home/me/project_2/train.py")
