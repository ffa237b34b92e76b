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

# EGL hands out OpenGL's own functions too, so that libGL, which belongs to X11, need not be there.
_EGL: dict[str, Any] = {"backend": "egl", "libgl": "libEGL.so.1", "libegl": "libEGL.so.1"}


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
    for backend in (_EGL, {}):
        try:
            made = moderngl.create_context(standalone=True, require=400, **backend)
        except Exception as error:  # the loaders raise what they like
            problems.append(str(error).strip() or type(error).__name__)
            continue
        _make_plain(made)
        return made
    raise ExecutorUnavailableError(
        f"no OpenGL 4.0 context ({'; '.join(dict.fromkeys(problems))}); install a driver, "
        "as in: apt install libegl1 libgl1-mesa-dri"
    )


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
