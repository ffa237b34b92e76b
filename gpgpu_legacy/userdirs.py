"""The user's folders: one for caches, one for data that is kept.

In a container, users may have no home, or one that nobody can write to. What the package itself
keeps is then not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpgpu_legacy.errors import InputError

NAME = "gpgpu-legacy"


def cache_folder() -> Path:
    """The folder for what can be made again, such as machine code; it may not exist yet.

    Raises InputError where the user has no home.
    """
    from platformdirs import user_cache_path

    return _folder(user_cache_path, "XDG_CACHE_HOME")


def data_folder() -> Path:
    """The folder for what was found out on this machine, such as tuning; it may not exist yet.

    Raises InputError where the user has no home.
    """
    from platformdirs import user_data_path

    return _folder(user_data_path, "XDG_DATA_HOME")


def _folder(path_of: Callable[..., Path], variable: str) -> Path:
    try:
        folder = path_of(NAME, appauthor=False)
    except RuntimeError:  # platformdirs, where there is no home; its older versions go on without
        folder = Path()
    if not folder.is_absolute():
        raise InputError(f"you have no home folder; set HOME, or {variable}, to one")
    return folder
