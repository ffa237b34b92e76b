"""The user's folders, on every system: one for caches, one for what is kept."""

from __future__ import annotations

from pathlib import Path

NAME = "gpgpu-legacy"


def cache_folder() -> Path:
    """Where what can be made again is kept, such as machine code; it may not exist yet."""
    from platformdirs import user_cache_path

    return user_cache_path(NAME, appauthor=False)


def data_folder() -> Path:
    """Where what was found out on this machine is kept, such as tuning; it may not exist yet."""
    from platformdirs import user_data_path

    return user_data_path(NAME, appauthor=False)
