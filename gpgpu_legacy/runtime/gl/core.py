"""The OpenGL context that gl-raster and gl-compute share; only this file reaches into moderngl.

A process has one such context, made when it is first needed.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

from gpgpu_legacy.errors import ExecutorUnavailableError, NoDeviceRoomError, PlanError
from gpgpu_legacy.plan.memory import in_words
from gpgpu_legacy.runtime.gl.egl import (
    LIBRARIES,
    CurrentContext,
    advice,
    current_context,
    gl_functions,
    quiet_driver_cache,
)
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.sharing import SharedContext, one_per_process

_LEAST_VERSION, COMPUTE_VERSION = 400, 430

_EGL: dict[str, Any] = {"backend": "egl", **LIBRARIES}

# Limits that moderngl does not ask for.
_MORE_LIMITS = {
    "GL_MAX_COMPUTE_SHARED_MEMORY_SIZE": 0x8262,
    "GL_SM_COUNT_NV": 0x933B,  # of NV_shader_thread_group: the multiprocessors
}

_ALL_BARRIERS = 0xFFFFFFFF

ModernglContext = Any
GlBuffer = Any
"""moderngl has no type annotations."""


def inner(wrapper: Any) -> Any:
    """Moderngl's inner object, for frequent calls: the outer one takes as long as the driver."""
    return wrapper.mglo


class GlContext(SharedContext[ModernglContext]):
    """A moderngl context that any thread may use, one at a time.

    Clamping needs no switch: a core profile clamps only the colours of fixed-point framebuffers.
    """

    def __init__(self, native: ModernglContext, current: CurrentContext | None) -> None:
        """See SharedContext."""
        super().__init__(native, gl_functions(inner(native)._context.load), current)
        self._bound: dict[int, GlBuffer] = {}  # the storage buffers known to be bound
        self.barrier = partial(inner(native).memory_barrier, _ALL_BARRIERS, False)
        """Lets earlier stores of shaders be seen by what is called next."""
        self.info = dict(native.info)
        """The driver's limits, by OpenGL's names."""
        for name, number in _MORE_LIMITS.items():
            value = self.integer(number)
            if self.gl.glGetError() == GL.NO_ERROR:
                self.info[name] = value
        self.version_code: int = native.version_code

    def bind(self, number: int, buffer: GlBuffer) -> None:
        """Bind a storage buffer to a binding, unless it is bound there."""
        if self._bound.get(number) is not buffer:
            inner(buffer).bind_to_storage_buffer(number, 0, -1)
            self._bound[number] = buffer

    def buffer(self, size_bytes: int) -> GlBuffer:
        """A new buffer of moderngl's, with a check that there was room for it.

        The context is current. Raises NoDeviceRoomError if there was none.
        """
        buffer = self.handle.buffer(reserve=size_bytes)
        if self.handle.error == "GL_OUT_OF_MEMORY":
            buffer.release()
            raise NoDeviceRoomError(
                f"{self.renderer} has no room for a buffer of {in_words(size_bytes)}; "
                "make matrices and textures smaller, or choose another executor"
            )
        return buffer

    def compile(self, name: str, **stages: str) -> Any:
        """A moderngl program from GLSL texts, by moderngl's names of the stages.

        name: whose shader it is, for the message. The context is current. Raises PlanError, in one
        line, if the driver refuses it.
        """
        import moderngl

        try:
            if "compute_shader" in stages:
                return self.handle.compute_shader(stages["compute_shader"])
            return self.handle.program(**stages)
        except moderngl.Error as error:
            complaint = " ".join(str(error).split())
            raise PlanError(
                f"{self.renderer} refuses the shader of {name or 'a program'}: {complaint[:300]}"
            ) from None

    def _make_current(self) -> None:
        self.handle.__enter__()
        self._bound.clear()  # others have used the context

    def _leave(self) -> None:
        self.handle.__exit__(None, None, None)


@one_per_process
def context() -> GlContext:
    """The context of OpenGL 4.0 or later: headless through EGL, else the platform's own.

    Drivers may give exactly the version that is asked for, so 4.3, which has compute shaders, is
    asked for first. Raises ExecutorUnavailableError, which says what to
    install, if there is none, and in a process forked from one that has used OpenGL.
    """
    try:
        import moderngl
    except ImportError as error:
        raise ExecutorUnavailableError(f"moderngl cannot be imported ({error})") from None
    quiet_driver_cache()
    problems = []
    for backend in (_EGL, {}):
        current = current_context() if backend else None
        with current.preserved() if current else nullcontext():
            for version in (COMPUTE_VERSION, _LEAST_VERSION):
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
        f"no OpenGL 4.0 context ({'; '.join(dict.fromkeys(problems))}); {advice()}"
    )


def compute_context() -> GlContext:
    """The same context, if it has compute shaders.

    Raises ExecutorUnavailableError without OpenGL 4.3.
    """
    shared = context()
    if shared.version_code < COMPUTE_VERSION:
        major, minor = divmod(shared.version_code // 10, 10)
        raise ExecutorUnavailableError(
            f"compute shaders need OpenGL 4.3 and this driver gives {major}.{minor}; {advice()}"
        )
    return shared
