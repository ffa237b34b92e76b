"""The error of each method's product by arithmetic and size, and a bound of that error.

Larson & McAllister's product had limited precision: eight bits, which saturate. This study measures
the precision of every method. It runs on the reference executor with every operation rounded to a
chip's format, and its product is compared with one in float64.

The bound is computed without running anything. Rounding x to an arithmetic changes it by at most
u·|x| + e; storing x in a texture changes it by at most v·|x| + f. For a fixed-point format u (or v)
is 0 and e (or f) is half a step; for a float format e comes from its smallest numbers. Element by
element, with |A| for the matrix of absolute values and l for the inner dimension:

1. An element of A is stored, then rounded when it is read. Its error is at most Ā − |A|, where
   Ā = (1 + u)·((1 + v)·|A| + f) + e; likewise for B. The error of a product of the two is at most
   |a|·(b̄ − |b|) + |b|·(ā − |a|) + (ā − |a|)·(b̄ − |b|) = āb̄ − |ab|. Summed: ĀB̄ − |A||B|.
2. Each product is rounded: u·ĀB̄ + l·e. The rounded products add up to at most
   S = (1 + u)·ĀB̄ + l·e.
3. A sum of l numbers takes l − 1 additions, in any order and over any number of passes; adding a
   zero of the padding is exact. An addition is rounded by u·|x| + e in a float format and is exact
   in a fixed-point format. If the framebuffer blends p passes, p − 1 of the additions are its own:
   rounded by 2⁻²⁴·|x| in floats, exact in fixed point. Each pass stores its result; that makes d
   roundings in all, two a pass where floats are blended. The sum therefore grows by at most
   F = (1 + u)^(l−1)·(1 + v)^d, or (1 + u)^(l−p)·(1 + 2⁻²⁴)^(p−1)·(1 + v)^d with blending, and its
   error is at most (F − 1)·S + F·((l − 1)·e + d·f), with l − p in place of l − 1 with blending.

The bound is the sum of the three. If every number of a texture's format is a number of the
arithmetic, reading rounds nothing; likewise for storing. A multiply-add or a dot product that is
rounded once, and not after each operation, has a smaller error. The bound holds if nothing
overflows or saturates, and if the coordinates that a program computes are numbers of the format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import cycle
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.registry import find_product, products
from gpgpu_legacy.api.command.frame import Report, answers
from gpgpu_legacy.api.command.options import arithmetic_names
from gpgpu_legacy.api.command.words import ARITHMETICS as NAMES
from gpgpu_legacy.api.command.words import Jobs, Seed, split
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_whole
from gpgpu_legacy.interp.numeric import decode, encode
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, F32, FP32, Arithmetic, Fixed, find_arithmetic
from gpgpu_legacy.isa.opcodes import Form
from gpgpu_legacy.isa.program import Temporary
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.plan.textures import LARGEST_TEXTURE, Format, Numeric
from gpgpu_legacy.present.grid import Entry, Grid, Result
from gpgpu_legacy.present.plot import (
    COLOURS,
    MARKS,
    label_lines,
    new_panels,
    save_figure,
    set_powers_of_two,
)
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.serial import Record, fields_of
from gpgpu_legacy.studies.shared.operands import check_parameters

F64 = NDArray[np.float64]

SWEPT = {"texture_format": "r32f,unorm8", "n": "16,64,256"}
"""The default values to measure, for the methods that have such a parameter."""


class Data(Enum):
    """How A and B are distributed: uniformly, in either case.

    AS_IT_COMES: in [0, 1), so that elements of the product are about l/4.
    SCALED: in [0, 1/√l), so that they are about 1/4 and fit a format whose largest number is 1.
    """

    AS_IT_COMES = "as it comes"
    SCALED = "scaled to fit"


class Accuracy(Record):
    """The error of one n×n product, and its bound.

    size: n. max_error, rms_error: largest and root mean square of |C - C64| over all elements,
    relative to the largest |C64|. bound: the largest bound of an element, relative to the same.
    of_bound: the largest error relative to its own element's bound. Both bounds are None if the
    product saturates or reads wrong texels, for then they do not hold.
    saturated: how many elements have the largest magnitude that the sum can have, or are NaN.
    addresses: whether the coordinates that the program computes are numbers of the arithmetic; if
    not, it reads wrong texels.
    """

    method: str
    texture_format: str
    arithmetic: str
    data: Data
    size: int
    max_error: float
    rms_error: float
    bound: float | None
    of_bound: float | None
    saturated: int
    addresses: bool

    @property
    def kind(self) -> tuple[str, str]:
        """The method and the texture format."""
        return self.method, self.texture_format


class Precision(Result):
    """The errors, in the order of measurement. seed: of the random matrices."""

    seed: int
    measurements: tuple[Accuracy, ...]

    def fitting(self) -> list[Accuracy]:
        """The measurements with data that fit: scaled, if a format was measured with both kinds."""
        kinds = {(row.kind, row.arithmetic, row.data) for row in self.measurements}
        return [
            row
            for row in self.measurements
            if row.data is Data.SCALED or (row.kind, row.arithmetic, Data.SCALED) not in kinds
        ]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The errors at the largest size, of data that fit. whole: at all sizes, of all data."""
        rows, caption = self.measurements, "The error against float64, and its bound."
        if not whole:
            largest = max((row.size for row in rows), default=0)
            rows = tuple(row for row in self.fitting() if row.size == largest)
            caption = (
                f"The error against float64 at n = {largest}, and its bound; --all has all sizes."
            )
        heads = (
            "method", "texture format", "arithmetic", "data", "n", "largest error", "rms error",
            "bound", "error / bound", "saturated", "remark",
        )  # fmt: skip
        notes = [
            "Errors and bounds are relative to the product's largest element; error / bound is the "
            "largest ratio of an element's error to its own bound.",
            "As it comes: A and B uniform in [0, 1). Scaled to fit: in [0, 1/√n).",
            "Where it is not published how a chip rounds, both are measured: to nearest even, and "
            "chopped (-chop). `gpgpu-legacy chips NAME` has what is known of a chip.",
        ]
        if not all(row.addresses for row in rows):
            notes.append(
                "Wrong texels: the coordinates that the program computes are not numbers of the "
                "arithmetic, so it multiplies other elements."
            )
        return [Grid("precision", caption, heads, tuple(map(_entries, rows)), tuple(notes))]

    def plot(self, path: Path) -> None:
        """Draw error against n: a panel for each method and format, a line for each arithmetic.

        The bounds are dashed. Products that saturate or read wrong texels are left out; if a format
        was measured with both kinds of data, the scaled one is drawn. Raises InputError if nothing
        is left to draw or the file cannot be written.
        """
        shown = [row for row in self.fitting() if row.bound is not None]
        panels = [*dict.fromkeys(row.kind for row in shown)]
        if not panels:
            raise InputError("no error has a bound, so there is nothing to plot; see the table")
        titles = []
        for kind in panels:
            # The arithmetics in which the method reads the wrong texels at every size.
            alike = [row for row in self.measurements if row.kind == kind]
            right = {row.arithmetic for row in alike if row.addresses}
            lost = dict.fromkeys(row.arithmetic for row in alike if row.arithmetic not in right)
            titles.append(", ".join(kind) + (f"\nwrong texels: {', '.join(lost)}" if lost else ""))
        figure, places = new_panels(
            titles,
            2,
            3.2,
            x="size n of the n×n matrices; fixed-point data scaled to fit",
            y="largest error, of the largest element",
        )
        names = dict.fromkeys(row.arithmetic for row in shown)
        styles = dict(zip(names, zip(cycle(COLOURS), cycle(MARKS), strict=False), strict=False))
        for axes, kind in zip(places, panels, strict=True):
            axes.set_yscale("log")
            own = [row for row in shown if row.kind == kind]
            for name in dict.fromkeys(row.arithmetic for row in own):
                colour, mark = styles[name]
                line = sorted((r for r in own if r.arithmetic == name), key=lambda row: row.size)
                sizes, bounds, errors = zip(
                    *((r.size, r.bound, r.max_error) for r in line), strict=True
                )
                axes.plot(sizes, bounds, "--", color=colour, linewidth=1.0)
                axes.plot(
                    sizes, errors, marker=mark, color=colour, linewidth=1.6, markersize=4.5,
                    label=name,
                )  # fmt: skip
            set_powers_of_two(axes, sorted({row.size for row in own}))
            label_lines(axes)
        for axes in places[-2:]:  # those with no panel below
            axes.tick_params(labelbottom=True)
        save_figure(
            figure,
            path,
            "What a number format costs in accuracy",
            "Solid: measured, on the NumPy machine. Dashed: the bound that was computed before.",
        )


def _entries(row: Accuracy) -> tuple[Entry, ...]:
    remark = ""
    if not row.addresses:
        remark = "wrong texels"
    elif row.saturated:
        remark = "all saturate" if row.saturated == row.size**2 else "some saturate"
    method, texture_format, arithmetic, _, *numbers, _ = fields_of(row).values()
    return method, texture_format, arithmetic, row.data.value, *numbers, remark


# What is measured -----------------------------------------------------------------------------


@frozen
class PrecisionCase:
    """A product to measure. p: its builder. size: n."""

    p: PlanBuilder
    arithmetic: Arithmetic
    data: Data = Data.AS_IT_COMES

    @property
    def size(self) -> int:
        return self.p.operands["A"].rows


def methods() -> tuple[str, ...]:
    """The names of the products that draw fragments."""
    return tuple(algorithm.name for algorithm in products() if _drawn(algorithm.plan(n=1)))


def cases(pipelines: Sequence[PlanBuilder], arithmetics: Sequence[str]) -> list[PrecisionCase]:
    """The products to measure: each by method, texture format, arithmetic, data and size.

    pipelines: builders of n×n products. arithmetics: all if empty.
    Fixed-point formats are measured with data of both kinds, unless the program reads wrong texels
    in any case; float formats with the data as it comes.
    Raises InputError for an unknown name, an algorithm that is not a product, and a method that
    draws no fragments.
    """
    numbers = [find_arithmetic(name) for name in arithmetics or ARITHMETICS]
    by_format: dict[tuple[str, str], list[tuple[PlanBuilder, Plan]]] = {}
    for p in pipelines:
        check_parameters(p, SWEPT)
        size = p.operands["A"].rows
        if size > LARGEST_TEXTURE:
            raise InputError(f"n is {size}; at most {LARGEST_TEXTURE} can be measured")
        plan = p.plan()
        if not _drawn(plan):
            raise InputError(
                f"{p.name} runs kernels, which compute in {FP32.name} alone; choose from "
                f"{', '.join(methods())}"
            )
        by_format.setdefault((p.name, format_of(plan).name), []).append((p, plan))
    return [
        PrecisionCase(p, arithmetic, data)
        for alike in by_format.values()
        for arithmetic in numbers
        for data in Data
        for p, plan in alike
        if data is Data.AS_IT_COMES or _wants_scaling(plan, arithmetic)
    ]


def format_of(plan: Plan) -> Format:
    """The format of the product's texture."""
    return plan.texture(plan.outputs[0].texture).format


def _drawn(plan: Plan) -> list[tuple[int, FragmentPass]]:
    """The fragment passes of a plan, with how often each is executed."""
    return [(n, pass_) for n, pass_ in plan.weighted_passes() if isinstance(pass_, FragmentPass)]


def _wants_scaling(plan: Plan, arithmetic: Arithmetic) -> bool:
    """Whether a fixed-point format may saturate a sum whose operands are the right texels."""
    is_fixed = format_of(plan).numeric is Numeric.UNORM or isinstance(arithmetic.format, Fixed)
    return is_fixed and reaches_texels(plan, arithmetic)


def operands(case: PrecisionCase, seed: int) -> tuple[F32, F32]:
    """A and B of a case: the same for every method, format and arithmetic."""
    generator = np.random.default_rng([as_whole("seed", seed), case.size])
    limit = np.float32(1.0 if case.data is Data.AS_IT_COMES else 1.0 / np.sqrt(case.size))
    a, b = limit * generator.random((2, case.size, case.size), np.float32)
    return a, b


def measure(
    wanted: Sequence[PrecisionCase],
    seed: int,
    progress: Callable[[str], object],
) -> Precision:
    """The error of each case, in order. progress: called with a method's name before it runs."""
    measurements = []
    for case in wanted:
        progress(case.p.name)
        measurements.append(accuracy(case, *operands(case, seed)))
    return Precision(seed=seed, measurements=tuple(measurements))


def accuracy(case: PrecisionCase, a: F32, b: F32) -> Accuracy:
    """The error of one product of n×n matrices, run on the reference executor, and its bound."""
    plan, machine = case.p.plan(), Machine(exact=True, arithmetic=case.arithmetic)
    product = reference().run(plan, {"A": a, "B": b}, machine).outputs["C"]
    texture_format = format_of(plan)
    bound = error_bound(a, b, case.arithmetic, texture_format, plan)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    *_, limit = _storage(texture_format)
    if not _blends(plan):
        limit = min(limit, case.arithmetic.format.largest)
    saturated = int(np.count_nonzero(~(np.abs(product) < np.float32(limit))))
    right = reaches_texels(plan, case.arithmetic)
    in_force = right and not saturated
    with np.errstate(all="ignore"):
        error = np.abs(product.astype(np.float64) - wanted)
        largest = float(np.abs(wanted).max()) or 1.0
        of_bound = np.divide(error, bound, out=np.zeros_like(error), where=bound > 0.0)
        return Accuracy(
            method=case.p.name,
            texture_format=texture_format.name,
            arithmetic=case.arithmetic.name,
            data=case.data,
            size=case.size,
            max_error=float(error.max()) / largest,
            rms_error=float(np.sqrt(np.mean(error**2))) / largest,
            bound=float(bound.max()) / largest if in_force else None,
            of_bound=float(of_bound.max()) if in_force else None,
            saturated=saturated,
            addresses=right,
        )


# The bound ------------------------------------------------------------------------------------


_FLOAT32 = 2.0**-24

# What storing x does: |stored - x| ≤ relative·|x| + absolute, for |x| up to a largest number.
# float32 textures hold every number of every arithmetic. Eight bits hold steps of 1/255; they are
# encoded and decoded in float32, which adds its own rounding.
_STORAGES = {
    (Numeric.FLOAT, 32): (0.0, 0.0, float(np.finfo(np.float32).max)),
    (Numeric.FLOAT, 16): (2.0**-11, 2.0**-25, 65504.0),
    (Numeric.UNORM, 8): (0.0, 1 / 510 + 2.0**-22, 1.0),
}


def _storage(texture_format: Format) -> tuple[float, float, float]:
    return _STORAGES[texture_format.numeric, texture_format.bits_per_channel]


def error_bound(a: F32, b: F32, arithmetic: Arithmetic, texture_format: Format, plan: Plan) -> F64:
    """The bound on |C - C64| of each element, as derived in this module's docstring.

    It holds where no sum can overflow or saturate, however it is rounded, and where the programs
    reach their texels. plan: one that draws.
    """
    v, f, _ = _storage(texture_format)
    u, e = arithmetic.errors
    reads_exactly, stores_exactly = _exact(arithmetic, texture_format)
    read_u, read_e = (0.0, 0.0) if reads_exactly else (u, e)
    length, passes, blends = a.shape[1], _passes(plan), _blends(plan)
    floats = texture_format.numeric is Numeric.FLOAT

    wide = [np.abs(matrix).astype(np.float64) for matrix in (a, b)]
    read_a, read_b = ((1 + read_u) * ((1 + v) * one + f) + read_e for one in wide)
    exact, product = wide[0] @ wide[1], read_a @ read_b

    additions = length - passes if blends else length - 1
    blended = passes - 1 if blends and floats else 0
    stores = passes * ((not stores_exactly) + (blends and floats))
    grown = (1 + u) ** additions * (1 + _FLOAT32) ** blended * (1 + v) ** stores
    absolute = additions * (e if u else 0.0) + stores * f
    sums = (1 + u) * product + length * e
    values: F64 = product - exact + (u * product + length * e)
    values += (grown - 1) * sums + grown * absolute
    return values


def _exact(arithmetic: Arithmetic, texture_format: Format) -> tuple[bool, bool]:
    """Whether texels are numbers of the arithmetic, and its numbers in [0, 1] are stored exactly.

    Both are tried on 4096 numbers: more than a fixed-point format has, few of which a float format
    has.
    """
    tried = np.arange(4096, dtype=np.float32) / np.float32(4095)
    texels = decode(encode(tried, texture_format), texture_format)
    numbers = arithmetic.round(tried)
    return (
        bool(np.array_equal(arithmetic.round(texels), texels)),
        bool(np.array_equal(decode(encode(numbers, texture_format), texture_format), numbers)),
    )


def _passes(plan: Plan) -> int:
    """The number of passes that draw each element; each adds at least one product."""
    return sum(times for times, _ in _drawn(plan)) // len(plan.outputs)


def _blends(plan: Plan) -> bool:
    return any(pass_.blend == ADD for _, pass_ in _drawn(plan))


def reaches_texels(plan: Plan, arithmetic: Arithmetic) -> bool:
    """Whether each texel's centre is a number of the arithmetic, or none is computed in it."""
    computed = any(
        instruction.opcode.form is Form.SAMPLE
        and isinstance(instruction.srcs[0].register, Temporary)
        for program in plan.programs()
        for instruction in program.instructions
    )
    if not computed:
        return True
    extents = [texture.extent for texture in plan.textures]
    count = max(max(extent.width, extent.height) for extent in extents)
    centres = np.arange(count, dtype=np.float32) + np.float32(0.5)
    return bool(np.array_equal(arithmetic.round(centres), centres))


# The command --------------------------------------------------------------------------------------


@answers("study precision", plot="Draw error and bound against n.")
def precision_command(
    *,
    jobs: Jobs,
    report: Report,
    arithmetic: Annotated[
        tuple[str, ...], "NAME", f"One or several of {NAMES} (default: all).", arithmetic_names
    ] = (),
    seed: Seed = 0,
) -> Precision:
    """Measure the error of each fragment method by arithmetic and size, and give its bound.

    Every operation is rounded to the arithmetic, on the reference executor; the product is compared
    with one in float64. Fixed-point formats are measured twice: with matrices in [0, 1), and with
    matrices scaled so that the sums fit. WHAT: methods, by default all that draw; n=16,64,256 and
    all texture formats unless other sizes or formats are given.
    """
    whats, given = split(jobs.words)
    chosen = [find_product(name) for name in whats or methods()]
    swept = (
        f"{name}={values}"
        for name, values in SWEPT.items()
        if name not in given and any(name in method.parameters for method in chosen)
    )
    wanted = cases(Jobs((*jobs.words, *swept)).pipelines(*methods()), arithmetic)
    with report.progress("measuring", len(wanted)) as step:
        return measure(wanted, seed, step)
