"""Recipes: functions of Python files, with parameters as text, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy.api.recipes import find_recipe
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.serial import json_text

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
    recipe = find_recipe(str(write(GOOD)))
    settings = {
        "n": "4", "value": "2", "way": "down", "twice": "yes", "tag": "7", "depth": "3",
        "mode": "b", "bare": "5",
    }  # fmt: skip
    built = recipe.build(settings)
    assert built.plan.name == "DOWN-True-7-3-b-5"
    assert built.plan.texture("y").extent.width == 4
    assert dict(built.parameters) == {
        "n": 4, "value": 2.0, "way": "down", "twice": True, "tag": "7", "depth": 3, "mode": "b",
        "bare": 5,
    }  # fmt: skip
    assert recipe.build({"n": 2, "depth": "none"}).plan.name == "UP-False-x-None-a-3"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs the parameter n; give it, as in --set n=…"),
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
    recipe = find_recipe(str(write(GOOD)))
    with pytest.raises(InputError, match=message) as caught:
        recipe.build(settings)
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
        find_recipe(str(path)).build()
    assert "\n" not in str(caught.value)


def test_a_function_is_named_or_the_only_one_or_called_as_the_file(write: Write) -> None:
    path = write(GOOD + "\ndef other() -> Pipeline:\n    return fill(1)\n")
    assert find_recipe(f"{path}:other").build().plan.texture("y").extent.width == 1
    assert find_recipe(f"{path}:fill").build({"n": "3"}).plan.texture("y").extent.width == 3
    with pytest.raises(InputError, match="has the functions fill, other"):
        find_recipe(str(path))
    path = path.rename("other.py")
    assert find_recipe("other.py").build().plan.texture("y").extent.width == 1


def test_a_recipe_imports_what_stands_beside_it(write: Write) -> None:
    Path("neighbour_of_recipe.py").write_text("SIZE = 6\n", encoding="utf-8")
    path = write(GOOD + "\nfrom neighbour_of_recipe import SIZE\ndef six(): return fill(SIZE)\n")
    assert find_recipe(f"{path}:six").build().plan.texture("y").extent.width == 6


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("missing.py", "there is no file missing.py"),
        ("missing.json", "missing.json"),
        (
            "larson-mcalister",
            "there is no algorithm larson-mcalister; did you mean larson-mcallister",
        ),
        ("folder/thing", "is neither a .py nor a .json"),
    ],
)
def test_what_is_no_recipe(what: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_recipe(what)


# What a recipe's code does ------------------------------------------------------------------------

RAISED = {
    'SystemExit("bye")': "SystemExit: bye",
    "MemoryError()": "MemoryError",
    "type('Mine', (BaseException,), {})('mine')": "Mine: mine",
}


@pytest.mark.parametrize("error", RAISED)
@pytest.mark.parametrize("indented", ["", "def fill():\n    "], ids=["module", "function"])
def test_whatever_a_recipe_raises_is_a_line_with_its_place(
    write: Write, indented: str, error: str
) -> None:
    path = write(f"{indented}raise {error}\n")
    with pytest.raises(InputError) as caught:
        find_recipe(str(path)).build()
    assert str(caught.value) == f"recipe.py:{indented.count(chr(10)) + 1}: {RAISED[error]}"


PRINTS = """
print("module")
def told(**inputs):
    print("reference")
    return inputs["a"]

def sampled(generator, shape):
    print("sample")
    return generator.random(shape)

def chatty():
    print("function")
    p = Pipeline("chatty")
    p.reference = told
    p.output("a", p.input("a", 2, 2, sample=sampled))
    return p
"""


def test_what_a_recipe_prints_goes_to_stderr(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    built = find_recipe(f"{write(HEAD + PRINTS)}:chatty").build()
    inputs = sample_inputs(built.plan, built.samples)
    assert built.reference is not None
    assert built.reference(**inputs) is inputs["a"]
    out, err = capsys.readouterr()
    assert (out, err.split()) == ("", ["module", "function", "sample", "reference"])


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
    built = find_recipe(f"{write(HEAD + FAILS)}:broken").build()
    place = rf"^recipe.py:{HEAD.count(chr(10)) + 3}: OSError: gone$"
    with pytest.raises(InputError, match=place):
        sample_inputs(built.plan, built.samples)
    assert built.reference is not None
    with pytest.raises(InputError, match=place):
        built.reference()


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf# a byte order mark\n",
        b"# -*- coding: latin-1 -*-\nNAME = '\xe9'\nassert NAME == chr(233)\n",
    ],
)
def test_a_recipe_is_read_as_python_reads_it(write: Write, data: bytes) -> None:
    write("").write_bytes(data + GOOD.replace("from __future__ import annotations", "").encode())
    assert find_recipe("recipe.py").build({"n": 2}).plan.name == "UP-False-x-None-a-3"
    assert not Path("__pycache__").exists()


# What may be a recipe, and its parameters ---------------------------------------------------------

OTHERS = """
import functools

def wrapped(function):
    return lambda *args, **options: function(*args, **options)

kept = functools.cache(fill)
small = functools.partial(fill, n=2)
by_hand = lambda n=2: fill(n)
options = wrapped(functools.partial(fill, 2))

class Callable:
    def __call__(self, n=2):
        return fill(n)

instance = Callable()

def _hidden(n=2):
    return fill(n)

async def later():
    return fill(2)
"""


@pytest.mark.parametrize("name", ["small", "by_hand", "options", "instance", "_hidden"])
def test_any_callable_may_be_named(write: Write, name: str) -> None:
    built = find_recipe(f"{write(GOOD + OTHERS)}:{name}").build()
    assert built.plan.texture("y").extent.width == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kept", "needs the parameter n"),
        ("Callable", "recipe.py:Callable returns a Callable; return a Pipeline"),
        ("later", "recipe.py:later returns a coroutine; return a Pipeline"),
        ("FILL", "has the functions fill, wrapped"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_name_in_a_file_that_is_no_recipe(write: Write, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_recipe(f"{write(GOOD + OTHERS)}:{name}").build()


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
    built = find_recipe(f"{path}:f").build({"q": text})
    assert built.parameters == {"q": value}
    assert type(built.parameters["q"]) is type(value)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("q=(1, 2)", "q cannot be given as text; annotate it with int, float"),
        ("q=1, /", "has no parameter q; it has none"),
        ("**q", "has no parameter q; it has none"),
    ],
)
def test_a_parameter_that_cannot_be_set(write: Write, parameter: str, message: str) -> None:
    path = write(GOOD + f"def f({parameter}):\n    return fill(2)\n")
    with pytest.raises(InputError, match=message):
        find_recipe(f"{path}:f").build({"q": "8"})


@pytest.mark.parametrize("default", ["(1, 2)", "object", "1j", "None"])
def test_parameters_of_any_type_can_be_recorded(write: Write, default: str) -> None:
    path = write(GOOD + f"def f(q={default}):\n    return fill(2)\n")
    built = find_recipe(f"{path}:f").build()
    assert json_text(built.parameters)
