"""A hypothesis strategy for plans whose passes read neighbours: relaxations of all kinds.

Textures of one format alternate as targets, or are copied back. Draws look up texels at small
offsets in what was written before, and any texels of a texture that no pass writes. Edges are
clamped or repeat; rectangles lie in textures with margins of their own. Fragments die, colours are
added to what is there, draws have two targets. Some Repeats hold only copies, others a clear or a
dispatch beside their draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from drawing import EXACT, F32, Image, Made, assert_same_bits, corners, show
from framebuffers import TARGETS, operations
from hypothesis import strategies as st
from strategies import SEED
from varying import ADDENDS, SUMS, dispatches

from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.numbers import Affine, NumberVec4
from gpgpu_legacy.plan.plan import (
    Binding,
    ClearPass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    FORMATS,
    R32F,
    RGBA32F,
    Extent,
    Rect,
    Sampler,
    TextureKind,
    Wrap,
)
from gpgpu_legacy.runtime.executor import Executor, reference
from gpgpu_legacy.runtime.machine import Machine, Tuning
from gpgpu_legacy.runtime.prepared import Prepared

T = TypeVar("T")

NAMES = ("P", "Q", "S", "T")
GIVEN, GIVEN_SIDE = "G", 8

SIDES = (1, 2, 3, 5, 8, 13, 31)
TORUS_SIDES = (1, 2, 3, 4, 7, 8, 12, 29, 32)  # float32 has the places of some texels rounded


def same_as_passes(
    executor: Executor,
    plan: Plan,
    operands: dict[str, F32],
    tuning: Tuning | None,
    look: Callable[[Prepared], T],
) -> T:
    """The result of `look` for a prepared plan; asserts that the plan's results are right.

    In default mode they have to equal those of an observed run. With `exact` they have to equal
    those of the reference machine, twice over.
    """
    expected = reference().run(plan, operands, EXACT).outputs
    if not executor.why_inexact(plan, EXACT):
        with executor.prepare(plan, replace(EXACT, tuning=tuning)) as prepared:
            for _ in range(2):
                found = prepared.run(operands).outputs
                for name, values in expected.items():
                    assert_same_bits(found[name], values)
    with executor.prepare(plan, Machine(tuning=tuning)) as prepared:
        found = {name: values.copy() for name, values in prepared.run(operands).outputs.items()}
        alone = prepared.run(operands, lambda *_: None).outputs
        for name, values in found.items():
            assert_same_bits(values, alone[name])
        return look(prepared)


@dataclass(frozen=True)
class _Field:
    """The place of all passes' fragments. rects: by the texture that is written."""

    size: tuple[int, int]
    rects: Mapping[str, Rect]
    extents: Mapping[str, Extent]
    kind: TextureKind
    sampler: Sampler

    def texel(self, name: str) -> tuple[float, float]:
        """The distance of neighbouring texels, in coordinates."""
        if self.kind is TextureKind.RECT:
            return 1.0, 1.0
        return 1.0 / self.extents[name].width, 1.0 / self.extents[name].height

    def lie_alike(self, one: str, other: str) -> bool:
        """Whether a pass may have both as targets."""
        same_extent = self.extents[one] == self.extents[other]
        return same_extent and self.rects[one] == self.rects[other]

    def own(self, unit: int, name: str) -> Texcoords:
        """The coordinate set of that unit: each fragment's own texel in a texture."""
        (sx, sy), rect = self.texel(name), self.rects[name]
        base = (rect.x * sx, rect.y * sy, 0.0, 1.0)
        along = ((sx, 0.0, 0.0, 0.0), (0.0, sy, 0.0, 0.0))
        return Texcoords(unit, corners(base, *along, *self.size))


@st.composite
def _fields(draw: st.DrawFn) -> _Field:
    if draw(st.integers(0, 2)) == 0:
        width, height = (draw(st.sampled_from(TORUS_SIDES)) for _ in range(2))
        wraps = [draw(st.sampled_from((Wrap.REPEAT, Wrap.REPEAT, Wrap.CLAMP))) for _ in range(2)]
        whole, rect = Extent(width, height), Rect(0, 0, width, height)
        return _Field(
            (width, height), dict.fromkeys(NAMES, rect), dict.fromkeys(NAMES, whole),
            TextureKind.T2D, Sampler(wrap_s=wraps[0], wrap_t=wraps[1]),
        )  # fmt: skip
    width, height = (draw(st.sampled_from(SIDES)) for _ in range(2))
    rects, extents = {}, {}
    alike = [draw(st.sampled_from((0, 0, 1, 2))) for _ in range(4)]
    for name in NAMES:
        own = draw(st.integers(0, 11)) == 0
        left, right, down, up = (m + own * draw(st.integers(0, 2)) for m in alike)
        rects[name] = Rect(left, down, width, height)
        extents[name] = Extent(left + width + right, down + height + up)
    return _Field((width, height), rects, extents, TextureKind.RECT, Sampler())


@st.composite
def _draws(
    draw: st.DrawFn,
    field: _Field,
    targets: tuple[str, ...],
    sources: tuple[str, ...],
    farthest: int,
) -> FragmentPass:
    """A pass that reads texels of its sources at offsets, and of GIVEN."""
    target = field.kind.value
    lines = ["!!ARBfp1.0", *(["OPTION ARB_draw_buffers;"] if len(targets) > 1 else [])]
    lines += ["TEMP sum, texel, at;", f"TEX sum, fragment.texcoord[0], texture[0], {target};"]
    for _ in range(draw(st.integers(1, 5))):
        unit = draw(st.integers(0, len(sources) - 1))
        right, up = (draw(st.integers(-farthest, farthest)) for _ in range(2))
        s, t = field.texel(sources[unit])
        lines += [f"ADD at, fragment.texcoord[{unit}], {{{right * s}, {up * t}, 0, 0}};",
                  f"TEX texel, at, texture[{unit}], {target};",
                  draw(st.sampled_from((
                      "MAD sum, texel, 0.5, sum;", "MAX sum, sum, texel;", "SUB sum, texel, sum;",
                      "LRP sum, program.local[0], texel.wxyz, sum;", "CMP sum, sum, texel, sum;",
                  )))]  # fmt: skip
    elsewhere = draw(st.sampled_from((
        "", "", "TEX texel, fragment.texcoord[3], texture[3], RECT;",
        "MUL at, sum, 3; TEX texel, at, texture[3], RECT;",
    )))  # fmt: skip
    if elsewhere:
        lines += [elsewhere, "ADD sum, sum, texel;"]
    if draw(st.integers(0, 3)) == 0:
        lines += ["ADD texel, sum, 1.5;", "KIL texel;"]
    lines.append("FRC sum, sum;")
    colours = ["result.color"] if len(targets) == 1 else ["result.color[0]", "result.color[1]"]
    for colour, swizzle in zip(colours, ("", ".yxwz"), strict=False):
        lines.append(f"MAD {colour}, sum{swizzle}, 1.25, -0.125;")
    moves, base = draw(st.integers(0, 11)) == 0, draw(st.sampled_from((0.25, 0.625)))
    local: NumberVec4 = (Affine(base, 0.125) if moves else base, 0.5, 0.25, 0.75)
    lower = tuple(float(draw(st.integers(-2, 2))) for _ in range(2))
    slope = draw(st.sampled_from((0.0, 1.0)))
    there = corners(
        (lower[0], lower[1], 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, slope, 0.0, 0.0), *field.size
    )  # fmt: skip
    return FragmentPass(
        assemble("\n".join([*lines, "END", ""]), name="relaxation.fp"),
        (*(Binding(n, name, field.sampler) for n, name in enumerate(sources)), Binding(3, GIVEN)),
        targets,
        field.rects[targets[0]],
        (*(field.own(n, name) for n, name in enumerate(sources)), Texcoords(3, there)),
        (ParameterValue(0, local),),
        **draw(operations(field.rects[targets[0]], R32F, tame=True)),
    )


@st.composite
def _bodies(draw: st.DrawFn, field: _Field) -> tuple[Pass, ...]:
    """The passes of an iteration."""
    one, two, three, four = draw(st.permutations(NAMES))
    farthest = draw(st.sampled_from((1, 1, 2, 3)))

    def drawn(targets: tuple[str, ...], sources: tuple[str, ...]) -> FragmentPass:
        return draw(_draws(field, targets, sources, farthest))

    def back(source: str, target: str) -> CopyPass:
        return CopyPass(source, field.rects[source], target, field.rects[target])

    match draw(st.integers(0, 5)):
        case 5:
            return back(one, two), *([back(three, one)] * draw(st.integers(0, 1))), back(two, one)
        case 0 | 1:
            return drawn((one,), (two,)), drawn((two,), (one,))
        case 2:
            return drawn((one,), (two,)), back(one, two)
        case 3:
            return drawn((one,), (two, three)), drawn((three,), (one,)), back(one, two)
    both = ((one, two), (three, four))
    if all(field.lie_alike(*pair) for pair in both):
        return drawn(*both), drawn(*both[::-1])
    return drawn((one,), (two, three)), drawn((two,), (one,)), drawn((three,), (two, one))


@st.composite
def relaxations(draw: st.DrawFn) -> Made:
    """A random plan that reads neighbours in a Repeat, and shows all that it writes."""
    field = draw(_fields())
    texel_format = FORMATS[draw(st.sampled_from(("r32f", "rgba32f", *TARGETS)))]
    rng = np.random.default_rng(draw(SEED))
    images = {
        name: Image(
            (rng.integers(-16, 17, (extent.height, extent.width, texel_format.channels)) / 16)
            .astype(np.float32),
            kind=field.kind,
            format=texel_format,
        )
        for name, extent in field.extents.items()
    }  # fmt: skip
    side = (GIVEN_SIDE, GIVEN_SIDE, 4)
    given = (rng.integers(-16, 17, side) / 16).astype(np.float32)
    images[GIVEN] = Image(given, format=RGBA32F)
    count = draw(st.integers(1, 7))
    body = list(draw(_bodies(field)))
    if draw(st.integers(0, 5)) == 0:
        clear = ClearPass(draw(st.sampled_from(NAMES)), (0.25, -0.5, 0.75, 1.0))
        other = draw(st.just(clear) | dispatches(count))
        body.insert(draw(st.integers(0, len(body))), other)
    target, *also = (images[name].texture(name) for name in NAMES)
    also.append(SUMS)
    return Made(show((Repeat(count, tuple(body)),), target, images, (ADDENDS,), also=also), images)
