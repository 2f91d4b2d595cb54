"""Choose the folder of a process: no two processes ever write in one.

    a lone process                       the folder given
    rank r of a distributed job          rank_<r> below it, unless the folder given is called that already: some
                                         programs, such as vLLM, give each rank a folder of its own
    a process that finds its folder      process_<n> below that folder, n counting from 1: another program that was
      in use, and a forked child         given the same folder, a spawned worker without a rank, a DataLoader worker

**The rank** is torch.distributed's once that is initialised, else that of RANK and WORLD_SIZE (or LOCAL_RANK), which
torchrun sets; in a world of one there is none.  A spawned process may initialise torch.distributed only after it
entered the context, so a process that may still get a rank (a child of multiprocessing, a task of SLURM or MPI)
chooses its folder when it writes its first file, which is when it first compiles.  Nothing is ever moved: running code
is linked to the files.  A rank that becomes known even later is in the manifest, and the folder keeps its name.

**A run** is all processes of one start of a program: the folder of a sibling that has ended is kept, and the files of
an earlier start are removed.  Under torchrun it is named by the launcher (its process, its rendezvous, the number of
restarts), elsewhere by the process, or by the parent in a child of multiprocessing; and a process that finds another
one running in its folder joins that one's run.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import socket
import sys
import time
import uuid
from dataclasses import dataclass
from typing import Any, Dict, List

from depyf.problems import logger
from depyf.torch_hooks.disk.claims import JOURNAL, Claim, has_foreign_journal
from depyf.torch_hooks.disk.leftovers import active_runs_below, read_leftover, remove_files, remove_stale_below

_LATER_RANKS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
_LAUNCHED = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")
_MOST_PROCESSES = 10_000
_TRIES = 5

_TOKEN = uuid.uuid4().hex
# The folder given -> the folder in which this process writes.  Cleared in a forked child.
_homes: Dict[str, str] = {}


@dataclass(frozen=True)
class Rank:
    """The place of this process in a distributed job of more than one."""

    rank: int
    world_size: int | None


@dataclass(frozen=True)
class Home:
    """The folder that this process has claimed."""

    path: str
    run: str
    claim: Claim
    rank: Rank | None = None
    earlier: str = ""  # the manifest of an earlier session of this process, which the next one continues


def process_token() -> str:
    """Return a token that no other process has, not even a forked child."""
    return f"{_TOKEN}-{os.getpid()}"


def current_rank() -> Rank | None:
    """Return the rank of this process as far as it is known now; None for a lone process."""
    found = _rank_of_torch() or _rank_of_environment()
    return None if found is None or found.world_size == 1 else found


def _rank_of_torch() -> Rank | None:
    distributed: Any = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return Rank(distributed.get_rank(), distributed.get_world_size())
    except Exception:  # a default process group that is half there
        pass
    return None


def _rank_of_environment() -> Rank | None:
    rank = _number("RANK")
    if rank is None:
        rank = _number("LOCAL_RANK")
    return None if rank is None else Rank(rank, _number("WORLD_SIZE"))


def _number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() else None


def may_get_a_rank_later() -> bool:
    """Return whether it is too early to choose the folder: no rank is known, but one may come."""
    if current_rank() is not None or _number("WORLD_SIZE") == 1:
        return False
    is_child = multiprocessing.parent_process() is not None
    return is_child or any(name in os.environ for name in _LATER_RANKS)


def has_home(top: str) -> bool:
    """Return whether this process has written below that folder before."""
    return top in _homes


def forget_homes() -> None:
    """Forget the folders that a forked child inherited: they are the parent's."""
    _homes.clear()


def choose_home(top: str, forked_from: str | None = None) -> Home:
    """Choose the folder for this process, and claim it.  OSError when it cannot be written.

    forked_from: the folder of the parent, in a forked child.  Files of an earlier run are removed from the folder
    chosen, and, by a process that is given `top` itself, from those below it.
    """
    rank = current_rank()
    run = this_run()
    wanted = top
    if rank is not None and not re.match(rf"rank_{rank.rank}(?!\d)", os.path.basename(top)):
        wanted = os.path.join(top, f"rank_{rank.rank}")
    if top in _homes:
        wanted = _homes[top]
    base, home = forked_from or wanted, None
    if forked_from is None or wanted not in (top, forked_from):
        base, home = wanted, _claim(wanted, run, rank)
    if home is None:
        base = base if os.path.isdir(base) else top
        home = _claim_below(base, _run_in(base) or run, rank)
    _homes[top] = home.path
    return home


def home_at(path: str, run: str, rank: Rank | None) -> Home | None:
    """Claim this very folder, in the place of whatever run has files there; None where a process writes in it now."""
    claim = None if _is_taken(path) else _make_and_take(path)
    if claim is None:
        return None
    remove_files(read_leftover(path))
    claim.empty()
    return Home(path, run, claim, rank)


def _claim_below(base: str, run: str, rank: Rank | None) -> Home:
    for number in range(1, _MOST_PROCESSES):
        home = _claim(os.path.join(base, f"process_{number}"), run, rank)
        if home is not None:
            return home
    raise OSError(f"{number} processes have folders in {base}")


def _claim(path: str, run: str, rank: Rank | None) -> Home | None:
    """Claim a folder, unless another process of this run has or had it, or one of another run writes below it.

    Nor where a file of someone else has the name of the folder or of its journal: it stays.
    """
    if _is_taken(path):
        return None
    claim = _make_and_take(path)
    if claim is None:
        return None
    left = read_leftover(path)
    if left.exists and left.process == process_token():
        return Home(path, left.run, claim, rank, left.manifest)
    if (left.exists and left.run == run) or active_runs_below(path) - {run}:
        claim.release(keep_journal=True)
        return None
    remove_files(left)
    remove_stale_below(path, run, time.time())
    claim.empty()
    return Home(path, run, claim, rank)


def _is_taken(path: str) -> bool:
    """Return whether something of someone else's is where the folder or its journal would be, and log that."""
    is_no_folder = os.path.lexists(path) and not os.path.isdir(path)
    if not is_no_folder and not has_foreign_journal(path):
        return False
    what = path if is_no_folder else os.path.join(path, JOURNAL)
    logger.warning("depyf leaves %s as it is: depyf did not write it. It writes in another folder.", what)
    return True


def _make_and_take(path: str) -> Claim | None:
    for _ in range(_TRIES):
        os.makedirs(path, exist_ok=True)
        try:
            return Claim.take(path)
        except FileNotFoundError:  # another rank removed it with the leftovers in it
            continue
    return Claim.take(path)


def _run_in(folder: str) -> str:
    return min(active_runs_below(folder), default=read_leftover(folder).run)


def this_run() -> str:
    """Return a name for all processes of this start of the program."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        launcher = [os.environ.get(name, "") for name in _LAUNCHED]
        one_machine = os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE")
        return " ".join(["torchrun", *launcher, _process(_launcher()) if one_machine else ""])
    return _process(_starter())


def _starter() -> int:
    """Return the id of this process, or of the one that started it with multiprocessing."""
    parent = multiprocessing.parent_process()
    return os.getpid() if parent is None or parent.pid is None else parent.pid


def _launcher() -> int:
    """Return the id of the process that started the ranks of this machine."""
    if multiprocessing.parent_process() is None:
        return os.getppid()
    return int((_status(_starter()) or [""] * 2)[1] or os.getppid())


def _process(pid: int) -> str:
    """Return a name for a process of this machine, with its start time from /proc, as ids are used again."""
    return " ".join([socket.gethostname(), str(pid), *_status(pid)[19:20]])


def _status(pid: int) -> List[str]:
    """Return the fields of /proc/<pid>/stat after the name: state, parent ...; empty where there is no /proc."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()
    except OSError:
        return []
