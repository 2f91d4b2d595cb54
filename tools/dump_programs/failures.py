"""A folder that vanishes, files that may not grow, exceptions of the user's inside compiled code."""

import os
import resource
import shutil
import signal
import traceback

import torch

import depyf


def straight(a, b):
    return (a * 2 + b).relu().sum(-1)


def breaking(x):
    x = x + 1
    print("at the break")
    return x * 2


def raising(x, table):
    y = x + 1
    torch._dynamo.graph_break()
    return y * table["missing"]


torch._logging.set_logs()
with depyf.prepare_debug("dump/vanishing"):
    torch.compile(straight, backend="eager")(torch.ones(2, 2), torch.ones(2, 2))
    shutil.rmtree("dump/vanishing")
    torch.compile(breaking, backend="eager")(torch.ones(2))
print(os.path.exists("dump/vanishing"))

torch._dynamo.reset()
try:
    with depyf.prepare_debug("dump/raising"):
        torch.compile(raising, backend="eager")(torch.ones(2), {})
except KeyError:
    for frame in traceback.format_exc().splitlines():
        if "site-packages" not in frame and "dumps.py" not in frame:
            print(frame)

os.makedirs("dump/theirs")
with open("dump/theirs/manifest.json", "w") as file:
    file.write('{"files": ["data.bin"]}')
with open("dump/a_file", "w") as file:
    file.write("not a folder")
for folder in ("dump/theirs", "dump/a_file"):
    try:
        with depyf.prepare_debug(folder):
            pass
    except Exception as error:
        print(type(error).__name__, error)

torch._dynamo.reset()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
before = resource.getrlimit(resource.RLIMIT_FSIZE)
with depyf.prepare_debug("dump/limited"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    result = torch.compile(breaking, backend="eager")(torch.ones(2)).tolist()
resource.setrlimit(resource.RLIMIT_FSIZE, before)
print(result)
