"""The largest block of a method that loads on a chip, and why the next one does not.

It is found by checking real plans and programs. All resources of a program grow with its block, so
a binary search finds the largest block that its limits allow. Padding may make a plan's textures
larger for a smaller block, so if the whole plan does not fit, smaller blocks are tried one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Sizes
from gpgpu_legacy.algorithms.parameters import Plain, plainly
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import Limits, Profile, find_profile
from gpgpu_legacy.chips.verdict import LoadAnswer, Outcome, Row, Verdict, excess
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import FragmentPass
from gpgpu_legacy.plan.textures import LARGEST_TEXTURE
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, Result
from gpgpu_legacy.serial import Record

Limited = Literal["advertised", "native"]
"""The limits that a plan must respect: those that the driver advertises, or the chip's own."""

LARGEST_SIDE = 2**17
"""The largest size of a matrix: its plan has thousands of tiles, and takes seconds to make."""


class Largest(Record, kw_only=True):
    """The largest block or size that loads by one kind of limit.

    value: the block or size; None if nothing loads. coordinates_first: how many steps' coordinates
    the variant computes first, at a time; None for the method as written. answer: what the limits
    say about the value. certain: the largest value that loads beyond doubt; None if some limit is
    always unknown. why_no_more: the limits that the next larger value exceeds; empty if there is
    none. command: the command that checks the value; empty if it exceeds a limit of the other kind.
    unknown: the limits that are not known for the chip.
    """

    limits: Limited
    value: int | None = None
    coordinates_first: int | None = None
    answer: LoadAnswer = LoadAnswer.DOES_NOT_LOAD
    certain: int | None = None
    why_no_more: tuple[Row, ...]
    command: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """Why the next larger value does not load, limit by limit."""
        return "; ".join(excess(row, getattr(row, self.limits)) for row in self.why_no_more)


class Fit(Result):
    """The largest block or size of a method that loads, by each kind of limit, in each variant.

    plan: the method. parameters: those asked for. chip: its name. what: the quantity made as large
    as possible: the `block` or, for a method without one, the `size`.
    """

    plan: str
    parameters: dict[str, Plain]
    chip: str
    what: str
    largest: tuple[Largest, ...]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The largest value by each kind of limit, and why the next one does not load."""
        chip = find_profile(self.chip)
        heads = ("program", "limits", self.what, "answer", "certain", "why no larger")
        rows = tuple(map(self._row, self.largest))
        commands = dict.fromkeys(largest.command for largest in self.largest if largest.command)
        notes = ("To see all its limits:", *commands) if commands else ()
        if any(largest.certain != largest.value for largest in self.largest):
            notes += (f"Certain: the largest {self.what} that loads whatever is not known.",)
        unknown = sorted({limit for largest in self.largest for limit in largest.unknown})
        if unknown:
            notes += (f"Not known for this chip: {', '.join(unknown)}.",)
        size = "×".join(map(str, _sizes(self.parameters).values()))
        caption = f"{self.plan} on {chip.called}, M×L×N = {size}: the largest {self.what}."
        return [Grid("fit", caption, heads, rows, (*notes, *chip.notes))]

    def _row(self, largest: Largest) -> tuple[Entry, ...]:
        steps = largest.coordinates_first
        no_larger = {
            "block": "a larger block is of no use here",
            "size": "no larger size was asked for",
        }
        return (
            "as written" if steps is None else f"coordinates first, {steps} steps at a time",
            largest.limits,
            Numeral(str(largest.value or "none")),
            largest.answer.value,
            Numeral(str(largest.certain or "none")),
            largest.why or no_larger[self.what],
        )


def fit(algorithm: Algorithm, chip: Profile, parameters: Mapping[str, Any]) -> Fit:
    """Find the largest block that loads on a chip, by its advertised and by its native limits.

    For a method without a block, it finds the largest n that is no larger than the one given. If
    the number of texture indirections limits the block, and the method can compute its coordinates
    first, the result has the largest block of that variant too, if it is larger.
    parameters: those of the plans; matrices too large for the chip's textures are tiled. Raises
    InputError for parameters that the method refuses, and for an algorithm that does not multiply
    matrices.
    """
    known = algorithm.parameters
    if {"m", "l", "n"} - known.keys():
        raise InputError(f"{algorithm.name} multiplies no matrices; give a method that does")
    given = algorithm.settings(dict(parameters))
    asked: dict[str, Any] = {
        name: plainly(given.get(name, one.default)) for name, one in known.items()
    }
    sizes = _sizes(asked)
    if (largest := max(sizes.values())) > LARGEST_SIDE:
        raise InputError(f"the size is {largest}; give one of at most {LARGEST_SIDE}")
    texels = (chip.formats.largest_texture_texels, chip.formats.largest_target_texels)
    side = min((fact.value for fact in texels if fact), default=LARGEST_SIDE)
    if largest > side and "largest_texture" in known:
        given["largest_texture"] = min(side, asked["largest_texture"] or LARGEST_TEXTURE)
    # The kinds of limits that the chip has; the advertised ones if no limit is known.
    limits: list[Limited] = ["advertised", "native"]
    if chip.native == Limits():
        limits = ["advertised"]
    elif chip.advertised == Limits() and chip.programs.arb_fragment_program is not None:
        limits = ["native"]
    trial = _BlockSearch(algorithm, chip, sizes, given)
    results = []
    for limited in limits:
        written = trial.largest(limited)
        results.append(written)
        if any(row.limit == Resource.INDIRECTIONS.value for row in written.why_no_more):
            variant = trial.coordinates_first(limited)
            if variant is not None and (variant.value or 0) > (written.value or 0):
                results.append(variant)
    return Fit(
        plan=algorithm.name,
        parameters=asked,
        chip=chip.name,
        what="block" if trial.has_block else "size",
        largest=tuple(results),
    )


def _sizes(parameters: Mapping[str, Any]) -> dict[str, int]:
    """The sizes m, l and n; if m or l is not given, it equals n."""
    shape = Sizes(parameters["n"], parameters["m"], parameters["l"]).shape
    return {"m": shape.m, "l": shape.l, "n": shape.n}


@dataclass(frozen=True, eq=False)
class _BlockSearch:
    """Plans of one method at one shape, made and checked on demand. sizes: m, l and n."""

    algorithm: Algorithm
    chip: Profile
    sizes: dict[str, int]
    given: Mapping[str, Any]

    @property
    def has_block(self) -> bool:
        return "block" in self.algorithm.parameters

    @cached_property
    def candidates(self) -> Sequence[int]:
        """The blocks or sizes to try; a block is no longer than the sum or a texture."""
        if not self.has_block:
            return range(1, max(self.sizes.values()) + 1)
        if choices := self.algorithm.parameters["block"].choices:
            return tuple(choices.values())
        # With a block of 1, one element takes as many passes as its sum has steps.
        one = {**self.given, **self.sizes, "m": 1, "n": 1, "block": 1}
        plan = self.algorithm.plan(**one)
        steps = sum(n for n, pass_ in plan.weighted_passes() if isinstance(pass_, FragmentPass))
        return range(1, min(steps, self.given.get("largest_texture") or LARGEST_TEXTURE) + 1)

    def coordinates_first(self, side: Limited) -> Largest | None:
        """The result for the variant that computes its coordinates first, if there is one."""
        most = getattr(self.chip, side).temporaries
        if "coordinates_first" not in self.algorithm.parameters or most is None:
            return None
        given = tuple(self._request(1, None).items())
        return self.largest(side, lambda n: steps_first(self.algorithm, given, most.value, n))

    def largest(
        self, side: Limited, group: Callable[[int], int | None] = lambda _: None
    ) -> Largest:
        """The largest value by one kind of limit. group: coordinates_first for a block."""
        blocks = self.candidates

        def verdict(n: int) -> Verdict:
            request = tuple(self._request(n, group(n)).items())
            return _verdict(self.algorithm, self.chip.name, request)

        def over(n: int, *, whole: bool = True) -> tuple[Row, ...]:
            """The limits exceeded: all of the plan's, or only its programs'."""
            return tuple(
                row
                for row in verdict(n).limits
                if (whole or row.program)
                and (one := getattr(row, side)) is not None
                and one.outcome is Outcome.EXCEEDED
            )

        value = None
        if not over(blocks[0]):  # it needs no padding: if it does not fit, nothing does
            value = last_that_holds(blocks, lambda n: not over(n, whole=not self.has_block))
            if value is not None and over(value):
                value = next(n for n in reversed(blocks) if n < value and not over(n))
        beyond = next((n for n in blocks if value is None or n > value), None)
        why = () if beyond is None else over(beyond)
        if value is None:
            return Largest(limits=side, why_no_more=why)

        def loads(n: int) -> bool:
            return getattr(verdict(n), side) is LoadAnswer.LOADS

        certain = value if loads(value) else last_that_holds(blocks[: blocks.index(value)], loads)
        found = verdict(value)
        return Largest(
            limits=side,
            value=value,
            coordinates_first=group(value),
            answer=getattr(found, side),
            certain=certain,
            why_no_more=why,
            command="" if found.exceeded else self._command(value, group(value)),
            unknown=tuple(row.limit for row in found.unknown),
        )

    def _request(self, n: int, group: int | None) -> dict[str, Any]:
        """The parameters of a block or size."""
        if not self.has_block:
            return {**self.given, **{name: min(n, size) for name, size in self.sizes.items()}}
        first = {} if group is None else {"coordinates_first": group}
        return {**self.given, **self.sizes, "block": n, **first}

    def _command(self, n: int, group: int | None) -> str:
        """The command that checks a block or size."""
        request = self._request(n, group)
        implied = {name: one.default for name, one in self.algorithm.parameters.items()}
        implied |= {"n": None, "m": request["n"], "l": request["n"]}
        words = [
            f"{name}={plainly(request[name])}"
            for name, default in implied.items()
            if request.get(name, default) != default
        ]
        return " ".join(
            ["gpgpu-legacy check", self.algorithm.name, *words, "--chip", self.chip.name]
        )


def steps_first(
    algorithm: Algorithm, given: tuple[tuple[str, Any], ...], most: int, block: int
) -> int | None:
    """The number of steps whose coordinates a program of this block computes first, at a time.

    It is the largest that temporaries allow; None if 1 takes too many. given: other parameters.
    most: the limit of temporaries.
    """

    def fits(group: int) -> bool:
        return _temporaries(algorithm, given, min(group + 1, block), group) <= most

    return last_that_holds(range(1, block + 1), fits)


@cache
def _temporaries(
    algorithm: Algorithm, given: tuple[tuple[str, Any], ...], block: int, group: int
) -> int:
    how = {**dict(given), "block": block, "coordinates_first": group}
    programs = algorithm.plan(**how).programs()
    return max(resources(program).count(Resource.TEMPORARIES) for program in programs)


@cache
def _verdict(algorithm: Algorithm, chip: str, parameters: tuple[tuple[str, Any], ...]) -> Verdict:
    return check_plan(algorithm.plan(**dict(parameters)), find_profile(chip))


def last_that_holds(candidates: Sequence[int], holds: Callable[[int], bool]) -> int | None:
    """The last of ascending candidates for which a property holds; None if it holds for none.

    After the first failure it must fail for all larger ones. The search doubles, then halves, so
    that large candidates are tried only if small ones hold.
    """
    high = 1
    while high < len(candidates) and holds(candidates[high - 1]):
        high *= 2
    tried = candidates[:high]
    place = bisect_left(tried, True, key=lambda n: not holds(n))
    return tried[place - 1] if place else None
