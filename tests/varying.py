"""Hypothesis strategies for what varies in a Repeat: Tables of numbers, and moving rectangles.

There are also whole plans of dispatches, whose uniforms and work groups vary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from buffers import buffer
from hypothesis import strategies as st

from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.plan.expand import number_at
from gpgpu_legacy.plan.numbers import Affine, Integer, Number, NumberVec4, Table
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    BufferBinding,
    ClearPass,
    ComputePass,
    CopyPass,
    Corners,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    StateValue,
    Step,
    Texcoords,
    UniformValue,
)
from gpgpu_legacy.plan.textures import ONE_PER_TEXEL, Matrix, MovingRect, Rect, Region, Transfer

T = TypeVar("T", Texcoords, AttributeCorners)


@dataclass(frozen=True)
class Setting:
    """The things that the passes of a Repeat share.

    numbers: of parameters, state and clears. places: of coordinates.
    """

    count: int
    extent: tuple[int, int]
    numbers: st.SearchStrategy[float]
    places: st.SearchStrategy[float]

    def table(self, values: st.SearchStrategy[float]) -> st.SearchStrategy[Table]:
        """A Table of the right length."""
        values = st.lists(values, min_size=self.count, max_size=self.count)  # type: ignore[assignment]
        return values.map(lambda made: Table(tuple(made)))  # type: ignore[arg-type]


OFFSETS: tuple[Callable[[int], float], ...] = (
    lambda iteration: float(2**iteration),
    lambda iteration: float(-(2**iteration)),
    lambda iteration: float(iteration % 2),
)
"""Offsets of coordinates by iteration, as log-step algorithms have them."""


# Rectangles --------------------------------------------------------------------------------------


@st.composite
def _sides(draw: st.DrawFn, setting: Setting, size: int) -> tuple[Integer, Integer]:
    """The beginning and the length of a rectangle along an axis of that size."""
    count = setting.count
    if draw(st.booleans()):
        lengths = [draw(st.integers(1, size)) for _ in range(count)]
        if draw(st.booleans()):  # halves, as in a reduction
            lengths = [max(1, size >> iteration) for iteration in range(count)]
        starts = [draw(st.integers(0, size - length)) for length in lengths]
        return Table(tuple(map(float, starts))), Table(tuple(lengths))
    grown = max(0, count - 1)
    step = draw(st.sampled_from((0, 1, -1)))
    if not step or grown >= size:
        length = draw(st.integers(1, size))
        return draw(st.integers(0, size - length)), length
    shortest = draw(st.integers(1, size - grown))
    longest = shortest + grown
    if step > 0:
        return draw(st.integers(0, size - longest)), Affine(shortest, 1)
    start = draw(st.integers(0, size - longest))
    return draw(st.sampled_from((start, Affine(start, 1)))), Affine(longest, -1)


@st.composite
def moving_rects(draw: st.DrawFn, setting: Setting) -> MovingRect:
    """A rectangle that lies inside the target in every iteration."""
    (x, width), (y, height) = (draw(_sides(setting, size)) for size in setting.extent)
    return MovingRect(x, y, width, height)


# Numbers -----------------------------------------------------------------------------------------


@st.composite
def _vector(draw: st.DrawFn, setting: Setting, value: NumberVec4) -> NumberVec4:
    """A vector with one component that has a Table."""
    component = draw(st.integers(0, 3))
    table = draw(setting.table(setting.numbers))
    x, y, z, w = (table if c == component else v for c, v in enumerate(value))
    return (x, y, z, w)


@st.composite
def _corners(draw: st.DrawFn, setting: Setting, four: Corners) -> Corners:
    """Corner values that all move by the same Table, or of which only one does."""
    component = draw(st.integers(0, 1))
    if draw(st.integers(0, 3)) == 0:
        alone, table = draw(st.integers(0, 3)), draw(setting.table(setting.places))
        moved = [table if corner == alone else v[component] for corner, v in enumerate(four)]
    else:
        offset = draw(st.sampled_from(OFFSETS))
        moved = [_moved(v[component], offset, setting.count) for v in four]
    a, b, c, d = (
        _put(vector, component, number) for vector, number in zip(four, moved, strict=True)
    )
    return (a, b, c, d)


def _moved(number: Number, offset: Callable[[int], float], count: int) -> Table:
    return Table(tuple(number_at(number, i) + offset(i) for i in range(count)))


def _put(vector: NumberVec4, component: int, number: Number) -> NumberVec4:
    x, y, z, w = (number if c == component else v for c, v in enumerate(vector))
    return (x, y, z, w)


# Passes ------------------------------------------------------------------------------------------


@st.composite
def _some(draw: st.DrawFn, setting: Setting, given: Sequence[T]) -> tuple[T, ...]:
    """These values, some of them with Tables."""
    return tuple(
        replace(one, corners=draw(_corners(setting, one.corners)))
        if draw(st.integers(0, 2)) == 0
        else one
        for one in given
    )


@st.composite
def varied(draw: st.DrawFn, setting: Setting, pass_: Pass) -> Pass:
    """A pass with Tables in some places, and perhaps another rectangle in each iteration."""
    moves = draw(st.integers(0, 2)) == 0
    match pass_:
        case ClearPass():
            return replace(pass_, value=draw(_vector(setting, pass_.value)))
        case CopyPass():
            return _copy(draw(moving_rects(setting)), pass_) if moves else pass_
        case FragmentPass():
            values = [draw(_vector(setting, p.value)) for p in pass_.locals]
            state = StateValue(
                "state.texenv[1].color", (0.5, draw(setting.table(setting.numbers)), 0.0, 1.0)
            )
            return replace(
                pass_,
                rect=draw(moving_rects(setting)) if moves else pass_.rect,
                scissor=None if moves else pass_.scissor,
                texcoords=draw(_some(setting, pass_.texcoords)),
                attributes=draw(_some(setting, pass_.attributes)),
                locals=tuple(
                    replace(p, value=value) for p, value in zip(pass_.locals, values, strict=True)
                ),
                state=(state,),
            )
    return pass_


def _copy(rect: MovingRect, pass_: CopyPass) -> CopyPass:
    """A copy from a moving rectangle to one of its size at the lower left."""
    return replace(pass_, source_rect=rect, target_rect=replace(rect, x=0, y=0))


# Dispatches --------------------------------------------------------------------------------------

KERNEL = """#version 430 core
layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;
uniform int trips;
uniform int from;
uniform float factor;
layout(std430, binding = 0) readonly buffer buffer_A { float A[]; };
layout(std430, binding = 1) buffer buffer_R { float R[]; };
void main()
{
    int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y);
    float sum = 0.0;
    for (int k = 0; k < trips; ++k) { if (k != x) sum += A[from + y * 8 + k] * factor; }
    R[y * 12 + x] = sum + R[y * 12 + x];
}
"""
MOST_GROUPS = (3, 4)
MOST_TRIPS, MOST_FROM = 8, 40
ADDENDS = replace(buffer("A", 14, 8), initial=(1.0, 0.0, 0.0, 0.0))
SUMS = buffer("R", 8, 12, zero=True)


@st.composite
def _whole(draw: st.DrawFn, count: int, least: int, most: int) -> Integer:
    """A whole number between two: constant, Affine or from a Table."""
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return draw(st.integers(least, most))
    if kind == 1 and count - 1 <= most - least:
        first = draw(st.integers(least, most - max(0, count - 1)))
        return draw(st.sampled_from((Affine(first, 1), Affine(first + max(0, count - 1), -1))))
    return Table(tuple(draw(st.integers(least, most)) for _ in range(count)))


@st.composite
def dispatches(draw: st.DrawFn, count: int) -> ComputePass:
    """A dispatch that adds some of ADDENDS to SUMS."""
    quarters = st.integers(-8, 8).map(lambda i: i / 4)
    factors = st.lists(quarters, min_size=count, max_size=count)
    factor = draw(st.one_of(quarters, factors.map(lambda made: Table(tuple(made)))))
    across, up = (draw(_whole(count, 1, most)) for most in MOST_GROUPS)
    return ComputePass(
        parse_kernel(KERNEL, "varying.comp"),
        (BufferBinding(0, "A"), BufferBinding(1, "R")),
        (
            UniformValue("trips", draw(_whole(count, 0, MOST_TRIPS))),
            UniformValue("from", draw(_whole(count, 0, MOST_FROM))),
            UniformValue("factor", factor),
        ),
        (across, up),
    )


@st.composite
def dispatch_plans(draw: st.DrawFn) -> Plan:
    """A plan of Repeats of dispatches, on buffers that begin as 1 and 0."""
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 2))):
        count = draw(st.sampled_from((0, 1, 2, 3, 5)))
        steps.append(Repeat(count, tuple(draw(st.lists(dispatches(count), max_size=2)))))
    out = Transfer("C", Region(0, 0, 8, 12), "R", Rect(0, 0, 12, 8), ONE_PER_TEXEL)
    return Plan("dispatches", (), (Matrix("C", 8, 12),), (ADDENDS, SUMS), (), tuple(steps), (out,))
