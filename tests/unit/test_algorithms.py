"""Algorithms: their parameters; functions of Python files, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import find_algorithm, find_product, products
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.plan.serialise import plan_as_json
from gpgpu_legacy.runtime.executor import find_executor

# The parameters of products ----------------------------------------------------------------------

SIZES = {"n": 256, "m": None, "l": None, "alpha": 1.0, "beta": None}
STORED = {"transpose_a": False, "transpose_b": False, "largest_texture": None}
HALL = {"block": 32, "accumulate": "copy", "coordinates_first": None}  # "we have chosen b = 32"
OWN: dict[str, dict[str, Any]] = {
    "larson-mcallister": STORED
    | {"texture_format": "r32f", "state": "program", "as_printed": False},
    "hall-carr-hart-single": STORED | HALL,
    "hall-carr-hart-multi": STORED | HALL,
    "govindaraju-tiled": STORED | HALL | {"block": 4, "tile": None, "accumulate": "ping-pong"},
    "mali-sgemm": {},
    "opengl-compute-tiled": {"as_printed": False},
    "row-packed": {"largest_texture": None},
    "dobravec-bulic-host": {},
    "dobravec-bulic-global": {"block": 16},
    "dobravec-bulic-shared": {"block": 16, "dynamic": False},
    "packed-2x2": STORED,
}
every_product = pytest.mark.parametrize("product", products(), ids=lambda product: product.name)


@every_product
def test_a_product_has_its_parameters_reference_and_operations(product: Algorithm) -> None:
    assert all(parameter.meaning for parameter in product.parameters.values())
    defaults = {name: one.plain_default for name, one in product.parameters.items()}
    assert defaults == SIZES | OWN[product.name]
    p = product.builder(n=3, m=2, l=4)
    assert p.parameters == defaults | {"n": 3, "m": 2, "l": 4}
    assert (p.name, p.plan().name, p.operations) == (product.name, product.name, 2 * 3 * 2 * 4)
    # by hand: 4 times 1.75 is 7, and the second row has one more
    a, b = np.full((2, 4), 1.75), np.ones((4, 3))
    a[1, 2] += 1
    assert p.reference is not None
    assert p.reference(A=a, B=b).tolist() == [[7, 7, 7], [8, 8, 8]]
    for name in (*product.aliases, product.name.replace("-", "_")):
        assert find_product(name) is find_algorithm(name) is product


def test_the_reference_of_a_product_has_all_of_its_parameters() -> None:
    p = find_product("hall-carr-hart-single").builder(
        n=2, m=1, l=3, transpose_a=True, transpose_b=True, alpha=2, beta=-1
    )
    a, b, c = [[1], [2], [3]], [[1, 0, 0], [0, 1, 1]], [[10, 100]]  # AB is 1 and 5, of columns of B
    operands = {"A": np.array(a), "B": np.array(b), "C0": np.array(c)}
    assert p.reference is not None
    assert p.reference(**operands).tolist() == [[2 * 1 - 10, 2 * 5 - 100]]
    operands = {name: matrix.astype(np.float32) for name, matrix in operands.items()}
    assert find_executor("numpy").run(p.plan(), operands).outputs["C"].tolist() == [[-8, -90]]


MULTI, LARSON, SHARED = "hall-carr-hart-multi", "larson-mcallister", "dobravec-bulic-shared"


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        (MULTI, {"n": 2.0}, f"{MULTI}: n is 2.0; it must be an integer"),
        (MULTI, {"n": -1}, "n is -1; it must be at least 1"),
        (MULTI, {"l": 2**25}, "l is 33554432; the largest possible is 16777216"),
        (MULTI, {"block": "8.0"}, f"{MULTI}: block is '8.0'; give a whole number"),
        (MULTI, {"block": 65, "largest_texture": 64},
         "a block of 65 does not fit a texture of 64 texels; choose a smaller block or larger "
         "textures"),
        (MULTI, {"block": 5000}, "block is 5000; a program unrolls at most 4096 iterations"),
        (MULTI, {"accumulate": None},
         f"{MULTI}: accumulate is None; choose from copy, ping-pong, blend"),
        (MULTI, {"accumulate": "sum"},
         f"{MULTI}: accumulate is 'sum'; give one of copy, ping-pong, blend"),
        (MULTI, {"beta": 1j}, f"{MULTI}: beta is 1j; it must be a number"),
        (MULTI, {"transpose_a": 5}, f"{MULTI}: transpose_a is 5; choose from True, False"),
        (MULTI, {"sizes": 8}, f"{MULTI} has no parameter sizes; its parameters are n, m, l, alpha, "
         "beta, transpose_a, transpose_b, largest_texture, block, accumulate, coordinates_first"),
        (LARSON, {"texture_format": "unorm8", "alpha": 2.0},
         "alpha, beta and C0 need float textures; set texture_format to r32f"),
        (SHARED, {"block": 8.0}, f"{SHARED}: block is 8.0; choose from 1, 2, 4, 8, 16, 32"),
        (SHARED, {"block": "3"}, f"{SHARED}: block is '3'; give one of 1, 2, 4, 8, 16, 32"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit(name: str, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        find_product(name).plan(**wrong)
    assert str(raised.value) == message


# Recipes -----------------------------------------------------------------------------------------

HEAD = """from __future__ import annotations
from enum import Enum
from typing import Literal, Optional
from gpgpu_legacy import Pipeline

class Way(Enum):
    UP = "up"
    DOWN = "down"

FILL = "!!ARBfp1.0\\nMOV result.color, program.local[0];\\nEND"
"""

GOOD = (
    HEAD
    + """
def fill(n: int, value: float = 1.5, way: Way = Way.UP, twice: bool = False, tag="x",
         depth: Optional[int] = None, mode: Literal["a", "b"] = "a", bare=3) -> Pipeline:
    p = Pipeline(f"{way.name}-{twice}-{tag}-{depth}-{mode}-{bare}")
    y = p.texture("y", n, 1)
    p.draw(FILL, into=y, local={0: value})
    p.output("y", y)
    return p
"""
)

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a recipe's text to recipe.py of the current folder."""
    monkeypatch.chdir(tmp_path)

    def to(text: str) -> Path:
        Path("recipe.py").write_text(text, encoding="utf-8")
        return Path("recipe.py")

    return to


def test_parameters_are_what_their_annotations_say(write: Write) -> None:
    recipe = find_algorithm(str(write(GOOD)))
    settings = {
        "n": "4", "value": "2", "way": "down", "twice": "yes", "tag": "7", "depth": "3",
        "mode": "b", "bare": "5",
    }  # fmt: skip
    built = recipe.builder(**settings)
    assert built.name == "DOWN-True-7-3-b-5"
    assert built.plan().texture("y").extent.width == 4
    assert dict(built.parameters) == {
        "n": 4, "value": 2.0, "way": "down", "twice": True, "tag": "7", "depth": 3, "mode": "b",
        "bare": 5,
    }  # fmt: skip
    assert recipe.plan(n=2, depth="none").name == "UP-False-x-None-a-3"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs the parameter n; give it, as in n=…"),
        ({"n": "big"}, "n is 'big'; give a whole number"),
        ({"n": "2", "value": "much"}, "value is 'much'; give a number"),
        ({"n": "2", "way": "left"}, "way is 'left'; give one of up, down"),
        ({"n": "2", "twice": "perhaps"}, "twice is 'perhaps'; give one of true, yes"),
        ({"n": "2", "mode": "c"}, "mode is 'c'; give one of a, b"),
        ({"n": "2", "valu": "1"}, "has no parameter valu; did you mean value?"),
        ({"n": "0"}, r"recipe.py:15: width is 0; it must be at least 1"),
    ],
)
def test_settings_that_do_not_fit(write: Write, settings: dict[str, str], message: str) -> None:
    recipe = find_algorithm(str(write(GOOD)))
    with pytest.raises(InputError, match=message) as caught:
        recipe.builder(**settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def fill(:\n", r"recipe.py:1: invalid syntax.*; mend the recipe's Python"),
        ("x = 1\0", "is not a text file"),
        ("", "recipe.py has no function; write one that returns a Pipeline"),
        ("import nowhere_at_all\n", "recipe.py:1: ModuleNotFoundError: No module named 'nowhere"),
        ("\nraise SystemExit(3)\n", "recipe.py:2: SystemExit: 3"),
        ("def a(): ...\ndef b(): ...\n", "has the functions a, b; name the one that returns"),
        ("def fill(): return 3\n", "recipe.py:fill returns an int; return a Pipeline"),
        ("def fill():\n    return {}[1]\n", "recipe.py:2: KeyError: 1"),
        ("def fill():\n    def f(n): return f(n + 1)\n    f(0)\n", "recipe.py:2: RecursionError"),
        (
            "from gpgpu_legacy import Pipeline\ndef fill():\n    p = Pipeline('p')\n"
            "    p.draw('no.fp', into=p.texture('x', 1, 1))\n    return p\n",
            "recipe.py:4: there is no file no.fp",
        ),
        (
            HEAD + "def fill():\n    p = Pipeline('p')\n    x = p.texture('x', 1, 1)\n"
            "    p.output('x', x)\n    return p\n",
            "recipe.py: plan p: texture x is read back before anything was written to it",
        ),
    ],
)
def test_recipes_that_are_wrong(write: Write, text: str, message: str) -> None:
    path = write(text)
    with pytest.raises(InputError, match=message) as caught:
        find_algorithm(str(path)).builder()
    assert "\n" not in str(caught.value)


def test_a_plan_is_an_algorithm_without_parameters(write: Write) -> None:
    plan = find_algorithm("jacobi").plan(n=3)
    path = write(plan_as_json(plan)).rename("plan.json")
    algorithm = find_algorithm(str(path))
    assert algorithm.plan() == plan
    assert algorithm.parameters == {}
    with pytest.raises(InputError, match=r"plan.json has no parameter n; its parameters are none"):
        algorithm.plan(n=4)


# Parameters that share a dataclass, and inputs that share a name ----------------------------------

GROUP = """
from dataclasses import dataclass
from typing import Annotated

@dataclass
class Size:
    width: Annotated[int, "texels in a row"]
    height: int = 2

def box(size: Size, value: float = 1.0):
    p = Pipeline("box")
    y = p.texture("y", size.width, size.height)
    p.draw(FILL, into=y, local={0: value})
    p.output("y", y)
    return p

def same(y: int = 2):
    p = Pipeline("same")
    p.output("x", p.input("y", y, y))
    return p
"""


def test_a_dataclass_stands_for_its_fields(write: Write) -> None:
    algorithm = find_algorithm(f"{write(HEAD + GROUP)}:box")
    assert [(one.name, one.required, one.meaning) for one in algorithm.parameters.values()] == [
        ("width", True, "texels in a row"), ("height", False, ""), ("value", False, ""),
    ]  # fmt: skip
    p = algorithm.builder(width="3")
    assert p.parameters == {"width": 3, "height": 2, "value": 1.0}
    extent = p.plan().texture("y").extent
    assert (extent.width, extent.height) == (3, 2)
    with pytest.raises(InputError, match=r"box needs the parameter width; give it, as in width=…"):
        algorithm.plan(height=3)
    with pytest.raises(InputError, match=r"box has no parameter size; .* are width, height, value"):
        algorithm.plan(size=3)


def test_an_input_that_is_named_like_a_parameter(write: Write) -> None:
    with pytest.raises(InputError, match=r"^recipe.py:same has a parameter and an input y; give "):
        find_algorithm(f"{write(HEAD + GROUP)}:same").builder()


# What a recipe's code does ------------------------------------------------------------------------

FAILS = """
def fails(*arguments, **inputs):
    raise OSError("gone")

def broken():
    p = Pipeline("broken")
    p.reference = fails
    p.output("a", p.input("a", 2, 2, sample=fails))
    return p
"""


def test_reference_and_samples_fail_in_a_line(write: Write) -> None:
    built = find_algorithm(f"{write(HEAD + FAILS)}:broken").builder()
    place = rf"^recipe.py:{HEAD.count(chr(10)) + 3}: OSError: gone$"
    with pytest.raises(InputError, match=place):
        sample_inputs(built.plan(), built.samples)
    assert built.reference is not None
    with pytest.raises(InputError, match=place):
        built.reference()


# What may be a recipe, and its parameters ---------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        ("q", "8", 8),
        ("q", "1.5", 1.5),
        ("q=np.int64(3)", "8", 8),
        ("q: Literal['A b', 'C'] = 'C'", "A b", "A b"),
        ("q: Literal['A b', 'C'] = 'C'", "a B", "A b"),
        ("q: Literal[True, 3] = 3", "true", True),
        ("*args, q=1, **options", "2", 2),
    ],
)
def test_a_setting_becomes_what_the_parameter_is(
    write: Write, parameter: str, text: str, value: object
) -> None:
    head = HEAD.replace("from __future__ import annotations", "import numpy as np")
    body = f"def f({parameter}):\n    return fill(2)\n"
    path = write(head + GOOD.removeprefix(HEAD) + body)
    built = find_algorithm(f"{path}:f").builder(q=text)
    assert built.parameters == {"q": value}
    assert type(built.parameters["q"]) is type(value)
