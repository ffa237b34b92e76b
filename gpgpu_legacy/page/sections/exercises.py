"""Three exercises for a class, with answers to unfold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gpgpu_legacy.algorithms.matmul.larson_mcallister import DEMONSTRATION_A
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.fit import Largest, fit
from gpgpu_legacy.api.matmul import matmul
from gpgpu_legacy.chips.profile import Profile, find_profile
from gpgpu_legacy.count import closed_form
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.page.products import LESSON_SCRIPTS, METHODS
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.plan.textures import UNORM8
from gpgpu_legacy.present.grid import pretty
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.studies.figure_2 import demonstrate

# The answers --------------------------------------------------------------------------------------

OLDEST, SINGLE, MULTI = METHODS
WHITE = 255
"""The highest level of 8 bits."""

# The sum in 8 bits ------------------------------------------------------------------------------


@frozen
class Saturation:
    """A product whose operands have one equal element throughout, in 8 bits.

    side: of the matrices. element: of A and B. stored: its level. after: the level of the
    framebuffer after each pass. exact: the elements of the product. largest: the highest level of
    an element with which nothing saturates.
    """

    side: int
    element: Fraction
    stored: int
    after: tuple[int, ...]
    exact: Fraction
    largest: int

    @property
    def step(self) -> int:
        """What the first pass adds, in levels."""
        return self.after[0]

    @property
    def first_white(self) -> int:
        """The first pass, from 1, after which the framebuffer is white."""
        return 1 + self.after.index(WHITE)

    def moment(self, drawn: int) -> str:
        """The address of the screen of 8 bits after that many draws."""
        equal = "~".join(["_".join([str(float(self.element))] * self.side)] * self.side)
        return f"#eight-bits.pass={drawn}&figure-2.A={equal}&figure-2.B={equal}"


def saturation() -> Saturation:
    """Products of equal numbers, summed in the framebuffer of 2001."""
    side, element = len(DEMONSTRATION_A), Fraction(5, 8)
    equal = np.full((side, side), float(element), np.float32)
    p = find_product(OLDEST).builder(n=side, texture_format=UNORM8.name)
    frames = demonstrate(reference(), p, {"A": equal, "B": equal}).frames
    return Saturation(
        side=side,
        element=element,
        stored=_level(frames[0].column[0, 0]),
        after=tuple(_level(frame.framebuffer[0, 0]) for frame in frames),
        exact=side * element**2,
        largest=_largest_level(side),
    )


def _largest_level(steps: int) -> int:
    """The highest level v for which that many products v·v add up to less than white."""
    levels = np.arange(WHITE + 1, dtype=np.float32)[:, None].repeat(steps, axis=1) / np.float32(
        WHITE
    )
    product = matmul(
        levels, levels.T, OLDEST, executor=reference().name, texture_format=UNORM8.name
    )
    return int(np.flatnonzero(np.diag(product) < 1.0)[-1])


def _level(value: float) -> int:
    return round(WHITE * float(value))


# Lookups ------------------------------------------------------------------------------------------


COST_SIZE, COST_BLOCKS = 64, (1, 2, 4, 8, 16, 32)


@frozen
class MultiplyAddCost:
    """The cost of a multiply-add. at: counted, by block. form: in b. limit: for large b."""

    at: dict[int, Fraction]
    form: str
    limit: Fraction


@frozen
class Costs:
    """A method's costs. per_step: the multiply-adds of a fragment in each of a pass's b steps."""

    per_step: Fraction
    lookups: MultiplyAddCost
    bytes_requested: MultiplyAddCost


def costs(method: str) -> Costs:
    """The costs of a multiply-add by a method, counted and recovered."""
    step = Fraction(COST_SIZE**3, _counts(method, COST_SIZE, 1).fragments)
    return Costs(step, _cost(method, "lookup"), _cost(method, "bytes_requested"))


def _counts(method: str, size: int, block: int) -> Counts:
    return count_plan(find_product(method).plan(n=size, block=block))


def _cost(method: str, name: str) -> MultiplyAddCost:
    """One of the counts for each multiply-add."""
    from sympy import Symbol, factor, limit, oo

    def count(n: int, b: int) -> int:
        return int(getattr(_counts(method, n, b), name))

    form = factor(closed_form.recover(count) / Symbol("n", positive=True) ** 3)
    end = limit(form, Symbol("b", positive=True), oo)
    at = {block: Fraction(count(COST_SIZE, block), COST_SIZE**3) for block in COST_BLOCKS}
    return MultiplyAddCost(at, pretty(str(form)), Fraction(int(end.p), int(end.q)))


# The largest block --------------------------------------------------------------------------------

CHIP, LOADED_SIZE = "radeon-9700-pro", 64


@frozen
class Loaded:
    """The multichannel product on a chip of its time.

    written, rearranged: the largest block that the chip's own limits allow, of the program as
    written and of the one that computes coordinates first.
    indirections: as a formula in b.
    """

    chip: Profile
    written: Largest
    rearranged: Largest
    indirections: str

    def moment(self, block: int) -> str:
        """The address of the chip with a block on its slider."""
        return f"#loaded.program={MULTI}&loaded.chip={self.chip.name}&loaded.block={block}"


def loaded() -> Loaded:
    """The largest blocks, and the limits that bind."""
    chip, method = find_profile(CHIP), find_product(MULTI)
    fitted = fit(method, chip, {"n": LOADED_SIZE})
    native = [one for one in fitted.largest if one.limits == "native"]
    [written] = [one for one in native if one.coordinates_first is None]
    [rearranged] = [one for one in native if one.coordinates_first is not None]
    blocks = range(1, (written.value or 0) + 3)
    counted = [
        resources(method.plan(n=LOADED_SIZE, block=block).programs()[0]).count(
            Resource.INDIRECTIONS
        )
        for block in blocks
    ]
    line = closed_form.fit(blocks, counted, ((0, 0), (1, 0)))
    assert line is not None
    formula = closed_form.formula_text({(power,): c for power, c in line.items()}, ["b"])
    return Loaded(chip, written, rearranged, pretty(formula))


# Three exercises for a class, with answers to unfold ----------------------------------------------


def make_section() -> PageSection:
    """The exercises. Their answers fold without a script, and links lead to states of the page."""
    sums = saturation()
    single, multi = costs(SINGLE), costs(MULTI)
    html = rendered(
        "sections/exercises.html.j2",
        white=WHITE,
        sums=sums,
        single=single,
        multi=multi,
        blocks=COST_BLOCKS,
        loaded=loaded(),
    )
    scripts = (*LESSON_SCRIPTS, "sections/exercises.js")
    return PageSection("exercises", "Three exercises", html, {}, scripts, "Exercises")
