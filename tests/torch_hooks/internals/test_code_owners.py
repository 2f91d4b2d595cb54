"""Whose code a file holds: packages of the system are no code of the program."""

import site
import sys

import depyf
from depyf.torch_hooks.internals.code_owners import is_outside_program


def test_a_package_that_the_system_installed_is_outside_the_program(monkeypatch):
    file = "/system/python3/dist-packages/sympy/core/cache.py"
    assert not is_outside_program(file)
    monkeypatch.setattr(site, "getsitepackages", lambda: ["/system/python3/dist-packages"])
    assert is_outside_program(file)


def test_a_package_of_another_environment_is_outside_the_program(monkeypatch):
    file = "/opt/shared/lib/site-packages/models/layers.py"
    assert not is_outside_program(file)
    monkeypatch.setattr("sys.path", [*sys.path, "/opt/shared/lib/site-packages"])
    assert is_outside_program(file) and not is_outside_program("/opt/shared/lib/site-packages-of-mine/layers.py")


def test_depyf_in_a_checkout_is_outside_the_program():
    assert is_outside_program(depyf.__file__)
    assert not is_outside_program(__file__)
