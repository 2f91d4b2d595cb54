"""Make a folder with the newest CPythons, those of Debian's unstable suite, which run outside of it like any other.

    python tools/newest_pythons.py [FOLDER] [--torch] [--mirror URL]

FOLDER defaults to `.venv-sid` in the checkout, where `tools/interpreters.py` looks for it (elsewhere, name it by
DEPYF_SID). It takes 3 minutes and 510 MB. Needs root, `dpkg-deb` and the network: the suite's own debootstrap installs
python3.14 and python3.15 with their tests; --torch adds python3-torch and what its tests need, for
`tools/pair.py --inside FOLDER`. The interpreters are built for another C library
than that of this machine, so a copy of each in FOLDER/usr/outside/bin is given the loader and the libraries of FOLDER.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import List, Sequence

import interpreters

MIRROR = "http://deb.debian.org/debian"
VERSIONS = ("3.14", "3.15")
LOADER = "lib64/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# A compiler and headers for Inductor (libtorch-dev does not bring those of pybind11, which the C++ wrapper includes),
# then what tests/requirements.txt names, as far as Debian has it.
TORCH = (
    "python3-torch", "libtorch-dev", "pybind11-dev", "g++", "libpython3.14-dev", "python3-pytest",
    "python3-pytest-xdist", "python3-pytest-timeout", "python3-hypothesis", "python3-dill", "python3-coverage",
    "python3-yaml", "python3-nbclient", "python3-ipykernel", "python3-jsonschema", "python3-ipython",
    "python3-cffi-backend",  # python3-zmq needs it by names that it provides, which debootstrap does not look up
)  # fmt: skip


def packages(with_torch: bool) -> List[str]:
    """Return the packages to install: each Python with its tests, and what changes the copies."""
    kinds = ("python{}", "python{}-venv", "libpython{}-testsuite")
    wanted = [kind.format(version) for version in VERSIONS for kind in kinds]
    return [*wanted, "patchelf", *(TORCH if with_torch else ())]


def fetch_debootstrap(mirror: str, folder: Path) -> Path:
    """Unpack the suite's own debootstrap, as older ones have no script for it; return its folder."""
    with urllib.request.urlopen(f"{mirror}/dists/sid/main/binary-amd64/Packages.xz") as answer:
        listing = lzma.decompress(answer.read()).decode()
    entry = next(text for text in listing.split("\n\n") if text.startswith("Package: debootstrap\n"))
    found = re.search(r"^Filename: (.+)$", entry, re.MULTILINE)
    assert found is not None
    archive = folder / "debootstrap.deb"
    urllib.request.urlretrieve(f"{mirror}/{found.group(1)}", archive)
    subprocess.run(["dpkg-deb", "-x", str(archive), str(folder / "debootstrap")], check=True)
    return folder / "debootstrap"


def install(folder: Path, mirror: str, with_torch: bool) -> None:
    """Install the suite in a folder that is not there yet."""
    with tempfile.TemporaryDirectory() as temporary:
        tool = fetch_debootstrap(mirror, Path(temporary))
        environment = {**os.environ, "DEBOOTSTRAP_DIR": str(tool / "usr/share/debootstrap")}
        included = "--include=" + ",".join(packages(with_torch))
        command = [str(tool / "usr/sbin/debootstrap"), "--variant=minbase", included, "sid", str(folder), mirror]
        subprocess.run(command, env=environment, check=True)


def make_runnable(folder: Path, version: str) -> Path:
    """Return a copy of an interpreter that runs outside of the folder; it finds its library by where it lies."""
    copy = folder / interpreters.OUTSIDE / f"python{version}"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes((folder / "usr/bin" / f"python{version}").read_bytes())
    copy.chmod(0o755)
    # Two calls: patchelf 0.18 writes a program that crashes if both are changed at once.
    for change in (("--force-rpath", "--set-rpath", folder / LIBRARIES), ("--set-interpreter", folder / LOADER)):
        inside = f"/{copy.relative_to(folder)}"
        subprocess.run(["chroot", str(folder), "patchelf", *map(str, change), inside], check=True)
    for link in (folder / "usr/lib" / f"python{version}").rglob("*"):
        if link.is_symlink() and os.path.isabs(os.readlink(link)):  # such as sitecustomize.py, to /etc
            target = folder / os.readlink(link)[1:]
            link.unlink()
            link.symlink_to(os.path.relpath(target, link.parent))
    return copy


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=str(interpreters.SID), help="where to make it")
    parser.add_argument("--torch", action="store_true", help="install python3-torch and what its tests need, too")
    parser.add_argument("--mirror", default=MIRROR)
    options = parser.parse_args(arguments)
    folder = Path(options.folder).resolve()
    if not (folder / "usr/bin").exists():
        install(folder, options.mirror, options.torch)
    for version in VERSIONS:
        interpreter = str(make_runnable(folder, version))
        print(f"CPython {interpreters.version_of(interpreter)}: {interpreter}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
