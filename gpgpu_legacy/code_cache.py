"""Generated code on disk, for later processes.

It is machine code and the tables of parsers; results that never change, such as the audit's, are
kept with it.

Files that are read back are executed. So they are trusted only in a folder that this user owns and
nobody else can write to, and only if they are whole. A file's name is a digest of its key, which
lists everything that its content depends on. The file begins with a digest of the key and the
content; a damaged file is ignored and written again.

A failure here is never an error: nothing is kept, and every process generates its code again. When
the folder is full, the least recently used files go.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from gpgpu_legacy.errors import InputError, reason_of, utf8
from gpgpu_legacy.files import cache_folder, library_versions, package_digest

R = TypeVar("R")

FOLDER = "generated"
"""The name of a folder in the user's cache folder. Nobody else may open it (mode 0700)."""

MOST_BYTES = 256 << 20
"""Bytes of all files together; a thousand kernels and programs take about 50 MB."""

MOST_FILES = 4096
"""Files in the folder; listing so many takes a few milliseconds."""

_LEFT = 0.75  # the share of these limits that pruning leaves
_WRITES_PER_CHECK = 64  # about one write in this many checks the size of the folder
_LARGE_BYTES = 1 << 20  # and so does every write of this many bytes
_DIGEST_BYTES = sha256().digest_size


def read(key: str) -> bytes | None:
    """The content kept under a key; None if there is no trustworthy file."""
    try:
        folder = cache_folder() / FOLDER
        _check_own(folder)
        path = folder / file_name(key)
        _check_own(path)
        data = path.read_bytes()
    except (OSError, InputError):
        return None
    content = data[_DIGEST_BYTES:]
    if data[:_DIGEST_BYTES] != _digest(key, content):
        return None
    with suppress(OSError):  # the disk is read-only
        os.utime(path)
    return content


def keep(key: str, content: bytes) -> None:
    """Keep content under a key, if there is a folder to write to."""
    with suppress(OSError, InputError):
        _keep(key, content)


def recalled(name: str, make: Callable[[], R]) -> R:
    """The result of a function, computed once and kept for later processes.

    name: of the function and its arguments. The result may depend only on the name, the package's
    files and the libraries: on nothing measured, and on nothing of the user's. It is pickled.
    """
    key = "\n".join((name, package_digest(), library_versions()))
    content = read(key)
    if content is not None:
        result: R = pickle.loads(content)
        return result
    result = make()
    keep(key, pickle.dumps(result))
    return result


def why_nothing_is_kept() -> str:
    """Why this user's processes keep nothing, in a sentence; empty if they keep files."""
    try:
        _keep("whether anything is kept", b"")
    except InputError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename or cache_folder()} cannot be written: {reason_of(error)}"
    return ""


def file_name(key: str) -> str:
    """The name of the file for this key."""
    return sha256(utf8(key)).hexdigest()


def _digest(key: str, content: bytes) -> bytes:
    return sha256(sha256(utf8(key)).digest() + content).digest()


def _check_own(path: Path) -> None:
    """Raise InputError if others could write to a file or folder, or if it is a link.

    On Windows nobody else can write to a user's cache folder.
    """
    if not hasattr(os, "geteuid"):
        return
    status = path.lstat()
    if status.st_uid != os.geteuid():
        raise InputError(
            f"{path} is not yours, so nothing is kept there; set XDG_CACHE_HOME to a folder of "
            "yours"
        )
    if status.st_mode & 0o022:
        raise InputError(
            f"{path} can be written to by other users, so nothing is kept there; run chmod go-w on "
            "it"
        )


def _keep(key: str, content: bytes) -> None:
    """Write a file so that no process sees a part of it; raises OSError and InputError."""
    folder = cache_folder() / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_own(folder)
    draft = folder / f"{os.urandom(8).hex()}.draft"
    try:
        draft.touch(mode=0o600, exist_ok=False)
        draft.write_bytes(_digest(key, content) + content)
        name = file_name(key)
        draft.replace(folder / name)
    finally:
        draft.unlink(missing_ok=True)
    if int(name[:8], 16) % _WRITES_PER_CHECK == 0 or len(content) >= _LARGE_BYTES:
        prune()


def prune() -> None:
    """Remove the least recently used files, if MOST_BYTES or MOST_FILES is exceeded."""
    files = []
    for path in (cache_folder() / FOLDER).iterdir():
        with suppress(OSError):  # another process was faster
            status = path.lstat()
            files.append((status.st_mtime, status.st_size, path))
    size, count = sum(file[1] for file in files), len(files)
    if size <= MOST_BYTES and count <= MOST_FILES:
        return
    for _, file_bytes, path in sorted(files):
        if size <= _LEFT * MOST_BYTES and count <= _LEFT * MOST_FILES:
            return
        with suppress(OSError):
            path.unlink()
        size, count = size - file_bytes, count - 1
