"""The user's folders, on every system: one for caches, one for what is kept."""

from __future__ import annotations

from pathlib import Path

NAME = "gpgpu-legacy"


def cache_folder() -> Path:
    """Where what can be made again is kept, such as machine code; it may not exist yet.

    Raises RuntimeError where the user has no home.
    """
    from platformdirs import user_cache_path

    return _at_home(user_cache_path(NAME, appauthor=False))


def data_folder() -> Path:
    """Where what was found out on this machine is kept, such as tuning; it may not exist yet.

    Raises RuntimeError where the user has no home.
    """
    from platformdirs import user_data_path

    return _at_home(user_data_path(NAME, appauthor=False))


def _at_home(folder: Path) -> Path:
    """Without a home, platformdirs gives a folder relative to the working directory."""
    if not folder.is_absolute():
        raise RuntimeError(f"there is no home folder to hold {folder}; set HOME to one")
    return folder
