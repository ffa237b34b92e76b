"""The one OpenGL context of the process, made when it is first needed. Only this file imports
moderngl.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.devices import is_gpu

GL_DITHER = 0x0BD0
GL_FRAMEBUFFER_SRGB = 0x8DB9


@cache
def context() -> Any:
    """A moderngl context of OpenGL 4.0 or later: headless through EGL, else the platform's own.

    Raises ExecutorUnavailableError, with what to install, where there is no such thing.
    """
    try:
        import moderngl
    except ImportError as error:
        raise ExecutorUnavailableError(f"moderngl cannot be imported ({error})") from None
    problems = []
    for backend in ("egl", None):
        try:
            made = _make(moderngl, backend)
        except Exception as error:  # the loaders raise what they like
            problems.append(str(error).strip() or type(error).__name__)
            continue
        _make_plain(made)
        return made
    raise ExecutorUnavailableError(
        f"no OpenGL 4.0 context ({'; '.join(dict.fromkeys(problems))}); install a driver, "
        "as in: apt install libegl1 libgl1-mesa-dri"
    )


def _make(moderngl: Any, backend: str | None) -> Any:
    if backend is None:
        return moderngl.create_context(standalone=True, require=400)
    return moderngl.create_context(standalone=True, require=400, backend=backend)


def _make_plain(made: Any) -> None:
    """Switch off what would change a value on its way into a framebuffer.

    Clamping needs no switch here: a core profile clamps the colours read from and written to
    fixed-point framebuffers alone.
    """
    made.disable_direct(GL_DITHER)
    made.disable_direct(GL_FRAMEBUFFER_SRGB)


def device_name(ctx: Any) -> str:
    """The renderer and the version of its driver."""
    return f"{ctx.info['GL_RENDERER']}, OpenGL {ctx.info['GL_VERSION']}"


def is_hardware(ctx: Any) -> bool:
    """Whether the renderer is a GPU."""
    return is_gpu(str(ctx.info["GL_RENDERER"]))
