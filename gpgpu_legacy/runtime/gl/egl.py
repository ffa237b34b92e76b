"""EGL through ctypes: its functions, and the OpenGL context that is current on a thread.

Importing this file loads no library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_ubyte
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.runtime.gl.advice import Need, advice_here
from gpgpu_legacy.runtime.gl.driver_cache import quiet_driver_cache
from gpgpu_legacy.runtime.gl.headers import (
    EGL,
    EGL_EXTENSION_FUNCTIONS,
    EGL_FUNCTIONS,
    GL_FUNCTIONS,
    Signatures,
)

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
