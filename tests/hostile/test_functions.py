"""Every public function and method, with arguments of every kind that it is not meant for.

Whatever they are, what leaves is an error of the package, never a fault of it; only what the
arguments' own methods raise comes through, and Python's TypeError for a signature that does not
fit.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from attacks import ATTACK

import gpgpu_legacy as gl
from gpgpu_legacy import GpgpuLegacyError, Pipeline
from gpgpu_legacy.boundary import on_behalf
from gpgpu_legacy.errors import InternalError

PROGRAM = (
    "!!ARBfp1.0 TEMP r; TEX r, fragment.position, texture[0], RECT; ADD result.color, r, r; END"
)


class OwnError(Exception):
    """What the methods of an argument raise."""


def _raise(*_: Any, **__: Any) -> Any:
    raise OwnError


class Failing:
    """An object whose every method raises."""


_SPECIAL = (
    "array", "float", "int", "index", "len", "iter", "getitem", "contains", "eq", "hash", "bool",
    "call", "fspath", "str", "repr", "lt", "add", "mul", "enter", "float", "complex", "round",
)  # fmt: skip
for _name in _SPECIAL:
    setattr(Failing, f"__{_name}__", _raise)


class FailingArray:
    """An object that says that it is an array and cannot be made one."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise OwnError


class FailingMapping(dict[Any, Any]):
    """A mapping whose items are not to be had."""

    __getitem__ = __iter__ = __len__ = keys = items = values = get = _raise  # type: ignore[assignment]


def values() -> dict[str, Any]:
    """Arguments of every kind, new in every case, by what they are."""
    plan = pipeline().plan()
    return {
        "None": None, "True": True, "0": 0, "1": 1, "-1": -1, "3": 3, "10**30": 10**30,
        "-10**5000": -(10**5000), "2**63": 2**63, "0.5": 0.5, "nan": float("nan"),
        "inf": float("inf"), "1e300": 1e300, "1j": 1j, "Decimal": Decimal("NaN"),
        "Fraction": Fraction(1, 3), "''": "", "'x'": "x", "'\\0'": "\0", "'\\ud800'": "\ud800",
        "'²'": "²", "long": "x" * 10_000, "program": PROGRAM, "'numpy'": "numpy", "'auto'": "auto",
        "'h100'": "h100", "'jacobi'": "jacobi", "method": "hall-carr-hart-multi", "'a'": "a",
        "bytes": b"\xff", "Path": Path("nowhere/x"), "folder": Path(), "[]": [], "()": (), "{}": {},
        "[1]": [1], "[[1, 2], [3]]": [[1, 2], [3]], "2×2": [[1.0, 2.0], [3.0, 4.0]],
        "{0: 1}": {0: 1}, "{'a': 2×2}": {"a": np.ones((2, 2), np.float32)},
        "{'a': 'x'}": {"a": "x"},
        "{-1: []}": {-1: []}, "{None: None}": {None: None}, "set": {1}, "range": range(3),
        "zeros": np.zeros((0, 3)), "0-d": np.array(3), "strings": np.array(["a"]),
        "objects": np.array([None, {}], object), "3-d": np.zeros((2, 2, 4)), "ints": np.arange(4),
        "huge": np.full((2, 2), 1e300), "nans": np.full((2, 2), np.nan),
        "complex": np.array([[1j]]),
        "structured": np.zeros(2, [("x", "f4")]), "dates": np.zeros(2, "M8[s]"),
        "masked": np.ma.masked_array([[1.0, 2.0]], [[True, False]]), "float16": np.float16(1),
        "int type": int, "object": object(), "lambda": lambda *_: None, "raising": _raise,
        "Failing": Failing(), "FailingArray": FailingArray(), "FailingMapping": FailingMapping(),
        "generator": (n for n in (1, 2)), "plan": plan, "program's": gl.assemble(PROGRAM),
        "pipeline": pipeline(), "Machine": gl.Machine(), "Options": gl.Options(),
        "bad Machine": gl.Machine(1, "fp32"), "Shape": gl.Shape(2, 2, 2),  # type: ignore[arg-type]
        "method's": gl.find_method("weblas"), "profile": gl.find_profile("h100"),
        "executor": gl.find_executor("numpy"), "texture": next(iter(plan.textures)),
        "pass": next(iter(plan.steps)), "Arguments": gl.DrawArguments(),
    }  # fmt: skip


def pipeline() -> Pipeline:
    """A small pipeline with an input a, 2×2, and an output."""
    built = Pipeline("small")
    a, b = built.input("a", 2, 2), built.texture("b", 2, 2)
    built.draw(PROGRAM, {0: a}, into=b)
    built.output("b", b)
    return built


def prepared() -> Any:
    return gl.find_executor("numpy").prepare(pipeline().plan())


def _plan_run() -> Any:
    return pipeline().run({"a": np.ones((2, 2))}, executor="numpy")


OBJECTS: dict[str, Callable[[], Any]] = {
    "Pipeline": pipeline,
    "PlanBuilder": lambda: gl.PlanBuilder.continuing(pipeline().plan()),
    "Plan": lambda: pipeline().plan(),
    "PlanRun": _plan_run,
    "Prepared": prepared,
    "Executor": lambda: gl.find_executor("numpy"),
    "Program": lambda: gl.assemble(PROGRAM),
    "Algorithm": lambda: gl.find_algorithm("jacobi"),
    "Method": lambda: gl.find_method("weblas"),
    "Machine": gl.Machine,
    "Options": gl.Options,
    "Shape": lambda: gl.Shape(2, 2, 2),
    "Arithmetic": lambda: gl.find_arithmetic("fp16"),
    "Counts": lambda: gl.count_plan(pipeline().plan()),
    "Run": lambda: gl.run([[1.0]], [[2.0]], "weblas", executor="numpy"),
}
"""An object of each class with methods, new in every case."""

UNGUARDED = {"Arithmetic.wide"}
"""What runs for each instruction, on arrays of the package's own."""

MEASURING = {"bench_plan", "Pipeline.bench"}
"""What runs until a budget is spent; it is always given one."""


def functions() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every public function, class and method by its name, with what gives it."""
    for name in gl.__all__:
        what = getattr(gl, name)
        if not isinstance(what, type) or (
            not issubclass(what, Enum | BaseException) and not inspect.isabstract(what)
        ):
            yield name, lambda what=what: what
    for name, make in OBJECTS.items():
        kind = type(make())
        for member in dir(kind):
            is_method = not member.startswith("_") and callable(getattr(kind, member))
            if is_method and f"{name}.{member}" not in UNGUARDED:
                yield f"{name}.{member}", lambda make=make, member=member: getattr(make(), member)


FUNCTIONS = dict(functions())


def arguments(
    random: Random, name: str, function: Any
) -> tuple[list[str], list[Any], dict[str, Any]]:
    """Arguments for a function: what they are, those without a name, and those with one."""
    known = values()
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        parameters = []
    shown, given, named = [], [], {}

    def some(parameter: inspect.Parameter) -> Any:
        fitting = [key for key, value in known.items() if _fits(parameter, value)]
        key = random.choice(fitting) if fitting and random.random() < 0.5 else None
        key = random.choice(list(known)) if key is None else key
        if parameter.name == "repeat" and key in {"10**30", "2**63"}:
            key = "3"  # who asks for so many runs gets them
        shown.append(f"{parameter.name}={key}")
        return known[key]

    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            if parameter.default is parameter.empty or random.random() < 0.3:
                named_only = len(given) < len(named) or parameter.default is not parameter.empty
                if named_only and parameter.kind is not parameter.POSITIONAL_ONLY:
                    named[parameter.name] = some(parameter)
                else:
                    given.append(some(parameter))
        elif parameter.kind is parameter.KEYWORD_ONLY and random.random() < 0.3:
            named[parameter.name] = some(parameter)
        elif parameter.kind is parameter.VAR_KEYWORD and random.random() < 0.4:
            word = random.choice(_KEYWORDS)
            named.setdefault(word, some(parameter.replace(name=word)))
    if name in MEASURING:
        named["budget_s"] = 0.0
    return shown, given, named


_KEYWORDS = (
    "exact", "arithmetic", "block", "accumulate", "texture_format", "transpose_a", "alpha", "beta",
    "dynamic", "largest_texture", "local", "env", "texcoords", "color", "fogcoord", "state",
    "clear", "blend", "draw_buffers", "passes", "feedback", "a", "no_such", "as_printed",
)  # fmt: skip


def _fits(parameter: inspect.Parameter, value: Any) -> bool:
    """Whether a value is roughly what a parameter is annotated with."""
    wanted = str(parameter.annotation)
    kind = type(value).__name__
    return kind in wanted or ("ArrayLike" in wanted and kind in {"ndarray", "list"})


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_survives_any_arguments(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    random = ATTACK.random(f"functions, {name}")
    for _ in range(ATTACK.count(6, 120)):
        problem = called(random, name)
        assert problem is None, problem


def is_callers_business(error: Exception) -> bool:
    """Whether Python has refused the call itself, or a type of Python's that is a function here."""
    inner = error.__traceback__ and error.__traceback__.tb_next
    if inner is None or inner.tb_next is None:
        return isinstance(error, TypeError)
    while inner.tb_next is not None:
        inner = inner.tb_next
    return inner.tb_frame.f_code is on_behalf.__code__


def called(random: Random, name: str) -> str | None:
    """What is wrong with what a call raised or warned of; None if nothing is."""
    function = FUNCTIONS[name]()
    shown, given, named = arguments(random, name, function)
    call = f"{name}({', '.join(shown)})"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = function(*given, **named)
            if hasattr(result, "__enter__") and hasattr(result, "gen"):  # of a context manager
                with result:
                    pass
        except InternalError as error:
            return f"{call}: {error}"
        except (GpgpuLegacyError, OwnError):
            pass
        except Exception as error:
            if not is_callers_business(error):
                return f"{call}: {error!r}"
    strange = [w for w in warned if not issubclass(w.category, gl.GpgpuLegacyWarning)]
    return f"{call}: {strange[0].message} ({strange[0].filename})" if strange else None
