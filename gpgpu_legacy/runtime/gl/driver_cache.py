"""Mesa's own cache of shaders, which warns on stderr about a folder that it cannot write to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_FOLDER, _DISABLE = "MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE"


def quiet_driver_cache() -> None:
    """Switch the cache off if it cannot be written; call this before OpenGL is loaded."""
    given = os.environ.get(_FOLDER) or os.environ.get("XDG_CACHE_HOME")
    folders = [given] if given else ["~/.cache", _folder_of_account()]
    if sys.platform.startswith("linux") and not all(map(_can_write, folders)):
        os.environ.setdefault(_DISABLE, "true")


def _folder_of_account() -> str:
    """The cache folder in the home of the user's account, which Mesa prefers to HOME."""
    import pwd

    try:
        return f"{pwd.getpwuid(os.getuid()).pw_dir}/.cache"
    except KeyError:
        return ""


def _can_write(folder: str) -> bool:
    """Whether files can be written to a folder, or to one that could be made; makes nothing."""
    path = Path(os.path.expanduser(folder))  # noqa: PTH111 - there may be no home
    there = next((place for place in (path, *path.parents) if os.path.lexists(place)), path)
    return path.is_absolute() and os.access(there, os.W_OK | os.X_OK, effective_ids=True)
