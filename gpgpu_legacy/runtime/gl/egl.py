"""EGL through ctypes: its functions, and the OpenGL context that is current on a thread.

Importing this file loads no library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE
from types import SimpleNamespace
from typing import Any

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.runtime.gl.advice import Need, advice_here
from gpgpu_legacy.runtime.gl.driver_cache import quiet_driver_cache
from gpgpu_legacy.runtime.gl.headers import (
    EGL,
    EGL_EXTENSION_FUNCTIONS,
    EGL_FUNCTIONS,
    GL_FUNCTIONS,
)


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
    for name, signature in EGL_EXTENSION_FUNCTIONS.items():
        setattr(egl, name, load_function(egl, name, signature))
    return egl


def load_function(egl: SimpleNamespace, name: str, signature: tuple[Any, ...]) -> Any:
    """A function of OpenGL, or of an extension of EGL; None if the library lacks it."""
    address = egl.eglGetProcAddress(name.encode("ascii"))
    return CFUNCTYPE(*signature)(address) if address else None


def gl_functions(find: Callable[[str], int | None]) -> SimpleNamespace:
    """OpenGL's functions by their names, None for one that is missing. find: gives addresses."""
    return SimpleNamespace(
        **{
            name: CFUNCTYPE(*signature)(address) if (address := find(name)) else None
            for name, signature in GL_FUNCTIONS.items()
        }
    )


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
        if not context:
            return SavedContext(interface, None)
        draw, read = egl.eglGetCurrentSurface(EGL.DRAW), egl.eglGetCurrentSurface(EGL.READ)
        return SavedContext(interface, context, egl.eglGetCurrentDisplay(), draw, read)

    def restore(self, before: SavedContext) -> None:
        """Make current what was so when it was saved."""
        egl = self._egl
        egl.eglBindAPI(EGL.OPENGL_API)
        if before.context:
            egl.eglMakeCurrent(before.display, before.draw, before.read, before.context)
        elif display := egl.eglGetCurrentDisplay():
            egl.eglMakeCurrent(display, None, None, None)
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
