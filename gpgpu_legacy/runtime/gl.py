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

_LEAST_VERSION, _COMPUTE_VERSION = 400, 430

# EGL hands out OpenGL's own functions too, so that libGL, which belongs to X11, need not be there.
_EGL: dict[str, Any] = {"backend": "egl", "libgl": "libEGL.so.1", "libegl": "libEGL.so.1"}


@cache
def context() -> Any:
    """A moderngl context of OpenGL 4.0 or later: headless through EGL, else the platform's own.

    Drivers may give exactly the version that is asked for, so 4.3, with its compute shaders, is
    asked for first.

    Raises ExecutorUnavailableError, with what to install, where there is no such thing.
    """
    try:
        import moderngl
    except ImportError as error:
        raise ExecutorUnavailableError(f"moderngl cannot be imported ({error})") from None
    problems = []
    for backend in (_EGL, {}):
        for version in (_COMPUTE_VERSION, _LEAST_VERSION):
            try:
                made = moderngl.create_context(standalone=True, require=version, **backend)
            except Exception as error:  # the loaders raise what they like
                problem = str(error).strip() or type(error).__name__
                continue
            _make_plain(made)
            return made
        problems.append(problem)
    raise ExecutorUnavailableError(
        f"no OpenGL 4.0 context ({'; '.join(dict.fromkeys(problems))}); install a driver, "
        "as in: apt install libegl1 libgl1-mesa-dri"
    )


def compute_context() -> Any:
    """The same context, where it has compute shaders.

    Raises ExecutorUnavailableError where there is no OpenGL, or one before 4.3.
    """
    ctx = context()
    if ctx.version_code < _COMPUTE_VERSION:
        major, minor = divmod(ctx.version_code // 10, 10)
        raise ExecutorUnavailableError(
            f"compute shaders need OpenGL 4.3 and this driver gives {major}.{minor}; install a "
            "newer driver, or use the numpy executor"
        )
    return ctx


def make_current(ctx: Any) -> None:
    """Make the context current again, inside of a `with` that something else may have disturbed.

    At the end of a `with` on a context none is current, and so after a nested one too.
    """
    ctx.__enter__()


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
