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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.api.products import run
from gpgpu_legacy.arguments import as_whole
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import decode, encode
from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP32, Arithmetic, find_arithmetic
from gpgpu_legacy.isa.ir import Temporary
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.plan.formats import FORMATS, LARGEST_TEXTURE, Format, Numeric
from gpgpu_legacy.plan.plan import Blend, FragmentPass, Plan
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.registry import reference

F64 = NDArray[np.float64]

SIZES = (16, 64, 256)


class Data(Enum):
    """How A and B are distributed: uniformly, in either case.

    AS_IT_COMES: in [0, 1), so that elements of the product are about l/4.
    SCALED: in [0, 1/√l), so that they are about 1/4 and fit a format whose largest number is 1.
    """

    AS_IT_COMES = "as it comes"
    SCALED = "scaled to fit"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The error of one n×n product, and its bound.

    size: n. max_error, rms_error: largest and root mean square of |C - C64| over all elements,
    relative to the largest |C64|. bound: the largest bound of an element, relative to the same.
    of_bound: the largest error relative to its own element's bound. Both bounds are None if the
    product saturates or reads wrong texels, for then they do not hold.
    saturated: how many elements of the product have the format's largest magnitude or are NaN.
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


# What is measured -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A product to measure."""

    method: Method
    texture_format: Format
    arithmetic: Arithmetic
    data: Data
    size: int


def cases(
    names: Sequence[str] = (),
    arithmetics: Sequence[str] = (),
    texture_format: str | None = None,
    sizes: Sequence[int] = SIZES,
) -> list[Case]:
    """The products to measure: each method by texture format, arithmetic, data and size.

    names: of methods; by default all that draw fragments. arithmetics: by default all.
    texture_format: only this one, for the methods that have it; by default all that each has.
    Fixed-point formats are measured with data of both kinds, unless the program reads wrong texels
    in any case; float formats with the data as it comes.
    Raises InputError for an unknown name, and for a method that draws no fragments.
    """
    if min(sizes, default=0) < 1:
        raise InputError(
            f"the sizes are {', '.join(map(str, sizes)) or 'none'}; each must be at least 1"
        )
    if max(sizes) > LARGEST_TEXTURE:
        raise InputError(f"the size is {max(sizes)}; up to {LARGEST_TEXTURE} can be measured")
    numbers = [find_arithmetic(name) for name in arithmetics or ARITHMETICS]
    chosen = [_drawing(name) for name in names] or [m for m in methods() if _draws(m)]
    if texture_format is not None and not any(texture_format in m.formats for m in chosen):
        known = dict.fromkeys(name for method in chosen for name in method.formats)
        raise InputError(
            f"none of {', '.join(method.name for method in chosen)} can use the texture format "
            f"{texture_format}; choose from {', '.join(known)}"
        )
    return [
        Case(method, FORMATS[name], arithmetic, data, size)
        for method in chosen
        for name in method.formats
        if texture_format in (None, name)
        for arithmetic in numbers
        for data in Data
        for size in sizes
        if data is Data.AS_IT_COMES or _wants_scaling(method, FORMATS[name], arithmetic, size)
    ]


def _draws(method: Method) -> bool:
    return bool(_drawn(method.plan(Shape(1, 1, 1))))


def _drawn(plan: Plan) -> list[tuple[int, FragmentPass]]:
    """The fragment passes of a plan, with how often each is executed."""
    return [(n, pass_) for n, pass_ in plan.weighted_passes() if isinstance(pass_, FragmentPass)]


def _drawing(name: str) -> Method:
    method = find_method(name)
    if not _draws(method):
        raise InputError(
            f"{method.name} runs kernels, which compute in {FP32.name} alone; choose from "
            f"{', '.join(m.name for m in methods() if _draws(m))}"
        )
    return method


def _wants_scaling(
    method: Method, texture_format: Format, arithmetic: Arithmetic, size: int
) -> bool:
    """Whether a fixed-point format may saturate a sum whose operands are the right texels."""
    if texture_format.numeric is not Numeric.UNORM and arithmetic.relative_error > 0.0:
        return False
    options = Options(texture_format=texture_format.name)
    return _addresses(method.plan(Shape(size, size, size), options), arithmetic)


def operands(case: Case, seed: int) -> tuple[F32, F32]:
    """A and B of a case: the same for every method, format and arithmetic."""
    generator = np.random.default_rng([as_whole("seed", seed), case.size])
    shape = (case.size, case.size)
    limit = np.float32(1.0 if case.data is Data.AS_IT_COMES else 1.0 / np.sqrt(case.size))
    return limit * generator.random(shape, np.float32), limit * generator.random(shape, np.float32)


def measure(
    wanted: Sequence[Case], seed: int = 0, progress: Callable[[str], object] = lambda _: None
) -> Iterator[Accuracy]:
    """The error of each case, in order. progress: called with a method's name before it runs."""
    for case in wanted:
        progress(case.method.name)
        yield accuracy(case, *operands(case, seed))


def accuracy(case: Case, a: F32, b: F32) -> Accuracy:
    """The error of one product of n×n matrices, run on the reference executor, and its bound."""
    options = Options(texture_format=case.texture_format.name)
    machine = Machine(exact=True, arithmetic=case.arithmetic)
    result = run(a, b, case.method.name, options, machine, executor=reference().name)
    bound = error_bound(a, b, case.arithmetic, case.texture_format, result.plan)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    saturated = _saturated(result.product, case, result.plan)
    addresses = bound.addresses
    with np.errstate(all="ignore"):
        error = np.abs(result.product.astype(np.float64) - wanted)
        largest = float(np.abs(wanted).max()) or 1.0
        in_force = addresses and not saturated
        return Accuracy(
            case.method.name,
            case.texture_format.name,
            case.arithmetic.name,
            case.data,
            case.size,
            float(error.max()) / largest,
            float(np.sqrt(np.mean(error**2))) / largest,
            float(bound.values.max()) / largest if in_force else None,
            float(_ratio(error, bound.values).max()) if in_force else None,
            saturated,
            addresses,
        )


def _ratio(error: F64, bound: F64) -> F64:
    return np.divide(error, bound, out=np.zeros_like(error), where=bound > 0.0)


def _saturated(product: F32, case: Case, plan: Plan) -> int:
    """How many elements are not finite, or have the largest magnitude that the sum can have."""
    limit = _storage(case.texture_format).largest
    if not _blends(plan):
        limit = min(limit, case.arithmetic.largest)
    return int(np.count_nonzero(~(np.abs(product) < np.float32(limit))))


# The bound ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rounding:
    """What a format does to x: |rounded - x| ≤ relative·|x| + absolute, for |x| ≤ largest."""

    relative: float
    absolute: float
    largest: float


_FLOAT32 = 2.0**-24

# float32 textures hold every number of every arithmetic. Eight bits hold steps of 1/255, found and
# read back in float32, which puts the result off by its own rounding as well.
_STORAGES = {
    (Numeric.FLOAT, 32): Rounding(0.0, 0.0, float(np.finfo(np.float32).max)),
    (Numeric.FLOAT, 16): Rounding(2.0**-11, 2.0**-25, 65504.0),
    (Numeric.UNORM, 8): Rounding(0.0, 1 / 510 + 2.0**-22, 1.0),
}


def _storage(texture_format: Format) -> Rounding:
    return _STORAGES[texture_format.numeric, texture_format.bits_per_channel]


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A bound of |C - C64| for every element.

    fits: whether no sum can overflow or saturate, however it is rounded. addresses: whether the
    coordinates that the programs compute are numbers of the arithmetic. The bound holds if both do.
    """

    values: F64
    fits: bool
    addresses: bool


def error_bound(
    a: F32, b: F32, arithmetic: Arithmetic, texture_format: Format, plan: Plan
) -> Bound:
    """The bound of this module's docstring, for the product of a and b by a plan that draws."""
    store, reading, storing = _storage(texture_format), *_exact(arithmetic, texture_format)
    u, e = arithmetic.relative_error, arithmetic.absolute_error
    read_u, read_e = (0.0, 0.0) if reading else (u, e)
    length, passes, blends = a.shape[1], _passes(plan), _blends(plan)
    floats = texture_format.numeric is Numeric.FLOAT

    wide_a, wide_b = np.abs(a).astype(np.float64), np.abs(b).astype(np.float64)
    read_a, read_b = (
        (1 + read_u) * ((1 + store.relative) * wide + store.absolute) + read_e
        for wide in (wide_a, wide_b)
    )
    exact, product = wide_a @ wide_b, read_a @ read_b

    additions = length - passes if blends else length - 1
    blended = passes - 1 if blends and floats else 0
    stores = passes * ((not storing) + (blends and floats))
    grown = (1 + u) ** additions * (1 + _FLOAT32) ** blended * (1 + store.relative) ** stores
    absolute = additions * (e if u else 0.0) + stores * store.absolute
    sums = (1 + u) * product + length * e
    values = (product - exact) + (u * product + length * e) + (grown - 1) * sums + grown * absolute

    largest = float((exact + values).max())
    read = max(float(read_a.max()), float(read_b.max()))
    one_product = (1 + u) * float(read_a.max() * read_b.max()) + e
    in_a_pass = min(largest, (additions + 1) * one_product * grown) if blends else largest
    fits = max(read, in_a_pass) < arithmetic.largest and max(read, largest) < store.largest
    return Bound(values, fits, _addresses(plan, arithmetic))


def _exact(arithmetic: Arithmetic, texture_format: Format) -> tuple[bool, bool]:
    """Whether texels are numbers of the arithmetic, and its numbers in [0, 1] are stored exactly.

    Tried on more numbers than a fixed-point format has, few of which a float format has.
    """
    tried = np.arange(4096, dtype=np.float32) / np.float32(4095)
    texels = decode(encode(tried, texture_format), texture_format)
    numbers = arithmetic.round(tried)
    return (
        bool(np.array_equal(arithmetic.round(texels), texels)),
        bool(np.array_equal(decode(encode(numbers, texture_format), texture_format), numbers)),
    )


def _passes(plan: Plan) -> int:
    """How many passes draw each element of the product; each adds at least one product."""
    return sum(times for times, _ in _drawn(plan)) // len(plan.outputs)


def _blends(plan: Plan) -> bool:
    return any(pass_.blend is Blend.ADD for _, pass_ in _drawn(plan))


def _addresses(plan: Plan, arithmetic: Arithmetic) -> bool:
    """Whether the centres of the texels are numbers of the arithmetic, or not computed in it."""
    computed = any(
        OPCODES[instruction.mnemonic].form is Form.SAMPLE
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
