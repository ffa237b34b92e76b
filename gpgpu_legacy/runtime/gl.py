"""The OpenGL context that gl-raster and gl-compute share; only this file imports moderngl.

A process has one such context, made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from gpgpu_legacy.errors import ExecutorUnavailableError, NoDeviceRoomError, PlanError
from gpgpu_legacy.memory import DRIVER_ADDRESSES, in_words, require_addresses
from gpgpu_legacy.runtime import egl
from gpgpu_legacy.runtime.advice import Need, advice_here
from gpgpu_legacy.runtime.devices import is_gpu
from gpgpu_legacy.runtime.driver_cache import quiet_driver_cache
from gpgpu_legacy.runtime.gl_sharing import PROBE, OnePerProcess, SharedContext

GL_DITHER = 0x0BD0
GL_FRAMEBUFFER_SRGB = 0x8DB9

_LEAST_VERSION, _COMPUTE_VERSION = 400, 430

# EGL hands out OpenGL's own functions too, so that libGL, which belongs to X11, need not be there.
_EGL: dict[str, Any] = {"backend": "egl", "libgl": "libEGL.so.1", "libegl": "libEGL.so.1"}

_FUNCTIONS = (
    "glBindBuffer",
    "glBufferStorage",
    "glClientWaitSync",
    "glCopyBufferSubData",
    "glDeleteBuffers",
    "glDeleteSync",
    "glFenceSync",
    "glFinish",
    "glFlush",
    "glGenBuffers",
    "glGetError",
    "glMapBufferRange",
)

ModernglContext = Any
"""moderngl has no type annotations."""


class BoundBuffers:
    """The storage buffers that are known to be bound, so that none is bound twice."""

    __slots__ = ("_bound",)

    def __init__(self) -> None:
        """Nothing is known of the context yet."""
        self._bound: dict[int, Any] = {}

    def forget(self) -> None:
        """Forget all: others have used the context."""
        self._bound.clear()

    def bind(self, number: int, buffer: Any) -> None:
        """Bind a buffer, by moderngl's inner object, to a binding."""
        if self._bound.get(number) is not buffer:
            buffer.bind_to_storage_buffer(number, 0, -1)
            self._bound[number] = buffer


class GlContext(SharedContext[ModernglContext]):
    """A moderngl context that any thread may use, one at a time.

    Its dithering and sRGB conversion are off. Clamping needs no switch: a core profile clamps the
    colours read from and written to fixed-point framebuffers alone.
    """

    def __init__(self, native: ModernglContext, current: egl.CurrentContext | None) -> None:
        """Take over a context that is current.

        current: access to what is current on a thread, if the context came through EGL.
        """
        super().__init__(native)
        self._current = current
        self.bound = BoundBuffers()
        self._egl_handle = current.handle() if current else None
        self.info: Mapping[str, Any] = {
            **native.info,
            **(egl.more_limits() if current else {}),
        }
        """The driver's names and limits, by OpenGL's names."""
        self.version_code: int = native.version_code
        self.functions = egl.functions(_FUNCTIONS) if current else None
        """OpenGL's own functions of buffers and of waiting; None if it did not come through EGL."""
        native.disable_direct(GL_DITHER)
        native.disable_direct(GL_FRAMEBUFFER_SRGB)

    @property
    def device_name(self) -> str:
        """The renderer and the version of its driver."""
        return f"{self.info['GL_RENDERER']}, OpenGL {self.info['GL_VERSION']}"

    @property
    def is_of_egl(self) -> bool:
        """Whether it came through EGL, which gives out functions that moderngl lacks."""
        return self._current is not None

    @property
    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU."""
        return is_gpu(str(self.info["GL_RENDERER"]))

    def buffer(self, size_bytes: int) -> Any:
        """A new buffer of moderngl's, which is not asked whether there was room for it.

        The context is current. Raises NoDeviceRoomError where there was none.
        """
        made = self.handle.buffer(reserve=size_bytes)
        if self.handle.error == "GL_OUT_OF_MEMORY":
            made.release()
            raise NoDeviceRoomError(
                f"{self.info['GL_RENDERER']} has no room for a buffer of {in_words(size_bytes)}; "
                "make matrices and textures smaller, or choose another executor"
            )
        return made

    def finish(self) -> None:
        """Wait until all earlier calls are done; the context is current.

        OpenGL's own function lets other threads of Python run meanwhile.
        """
        if self.functions is not None:
            self.functions.glFinish()
        else:
            self.handle.finish()

    def compile(self, name: str, **stages: str) -> Any:
        """A moderngl program of GLSL texts, by moderngl's names of the stages.

        name: whose shader it is, for the message. The context is current. Raises PlanError, in one
        line, where the driver refuses it.
        """
        import moderngl

        try:
            if "compute_shader" in stages:
                return self.handle.compute_shader(stages["compute_shader"])
            return self.handle.program(**stages)
        except moderngl.Error as error:
            complaint = " ".join(str(error).split())
            raise PlanError(
                f"{self.info['GL_RENDERER']} refuses the shader of {name or 'a program'}: "
                f"{complaint[:300]}"
            ) from None

    def _answers(self) -> bool:
        import moderngl

        try:
            buffer = self.handle.buffer(PROBE)
        except moderngl.Error:
            return False
        answer: bytes = buffer.read()
        buffer.release()
        return answer == PROBE

    def _is_current(self) -> bool:
        return self._current is not None and self._current.handle() == self._egl_handle

    def _make_current(self) -> None:
        self.handle.__enter__()
        self.bound.forget()

    def _save(self) -> object:
        return self._current.save() if self._current else bool(self._before)

    def _restore(self, before: object) -> None:
        if isinstance(before, egl.SavedContext) and self._current is not None:
            self._current.restore(before)
        elif not before:
            self.handle.__exit__(None, None, None)


def _make() -> GlContext:
    """A context of the highest version: drivers may give exactly the one that is asked for, so 4.3,
    which has compute shaders, is asked for first.
    """
    try:
        import moderngl
    except ImportError as error:
        raise ExecutorUnavailableError(f"moderngl cannot be imported ({error})") from None
    quiet_driver_cache()
    require_addresses(DRIVER_ADDRESSES, "OpenGL")
    problems = []
    for backend in (_EGL, {}):
        current = egl.current_context() if backend else None
        with current.preserved() if current else nullcontext():
            for version in (_COMPUTE_VERSION, _LEAST_VERSION):
                try:
                    native: ModernglContext = moderngl.create_context(
                        standalone=True, require=version, **backend
                    )
                except Exception as error:  # the loaders raise errors of many types
                    problem = str(error).strip() or type(error).__name__
                    continue
                context = GlContext(native, current)
                if current is None:
                    native.__exit__(None, None, None)
                return context
        problems.append(problem)
    raise ExecutorUnavailableError(
        f"no OpenGL 4.0 context ({'; '.join(dict.fromkeys(problems))}); {advice_here(Need.OPENGL)}"
    )


_CONTEXT = OnePerProcess(_make)


def context() -> GlContext:
    """The context of OpenGL 4.0 or later: headless through EGL, else the platform's own.

    Raises ExecutorUnavailableError, which says what to install, where there is none, and in a
    process that was forked from one that has used OpenGL.
    """
    return _CONTEXT()


def compute_context() -> GlContext:
    """The same context, where it has compute shaders.

    Raises ExecutorUnavailableError where there is no OpenGL, or one before 4.3.
    """
    shared = context()
    if shared.version_code < _COMPUTE_VERSION:
        major, minor = divmod(shared.version_code // 10, 10)
        raise ExecutorUnavailableError(
            f"compute shaders need OpenGL 4.3 and this driver gives {major}.{minor}; "
            f"{advice_here(Need.COMPUTE_SHADERS)}"
        )
    return shared
