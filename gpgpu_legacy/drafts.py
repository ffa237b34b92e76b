"""Drafts: what a file or a folder is until it is whole, beside the place that it will take.

A draft goes when its block is left, and when a signal ends the program. What a process leaves that
is killed, a later one sweeps away: a draft has a name that nobody else gives, with the number of
its process in it.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from shutil import rmtree
from time import time

from gpgpu_legacy.ending import before_the_end, held_together

SWEPT_AFTER_S = 3600.0
"""How long a draft of a dead process is left alone: a process of the same number may be alive where
we cannot see it, in another container or on another machine with the same disk."""

SWEPT_ENTRIES = 10_000
"""How many names of a folder are looked at for old drafts, which takes some milliseconds."""

_NAME = ".gpgpu-legacy-draft-{process}-{random}"
_OURS = re.compile(r"\.gpgpu-legacy-draft-([0-9]{1,20})-[0-9a-f]{16}")


class Stream(io.FileIO):
    """The file that a draft is written to.

    It keeps its number to itself, so that NumPy and Pillow write through it. By themselves they say
    of a full disk that fewer numbers were written, or that there was an encoder error -2.
    """

    def fileno(self) -> int:
        """There is none to be had."""
        raise io.UnsupportedOperation("a draft has no file number")


@contextmanager
def draft_file(folder: Path, mode: int = 0o666) -> Iterator[Path]:
    """An empty file in this folder, which is removed at the end if it is still there.

    mode: its permissions, less what the process's mask or the folder's own defaults take away.
    """

    def make(path: Path) -> None:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))

    with _draft(folder, make, _remove_file) as path:
        yield path


@contextmanager
def draft_folder(folder: Path) -> Iterator[Path]:
    """An empty folder in this folder, which is removed at the end if it is still there."""
    with _draft(folder, Path.mkdir, _remove_folder) as path:
        yield path


@contextmanager
def _draft(
    folder: Path, make: Callable[[Path], None], remove: Callable[[Path], None]
) -> Iterator[Path]:
    drafts = _drafts()
    path = folder / _NAME.format(process=os.getpid(), random=os.urandom(8).hex())
    try:
        with held_together():
            drafts[path] = remove
            make(path)
        yield path
    finally:
        remove(path)
        del drafts[path]


@cache
def _drafts() -> dict[Path, Callable[[Path], None]]:
    """The drafts of this process that exist, and what removes each."""
    drafts: dict[Path, Callable[[Path], None]] = {}

    def remove_all() -> None:
        for path, remove in list(drafts.items()):
            remove(path)

    before_the_end(remove_all)
    return drafts


def _remove_file(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _remove_folder(path: Path) -> None:
    rmtree(path, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove the old drafts of processes that are dead, as far as this user may.

    Only what is called as a draft is, belongs to this user, is a file or a folder itself, and was
    last written long ago is taken for one.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, SWEPT_ENTRIES):
            match = _OURS.fullmatch(entry.name)
            if match is None or _is_alive(int(match[1])):
                continue
            with suppress(OSError):
                _sweep_away(Path(entry.path), entry.stat(follow_symlinks=False))


def _sweep_away(path: Path, status: os.stat_result) -> None:
    if status.st_uid != _user() or time() - status.st_mtime < SWEPT_AFTER_S:
        return
    if stat.S_ISREG(status.st_mode):
        _remove_file(path)
    elif stat.S_ISDIR(status.st_mode):
        _remove_folder(path)


def _user() -> int:
    """The user whose files are ours; 0, as everybody's files have, where there are no users."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _is_alive(process: int) -> bool:
    """Whether there is a process of that number, as far as the system says."""
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
