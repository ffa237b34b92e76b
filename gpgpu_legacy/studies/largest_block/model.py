"""The largest block of a method that loads on a chip, and why the next one does not.

Found by checking real plans and programs. All resources of a program grow with its block, so a
binary search finds the largest block that its limits allow. Padding may make a plan's textures
larger for a smaller block, so if the whole plan does not fit, smaller blocks are tried one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.chips.check_plan import TARGET_SIZE, TEXTURE_SIZE, check_plan
from gpgpu_legacy.chips.profile import Limits, Profile, find_profile
from gpgpu_legacy.chips.verdict import Answer, Outcome, Row, Side, Verdict, excess
from gpgpu_legacy.count.resources import Resource
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.serial import Record


class Limited(Enum):
    """Whose limits a plan must keep."""

    ADVERTISED = "advertised"
    NATIVE = "native"


class Maximised(Enum):
    """What is made as large as possible: a method's block or, if it has none, n."""

    BLOCK = "block"
    SIZE = "size"


AS_WRITTEN = "as written"

LARGEST_SIDE = 2**17
"""The largest size of a matrix: its plan has thousands of tiles, and takes seconds to make."""


class Largest(Record, kw_only=True):
    """The largest block or size that loads by one kind of limit.

    program: the variant of the method, in words; coordinates_first: the option that chooses it.
    value: None if nothing loads. answer: what the limits say about it. certain: the largest that
    loads beyond doubt; None if there is always a limit that is not known. why_no_more: the limits
    that the next larger one exceeds; empty if there is none. command: the command that runs it
    here. unknown: the limits of which it is not known whether they are kept.
    """

    program: str = AS_WRITTEN
    limits: Limited
    value: int | None
    coordinates_first: int | None = None
    answer: Answer = Answer.DOES_NOT_LOAD
    certain: int | None = None
    why_no_more: tuple[Row, ...]
    command: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """Why the next larger one does not load, limit by limit."""
        return "; ".join(excess(row, _on(row, self.limits)) for row in self.why_no_more)


class Fit(Record):
    """The largest of a method that loads: by each side's limits, in each variant. chip: its name.

    what: whether the block or, for a method without one, n was made as large as possible.
    """

    method: str
    chip: str
    shape: Shape
    what: Maximised
    largest: tuple[Largest, ...]


def fit(method: Method, chip: Profile, shape: Shape, options: Options | None = None) -> Fit:
    """Find the largest block that loads on a chip, by its advertised and by its native limits.

    For a method without a block, it finds the largest n that is no larger than the shape. If the
    number of texture indirections limits the block, and the method can compute its coordinates
    first, the result has the largest block of that variant too, if it is larger.
    options: of the plans; matrices too large for the chip's textures are tiled. Raises InputError
    for what the method refuses.
    """
    given = method.options(options or Options())
    if min(shape.m, shape.l, shape.n) < 1:
        raise InputError("a product without elements fits any chip; give a size of at least 1")
    if (largest := max(shape.m, shape.l, shape.n)) > LARGEST_SIDE:
        raise InputError(f"the size is {largest}; give one of at most {LARGEST_SIDE}")
    trial = _Trial(method, chip, shape, _cut_to(chip, shape, method, given))
    results = []
    for side in _sides(chip):
        written = trial.as_written(side)
        results.append(written)
        if any(row.limit == Resource.INDIRECTIONS.value for row in written.why_no_more):
            variant = trial.coordinates_first(side)
            if variant is not None and (variant.value or 0) > (written.value or 0):
                results.append(variant)
    return Fit(
        method=method.name, chip=chip.name, shape=shape, what=trial.what, largest=tuple(results)
    )


def _cut_to(chip: Profile, shape: Shape, method: Method, options: Options) -> Options:
    """The options with textures no larger than the chip's, where the matrices are larger."""
    sizes = (chip.formats.largest_texture_texels, chip.formats.largest_target_texels)
    largest = min((fact.value for fact in sizes if fact), default=options.largest_texture)
    fits = max(shape.m, shape.l, shape.n) <= largest or options.largest_texture <= largest
    if fits or "largest_texture" in method.refuses:
        return options
    return replace(options, largest_texture=largest)


def _sides(chip: Profile) -> list[Limited]:
    """The sides that have limits of their own; the advertised one if no limit is known."""
    known = chip.advertised != Limits() or chip.programs.arb_fragment_program is None
    if chip.native == Limits():
        return [Limited.ADVERTISED]
    return list(Limited) if known else [Limited.NATIVE]


@dataclass(frozen=True, slots=True)
class _Trial:
    """Plans of one method at one shape, made and checked on demand."""

    method: Method
    chip: Profile
    shape: Shape
    options: Options

    @property
    def what(self) -> Maximised:
        return Maximised.SIZE if "block" in self.method.refuses else Maximised.BLOCK

    def candidates(self) -> Sequence[int]:
        """The blocks or sizes to try; a block is no longer than the sum or a texture."""
        if self.what is Maximised.SIZE:
            return range(1, max(self.shape.m, self.shape.l, self.shape.n) + 1)
        if self.method.blocks:
            return self.method.blocks
        # With a block of 1, one element takes as many passes as its sum has steps.
        plan = self.method.plan(Shape(1, self.shape.l, 1), replace(self.options, block=1))
        steps = sum(n for n, pass_ in plan.weighted_passes() if isinstance(pass_, FragmentPass))
        return range(1, min(steps, self.options.largest_texture) + 1)

    def as_written(self, side: Limited) -> Largest:
        """The largest as the method is written, by one side's limits."""
        return self._largest(side, self.candidates(), lambda n: None, AS_WRITTEN)

    def coordinates_first(self, side: Limited) -> Largest | None:
        """The same for the variant that computes its coordinates first, where there is one."""
        if "coordinates_first" in self.method.refuses:
            return None

        def enough_temporaries(block: int, group: int) -> bool:
            rows = self.verdict(block, group).limits
            return all(
                on.outcome is Outcome.WITHIN
                for row in rows
                if row.limit == Resource.TEMPORARIES.value and (on := _on(row, side))
            )

        blocks = self.candidates()
        alone = _last(blocks, lambda g: enough_temporaries(g, g))
        several = _last(blocks, lambda g: enough_temporaries(g + 1, g))
        if alone is None:
            return None
        if several is None:
            blocks = range(1, alone + 1)
        largest = self._largest(
            side, blocks, lambda n: n if n <= alone else several, "coordinates first"
        )
        return None if largest.value is None else largest

    def _largest(
        self, side: Limited, blocks: Sequence[int], group: Callable[[int], int | None], variant: str
    ) -> Largest:
        def fits(n: int) -> bool:
            return not _over(self.verdict(n, group(n)).limits, side)

        def program_fits(n: int) -> bool:
            rows = self.verdict(n, group(n)).limits
            return not _over([row for row in rows if row.program], side)

        value = None
        if fits(blocks[0]):  # it needs no padding: if it does not fit, nothing does
            value = _last(blocks, fits if self.what is Maximised.SIZE else program_fits)
            if value is not None and not fits(value):
                value = next(n for n in reversed(blocks) if n < value and fits(n))
        beyond = next((n for n in blocks if value is None or n > value), None)
        over = () if beyond is None else _over(self.verdict(beyond, group(beyond)).limits, side)
        if value is None:
            return Largest(program=variant, limits=side, value=None, why_no_more=over)

        def answer(n: int) -> Answer:
            verdict = self.verdict(n, group(n))
            return verdict.native if side is Limited.NATIVE else verdict.advertised

        def loads(n: int) -> bool:
            return answer(n) is Answer.LOADS

        verdict = self.verdict(value, group(value))
        return Largest(
            program=variant,
            limits=side,
            value=value,
            coordinates_first=group(value),
            answer=answer(value),
            certain=value if loads(value) else _last(blocks[: blocks.index(value)], loads),
            why_no_more=over,
            command=self._command(value, group(value), verdict),
            unknown=tuple(row.limit for row in verdict.unknown),
        )

    def verdict(self, n: int, group: int | None) -> Verdict:
        """The verdict on a block or size. group: steps whose coordinates are computed first."""
        return _verdict(self.method.name, self.chip.name, *self._request(n, group))

    def _request(self, n: int, group: int | None) -> tuple[Shape, Options]:
        if self.what is Maximised.BLOCK:
            return self.shape, replace(self.options, block=n, coordinates_first=group)
        m, l, k = (min(n, size) for size in (self.shape.m, self.shape.l, self.shape.n))  # noqa: E741
        return Shape(m, l, k), self.options

    def _command(self, n: int, group: int | None, verdict: Verdict) -> str:
        """The command line that runs it here; empty if it exceeds a limit of the other side."""
        if verdict.exceeded:
            return ""
        shape, options = self._request(n, group)
        sizes = (shape.m, shape.l, shape.n)
        size = f"--shape {' '.join(map(str, sizes))}" if len(set(sizes)) > 1 else f"--size {n}"
        if self.what is Maximised.BLOCK and len(set(sizes)) == 1:
            size = f"--size {shape.n}"
        words = ["gpgpu-legacy run", self.method.name, size, *_flags(self.method, options)]
        return " ".join([*words, "--chip", self.chip.name])


def _flags(method: Method, options: Options) -> list[str]:
    """The command line's options, except the method's defaults."""
    flags = []
    for name in ("block", "accumulate", "texture_format", "transpose_a", "transpose_b",
                 "largest_texture", "coordinates_first", "tile"):  # fmt: skip
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
    """The last of ascending candidates for which a property holds that, once lost, stays lost.

    Doubling first, then halving, so that large candidates are tried only if small ones hold.
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
    """InputError if a plan exceeds a known limit of a chip; names each limit, and what would fit.

    method, shape, options: of which the plan was made.
    """
    verdict = check_plan(plan, chip)
    if not verdict.exceeded:
        return
    sizes = [_most(row) for row in verdict.exceeded if row.limit in (TEXTURE_SIZE, TARGET_SIZE)]
    cut = f"; cut the matrices with --largest-texture {min(sizes)}" if sizes else ""
    block = f" with a block of {options.block}" if options.block is not None else ""
    raise InputError(
        f"{method.name}{block} does not load on {chip.called}: {', '.join(verdict.excesses)}; "
        f"{_what_fits(fit(method, chip, shape, options))}"
        f"{_other_formats(method, chip, shape, options)}{cut}; --anyway runs it here nevertheless"
    )


def _most(row: Row) -> int:
    """The largest size that a chip has, where textures exceed it."""
    sides = (row.advertised, row.native)
    return min(side.allowed for side in sides if side and isinstance(side.allowed, int))


def _what_fits(fit: Fit) -> str:
    """The largest that loads by all limits, as written and with coordinates computed first."""
    written = [largest.value for largest in fit.largest if largest.program == AS_WRITTEN]
    known = [value for value in written if value is not None]
    what = fit.what.value
    fits = len(known) == len(written)
    text = f"the largest {what} that fits is {min(known)}" if fits else f"no {what} fits"
    variants = [largest for largest in fit.largest if largest.coordinates_first is not None]
    if variants:
        best = min(variants, key=lambda largest: largest.value or 0)
        text += f", or {best.value} with --coordinates-first {best.coordinates_first}"
    return text


def _other_formats(method: Method, chip: Profile, shape: Shape, options: Options) -> str:
    """A texture format of the method with which the same product loads, if there is one."""
    for name in method.formats:
        other = replace(options, texture_format=name)
        if not _verdict(method.name, chip.name, shape, other).exceeded:
            return f", but it loads with --texture-format {name}"
    return ""
