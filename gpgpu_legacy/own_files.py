"""Files that the package keeps without being told their names, such as what tuning has found.

They are read, changed and written again, by one process at a time. A name may come from the
environment, or be taken already. So a file is replaced or removed only where its content shows that
the package wrote it, even if a part of it is damaged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from gpgpu_legacy.errors import InputError, reason_of

_BEGINNING = 2**16
"""Bytes at the beginning of a file that show who wrote it."""


def is_file(path: Path) -> bool:
    """Whether there is such a file. False also for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def has_content(path: Path) -> bool:
    """Whether there is a file with anything in it; a folder or a device counts as one."""
    try:
        return path.exists() and (not path.is_file() or path.stat().st_size > 0)
    except (OSError, ValueError):  # whoever reads it will say what is wrong
        return True


def has_marks(path: Path, begins: str, marks: Sequence[str]) -> bool:
    """Whether a file begins like that, and has nearly all of these marks in its beginning.

    One may be missing, where the file is damaged.
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING)
    except (OSError, ValueError):
        return False
    found = sum(mark.encode() in beginning for mark in marks)
    return beginning.startswith(begins.encode()) and found >= len(marks) - 1


def remove(path: Path) -> None:
    """Remove a file; InputError where that fails."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be removed: {reason_of(error)}") from None


# One process at a time ----------------------------------------------------------------------------

LONGEST_WAIT_S = 10.0
"""Seconds that a process waits for another one to change a file. Such a change takes milliseconds,
so whoever needs longer is stopped or hangs."""

_POLL_S = 0.01


@contextmanager
def locked(path: Path, longest_s: float = LONGEST_WAIT_S) -> Iterator[None]:
    """Let no other process, nor thread, into a block with the same file.

    The lock is the system's, on a file beside `path`, so that it ends with its process, however
    that ends. A folder that cannot be written to, or a file system without locks, has none: writing
    will say what is wrong. Raises InputError where another process keeps the lock.
    """
    beside = path.parent / f".{path.name}.lock"
    handle = _acquired(beside, path, longest_s)
    try:
        yield
    finally:
        if handle is not None:
            _release(handle, beside)


def _acquired(beside: Path, path: Path, longest_s: float) -> int | None:
    """A handle of the lock's file, locked; None where there are no locks."""
    until = monotonic() + longest_s
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
        except OSError:
            return None
        try:
            _lock(handle)
        except BlockingIOError:
            os.close(handle)
        except OSError:
            os.close(handle)
            return None
        else:
            if _is_still(handle, beside):
                return handle
            os.close(handle)  # who had the lock before has removed its file
        if monotonic() > until:
            raise InputError(
                f"another process is changing {path} and has not finished within {longest_s:g} s; "
                "try again when it has ended"
            )
        sleep(_POLL_S)


def _is_still(handle: int, beside: Path) -> bool:
    """Whether the locked file is the one that others find."""
    try:
        return os.path.samestat(os.fstat(handle), beside.lstat())
    except OSError:
        return False


def _release(handle: int, beside: Path) -> None:
    """Unlock, and remove the file while nobody else can have it locked."""
    with suppress(OSError):  # Windows removes no open file: it stays, empty
        beside.unlink()
    os.close(handle)


_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    def _lock(handle: int) -> None:
        """Lock the file; BlockingIOError where another process has it."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            raise BlockingIOError from None

else:

    def _lock(handle: int) -> None:
        """Lock the file; BlockingIOError where another process has it."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
