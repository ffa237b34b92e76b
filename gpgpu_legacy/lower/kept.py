"""Generated code on disk, for later processes: in the user's cache folder, and bounded there.

A file is touched when it is used; when there is too much, what was used longest ago goes. Where
there is no folder to write to, nothing is kept, and nothing is wrong.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import time

MOST_BYTES = 256 << 20
MOST_FILES = 4096
LEFT = 0.75
"""What part of that is left when too much has gathered, so that it is long until the next time."""

LOOKS = 64
"""One file of so many, when it is written, has its writer look at the whole folder."""

_SUFFIXES = (".o", ".py", ".nbi", ".nbc")  # machine code, kernels, what numba keeps of them
_STALE_S = 3600.0  # after which a file that was being written never will be
_BEING_WRITTEN = "tmp"
_DIGEST_BYTES = sha256().digest_size


def folder() -> Path:
    """Where code is kept; it may not exist. Raises RuntimeError where the user has no home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpgpu-legacy"


def read(name: str) -> bytes | None:
    """What was kept under that name, whole; None where nothing is, or it is damaged.

    LLVM ends the process at an object file that is damaged, so it gets none.
    """
    try:
        path = folder() / name
        kept = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    digest, content = kept[:_DIGEST_BYTES], kept[_DIGEST_BYTES:]
    if digest != sha256(content).digest():
        return None
    touch(path)
    return content


def keep(name: str, content: bytes) -> None:
    """Keep this under that name, if there is a folder to write to."""
    try:
        write(folder() / name, sha256(content).digest() + content)
    except (OSError, RuntimeError):
        return


def write(path: Path, content: bytes) -> None:
    """Write a file of the folder so that no process sees a part of it; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=_BEING_WRITTEN, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
    if sha256(path.name.encode()).digest()[0] % LOOKS == 0:
        prune(path.parent)


def touch(path: Path) -> None:
    """Note that a file has been used; when it was written is left as it is, for numba may look."""
    try:
        os.utime(path, (time(), path.stat().st_mtime))
    except OSError:  # another process removed it, or it is another user's
        return


def prune(kept: Path, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
    """Remove what was used longest ago, where there is more than so much in the folder.

    Files that belong together, as a module and what numba keeps of it, go together.
    """
    groups: dict[str, list[tuple[Path, os.stat_result]]] = {}
    for place in (kept, kept / "__pycache__"):
        for path, status in _files(place):
            groups.setdefault(path.name.partition(".")[0], []).append((path, status))
    now = time()
    for name in [name for name in groups if name.startswith(_BEING_WRITTEN)]:
        for path, status in groups.pop(name):
            if now - status.st_mtime > _STALE_S:
                path.unlink(missing_ok=True)
    size = sum(status.st_size for group in groups.values() for _, status in group)
    count = sum(len(group) for group in groups.values())
    if size <= most_bytes and count <= most_files:
        return
    last_use = {
        name: max(max(status.st_atime, status.st_mtime) for _, status in group)
        for name, group in groups.items()
    }
    for name in sorted(groups, key=lambda name: last_use[name]):
        if size <= LEFT * most_bytes and count <= LEFT * most_files:
            return
        for path, status in groups[name]:
            path.unlink(missing_ok=True)
            size, count = size - status.st_size, count - 1


def _files(place: Path) -> list[tuple[Path, os.stat_result]]:
    """The files of a folder; those that another process removes meanwhile are none."""
    files = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                try:
                    ours = entry.name.endswith(_SUFFIXES) or entry.name.startswith(_BEING_WRITTEN)
                    if ours and entry.is_file(follow_symlinks=False):
                        files.append((Path(entry.path), entry.stat(follow_symlinks=False)))
                except OSError:
                    continue
    except OSError:
        return []
    return files
