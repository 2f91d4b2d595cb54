"""Print what a handler of torch's structured trace receives, with and without depyf: forks one process for each.

    python trace_program.py FOLDER

Prints a JSON object: "<on or off> <early or late>" -> [[file, line, metadata, payload], ...].  The handler of "late" is
added inside the context, after a first compilation; TORCH_TRACE is on in "early" (FOLDER/<on or off>).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys

import torch
import torch._dynamo
from torch._logging import _internal


class Events(logging.Handler):
    def __init__(self):
        super().__init__()
        self.rows = []

    def emit(self, record):
        file = record.pathname.split("site-packages/")[-1]
        self.rows.append([file, record.lineno, record.metadata, record.payload])


def first(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


def second(x, n):
    y = x * n
    if y.sum() > 0:
        y = y + 1
    return y


def events(folder, on, late):
    """Compile two functions; return what a handler receives."""
    import depyf

    handler = Events()
    if late:
        for present in list(_internal.trace_log.handlers):
            _internal.trace_log.removeHandler(present)
    else:
        (log,) = [one for one in _internal.trace_log.handlers if isinstance(one, _internal.LazyTraceHandler)]
        log.root_dir = os.path.join(folder, "on" if on else "off")
        os.mkdir(log.root_dir)
        _internal.trace_log.addHandler(handler)
    context = depyf.prepare_debug(os.path.join(folder, "dump")) if on else contextlib.nullcontext()
    with contextlib.redirect_stderr(None), context:
        torch.compile(first, backend="aot_eager")(torch.ones(3))
        if late:
            _internal.trace_log.addHandler(handler)
        compiled = torch.compile(second, backend="aot_eager", dynamic=True)
        compiled(torch.ones(5), 2)
        compiled(torch.ones(7), 3)
    return handler.rows


def forked(*arguments):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writer, "w") as stream:
            json.dump(events(*arguments), stream, default=str)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text)


if __name__ == "__main__":
    variants = [(on, late) for on in (True, False) for late in (True, False)]
    names = [f"{'on' if on else 'off'} {'late' if late else 'early'}" for on, late in variants]
    print(json.dumps({name: forked(sys.argv[1], *variant) for name, variant in zip(names, variants)}))
