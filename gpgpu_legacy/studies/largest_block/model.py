"""The largest block of a method that loads on a chip, and why the next one does not.

Found with the real plans and programs. All that a program takes grows with its block, so halving
finds the largest that its limits allow. A plan's textures may be larger for a smaller block, by
padding, so where the whole plan of that one does not fit, those below it are tried one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import Limits, Profile, find_profile
from gpgpu_legacy.chips.verdict import Answer, Outcome, Row, Side, Verdict, excess
from gpgpu_legacy.count.resources import Resource
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import FragmentPass, Plan


class Limited(Enum):
    """Whose limits a fit keeps to."""

    ADVERTISED = "advertised"
    NATIVE = "native"


class What(Enum):
    """What is made as large as it may be: a method's block or, where it has none, n."""

    BLOCK = "block"
    SIZE = "size"


AS_WRITTEN = "as written"

LARGEST_SIDE = 2**17
"""Of a matrix to be fitted: its plan has thousands of tiles, and is made in seconds."""


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest that loads by one side's limits; None where nothing does.

    variant: in words. coordinates_first: the option's value, where the variant is that one.
    at: the verdict on the largest. over: the rows that the next one is over a limit in; empty where
    there is no next one. command: what runs it here.
    """

    side: Limited
    value: int | None
    at: Verdict | None
    over: tuple[Row, ...]
    variant: str = AS_WRITTEN
    coordinates_first: int | None = None
    command: str = ""

    @property
    def answer(self) -> Answer:
        """What this side's limits say of the largest."""
        if self.at is None:
            return Answer.DOES_NOT_LOAD
        return self.at.native if self.side is Limited.NATIVE else self.at.advertised

    @property
    def why(self) -> str:
        """Why the next one does not load, limit by limit."""
        return "; ".join(excess(row, _on(row, self.side)) for row in self.over)


@dataclass(frozen=True, slots=True)
class Fit:
    """What fits of a method at a shape, by each side's limits, in each order of instructions."""

    method: str
    chip: Profile
    shape: Shape
    what: What
    found: tuple[Largest, ...]


def fit(method: Method, chip: Profile, shape: Shape, options: Options | None = None) -> Fit:
    """The largest block that loads on a chip, by what is advertised and natively.

    A method without a block is asked for the largest n, no larger than the shape. Where texture
    indirections forbid a larger block, the method can compute its coordinates first, and a larger
    block loads so, that is among what is found.
    options: what else the plans are to be made with; matrices too large for the chip's textures are
    cut to fit. Raises InputError for what the method refuses.
    """
    given = method.options(options or Options())
    if min(shape.m, shape.l, shape.n) < 1:
        raise InputError("a product without elements fits everywhere; give a size of at least 1")
    if (largest := max(shape.m, shape.l, shape.n)) > LARGEST_SIDE:
        raise InputError(f"the size is {largest}; fit makes plans for up to {LARGEST_SIDE}")
    trial = _Trial(method, chip, shape, _cut_to(chip, shape, method, given))
    found = []
    for side in _sides(chip):
        written = trial.as_written(side)
        found.append(written)
        if any(row.limit == Resource.INDIRECTIONS.value for row in written.over):
            better = trial.coordinates_first(side)
            if better is not None and (better.value or 0) > (written.value or 0):
                found.append(better)
    return Fit(method.name, chip, shape, trial.what, tuple(found))


def _cut_to(chip: Profile, shape: Shape, method: Method, options: Options) -> Options:
    """The options with textures no larger than the chip's, where the matrices are larger."""
    sizes = (chip.formats.largest_texture_texels, chip.formats.largest_target_texels)
    largest = min((fact.value for fact in sizes if fact), default=options.largest_texture)
    fits = max(shape.m, shape.l, shape.n) <= largest or options.largest_texture <= largest
    if fits or "largest_texture" in method.refuses:
        return options
    return replace(options, largest_texture=largest)


def _sides(chip: Profile) -> list[Limited]:
    """The sides that have limits of their own; where none is known, what is advertised is asked."""
    known = chip.advertised != Limits() or chip.programs.arb_fragment_program is None
    if chip.native == Limits():
        return [Limited.ADVERTISED]
    return list(Limited) if known else [Limited.NATIVE]


@dataclass(frozen=True, slots=True)
class _Trial:
    """Plans of one method at one shape, made and checked as they are asked for."""

    method: Method
    chip: Profile
    shape: Shape
    options: Options

    @property
    def what(self) -> What:
        return What.SIZE if "block" in self.method.refuses else What.BLOCK

    def candidates(self) -> Sequence[int]:
        """The blocks, or sizes, that make sense: no block is longer than the sum, or a texture."""
        if self.what is What.SIZE:
            return range(1, max(self.shape.m, self.shape.l, self.shape.n) + 1)
        if self.method.blocks:
            return self.method.blocks
        # With a block of 1, one element is made in as many passes as the sum has steps.
        plan = self.method.plan(Shape(1, self.shape.l, 1), replace(self.options, block=1))
        steps = sum(n for n, each in plan.weighted_passes() if isinstance(each, FragmentPass))
        return range(1, min(steps, self.options.largest_texture) + 1)

    def as_written(self, side: Limited) -> Largest:
        """The largest as the method is written, by one side's limits."""
        return self._largest(side, self.candidates(), lambda n: None, AS_WRITTEN)

    def coordinates_first(self, side: Limited) -> Largest | None:
        """The same for the variant that computes its coordinates first, where there is one."""
        if "coordinates_first" in self.method.refuses:
            return None

        def suffice(block: int, group: int) -> bool:
            rows = self.verdict(block, group).limits
            return all(
                on.outcome is Outcome.WITHIN
                for row in rows
                if row.limit == Resource.TEMPORARIES.value and (on := _on(row, side))
            )

        blocks = self.candidates()
        alone = _last(blocks, lambda g: suffice(g, g))
        several = _last(blocks, lambda g: suffice(g + 1, g))
        if alone is None:
            return None
        if several is None:
            blocks = range(1, alone + 1)
        found = self._largest(
            side, blocks, lambda n: n if n <= alone else several, "coordinates first"
        )
        return None if found.value is None else found

    def _largest(
        self, side: Limited, blocks: Sequence[int], group: Callable[[int], int | None], variant: str
    ) -> Largest:
        def fits(n: int) -> bool:
            return not _over(self.verdict(n, group(n)).limits, side)

        def program_fits(n: int) -> bool:
            rows = self.verdict(n, group(n)).limits
            return not _over([row for row in rows if row.program], side)

        value = None
        if fits(blocks[0]):  # the smallest needs no padding: where it does not fit, nothing does
            value = _last(blocks, fits if self.what is What.SIZE else program_fits)
            if value is not None and not fits(value):
                value = next(n for n in reversed(blocks) if n < value and fits(n))
        beyond = next((n for n in blocks if value is None or n > value), None)
        over = () if beyond is None else _over(self.verdict(beyond, group(beyond)).limits, side)
        if value is None:
            return Largest(side, None, None, over, variant)
        chosen = group(value)
        verdict, command = self.verdict(value, chosen), self._command(value, chosen)
        return Largest(side, value, verdict, over, variant, chosen, command)

    def verdict(self, n: int, group: int | None) -> Verdict:
        """What the chip says of a block or size, its coordinates computed first in such groups."""
        return _verdict(self.method.name, self.chip.name, *self._request(n, group))

    def _request(self, n: int, group: int | None) -> tuple[Shape, Options]:
        if self.what is What.BLOCK:
            return self.shape, replace(self.options, block=n, coordinates_first=group)
        m, l, k = (min(n, each) for each in (self.shape.m, self.shape.l, self.shape.n))  # noqa: E741
        return Shape(m, l, k), self.options

    def _command(self, n: int, group: int | None) -> str:
        shape, options = self._request(n, group)
        sizes = (shape.m, shape.l, shape.n)
        size = f"--shape {' '.join(map(str, sizes))}" if len(set(sizes)) > 1 else f"--size {n}"
        if self.what is What.BLOCK and len(set(sizes)) == 1:
            size = f"--size {shape.n}"
        words = ["gpgpu-legacy run", self.method.name, size, *_flags(self.method, options)]
        return " ".join([*words, "--chip", self.chip.name])


def _flags(method: Method, options: Options) -> list[str]:
    """The options of the command line that are not the method's defaults."""
    flags = []
    for name in ("block", "accumulate", "texture_format", "transpose_a", "transpose_b",
                 "largest_texture", "coordinates_first"):  # fmt: skip
        value = getattr(options, name)
        if value == getattr(method.defaults, name):
            continue
        flag = f"--{name.replace('_', '-')}"
        shown = value.value if isinstance(value, Enum) else value
        flags.append(flag if isinstance(value, bool) else f"{flag} {shown}")
    return flags


@cache
def _verdict(method: str, chip: str, shape: Shape, options: Options) -> Verdict:
    return check_plan(find_method(method).plan(shape, options), find_profile(chip))


def _on(row: Row, side: Limited) -> Side | None:
    return row.native if side is Limited.NATIVE else row.advertised


def _over(rows: Iterable[Row], side: Limited) -> tuple[Row, ...]:
    """The rows that are over a limit on one side."""
    return tuple(r for r in rows if (on := _on(r, side)) and on.outcome is Outcome.EXCEEDED)


def _last(candidates: Sequence[int], holds: Callable[[int], bool]) -> int | None:
    """The last of ascending candidates that a property holds of which, once lost, stays lost.

    Doubling first, then halving: large candidates are asked about only where small ones hold.
    """
    if not candidates or not holds(candidates[0]):
        return None
    low, step = 0, 1
    while low + step < len(candidates) and holds(candidates[low + step]):
        low, step = low + step, step * 2
    high = min(low + step, len(candidates))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(candidates[middle]) else (low, middle)
    return candidates[low]


# Refusing -----------------------------------------------------------------------------------


def refuse_unless_it_runs(
    plan: Plan, chip: Profile, method: Method, shape: Shape, options: Options
) -> None:
    """InputError where a plan exceeds what is known of a chip: each limit, and what would fit.

    method, shape, options: what the plan was made of.
    """
    verdict = check_plan(plan, chip)
    if not verdict.exceeded:
        return
    sizes = [row for row in verdict.exceeded if not row.program and row.advice]
    cut = "".join(f"; {advice}" for advice in dict.fromkeys(row.advice for row in sizes))
    block = f" with a block of {options.block}" if options.block is not None else ""
    raise InputError(
        f"{method.name}{block} does not load on {chip.called}: {', '.join(verdict.excesses)}; "
        f"{_what_fits(fit(method, chip, shape, options))}"
        f"{_other_formats(method, chip, shape, options)}{cut}; --anyway runs it here all the same"
    )


def _what_fits(found: Fit) -> str:
    """The largest that loads by all limits, as written and with coordinates computed first."""
    written = [each.value for each in found.found if each.variant == AS_WRITTEN]
    known = [value for value in written if value is not None]
    what = found.what.value
    fits = len(known) == len(written)
    text = f"the largest {what} that fits is {min(known)}" if fits else f"no {what} fits"
    better = [each for each in found.found if each.coordinates_first is not None]
    if better:
        best = min(better, key=lambda each: each.value or 0)
        text += f", or {best.value} with --coordinates-first {best.coordinates_first}"
    return text


def _other_formats(method: Method, chip: Profile, shape: Shape, options: Options) -> str:
    """A texture format of the method with which the same does load, if there is one."""
    for name in method.formats:
        other = replace(options, texture_format=name)
        if not _verdict(method.name, chip.name, shape, other).exceeded:
            return f", but it loads with --texture-format {name}"
    return ""
