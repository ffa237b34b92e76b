"""Generated things on disk, for later processes: machine code and the tables of parsers.

What is read back is executed, so it is believed only where nobody but this user can have written
it, and only whole. The folder must be the user's own and closed to other writers, and so must each
file in it. A file is named by a digest of its key, which lists all that its content depends on. It
begins with a magic that has the version of this format, and with a digest of the key and the
content: a file that is damaged, empty, or that was renamed is none, and is written anew.

Whatever fails here means that nothing is kept, and never an error: every process then generates
its code anew. Reading a file marks it as used; when there is too much, the least recently used
files go, and what earlier versions left behind goes first.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import time

from gpgpu_legacy.ending import cleaned_up_by, held_together
from gpgpu_legacy.errors import InputError, reason_of
from gpgpu_legacy.userdirs import cache_folder

FOLDER = "generated"
"""In the user's cache folder; a folder of its own, so that its mode can be."""

MAGIC = b"gpgpu-legacy kept 1\n"
"""How every file begins. The number rises when the format changes."""

MOST_BYTES = 256 << 20
"""All files together; the machine code of a thousand kernels and programs has about 50 MB."""

MOST_FILES = 4096
"""A folder of so many is listed in a few milliseconds."""

MOST_ENTRY_BYTES = 32 << 20
"""One file. The largest that any of our programs makes has 1 MB; more is neither kept nor read."""

LEFT = 0.75
"""The share of these limits that pruning leaves, so that it is long until the next time."""

WRITES_PER_CHECK = 64
"""About one write in this many checks the size of the whole folder."""

LARGE_BYTES = 1 << 20
"""Every write of a file so large checks the size of the whole folder."""

_HEADER_BYTES = len(MAGIC) + sha256().digest_size
_STALE_S = 3600.0  # after which a file that was being written never will be
_USE_S = 3600.0  # how exactly the time of the last use is known
_OURS = re.compile(r"[0-9a-f]{64}\.kept")
_BEING_WRITTEN = re.compile(r"tmp-[0-9a-f]{16}")

_EARLIER = {
    "": re.compile(r"[0-9a-f]{32}\.o|\w+-[0-9a-f]{32}\.nbc|kernel_[0-9a-f]+\.py|tmp[a-z0-9_]{8}"),
    "__pycache__": re.compile(r"kernel_\w+\.\w+-\d+\.py\d+\.(nbi|\d+\.nbc)"),
    "grammars": re.compile(r"gpgpu_legacy\.[\w.]+\.tables"),
}
"""What earlier versions left in the user's cache folder, and in folders of it."""

# Only a POSIX system says whose a file is, and opens files relative to an open folder.
_HAS_OWNERS = hasattr(os, "geteuid") and os.open in os.supports_dir_fd
_NEVER_WAIT = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
)


def read(key: str) -> bytes | None:
    """What was kept under that key, whole; None where nothing is that can be believed."""
    try:
        with _opened() as folder:
            return _read(folder, key)
    except (OSError, InputError):
        return None


def keep(key: str, content: bytes) -> None:
    """Keep this under that key, if there is a folder to write to."""
    with suppress(OSError, InputError):
        _keep(key, content)


def why_nothing_is_kept() -> str:
    """Why this user's processes keep nothing, in a sentence; empty where they do keep."""
    try:
        _keep("whether anything is kept", b"")
    except InputError as error:
        return str(error)
    except OSError as error:
        return f"{_place()} cannot be written: {reason_of(error)}"
    return ""


# Files -------------------------------------------------------------------------------------------


def file_name(key: str) -> str:
    """The name of the file that keeps what has this key."""
    return f"{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}.kept"


def _digest(name: str, content: bytes) -> bytes:
    digest = sha256(MAGIC + name.encode())
    digest.update(content)
    return digest.digest()


def _read(folder: int, key: str) -> bytes | None:
    """The content of a key's file; raises OSError."""
    name = file_name(key)
    handle = os.open(name, os.O_RDONLY | _NEVER_WAIT, dir_fd=folder)
    try:
        status = os.fstat(handle)
        fits = _HEADER_BYTES <= status.st_size <= _HEADER_BYTES + MOST_ENTRY_BYTES
        if not stat.S_ISREG(status.st_mode) or _not_ours(status) or not fits:
            return None
        data = os.read(handle, status.st_size)
        content = data[_HEADER_BYTES:]
        if data[:_HEADER_BYTES] != MAGIC + _digest(name, content):
            return None
        _mark_as_used(handle, status)
    finally:
        os.close(handle)
    return content


def _mark_as_used(handle: int, status: os.stat_result) -> None:
    """Note that a file has been used; when it was written is left as it is."""
    now = time()
    if abs(now - _last_use(status)) < _USE_S:
        return
    with suppress(OSError):  # the disk can only be read
        os.utime(handle, (now, status.st_mtime))


def _last_use(status: os.stat_result) -> float:
    return max(status.st_atime, status.st_mtime)


def _keep(key: str, content: bytes) -> None:
    """Write a file so that no process sees a part of it; raises OSError and InputError."""
    if len(content) > MOST_ENTRY_BYTES:
        return
    name = file_name(key)
    with _opened(make=True) as folder:
        with held_together():
            _write(folder, name, MAGIC + _digest(name, content) + content)
        if int(name[:8], 16) % WRITES_PER_CHECK == 0 or len(content) >= LARGE_BYTES:
            prune()


def _write(folder: int, name: str, data: bytes) -> None:
    temporary = f"tmp-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEVER_WAIT
    remove = partial(_remove, folder, temporary)
    with cleaned_up_by(remove):
        handle = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            remove()
            raise


# The folder --------------------------------------------------------------------------------------


def _place() -> Path:
    """Where the folder is, or would be; raises InputError where the user has no home."""
    return cache_folder() / FOLDER


@contextmanager
def _opened(*, make: bool = False) -> Iterator[int]:
    """The folder, which is this user's own while it is open, whatever becomes of its name.

    make: make it where it is missing. Raises OSError where it cannot be opened, and InputError
    where it cannot be trusted.
    """
    if not _HAS_OWNERS:
        raise InputError("nothing is kept on a system that does not say whose a file is")
    place = _place()
    try:
        handle = _open_folder(place)
    except FileNotFoundError:
        if not make:
            raise
        _make_folder(place)
        prune()
        handle = _open_folder(place)
    try:
        yield handle
    finally:
        os.close(handle)


def _open_folder(place: Path | str, above: int | None = None, *, shared: bool = False) -> int:
    """A folder that is the user's own and no link; raises OSError and InputError.

    shared: whether others may write to it, too.
    """
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | _NEVER_WAIT, dir_fd=above)
    problem = _not_ours(os.fstat(handle), shared=shared)
    if problem:
        os.close(handle)
        raise InputError(f"{place} {problem}")
    return handle


def _not_ours(status: os.stat_result, *, shared: bool = False) -> str:
    """What lets others write to a file or folder; empty where only this user does."""
    if status.st_uid != os.geteuid():
        return "is not yours, so nothing is kept there; set XDG_CACHE_HOME to a folder of yours"
    if not shared and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written to by other users, so nothing is kept there; run chmod go-w on it"
    return ""


def _make_folder(place: Path) -> None:
    """Make a folder and those above it, for this user alone."""
    if not place.parent.is_dir():
        _make_folder(place.parent)
    place.mkdir(mode=0o700, exist_ok=True)


# Pruning -----------------------------------------------------------------------------------------


def prune(most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
    """Remove what was used longest ago, where there is more than these limits allow.

    What earlier versions kept goes in any case, and so does what was being written long ago.
    """
    with suppress(OSError, InputError):
        _remove_earlier()
    with suppress(OSError, InputError), _opened() as folder:
        for name, status in _files(folder, _BEING_WRITTEN):
            if time() - status.st_mtime > _STALE_S:
                _remove(folder, name)
        files = _files(folder, _OURS)
        size, count = sum(status.st_size for _, status in files), len(files)
        if size <= most_bytes and count <= most_files:
            return
        for name, status in sorted(files, key=lambda file: _last_use(file[1])):
            if size <= LEFT * most_bytes and count <= LEFT * most_files:
                return
            _remove(folder, name)
            size, count = size - status.st_size, count - 1


def _remove_earlier() -> None:
    """Remove what earlier versions kept, and their folders when these are empty."""
    above = _open_folder(cache_folder(), shared=True)
    try:
        for inner, names in _EARLIER.items():
            with suppress(OSError, InputError):
                _remove_files(above, inner, names)
    finally:
        os.close(above)


def _remove_files(above: int, inner: str, names: re.Pattern[str]) -> None:
    folder = _open_folder(inner or ".", above, shared=True)
    try:
        for name, _ in _files(folder, names):
            _remove(folder, name)
    finally:
        os.close(folder)
    if inner:
        os.rmdir(inner, dir_fd=above)


def _remove(folder: int, name: str) -> None:
    with suppress(OSError):  # it is not there: another process was faster
        os.unlink(name, dir_fd=folder)


def _files(folder: int, names: re.Pattern[str]) -> list[tuple[str, os.stat_result]]:
    """The files of a folder that have such names, but those that other processes remove."""
    files = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if names.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    files.append((entry.name, entry.stat(follow_symlinks=False)))
    return files
