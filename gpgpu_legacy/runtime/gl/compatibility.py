"""The OpenGL context of `gl-arbfp`: headless, made with EGL.

It is a compatibility context, because only there do drivers still offer GL_ARB_fragment_program. It
is made on first use; importing this file loads no library.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.gl.egl import LIBRARIES, CurrentContext, advice, gl_functions
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.sharing import SharedContext, one_per_process

REQUIRED_EXTENSIONS = (
    "GL_ARB_fragment_program",
    "GL_ARB_vertex_program",
    "GL_ARB_draw_buffers",
    "GL_ARB_sampler_objects",
    "GL_ARB_texture_rectangle",
    "GL_ARB_texture_float",
    "GL_ARB_texture_rg",
    "GL_ARB_framebuffer_object",
    "GL_ARB_color_buffer_float",
)


class Context(SharedContext[SimpleNamespace]):
    """A compatibility context: it starts from fresh state (identity matrices, no tests)."""

    def __init__(self, native: Any, current: CurrentContext) -> None:
        """Take over a context of glcontext's, which must be current."""
        gl = gl_functions(native.load)
        super().__init__(gl, gl, current)
        self._context = native
        self.extensions = frozenset(self.string(GL.EXTENSIONS).split())
        gl.glDisable(GL.TEXTURE_CUBE_MAP_SEAMLESS)
        for stage in (GL.CLAMP_VERTEX_COLOR, GL.CLAMP_READ_COLOR):
            gl.glClampColor(stage, 0)
        gl.glClampColor(GL.CLAMP_FRAGMENT_COLOR, GL.FIXED_ONLY)  # before the alpha test

    def _make_current(self) -> None:
        self._context.__enter__()

    def destroy(self) -> None:
        """Delete the context, which is no longer current."""
        self._context.release()


_MOST_DEVICES = 32
_NO_DEVICE = "device index"  # in glcontext's message if there are no more devices


@one_per_process
def context() -> Context:
    """The only such context of the process: a GPU's if there is one, else a software renderer's.

    Raises ExecutorUnavailableError, which says what to install, if there is none with
    GL_ARB_fragment_program, and in a process forked from one that has used OpenGL.
    """
    current = CurrentContext()
    software: Context | None = None
    problems: list[str] = []
    for device in range(_MOST_DEVICES):
        try:
            context = _make_context(current, device)
        except ExecutorUnavailableError as error:
            problems.append(str(error))
            if _NO_DEVICE in str(error):
                break
            continue
        if context.is_hardware:
            return context
        if software is None:
            software = context
        else:
            context.destroy()
    if software is not None:
        return software
    raise ExecutorUnavailableError(
        f"no OpenGL context with GL_ARB_fragment_program ({'; '.join(dict.fromkeys(problems))}); "
        f"{advice()}"
    )


def _make_context(current: CurrentContext, device: int) -> Context:
    """A context of a device; ExecutorUnavailableError, with the reason alone, if that fails.

    Version 2.1 has no profiles yet, so drivers make a compatibility context.
    """
    import glcontext

    with current.preserved():
        try:
            create = glcontext.get_backend_by_name("egl")
            native = create(mode="standalone", glversion=210, device_index=device, **LIBRARIES)
        except Exception as error:  # it raises nothing more specific
            raise ExecutorUnavailableError(str(error)) from None
        context = Context(native, current)
    missing = [name for name in REQUIRED_EXTENSIONS if name not in context.extensions]
    if missing:
        context.destroy()
        raise ExecutorUnavailableError(f"{context.renderer} lacks {', '.join(missing)}")
    return context
