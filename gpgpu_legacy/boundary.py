"""The boundary of the package: only its own errors leave what is public.

`@public` stands on every function and every class that `import gpgpu_legacy` gives. What leaves it
is one of

- an error of errors.py, which the caller can mend;
- what the caller's own code raised: an observer, a reference function, an array's `__array__`;
- a warning that the caller has made an error, an interrupt, an exit, and Python's TypeError for
  arguments that do not fit the signature.

Everything else is translated: what the machine refuses becomes an error that is of Python's class,
too, such as OutOfMemoryError; a call whose arguments do not fit the annotations gets an InputError
that names one; and what nobody expected becomes an InternalError. The cause stays with it, and with
the cause the traceback.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from gpgpu_legacy.errors import (
    DeviceError,
    FileFailedError,
    GpgpuLegacyError,
    GpgpuLegacyWarning,
    InternalError,
    NestedTooDeeplyError,
    OutOfMemoryError,
    printable,
)

T = TypeVar("T")
P = ParamSpec("P")

PACKAGE = "gpgpu_legacy"

LIBRARIES = frozenset({
    "numpy", "moderngl", "glcontext", "PIL", "lark", "jinja2", "markupsafe", "sympy", "mpmath",
    "typer", "click", "rich", "pygments", "matplotlib", "contourpy", "kiwisolver", "numba",
    "llvmlite", "platformdirs", "msgspec", "psutil", "tomli_w",
})  # fmt: skip
"""The modules that the package is built on, besides Python's: what they raise is ours to expect."""

_GUARDED = "__boundary__"
"""The attribute of functions that are guarded; whatever wraps them takes it over."""

_METHODS = frozenset({"__init__", "__post_init__", "__call__", "__enter__", "__exit__"})
"""The special methods that are guarded; others have errors that are part of their protocol."""


# Guarding ---------------------------------------------------------------------------------------


def public(what: T) -> T:
    """Guard a function, or the methods and properties that a class itself defines."""
    if isinstance(what, type):
        guard_members(what)
        return what
    return cast("T", _guarded(cast("Callable[..., Any]", what)))


def hot(function: T) -> T:
    """Leave a method of a public class unguarded: it runs for each instruction of each pass."""
    setattr(function, _GUARDED, True)
    return function


def guard_members(kind: type) -> None:
    """Guard the methods and properties that a class itself defines."""
    for name, member in list(vars(kind).items()):
        if name in _METHODS or not name.startswith("_"):
            guarded = _guarded_member(member)
            if guarded is not member:
                setattr(kind, name, guarded)


def _guarded_member(member: Any) -> Any:
    """A member of a class, guarded if it is called or computed."""
    if isinstance(member, classmethod | staticmethod):
        return type(member)(_guarded(member.__func__))
    if isinstance(member, property):
        return member if member.fget is None else member.getter(_guarded(member.fget))
    if isinstance(member, functools.cached_property):
        member.func = _guarded(member.func)
        return member
    return _guarded(member) if inspect.isfunction(member) and not _is_made(member) else member


def _is_made(function: FunctionType) -> bool:
    """Whether a dataclass has made it: its `__init__` takes what it is given, and calls ours."""
    return function.__code__.co_filename == "<string>"


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(function, _GUARDED, False):
        return function
    name = f"{function.__module__.partition('.')[0]}.{function.__qualname__}"

    # The body of a generator runs after the call.
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            try:
                return (yield from function(*arguments, **keywords))
            except GpgpuLegacyError:
                raise
            except Exception as error:
                _translate(error, name, function, arguments, keywords)
                raise

    else:

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            try:
                return function(*arguments, **keywords)
            except GpgpuLegacyError:
                raise
            except Exception as error:
                _translate(error, name, function, arguments, keywords)
                raise

    setattr(call, _GUARDED, True)
    return call


def _translate(
    error: Exception,
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> None:
    """Raise the project's own error in place of this one; return where it is the caller's."""
    inner = None if error.__traceback__ is None else error.__traceback__.tb_next
    if isinstance(error, Warning) or is_of_caller(inner):
        return
    if inner is None and type(error) is TypeError:  # Python itself refused the call
        return
    own = as_own(error, name)
    if isinstance(own, InternalError):
        from gpgpu_legacy.signatures import misfit

        own = misfit(function, arguments, keywords, error) or own
    raise own from error


# The caller's code ------------------------------------------------------------------------------


def on_behalf(function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
    """Call a function that the caller has given: what it raises is the caller's."""
    return function(*arguments, **keywords)


def is_of_caller(traceback: TracebackType | None) -> bool:
    """Whether code that is neither ours nor a library's has taken part in an error.

    traceback: within the boundary. A function that `on_behalf` calls is the caller's even if it is
    a library's.
    """
    by_caller = False
    for passed in _tracebacks(traceback):
        frame = passed.tb_frame
        module = _top_module(frame)
        if module != PACKAGE and (by_caller or not _is_library(module)):
            return True
        by_caller = frame.f_code is _ON_BEHALF
    return by_caller


_ON_BEHALF: CodeType = on_behalf.__code__


def _top_module(frame: FrameType) -> str:
    """The first part of the name of a frame's module; generated code has none and is ours."""
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) and name != "builtins" else PACKAGE


def _is_library(module: str) -> bool:
    return module in LIBRARIES or module in sys.stdlib_module_names


def warn(text: str) -> None:
    """Issue a GpgpuLegacyWarning, whose place is the caller's: the code that called the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, GpgpuLegacyWarning, stacklevel=level + 1)


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame is of the package or of a library; commands call the package, too."""
    module = _top_module(frame)
    if module != PACKAGE:
        return _is_library(module)
    return not frame.f_globals.get("__name__", "").startswith(f"{PACKAGE}.cli")


# Translation ------------------------------------------------------------------------------------


def as_own(error: BaseException, name: str, evidence: str = "the traceback") -> GpgpuLegacyError:
    """The project's own error for one of Python or of a library, which leaves `name`.

    evidence: what a report of a fault should come with.
    """
    said = _text_of(error)
    if isinstance(error, GpgpuLegacyError):
        return error
    if isinstance(error, MemoryError):
        why = f" ({said})" if said else ""
        return OutOfMemoryError(
            f"this machine has too little memory for that{why}; try smaller sizes"
        )
    if isinstance(error, RecursionError):
        return NestedTooDeeplyError(
            f"{name} was given something that is nested too deeply; give something flatter"
        )
    if isinstance(error, OSError):
        return FileFailedError.of(error)
    if _is_of_device(error):
        return DeviceError(
            f"OpenGL failed: {said}; try a smaller size, or another executor "
            "(`gpgpu-legacy doctor` lists them)"
        )
    return InternalError(
        f"{name} has met what it did not expect: {said_by(error)}"
        f"{_place(error)}; this is a fault of gpgpu_legacy: please report it with {evidence}"
    )


def _is_of_device(error: BaseException) -> bool:
    """Whether it is moderngl's own; who has not imported it has none of its errors."""
    moderngl = sys.modules.get("moderngl")
    return moderngl is not None and isinstance(error, moderngl.Error)


def _place(error: BaseException) -> str:
    """The last line of ours that an error has passed; nothing where it has passed none."""
    place = ""
    for passed in _tracebacks(error.__traceback__):
        module = passed.tb_frame.f_globals.get("__name__", "")
        if _top_module(passed.tb_frame) == PACKAGE and module != __name__:
            place = f" ({module.removeprefix(f'{PACKAGE}.')}, line {passed.tb_lineno})"
    return place


def _tracebacks(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def said_by(error: BaseException) -> str:
    """The class of an error and what it says, in one line."""
    text = _text_of(error)
    return f"{type(error).__name__}{': ' * bool(text)}{text}"


def _text_of(error: BaseException) -> str:
    try:
        return printable(" ".join(str(error).split()))
    except Exception:  # of a class whose __str__ fails
        return ""
