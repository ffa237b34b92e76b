"""Access to OpenGL: EGL through ctypes, advice where a part is missing, and Mesa's own cache.

Importing this file loads no library.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_ubyte
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.gl.headers import EGL, EGL_FUNCTIONS, GL_FUNCTIONS, Signatures

# Advice ------------------------------------------------------------------------------------------
#
# macOS has OpenGL 2.1 and, in a core profile, 4.1, which is its last and has no compute shaders
# (Apple, OpenGL Capabilities Tables). Windows has OpenGL 1.1 of its own; more comes with the
# driver of a GPU, or with Mesa's opengl32.dll (github.com/pal1000/mesa-dist-win).


_ADVICE = {
    "Darwin": "macOS ends at OpenGL 4.1, without compute shaders and EGL, and gives it only to "
    "users who are logged in to its desktop; the executors of the CPU run everything",
    "Windows": "install the GPU's driver from its maker, or put Mesa's opengl32.dll and "
    "libgallium_wgl.dll (github.com/pal1000/mesa-dist-win) beside python.exe; gl-arbfp needs EGL, "
    "which Windows lacks",
}
_INSTALL = "install the GPU's driver or Mesa's, as in: apt install libegl1 libgl1-mesa-dri"


def advice() -> str:
    """Advice for this system if OpenGL, or a part of it, is missing; for the end of a sentence."""
    return _ADVICE.get(platform.system(), _INSTALL)


# Mesa's cache of shaders -------------------------------------------------------------------------


_FOLDER, _DISABLE = "MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE"


def quiet_driver_cache() -> None:
    """Switch Mesa's cache off if it cannot be written; call this before OpenGL is loaded."""
    if not sys.platform.startswith("linux"):
        return
    given = os.environ.get(_FOLDER) or os.environ.get("XDG_CACHE_HOME")
    folders = [given] if given else ["~/.cache", _folder_of_account()]
    if not all(map(_can_write, folders)):
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
    return path.is_absolute() and os.access(there, os.W_OK | os.X_OK)


# EGL ---------------------------------------------------------------------------------------------


EGL_LIBRARY = "libEGL.so.1"
LIBRARIES = {"libgl": EGL_LIBRARY, "libegl": EGL_LIBRARY}
"""The libraries that a context is loaded from; EGL hands out OpenGL's own functions too, so that
libGL, which belongs to X11, need not be there.
"""


def load_egl() -> SimpleNamespace:
    """EGL's functions, by name. Raises ExecutorUnavailableError without libEGL."""
    quiet_driver_cache()
    try:
        library = ctypes.CDLL(EGL_LIBRARY)
    except OSError as error:
        raise ExecutorUnavailableError(f"libEGL cannot be loaded ({error}); {advice()}") from None
    egl = SimpleNamespace()
    for name, (result, *arguments) in EGL_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        setattr(egl, name, function)
    return egl


def load_functions(find: Callable[[str], int | None], signatures: Signatures) -> dict[str, Any]:
    """Functions by their names, None for one that is missing. find: gives addresses."""
    return {
        name: CFUNCTYPE(*signature)(address) if (address := find(name)) else None
        for name, signature in signatures.items()
    }


def gl_functions(find: Callable[[str], int | None]) -> SimpleNamespace:
    """OpenGL's functions; see load_functions."""
    return SimpleNamespace(**load_functions(find, GL_FUNCTIONS))


@frozen
class SavedContext:
    """The saved state of a thread: the interface, and a context with its display and surfaces."""

    interface: int
    context: int | None
    display: int | None = None
    draw: int | None = None
    read: int | None = None


class CurrentContext:
    """The OpenGL context that is current on a thread: one of ours or another."""

    def __init__(self) -> None:
        """Raises ExecutorUnavailableError without EGL."""
        self._egl = load_egl()

    def handle(self) -> int | None:
        """EGL's handle of the context; OpenGL becomes the interface of this thread."""
        self._egl.eglBindAPI(EGL.OPENGL_API)
        context: int | None = self._egl.eglGetCurrentContext()
        return context

    def save(self) -> SavedContext:
        """The current state of this thread; OpenGL becomes its interface."""
        egl = self._egl
        interface, context = egl.eglQueryAPI(), self.handle()
        if not context:  # as in most runs; three more calls would make them longer
            return SavedContext(interface, None)
        draw, read = egl.eglGetCurrentSurface(EGL.DRAW), egl.eglGetCurrentSurface(EGL.READ)
        return SavedContext(interface, context, egl.eglGetCurrentDisplay(), draw, read)

    def restore(self, before: SavedContext) -> None:
        """Make current what was current when it was saved."""
        egl = self._egl
        egl.eglBindAPI(EGL.OPENGL_API)
        if display := before.display or egl.eglGetCurrentDisplay():
            egl.eglMakeCurrent(display, before.draw, before.read, before.context)
        if before.interface != EGL.OPENGL_API:
            egl.eglBindAPI(before.interface)

    @contextmanager
    def preserved(self) -> Iterator[None]:
        """Restore, after the block, what was current before it."""
        before = self.save()
        try:
            yield
        finally:
            self.restore(before)


def current_context() -> CurrentContext | None:
    """Access to a thread's current context; None without EGL."""
    try:
        return CurrentContext()
    except ExecutorUnavailableError:
        return None


# Memory and the process -------------------------------------------------------------------------


def memory_at(address: int, size: int) -> NDArray[np.uint8]:
    """The bytes that a driver has mapped at an address."""
    return np.ctypeslib.as_array((c_ubyte * size).from_address(address))


def leave_without_the_driver() -> None:
    """Make this process, which was forked, exit without the exit handlers of C libraries.

    Mesa's handler waits for threads that only the parent has: it crashes, or never ends. Python's
    own handlers have run by then, and C's files are flushed. This needs the GNU C library.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # handlers registered last run first
        libc.on_exit(libc._exit, None)
        libc.__cxa_atexit(libc.fflush, None, None)
