"""Getting at OpenGL: EGL through ctypes, advice where a part is missing, and Mesa's own cache.

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
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.gl.headers import (
    EGL,
    EGL_EXTENSION_FUNCTIONS,
    EGL_FUNCTIONS,
    GL_FUNCTIONS,
    Signatures,
)

# Advice ------------------------------------------------------------------------------------------
#
# Advice for each operating system if OpenGL, or a part of it, is missing.
#
# macOS has OpenGL 2.1 and, in a core profile, 4.1, which is its last and has no compute shaders
# (Apple, OpenGL Capabilities Tables). Windows has OpenGL 1.1 of its own; more comes with the
# driver of a GPU, or with Mesa's opengl32.dll (github.com/pal1000/mesa-dist-win).


class Need(Enum):
    """The part of OpenGL that an executor needs."""

    OPENGL = "OpenGL 4.0"
    COMPUTE_SHADERS = "OpenGL 4.3"
    FRAGMENT_PROGRAMS = "GL_ARB_fragment_program, through EGL"


_MESA = {
    "debian": "apt install libegl1 libgl1-mesa-dri",
    "fedora": "dnf install mesa-libEGL mesa-dri-drivers",
    "arch": "pacman -S mesa",
    "suse": "zypper install Mesa-libEGL1 Mesa-dri",
}
_RELATIVES = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora", "opensuse": "suse"}

_MACOS = {
    Need.OPENGL: "macOS makes a context only for a user who is logged in to its desktop; log in "
    "there, or use the executors of the CPU",
    Need.COMPUTE_SHADERS: "macOS ends at OpenGL 4.1, which has no compute shaders, and nothing can "
    "be installed for it; the executors of the CPU run everything",
    Need.FRAGMENT_PROGRAMS: "macOS has no EGL, and nothing can be installed for it; the other "
    "executors run the same programs",
}
_WINDOWS_DRIVER = (
    "install the GPU's driver from its maker, or put Mesa's opengl32.dll and libgallium_wgl.dll "
    "(github.com/pal1000/mesa-dist-win) beside python.exe"
)
_WINDOWS = {
    Need.OPENGL: f"Windows alone has OpenGL 1.1; {_WINDOWS_DRIVER}",
    Need.COMPUTE_SHADERS: _WINDOWS_DRIVER,
    Need.FRAGMENT_PROGRAMS: "Windows has no EGL for desktop OpenGL, and this executor knows no "
    "other way; the other executors run the same programs",
}
_OTHERS = {
    Need.OPENGL: "install a driver, as in: {mesa}",
    Need.COMPUTE_SHADERS: "install a newer driver, as in: {mesa}",
    Need.FRAGMENT_PROGRAMS: "install the GPU's driver or Mesa's, as in: {mesa}",
}


def advice(need: Need, system: str, distributions: tuple[str, ...] = ()) -> str:
    """Advice if there is no such OpenGL, for the middle of a sentence.

    system: as platform.system() has it. distributions: of Linux, the nearest first, by the ids of
    /etc/os-release; another's packages are named as Debian's are.
    """
    if system == "Darwin":
        return _MACOS[need]
    if system == "Windows":
        return _WINDOWS[need]
    families = (_RELATIVES.get(name, name) for name in distributions)
    family = next((name for name in families if name in _MESA), "debian")
    return _OTHERS[need].format(mesa=_MESA[family])


def advice_here(need: Need) -> str:
    """The advice for this system."""
    return advice(need, platform.system(), _distributions())


def _distributions() -> tuple[str, ...]:
    """The ids of this distribution of Linux, and of those that it is like."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ()
    return (release.get("ID", ""), *release.get("ID_LIKE", "").split())


# Mesa's cache of shaders -------------------------------------------------------------------------


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


# EGL ---------------------------------------------------------------------------------------------


_MOST_DEVICES = 32


def load_egl() -> SimpleNamespace:
    """EGL's functions, by name. Raises ExecutorUnavailableError without libEGL."""
    quiet_driver_cache()
    try:
        library = ctypes.CDLL("libEGL.so.1")
    except OSError as error:
        raise ExecutorUnavailableError(
            f"libEGL cannot be loaded ({error}); {advice_here(Need.FRAGMENT_PROGRAMS)}"
        ) from None
    egl = SimpleNamespace()
    for name, (result, *arguments) in EGL_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        setattr(egl, name, function)
    vars(egl).update(load_functions(egl.eglGetProcAddress, EGL_EXTENSION_FUNCTIONS))
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

    def __init__(self, functions: SimpleNamespace) -> None:
        """functions: those of EGL."""
        self._egl = functions

    def handle(self) -> int | None:
        """EGL's handle of the context; OpenGL becomes the interface of this thread."""
        self._egl.eglBindAPI(EGL.OPENGL_API)
        context: int | None = self._egl.eglGetCurrentContext()
        return context

    def save(self) -> SavedContext:
        """The current state of this thread; OpenGL becomes its interface."""
        egl = self._egl
        interface, context = egl.eglQueryAPI(), self.handle()
        if not context:  # as in most runs, which three more questions would make longer
            return SavedContext(interface, None)
        draw, read = egl.eglGetCurrentSurface(EGL.DRAW), egl.eglGetCurrentSurface(EGL.READ)
        return SavedContext(interface, context, egl.eglGetCurrentDisplay(), draw, read)

    def restore(self, before: SavedContext) -> None:
        """Make current what was so when it was saved."""
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
        return CurrentContext(load_egl())
    except ExecutorUnavailableError:
        return None


# Displays and their contexts ----------------------------------------------------------------------


def displays(egl: SimpleNamespace) -> Iterator[tuple[str, int]]:
    """The displays that need no window system, GPUs first, then EGL's own choice."""
    if egl.eglGetPlatformDisplayEXT:
        for number, device in enumerate(_devices(egl)):
            display = egl.eglGetPlatformDisplayEXT(EGL.PLATFORM_DEVICE, device, None)
            if display:
                yield f"device {number}", display
        display = egl.eglGetPlatformDisplayEXT(EGL.PLATFORM_SURFACELESS, None, None)
        if display:
            yield "surfaceless", display
    display = egl.eglGetDisplay(None)
    if display:
        yield "default display", display


def _devices(egl: SimpleNamespace) -> list[int]:
    if not egl.eglQueryDevicesEXT:
        return []
    devices, count = np.zeros(_MOST_DEVICES, np.uintp), np.zeros(1, np.int32)
    if not egl.eglQueryDevicesEXT(_MOST_DEVICES, devices, count):
        return []
    return [device for device in devices[: count[0]].tolist() if device]


def make_compatible(egl: SimpleNamespace, display: int) -> None:
    """Make current a new compatibility context of a display; the caller restores what was so.

    Raises ExecutorUnavailableError, with the reason alone, if that fails.
    """
    if not egl.eglInitialize(display, None, None):
        raise _refused(egl, "cannot be initialised")
    attributes = (
        *(EGL.SURFACE_TYPE, EGL.PBUFFER_BIT),
        *(EGL.RENDERABLE_TYPE, EGL.OPENGL_BIT),
        EGL.NONE,
    )
    if not egl.eglBindAPI(EGL.OPENGL_API):
        raise _refused(egl, "has no OpenGL")
    configs, count = np.zeros(1, np.uintp), np.zeros(1, np.int32)
    egl.eglChooseConfig(display, attributes, configs, 1, count)
    if not count[0]:
        raise _refused(egl, "has no configuration for OpenGL")
    # No attribute asks for a version or a profile: that is what makes it a compatibility one.
    handle = egl.eglCreateContext(display, int(configs[0]), None, (EGL.NONE,))
    if not handle:
        raise _refused(egl, "makes no context")
    if not egl.eglMakeCurrent(display, None, None, handle):
        problem = _refused(egl, "makes no context without a surface")
        egl.eglDestroyContext(display, handle)
        raise problem


def _refused(egl: SimpleNamespace, problem: str) -> ExecutorUnavailableError:
    error = egl.eglGetError()
    reason = "" if error == EGL.SUCCESS else f" (EGL error {error:#x})"
    return ExecutorUnavailableError(problem + reason)


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
