"""Guards as a value and forms, in which `VALUE` stands for the value: `type(VALUE) is dict`."""

from __future__ import annotations

import re
from typing import Tuple

from depyf.record.guard_conditions import VALUE, GuardTest, PythonTest, TensorTest, TypeTest, ValueTest

Forms = Tuple[str, ...]

PATH = r"[A-Za-z_]\w*(?:\.\w+|\[(?:\d+|'[^'\\\n]*')\])*"
_MEMBER = re.compile(
    rf"(?P<before>'\w+' (?:not )?in |len\(|)(?P<value>{PATH})(?P<after>\.__dict__|\) .*| (?:is|==|!=) .*)$"
)


def value_and_forms(test: GuardTest) -> Tuple[str, Forms]:
    """Return the value that a test in Python is about, and its conditions with `VALUE` for it; else with no value."""
    if isinstance(test, TensorTest):
        return test.subject, test.expected.parts
    if isinstance(test, TypeTest):
        return test.subject, (test.form,)
    if isinstance(test, ValueTest):
        kind, comparison = test.forms
        return test.subject, (kind, comparison)
    if isinstance(test, PythonTest) and len(test.parts) == 1:
        found = _MEMBER.match(test.parts[0])
        if found is not None and found["value"] not in found["after"]:
            return found["value"], (f"{found['before']}{VALUE}{found['after']}",)
    return "", test.parts
