"""Arguments of the wrong type: one line in Python's terms, for every function of the package."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest

import gpgpu_legacy
from gpgpu_legacy import Shape, assemble, find_method
from gpgpu_legacy.arguments import (
    as_flag,
    as_integer,
    as_member,
    as_positive,
    as_real,
    described,
    merged,
)
from gpgpu_legacy.errors import InputError

PROGRAM = assemble("!!ARBfp1.0\nMOV result.color, 1;\nEND")
PLAN = find_method("larson-mcallister").plan(Shape(2, 2, 2))
A = np.ones((2, 2))

# Every function that takes a single thing to look at, and what it must be.
READERS = {
    "assemble": "the text of a program",
    "count_plan": "a Plan",
    "disassemble": "an assembled Program",
    "expand": "a Plan",
    "find_executor": "an executor's name",
    "find_method": "a method's name",
    "find_profile": "a chip's name",
    "resources": "an assembled Program",
    "validate": "a Plan",
}
NONSENSE = (None, 3, 2.5, b"!!ARBfp1.0 END", ["auto"], A, object())


def refusal(function: str, *arguments: Any, **keywords: Any) -> str:
    """The one line in which a function of the package refuses what it is given."""
    with pytest.raises(InputError) as raised:
        getattr(gpgpu_legacy, function)(*arguments, **keywords)
    message = str(raised.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("function", READERS)
@pytest.mark.parametrize("nonsense", [*NONSENSE, PROGRAM, PLAN], ids=lambda v: type(v).__name__)
def test_a_reader_says_what_it_reads(function: str, nonsense: Any) -> None:
    reads = {"a Plan": PLAN, "an assembled Program": PROGRAM}.get(READERS[function])
    if nonsense is not reads:
        assert READERS[function] in refusal(function, nonsense)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("assemble", ("END", 7), "name is 7; give a name for messages"),
        ("find_executor", (PLAN,), "name is a Plan; give an executor's name, such as 'auto'"),
        ("find_executor", ("auto", PROGRAM), "plan is a Program; give a Plan"),
        ("check_program", (PROGRAM, "nv30"), "chip is a str; give the Profile of a chip"),
        ("check_program", (PLAN, gpgpu_legacy.find_profile("nv30")), "program is a Plan"),
        ("count_plan", (PLAN, "bytes"), "accounting is a str; give an Accounting"),
        ("find_arithmetic", (16,), "arithmetic is 16; give one of fp32, fp24"),
        ("run_program", (2, 1, "END"), "program is an int; give an assembled Program or its text"),
        ("run_program", (PLAN, 1, 1), "program is a Plan; give an assembled Program"),
        ("run_program", (PROGRAM, "1", 1), "width is '1'; it must be an integer"),
        ("run_program", (PROGRAM, 1, 1.0), "height is 1.0; it must be an integer"),
        ("run_program", (PROGRAM, 1, 1, A), "textures is an ndarray; give a mapping"),
        ("run_program", (PROGRAM, 1, 1, None, {}), "arguments is a dict; give a DrawArguments"),
    ],
)
def test_a_wrong_argument_is_named(function: str, arguments: tuple[Any, ...], message: str) -> None:
    assert message in refusal(function, *arguments)


@pytest.mark.parametrize(
    ("keyword", "value", "message"),
    [
        ("executor", None, "executor is None; give an executor's name, such as 'auto'"),
        ("executor", 3, "executor is 3; give an executor's name"),
        ("machine", "fp16", "machine is a str; give a Machine"),
        ("exact", "yes", "exact is 'yes'; it must be True or False"),
        ("arithmetic", 16, "arithmetic is 16; give one of fp32"),
        ("blend", 1, "blend is 1; choose from none, add"),
        ("draw_buffers", "2", "draw_buffers is '2'; it must be an integer"),
        ("clear", "red", "clear holds text, not real numbers"),
        ("local", [1], "local is a list; give a mapping"),
        ("state", "fog", "state is a str; give a mapping"),
    ],
)
def test_run_program_names_a_wrong_keyword(keyword: str, value: Any, message: str) -> None:
    assert message in refusal("run_program", PROGRAM, 1, 1, **{keyword: value})


def test_numbers_of_numpy_are_numbers() -> None:
    assert type(as_integer("n", np.int64(3))) is int
    assert type(as_real("x", np.float32(0.5))) is float
    assert as_flag("f", np.bool_(True)) is True
    for check, value in (
        (as_integer, True), (as_integer, 3.0), (as_integer, np.float64(3)), (as_positive, 0),
        (as_real, "1"), (as_real, True), (as_real, None), (as_flag, 1), (as_flag, "yes"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"^n is .*; it must be"):
            check("n", value)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def test_a_member_may_be_given_by_its_value() -> None:
    assert as_member("colour", "red", Colour) is as_member("colour", Colour.RED, Colour)
    with pytest.raises(InputError, match="colour is 'green'; choose from red, blue"):
        as_member("colour", "green", Colour)


@dataclass(frozen=True)
class Pair:
    one: int = 1
    two: Any = None


def test_keywords_fill_in_a_value_object() -> None:
    assert merged("f", "pair", None, Pair, {"one": 3}) == Pair(3)
    assert merged("f", "pair", Pair(two=5), Pair, {"one": 3}) == Pair(3, 5)
    assert merged("f", "pair", Pair(3), Pair, {"one": 3}) == Pair(3)
    with pytest.raises(InputError, match="one is 4 by itself and 3 in pair; give it once"):
        merged("f", "pair", Pair(3), Pair, {"one": 4})
    with pytest.raises(InputError, match="two is an ndarray by itself and an ndarray in pair"):
        merged("f", "pair", Pair(two=A), Pair, {"two": A.copy()})
    with pytest.raises(InputError, match="pair is an int; give a Pair"):
        merged("f", "pair", 3, Pair, {})  # type: ignore[type-var]
    with pytest.raises(TypeError, match=r"f\(\) got an unexpected keyword argument 'three'"):
        merged("f", "pair", None, Pair, {"three": 3})


def test_a_long_value_is_told_by_its_type() -> None:
    assert described("x" * 99) == "a str"
    assert described(A) == "an ndarray"
    assert described(None) == "None"
