"""Generated code on disk, for later processes: in the user's cache folder, and bounded there.

Reading a file marks it as used; when there is too much, the least recently used files go. Without a
folder to write to, nothing is kept and every process generates its code anew.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import time

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.userdirs import cache_folder

MOST_BYTES = 256 << 20
MOST_FILES = 4096
LEFT = 0.75
"""The share of these limits that pruning leaves, so that it is long until the next time."""

WRITES_PER_CHECK = 64
"""About one write in this many checks the size of the whole folder."""

_SUFFIXES = (".o", ".nbc", ".py", ".nbi")  # LLVM's, numba's; the last two by earlier versions
_STALE_S = 3600.0  # after which a file that was being written never will be
_BEING_WRITTEN = "tmp"
_DIGEST_BYTES = sha256().digest_size


def read(name: str) -> bytes | None:
    """What was kept under that name, whole; None where nothing is, or it is damaged.

    LLVM ends the process at a damaged object file, so it must never see one.
    """
    try:
        path = cache_folder() / name
        kept = path.read_bytes()
    except (OSError, InputError):
        return None
    digest, content = kept[:_DIGEST_BYTES], kept[_DIGEST_BYTES:]
    if digest != sha256(content).digest():
        return None
    _touch(path)
    return content


def keep(name: str, content: bytes) -> None:
    """Keep this under that name, if there is a folder to write to."""
    try:
        _write(cache_folder() / name, sha256(content).digest() + content)
    except (OSError, InputError):
        return


def _write(path: Path, content: bytes) -> None:
    """Write a file of the folder so that no process sees a part of it; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=_BEING_WRITTEN, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
    if sha256(path.name.encode()).digest()[0] % WRITES_PER_CHECK == 0:
        prune(path.parent)


def _touch(path: Path) -> None:
    """Note that a file has been used; when it was written is left as it is."""
    try:
        os.utime(path, (time(), path.stat().st_mtime))
    except OSError:  # another process removed it, or it is another user's
        return


def prune(folder: Path, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
    """Remove what was used longest ago, where the folder holds more than these limits."""
    files = _files(folder) + _files(folder / "__pycache__")
    code = []
    for path, status in files:
        if not path.name.startswith(_BEING_WRITTEN):
            code.append((path, status))
        elif time() - status.st_mtime > _STALE_S:
            path.unlink(missing_ok=True)
    size, count = sum(status.st_size for _, status in code), len(code)
    if size <= most_bytes and count <= most_files:
        return
    for path, status in sorted(code, key=lambda file: max(file[1].st_atime, file[1].st_mtime)):
        if size <= LEFT * most_bytes and count <= LEFT * most_files:
            return
        path.unlink(missing_ok=True)
        size, count = size - status.st_size, count - 1


def _files(place: Path) -> list[tuple[Path, os.stat_result]]:
    """The files of a folder, without those that another process removes meanwhile."""
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
