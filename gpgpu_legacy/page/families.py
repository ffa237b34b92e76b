"""Families of scenes: a method's plans of all small shapes, as templates and columns of numbers.

The scenes of a method differ from shape to shape in a few numbers, and most of these depend on only
one of the sizes. So each such number is stored as a table over the sizes that it depends on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.page.scenes import Scene, scene_of
from gpgpu_legacy.serial import json_text

LARGEST = 8
"""The largest size of a family's shapes; the smallest is 1."""

FAMILIES = "player/families.js"
"""The script that makes scenes from families; it needs the scripts of INTERPRETER."""

_SIZES = "mln"
_SIDE = range(1, LARGEST + 1)

_Sizes = tuple[int, int, int]
_ALL: list[_Sizes] = [(m, k, n) for m in _SIDE for k in _SIDE for n in _SIDE]
_Place = tuple[int, ...]

_PAIRS = {(m, k, (m + 3 * k) % LARGEST + 1) for m in _SIDE for k in _SIDE}
"""Shapes in which every two sizes take all pairs of values."""

_LINES = {
    sizes
    for k in _SIDE
    for size in (1, 3, LARGEST)
    for sizes in ((size, k, LARGEST), (LARGEST, k, size))
}
"""Shapes that show, for each l (steps depend on it), on which size a number depends."""

_SAMPLE = sorted(_PAIRS | _LINES)


def family_of(method: Algorithm, given: Mapping[str, Any]) -> dict[str, Any]:
    """The scenes of a method's products of all shapes of sizes up to `largest`.

    given: the method's other parameters.

    `templates`: scenes in which `{"$": i}` means the number in column i, and a program's name its
    index in `programs`, which has its text and its `decoded_program`. `choice`: the column with
    each shape's template. `columns`: for each the `sizes` that it depends on, some of m, l and n,
    and the `values`, with the last of these sizes fastest; null where there is none. Raises
    InputError for parameters that the method refuses.
    """
    made = _Family(method, given)
    for sizes in _SAMPLE:
        made.add(sizes)
    if not made.is_complete():
        for sizes in _ALL:
            made.add(sizes)
    return made.record()


@dataclass(frozen=True, slots=True)
class _Column:
    """A number by shape, over the fewest sizes that determine it. axes: these sizes, as indices
    into m, l, n.

    values: those of the last of these sizes one after another; None where there is none.
    """

    axes: tuple[int, ...]
    values: tuple[Any, ...]

    def at(self, sizes: _Sizes) -> Any:
        """The number of a shape, or None."""
        place = 0
        for axis in self.axes:
            place = place * LARGEST + sizes[axis] - 1
        return self.values[place]

    def record(self) -> dict[str, Any]:
        return {"sizes": "".join(_SIZES[axis] for axis in self.axes), "values": self.values}


def _column(numbers: Mapping[_Sizes, Any]) -> _Column:
    """The column of numbers that are known by shape."""
    for axes in (axes for count in range(4) for axes in combinations(range(3), count)):
        table: dict[_Place, Any] = {}
        for sizes, number in numbers.items():
            if table.setdefault(tuple(sizes[axis] for axis in axes), number) != number:
                break
        else:
            return _Column(axes, tuple(map(table.get, product(_SIDE, repeat=len(axes)))))
    raise AssertionError("three sizes determine every number")


@dataclass
class _Template:
    """Scenes that differ in numbers alone, which `numbers` has by shape."""

    scene: Any
    numbers: dict[_Sizes, list[float]] = field(default_factory=dict)

    def columns(self) -> list[_Column]:
        """A column for each number."""
        rows = zip(*self.numbers.values(), strict=True)
        return [_column(dict(zip(self.numbers, row, strict=True))) for row in rows]


class _Family:
    """The scenes of a method so far."""

    def __init__(self, method: Algorithm, given: Mapping[str, Any]) -> None:
        self.method, self.given = method, given
        self.templates: dict[str, _Template] = {}
        self.choice: dict[_Sizes, int] = {}
        self.programs: list[dict[str, Any]] = []

    def add(self, sizes: _Sizes) -> None:
        """Add the scene of a shape."""
        plan = self.method.plan(**dict(zip(_SIZES, sizes, strict=True)), **self.given)
        scene = self.with_numbered_programs(scene_of(plan))
        numbers: list[float] = []
        scene = _without_numbers(scene, numbers)
        key = json_text(scene)
        template = self.templates.setdefault(key, _Template(scene))
        template.numbers[sizes] = numbers
        self.choice[sizes] = list(self.templates).index(key)

    def with_numbered_programs(self, scene: Scene) -> Scene:
        """A scene with the indices of `programs`, as text, instead of programs."""
        plan, numbers = scene["plan"], {}
        for name, text in plan["programs"].items():
            program = {"text": text, **scene["programs"][name]}
            if program not in self.programs:
                self.programs.append(program)
            numbers[name] = str(self.programs.index(program))
        return {**scene, "plan": {**plan, "programs": numbers}, "programs": None}

    def is_complete(self) -> bool:
        """Whether every shape has a template, and all of the template's numbers."""
        columns = [set(template.columns()) for template in self.templates.values()]
        choice = _column(self.choice)
        for sizes in _ALL:
            number = choice.at(sizes)
            if number is None or any(column.at(sizes) is None for column in columns[number]):
                return False
        return True

    def record(self) -> dict[str, Any]:
        """The family as data."""
        numbered: dict[_Column, int] = {}
        choice = numbered.setdefault(_column(self.choice), len(numbered))
        templates = []
        for template in self.templates.values():
            values: list[Any] = []
            for column in template.columns():
                if column.axes:
                    values.append({"$": numbered.setdefault(column, len(numbered))})
                else:
                    values.append(column.values[0])
            templates.append(_with_numbers(template.scene, values))
        return {
            "method": self.method.name,
            "largest": LARGEST,
            "choice": choice,
            "templates": templates,
            "columns": [column.record() for column in numbered],
            "programs": self.programs,
        }


def _without_numbers(value: Any, numbers: list[float]) -> Any:
    """A value with `{"$": i}` instead of its numbers, which are added to the list."""
    match value:
        case None | bool() | str():
            return value
        case dict():
            return {key: _without_numbers(item, numbers) for key, item in value.items()}
        case list() | tuple():
            return [_without_numbers(item, numbers) for item in value]
    numbers.append(value)
    return {"$": len(numbers) - 1}


def _with_numbers(value: Any, numbers: Sequence[Any]) -> Any:
    """A value with the numbers of a list instead of `{"$": i}`."""
    match value:
        case {"$": number}:
            return numbers[number]
        case dict():
            return {key: _with_numbers(item, numbers) for key, item in value.items()}
        case list():
            return [_with_numbers(item, numbers) for item in value]
    return value
