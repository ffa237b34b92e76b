"""What leaves a public function or a command is an error of the project's own, or the caller's."""

from __future__ import annotations

import inspect
import pickle
import re
import sys
import timeit
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import moderngl
import numpy as np
import pytest

import gpgpu_legacy
from gpgpu_legacy import Pipeline, cli, errors
from gpgpu_legacy.boundary import LIBRARIES, on_behalf, public, warn
from gpgpu_legacy.errors import (
    DeviceError,
    FileFailedError,
    GpgpuLegacyError,
    GpgpuLegacyWarning,
    InputError,
    InternalError,
    NestedTooDeeplyError,
    OutOfMemoryError,
)

ROOT = Path(gpgpu_legacy.__file__).parent.parent

# Code of the package, as far as the boundary can tell: its module's name begins like the package's.
_OURS: dict[str, Any] = {"__name__": "gpgpu_legacy.made_here"}


def ours(text: str, **names: Any) -> Any:
    """The function `f` of that text, as if it were the package's own."""
    scope = {**_OURS, "public": public, "on_behalf": on_behalf, **names}
    exec(compile(text, "made_here.py", "exec"), scope)
    return scope["f"]


def raising(error: BaseException) -> Callable[[], None]:
    """A function of the caller, which this module is."""

    def function() -> None:
        raise error

    return function


@pytest.mark.parametrize(
    ("error", "kind", "python"),
    [
        (KeyError("measured"), InternalError, None),
        (ZeroDivisionError(), InternalError, None),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "why"), InternalError, None),
        (MemoryError("Unable to allocate 8 TiB"), OutOfMemoryError, MemoryError),
        (RecursionError("maximum recursion depth exceeded"), NestedTooDeeplyError, RecursionError),
        (FileNotFoundError(2, "No such file", "x.fp"), FileFailedError, OSError),
        (moderngl.Error("out of memory"), DeviceError, None),
    ],
)
def test_what_a_function_meets_becomes_an_error_of_ours(
    error: Exception, kind: type[GpgpuLegacyError], python: type[Exception] | None
) -> None:
    function = ours("@public\ndef f(error):\n    raise error", error=error)
    with pytest.raises(kind) as caught:
        function(error)
    assert caught.value.__cause__ is error
    assert python is None or isinstance(caught.value, python)
    assert "\n" not in str(caught.value)


def test_a_fault_says_what_where_and_what_to_do() -> None:
    function = ours("@public\ndef f(numbers):\n    return numbers['x']")
    with pytest.raises(InternalError) as caught:
        function({})
    assert str(caught.value) == (
        "gpgpu_legacy.f has met what it did not expect: KeyError: 'x' (made_here, line 3); this is "
        "a fault of gpgpu_legacy: please report it with the traceback"
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), InputError("give another")])
def test_interrupts_exits_and_our_own_errors_pass(error: BaseException) -> None:
    function = ours("@public\ndef f(error):\n    raise error")
    with pytest.raises(type(error)) as caught:
        function(error)
    assert caught.value is error


def test_a_signature_that_does_not_fit_is_pythons_business() -> None:
    function = ours("@public\ndef f(a):\n    return a + 1")
    with pytest.raises(TypeError, match="missing 1 required positional") as caught:
        function()
    assert not isinstance(caught.value, GpgpuLegacyError)
    with pytest.raises(InternalError, match="TypeError"):
        function("text")


def test_what_the_callers_code_raises_passes() -> None:
    function = ours("@public\ndef f(given):\n    given()")
    for error in (KeyError("mine"), MemoryError(), OSError(28, "full")):
        with pytest.raises(type(error)) as caught:
            function(raising(error))
        assert caught.value is error


def test_the_callers_function_may_be_a_librarys_or_pythons() -> None:
    function = ours("@public\ndef f(given, value):\n    on_behalf(given, value)")
    with pytest.raises(np.linalg.LinAlgError):
        function(np.linalg.inv, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="invalid literal"):
        function(int, "x")


def test_our_own_function_is_not_the_callers_even_if_it_is_called_like_one() -> None:
    inner = ours("def f(value):\n    return 1 / value")
    function = ours("@public\ndef f(given, value):\n    on_behalf(given, value)")
    with pytest.raises(InternalError):
        function(inner, 0)


def test_what_a_library_raises_on_our_behalf_is_ours() -> None:
    function = ours("@public\ndef f(matrix):\n    inv(matrix)", inv=np.linalg.inv)
    with pytest.raises(InternalError, match="LinAlgError: Singular matrix"):
        function(np.zeros((2, 2)))


_CLASS = """
@public
class f:
    def __init__(self, size):
        self.size = 8 // size
    @classmethod
    def make(cls):
        return {}[0]
    @staticmethod
    def still():
        return {}[0]
    @property
    def first(self):
        "The first."
        return {}[0]
    @cached_property
    def kept(self):
        return {}[0]
    def method(self):
        return {}[0]
"""


@pytest.mark.parametrize(
    "use",
    [
        lambda kind: kind(0),
        lambda kind: kind.make(),
        lambda kind: kind.still(),
        lambda kind: kind(1).first,
        lambda kind: kind(1).kept,
        lambda kind: kind(1).method(),
    ],
)
def test_methods_properties_and_initialisers_are_guarded(use: Callable[[Any], Any]) -> None:
    kind = ours(_CLASS, cached_property=cached_property)
    assert (kind(4).size, kind.first.__doc__) == (2, "The first.")
    with pytest.raises(InternalError):
        use(kind)


def test_the_body_of_a_context_manager_is_guarded_and_the_block_is_the_callers() -> None:
    text = "@manager\n@public\ndef f(size):\n    size[0]\n    yield\n    size[1]"
    block = ours(text, manager=contextmanager)
    with pytest.raises(InternalError, match="IndexError"), block([]):
        pass
    with pytest.raises(InternalError, match="IndexError"), block([1]):
        pass
    error = KeyError("the block's")
    with pytest.raises(KeyError) as caught, block([1, 2]):
        raise error
    assert caught.value is error


def test_a_warning_that_was_made_an_error_is_the_callers_wish() -> None:
    function = ours("@public\ndef f():\n    warn('odd')", warn=warn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(GpgpuLegacyWarning, match="odd"):
            function()


def test_a_warning_names_the_line_that_called_the_package() -> None:
    function = ours("@public\ndef f():\n    warn('odd')", warn=warn)
    with pytest.warns(GpgpuLegacyWarning, match="odd") as caught:
        function()
    assert caught[0].filename == __file__


# Arguments that do not fit -----------------------------------------------------------------------

_FITTING = """
from typing import Annotated, Any, Literal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from numpy.typing import ArrayLike, NDArray
import numpy
@public
def f(value: {annotation}, *others: int, **options: Any):
    raise {error}
"""


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        ("int", "x", "value is 'x'; give an integer"),
        ("int", True, "value is True; give an integer"),
        ("float | None", "x", "value is 'x'; give a real number or None"),
        ("str", 3, "value is 3; give text"),
        ("Mapping[str, int]", [1], "value is [1]; give a Mapping"),
        ("Literal['a', 'b']", "c", "value is 'c'; give 'a' or 'b'"),
        ("Callable[..., None]", 3, "value is 3; give a function"),
        ("tuple[int, int]", (1, "x"), "value is (1, 'x'); give a tuple"),
        ("tuple[int, ...]", (1, "x"), "value is (1, 'x'); give a tuple"),
        ("Annotated[int, 3]", None, "value is None; give an integer"),
        ("NDArray[numpy.float32]", [1.0], "value is [1.0]; give an array of real numbers"),
        (
            "NDArray[numpy.float32]",
            np.array(["a"]),
            "value is a",
        ),
        ("Path | str", ["x" * 50], "value is a list; give a Path or text"),
    ],
)
def test_a_call_that_fails_names_the_argument_that_does_not_fit(
    annotation: str, value: Any, said: str
) -> None:
    function = ours(_FITTING.format(annotation=annotation, error="KeyError(0)"))
    with pytest.raises(InputError) as caught:
        function(value)
    assert str(caught.value).startswith(said)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", np.int64(3)), ("float", 3), ("float", np.float16(3)), ("Any", object()),
        ("ArrayLike", [1]), ("Sequence[int]", (1,)), ("tuple[int, int]", [1, 2]),
        ("'Unknown'", 3), ("NDArray[numpy.float32]", np.zeros(3)), ("None", None),
        ("Literal[1]", 1),
    ],
)  # fmt: skip
def test_a_call_whose_arguments_fit_has_met_a_fault(annotation: str, value: Any) -> None:
    function = ours(_FITTING.format(annotation=annotation, error="KeyError(0)"))
    with pytest.raises(InternalError):
        function(value)


def test_a_keyword_that_is_handed_on_in_vain_is_named() -> None:
    text = _FITTING.format(annotation="int", error="TypeError(MESSAGE)")
    message = "g() got an unexpected keyword argument 'colour'"
    with pytest.raises(errors.UnknownKeywordError, match=r"f\(\) got an unexpected .* 'colour'"):
        ours(text, MESSAGE=message)(3, colour=3)


def test_a_keyword_of_a_typed_dict_is_held_against_its_annotation() -> None:
    text = """
from typing import TypedDict, Unpack
class Keywords(TypedDict, total=False):
    size: int
@public
def f(**keywords: Unpack[Keywords]):
    raise KeyError(0)
"""
    with pytest.raises(InputError, match="size is 'x'; give an integer"):
        ours(text)(size="x")
    with pytest.raises(InternalError):
        ours(text)(size=3)


# The package's own ------------------------------------------------------------------------------

UNGUARDED = {"AssemblyError", "GpgpuLegacyError", "GpgpuLegacyWarning", "InternalError"}


@pytest.mark.parametrize("name", sorted(set(gpgpu_legacy.__all__) - UNGUARDED))
def test_everything_public_is_guarded(name: str) -> None:
    what = getattr(gpgpu_legacy, name)
    if not isinstance(what, type):
        assert getattr(what, "__boundary__", False)
        return
    if issubclass(what, Enum):
        return
    unguarded = [
        f"{kind.__qualname__}.{key}"
        for kind in what.__mro__
        if kind.__module__.startswith("gpgpu_legacy.")
        for key, member in vars(kind).items()
        for function in functions_of(member)
        if not key.startswith("_") and not getattr(function, "__boundary__", False)
    ]
    assert unguarded == []


def functions_of(member: Any) -> Iterator[Any]:
    for name in ("fget", "func", "__func__"):
        if getattr(member, name, None) is not None:
            yield getattr(member, name)
    if inspect.isfunction(member):
        yield member


def test_every_executor_is_guarded() -> None:
    for executor in gpgpu_legacy.executors():
        assert type(executor).device.__boundary__  # type: ignore[attr-defined]


def test_guarded_functions_keep_their_names_signatures_and_docstrings() -> None:
    function: Any = gpgpu_legacy.count_plan
    assert function.__doc__ == function.__wrapped__.__doc__
    assert inspect.signature(function) == inspect.signature(function.__wrapped__)
    assert pickle.loads(pickle.dumps(function)) is function


def test_the_libraries_are_those_that_the_package_needs() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"\W*[>=<]", line)[0].replace("-", "_") for line in needed}
    assert {{"pillow": "PIL"}.get(name, name) for name in names} <= LIBRARIES


def test_an_observers_error_comes_through_a_run() -> None:
    pipeline = Pipeline("clear")
    x = pipeline.texture("x", 2, 2)
    pipeline.clear(x, 1.0)
    pipeline.output("x", x)
    error = LookupError("the observer's")

    def observer(*_: Any) -> None:
        raise error

    for executor in gpgpu_legacy.executors():
        try:
            executor.device()
        except errors.ExecutorUnavailableError:
            continue
        if not pipeline.plan().kinds <= executor.capabilities.passes:
            continue
        with pytest.raises(LookupError) as caught:
            executor.run(pipeline.plan(), {}, observer=observer)
        assert caught.value is error


def test_a_guard_costs_less_than_a_microsecond() -> None:
    function = ours("def f(a, b=2):\n    return a")
    guarded = ours("@public\ndef f(a, b=2):\n    return a")
    calls = 2000
    plain, more = (
        min(timeit.repeat(lambda f=f: f(1, b=3), number=calls, repeat=9)) / calls
        for f in (function, guarded)
    )
    assert more - plain < 1e-6


# Commands ---------------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Make `methods` fail within the package."""

    def breaks(error: Exception) -> None:
        fail = ours("def f():\n    raise error", error=error)
        monkeypatch.setattr("gpgpu_legacy.algorithms.registry.methods", fail)
        monkeypatch.setattr("gpgpu_legacy.cli.products.methods", fail, raising=False)

    return breaks


@pytest.mark.parametrize("words", [("methods", "--json"), ("methods",)])
def test_a_fault_is_one_line_with_an_exit_code_of_its_own(
    words: tuple[str, ...], run: Callable[..., tuple[int, str, str]], broken: Any
) -> None:
    broken(KeyError("measured"))
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (cli.INTERNAL, "", 1)
    assert err.startswith("gpgpu-legacy: this command has met what it did not expect: KeyError: ")
    assert err.endswith("please report it with what --debug adds to it\n")


@pytest.mark.parametrize("words", [("--debug", "methods"), ("methods", "--debug")])
def test_debug_shows_the_traceback_wherever_it_stands(
    words: tuple[str, ...], run: Callable[..., tuple[int, str, str]], broken: Any
) -> None:
    broken(KeyError("measured"))
    code, _, err = run(*words)
    assert code == cli.INTERNAL
    assert err.startswith("Traceback (most recent call last):")
    assert "KeyError: 'measured'" in err.splitlines()[-2]


def test_debug_is_an_argument_after_two_dashes(run: Callable[..., tuple[int, str, str]]) -> None:
    code, _, err = run("check", "--", "--debug")
    assert (code, err) == (2, "gpgpu-legacy: there is no file --debug\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "this machine has too little memory for that; try smaller sizes"),
        (PermissionError(13, "Permission denied", "a.bin"), "a.bin: permission denied"),
    ],
)
def test_what_the_machine_refuses_is_the_users_to_mend(
    error: Exception, said: str, run: Callable[..., tuple[int, str, str]], broken: Any
) -> None:
    broken(error)
    assert run("methods") == (2, "", f"gpgpu-legacy: {said}\n")


def test_warnings_of_libraries_stay_in_the_dark(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warns() -> tuple[()]:
        warnings.warn("from NumPy", RuntimeWarning, stacklevel=1)
        return ()

    monkeypatch.setattr("gpgpu_legacy.cli.products.methods", warns, raising=False)
    monkeypatch.setattr("gpgpu_legacy.algorithms.registry.methods", warns)
    assert run("methods", "--json")[::2] == (0, "")
    with pytest.warns(RuntimeWarning, match="from NumPy"):
        run("methods", "--json", "--debug")


def test_other_peoples_code_is_not_called_our_fault(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = raising(KeyError("mine"))
    monkeypatch.setattr("gpgpu_legacy.cli.products.methods", theirs, raising=False)
    monkeypatch.setattr("gpgpu_legacy.algorithms.registry.methods", theirs)
    code, _, err = run("methods", "--json")
    assert code == 2
    assert err == (
        "gpgpu-legacy: KeyError: 'mine'; code that is no part of gpgpu-legacy raised this\n"
    )
    assert sys.exc_info() == (None, None, None)
