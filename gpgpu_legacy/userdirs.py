"""The user's folders: one for caches, one for data that is kept; and those that libraries use.

In a container, users may have no home, or one that nobody can write to. What the package itself
keeps is then not kept. Libraries that would complain are given another folder, or told to keep
nothing.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from gpgpu_legacy.ending import before_the_end
from gpgpu_legacy.errors import InputError, reason_of

NAME = "gpgpu-legacy"

CACHE, CONFIG, DATA = "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"
"""The variables that name the folders above the user's own, on a system that follows XDG."""

_IN_HOME = {CACHE: ".cache", CONFIG: ".config"}
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")


def cache_folder() -> Path:
    """The folder for what can be made again, such as machine code; it may not exist yet.

    Raises InputError where the user has no home, or may not look into it.
    """
    from platformdirs import user_cache_path

    return _folder(user_cache_path, CACHE)


def data_folder() -> Path:
    """The folder for what was found out on this machine, such as tuning; it may not exist yet.

    Raises InputError where the user has no home, or may not look into it.
    """
    from platformdirs import user_data_path

    return _folder(user_data_path, DATA)


def _folder(path_of: Callable[..., Path], variable: str) -> Path:
    try:
        folder = path_of(NAME, appauthor=False)
    except RuntimeError:  # platformdirs, where there is no home; its older versions go on without
        folder = Path()
    given = os.environ.get(variable)
    if given and not folder.is_absolute():
        raise InputError(f"{variable} is {given}, which is no absolute path; set it to one")
    # An empty home would be taken for the root folder.
    if not folder.is_absolute() or (not given and _has_empty_home()):
        raise InputError("you have no home folder; set HOME to one")
    _check_reachable(folder)
    return folder


def _check_reachable(folder: Path) -> None:
    """InputError where nobody can say what is in a folder, as in another user's home."""
    try:
        (folder / "anything").lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputError(
            f"{folder} cannot be used: {reason_of(error)}; set HOME to a folder of yours"
        ) from None


def _has_empty_home() -> bool:
    return os.environ.get("HOME") == ""


# Of libraries ------------------------------------------------------------------------------------


def library_folder(variable: str) -> Path | None:
    """The folder in which libraries make theirs, by its variable; None where there is no home."""
    given = os.environ.get(variable)
    if not given and _has_empty_home():
        return None
    try:
        folder = Path(given) if given else Path("~", _IN_HOME[variable]).expanduser()
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None


def can_write(folder: Path | None) -> bool:
    """Whether files can be written to a folder, or it can be made for that; nothing is made."""
    if folder is None or not folder.is_absolute():
        return False
    for place in (folder, *folder.parents):
        with suppress(OSError):
            is_folder = stat.S_ISDIR(place.stat().st_mode)
            return is_folder and os.access(place, os.W_OK | os.X_OK)
        if os.path.lexists(place):  # a link to what is not there
            return False
    return False


def temporary_folder() -> Path:
    """A new folder, which is removed when the process ends; never in the current folder.

    Raises InputError where there is no place for it.
    """
    given = (os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP"))
    for place in (*filter(os.path.isabs, given), *_TEMPORARY):
        try:
            folder = tempfile.mkdtemp(prefix=f"{NAME}-", dir=place)
        except OSError:
            continue
        remove = partial(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(remove)
        before_the_end(remove)
        return Path(folder)
    raise InputError("there is no folder for temporary files; set TMPDIR to one")
