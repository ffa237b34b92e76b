"""Arguments of the wrong type: one line in Python's terms, for every function of the package."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from enum import Enum, StrEnum
from typing import Any

import numpy as np
import pytest

import gpgpu_legacy
from gpgpu_legacy import (
    Machine,
    Options,
    Shape,
    assemble,
    find_method,
    plan_as_json,
    plan_from_json,
    run,
)
from gpgpu_legacy.api.keywords import MachineKeywords, ProductKeywords
from gpgpu_legacy.arguments import (
    as_flag,
    as_integer,
    as_member,
    as_positive,
    as_real,
    as_text,
    described,
    merged,
)
from gpgpu_legacy.errors import InputError

PROGRAM = assemble("!!ARBfp1.0\nMOV result.color, 1;\nEND")
PLAN = find_method("larson-mcallister").plan(Shape(2, 2, 2))
A = np.ones((2, 2))
OPERANDS = {"A": A, "B": A}

# Every function that takes a single thing to look at, and what it must be.
READERS = {
    "assemble": "the text of a program",
    "bench_plan": "a Plan",
    "count_plan": "a Plan",
    "disassemble": "an assembled Program",
    "expand": "a Plan",
    "find_algorithm": "an algorithm's name",
    "find_executor": "an executor's name",
    "find_method": "a method's name",
    "find_profile": "a chip's name",
    "plan_as_json": "a Plan",
    "plan_from_json": "the text of a plan.json",
    "read_plan": "the path of a plan.json",
    "resources": "an assembled Program",
    "run_plan": "a Plan",
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
        ("bench_plan", (PLAN, {}, "numpy"), "executors is 'numpy'; give a sequence of names"),
        ("bench_plan", (PLAN, {}, ["numpy"], 3), "reference is 3; give a function"),
        ("check_program", (PROGRAM, "nv30"), "chip is a str; give the Profile of a chip"),
        ("check_plan", (PLAN, "nv30"), "chip is a str; give the Profile of a chip"),
        ("check_plan", (PROGRAM, gpgpu_legacy.find_profile("nv30")), "plan is a Program"),
        ("trace_plan", (PROGRAM, {}, 0, 0), "plan is a Program; give a Plan"),
        ("picture", ("white",), "texels holds text, not real numbers"),
        ("picture", ([[1.0]], 0), "scale is 0; it must be at least 1"),
        ("player", (3,), "what is an int; give a Plan"),
        ("player", ("jacobi", 3), "inputs is an int; give a mapping of arrays by name"),
        ("plan_page", (PROGRAM, {}), "plan is a Program; give a Plan"),
        ("trace_plan", (PLAN, OPERANDS, "0", 0), "x is '0'; it must be an integer"),
        ("trace_plan", (PLAN, OPERANDS, 0, 5), "there is no texel 0,5 in C"),
        ("plan_figure", (PROGRAM, {}), "plan is a Program; give a Plan"),
        ("plan_figure", (PLAN, OPERANDS, "log"), "options is a str; give a FigureOptions"),
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


@pytest.mark.parametrize("function", ["run", "matmul"])
@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (("hall-carr-hart-multi", A, A), {}, "method is an ndarray; give a method's name"),
        ((A, A, None), {}, "method is None; give a method's name, such as 'hall-carr-hart-multi'"),
        ((A, "B"), {}, "B holds"),
        ((A, None), {}, "B holds"),
        ((A, A), {"options": {"block": 8}}, "options is a dict; give an Options"),
        ((A, A), {"options": Options(block="8")}, "block is '8'; it must be an integer"),
        ((A, A), {"options": Machine()}, "options is a Machine; give an Options"),
        ((A, A), {"machine": "numpy"}, "machine is a str; give a Machine"),
        ((A, A), {"machine": Machine("yes")}, "machine.exact is 'yes'; it must be True or False"),
        ((A, A), {"machine": Machine(arithmetic="fp16")}, "machine.arithmetic is a str; give an A"),
        ((A, A), {"block": "8"}, "block is '8'; it must be an integer"),
        ((A, A), {"block": 8.0}, "block is 8.0; it must be an integer"),
        ((A, A), {"block": True}, "block is True; it must be an integer"),
        ((A, A), {"alpha": "x"}, "alpha is 'x'; it must be a real number"),
        ((A, A), {"alpha": 1j}, "alpha is 1j; it must be a real number"),
        ((A, A), {"beta": None}, "beta is None; it must be a real number"),
        ((A, A), {"accumulate": "sum"}, "accumulate is 'sum'; choose from copy, ping-pong, blend"),
        ((A, A), {"texture_format": 3}, "texture_format is 3; give a format's name"),
        ((A, A), {"transpose_a": "no"}, "transpose_a is 'no'; it must be True or False"),
        ((A, A), {"as_printed": 1}, "as_printed is 1; it must be True or False"),
        ((A, A), {"largest_texture": 4.5}, "largest_texture is 4.5; it must be an integer"),
        ((A, A), {"coordinates_first": "1"}, "coordinates_first is '1'; it must be an integer"),
        ((A, A), {"exact": 1}, "exact is 1; it must be True or False"),
        ((A, A), {"arithmetic": 16}, "arithmetic is 16; give one of fp32"),
        ((A, A), {"arithmetic": "fp8"}, "arithmetic is 'fp8'; choose from fp32"),
        ((A, A), {"executor": None}, "executor is None; give an executor's name, such as 'auto'"),
        ((A, A), {"executor": 1}, "executor is 1; give an executor's name"),
        ((A, A), {"c": "C"}, "C holds"),
        ((A, A), {"options": Options(adds=True)}, "options.adds is True, but there is no c"),
        ((A, A), {"options": Options(block=8), "block": 4}, "block is 4 by itself and 8 in opt"),
        ((A, A), {"machine": Machine(True), "arithmetic": "fp8"}, "arithmetic is 'fp8'"),
    ],
)
def test_a_product_names_a_wrong_argument(
    function: str, arguments: tuple[Any, ...], keywords: dict[str, Any], message: str
) -> None:
    assert message in refusal(function, *arguments, **keywords)


NUMPY = gpgpu_legacy.find_executor("numpy")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NUMPY.prepare("plan"), "plan is a str; give a Plan"),
        (lambda: NUMPY.prepare(PROGRAM), "plan is a Program; give a Plan"),
        (lambda: NUMPY.prepare(PLAN, "fp16"), "machine is a str; give a Machine"),
        (lambda: NUMPY.prepare(PLAN, None), "machine is None; give a Machine"),
        (lambda: NUMPY.prepare(PLAN, Machine("yes")), "machine.exact is 'yes'; it must be True or"),
        (lambda: NUMPY.prepare(PLAN, Machine(tuning=3)), "machine.tuning is an int; give a Tuning"),
        (lambda: NUMPY.run(PLAN, [A, A]), "operands is a list; give a mapping of matrices by name"),
        (lambda: NUMPY.run(PLAN, {**OPERANDS, "B": "x"}), "operand B holds"),
        (lambda: NUMPY.run(PLAN, OPERANDS, observer=3), "observer is 3; give a function"),
        (lambda: run(A, A, observer=3), "observer is 3; give a function, or leave it out"),
        (lambda: run(A, A, progress="bar"), "progress is 'bar'; give a function, or leave it out"),
        (lambda: find_method("hall-carr-hart-multi").plan((2, 2, 2)), "shape is a tuple; give a S"),
        (lambda: find_method("hall-carr-hart-multi").options(None), "options is None; give an Op"),
        (lambda: gpgpu_legacy.Accounting("12"), "vertex_bytes is '12'; it must be an integer"),
    ],
)
def test_a_method_of_an_exported_class_names_a_wrong_argument(call: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_run_names_a_wrong_number_of_runs() -> None:
    assert refusal("run", A, A, repeat="3") == "repeat is '3'; it must be an integer"
    assert refusal("run", A, A, repeat=0) == "repeat is 0; it must be at least 1"


def test_options_and_a_machine_are_taken_whole_or_by_their_fields() -> None:
    whole = run(A, A, "hall-carr-hart-single", Options(block=2), Machine(exact=True))
    parts = run(A, A, "hall-carr-hart-single", block=2, exact=True)
    both = run(A, A, "hall-carr-hart-single", Options(block=2), alpha=2.0, exact=False)
    assert whole.plan == parts.plan
    assert whole.options == parts.options
    assert (both.product == 2 * whole.product).all()
    assert (both.options.block, both.options.alpha) == (2, 2.0)
    names = {field.name for field in fields(Options)} - {"adds"}
    assert names | MachineKeywords.__annotations__.keys() == ProductKeywords.__annotations__.keys()
    with pytest.raises(TypeError, match=r"run\(\) got an unexpected keyword argument 'blok'"):
        run(A, A, blok=2)  # type: ignore[call-arg]


def test_every_function_is_tried() -> None:
    functions = {
        name for name in gpgpu_legacy.__all__ if inspect.isfunction(getattr(gpgpu_legacy, name))
    }
    without_parameters = {"all_algorithms", "executors", "methods"}
    tried = {
        "run", "matmul", "run_program", "check_program", "check_plan", "trace_plan",
        "plan_figure", "find_arithmetic", "picture", "player", "plan_page", *READERS,
    }  # fmt: skip
    assert functions - without_parameters == tried


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


def test_the_text_of_numpy_is_text() -> None:
    """Its bytes are UTF-32, which readers of bytes take for broken JSON."""
    text = "!!ARBfp1.0\nMOV result.color, {1, 2, 3, 4};\nEND"
    plan = plan_as_json(PLAN)
    assert plan_from_json(np.str_(plan)) == plan_from_json(plan)
    assert assemble(np.str_(text)) == assemble(text)


def test_text_with_a_word_of_its_own_is_its_content() -> None:
    class Word(StrEnum):
        AUTO = "auto"

    found = as_text("word", Word.AUTO, "a word")
    assert type(found) is str
    assert found == "auto"
