"""The OpenGL context of `gl-arbfp`: headless, made with EGL.

It is a compatibility context, because only there do drivers still offer GL_ARB_fragment_program. It
is made on first use; importing this file loads no library.
"""

from __future__ import annotations

from types import SimpleNamespace

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.gl.egl import (
    CurrentContext,
    Need,
    advice_here,
    displays,
    gl_functions,
    load_egl,
    make_compatible,
)
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

    def __init__(self, egl: SimpleNamespace, display: int) -> None:
        """Take over an EGL context, which must be current. egl: EGL's functions."""
        gl = gl_functions(egl.eglGetProcAddress)
        super().__init__(gl, gl, CurrentContext(egl))
        self._egl, self._display = egl, display
        self.extensions = frozenset(self.string(GL.EXTENSIONS).split())
        gl.glDisable(GL.TEXTURE_CUBE_MAP_SEAMLESS)
        for stage in (GL.CLAMP_VERTEX_COLOR, GL.CLAMP_READ_COLOR):
            gl.glClampColor(stage, 0)
        gl.glClampColor(GL.CLAMP_FRAGMENT_COLOR, GL.FIXED_ONLY)  # before the alpha test

    def _make_current(self) -> None:
        if not self._egl.eglMakeCurrent(self._display, None, None, self._native):
            raise ExecutorUnavailableError(
                "the OpenGL context cannot be made current (EGL error "
                f"{self._egl.eglGetError():#x}); end what else uses it in another thread"
            )

    def destroy(self) -> None:
        """Delete the context, which is no longer current.

        Its display stays initialised: EGL gives the same one to everybody in the process.
        """
        self._egl.eglDestroyContext(self._display, self._native)


@one_per_process
def context() -> Context:
    """The only such context of the process: a GPU's if there is one, else a software renderer's.

    Raises ExecutorUnavailableError, which says what to install, if there is none with
    GL_ARB_fragment_program, and in a process forked from one that has used OpenGL.
    """
    egl = load_egl()
    software: Context | None = None
    problems: list[str] = []
    for platform, display in displays(egl):
        try:
            context = _make_context(egl, display)
        except ExecutorUnavailableError as error:
            problems.append(f"{platform}: {error}")
            continue
        if context.is_hardware:
            return context
        if software is None:
            software = context
        else:
            context.destroy()
    if software is not None:
        return software
    reasons = "; ".join(dict.fromkeys(problems)) or "EGL has no display"
    raise ExecutorUnavailableError(
        f"no OpenGL context with GL_ARB_fragment_program ({reasons}); "
        f"{advice_here(Need.FRAGMENT_PROGRAMS)}"
    )


def _make_context(egl: SimpleNamespace, display: int) -> Context:
    """A context on a display; ExecutorUnavailableError, with the reason alone, if that fails."""
    with CurrentContext(egl).preserved():
        make_compatible(egl, display)
        context = Context(egl, display)
    missing = [name for name in REQUIRED_EXTENSIONS if name not in context.extensions]
    if missing:
        context.destroy()
        raise ExecutorUnavailableError(f"{context.renderer} lacks {', '.join(missing)}")
    return context
