"""Mesa's own cache of shaders, which warns on stderr about a folder that it cannot write to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gpgpu_legacy.userdirs import CACHE, can_write, library_folder

_FOLDER, _DISABLE = "MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE"


def quiet_driver_cache() -> None:
    """Switch the cache off if it cannot be written; call this before OpenGL is loaded."""
    if not sys.platform.startswith("linux") or os.environ.get(_DISABLE):
        return
    configured = os.environ.get(_FOLDER)
    folders = [Path(configured).absolute() if configured else library_folder(CACHE)]
    if not configured and not os.environ.get(CACHE):
        folders.append(_folder_of_account())
    if not all(can_write(folder) for folder in folders):
        os.environ[_DISABLE] = "true"


def _folder_of_account() -> Path | None:
    """The cache folder in the home that the user's account has, which Mesa takes before HOME."""
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache"
    except KeyError:
        return None
