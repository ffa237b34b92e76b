"""Recipes: functions of Python files, with parameters as text, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy.api.recipes import find_recipe
from gpgpu_legacy.errors import InputError

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
        ({"n": "1.5"}, "n is '1.5'; give a whole number"),
        ({"n": "2", "value": "much"}, "value is 'much'; give a number"),
        ({"n": "2", "way": "left"}, "way is 'left'; give one of up, down"),
        ({"n": "2", "twice": "perhaps"}, "twice is 'perhaps'; give one of true, yes"),
        ({"n": "2", "mode": "c"}, "mode is 'c'; give one of a, b"),
        ({"n": "2", "valu": "1"}, "has no parameter valu; did you mean value?"),
        ({"n": "2", "zzz": "1"}, "has no parameter zzz; it has n, value"),
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
