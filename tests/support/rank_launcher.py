"""Start the ranks of a program as torchrun does, for a torch whose torchrun cannot: `rank_launcher.py N PROGRAM ...`.

Debian builds torch without libuv, which torchrun's store asks for in any case. The ranks find each other by a port.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time


def main() -> int:
    count, command = int(sys.argv[1]), [sys.executable, "-u", *sys.argv[2:]]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    shared["TORCHELASTIC_RUN_ID"] = os.getpid()  # the same for all ranks of a run
    ranks = []
    for rank in range(count):
        own = {**shared, "RANK": rank, "LOCAL_RANK": rank, "USE_LIBUV": 0}
        environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
        ranks.append(subprocess.Popen(command, env=environment, start_new_session=True))
    while True:
        ended = [rank.poll() for rank in ranks]
        if any(ended) or None not in ended:
            break
        time.sleep(0.05)
    for rank in ranks:
        rank.terminate()
    return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
