"""Run one test module of CPython's own, and write the result of each test to a file. `cpython_tests.py` starts this.

test_recorder.py FILE MODULE
"""

from __future__ import annotations

import sys
import unittest


class Recorder(unittest.TestResult):
    """Record how each test ended: a line for each, with its name."""

    def __init__(self, file) -> None:
        super().__init__()
        self.file = file

    def record(self, test, outcome: str) -> None:
        """Write one line at once: a test may end the process."""
        self.file.write(f"{test.id()}\t{outcome}\n")
        self.file.flush()

    def addSuccess(self, test):
        self.record(test, "ok")

    def addError(self, test, err):
        self.record(test, f"error {err[0].__name__}")

    def addFailure(self, test, err):
        self.record(test, "failure")

    def addSkip(self, test, reason):
        self.record(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.record(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        self.record(test, "unexpected success")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.record(subtest, f"failed subtest {err[0].__name__}")


def main(place: str, module: str) -> None:
    from test import support

    support.use_resources = ()  # nothing that needs the network, a display or much time
    with open(place, "w", encoding="utf-8", errors="backslashreplace") as file:
        suite = unittest.defaultTestLoader.loadTestsFromName(module)
        suite.run(Recorder(file))
        file.write("the end\t\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
