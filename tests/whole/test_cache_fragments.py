"""The accesses of plans that draw: against plain Python, hand work, and the counts of bytes."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pytest
from cache_conventions import Access, accesses_of, pass_traces, written_out
from drawing import ZERO, corners, fragment_texcoords, program, show, texture
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plans import Made, plans
from products import METHODS_AND_WAYS, plan_of

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache import fragments
from gpgpu_legacy.cache.access import MOST_LINES, NO_ACCESS, AccessTrace, parse_access
from gpgpu_legacy.cache.fragments import trace_fragments
from gpgpu_legacy.cache.recorded import Replay
from gpgpu_legacy.cache.texel_accesses import (
    AddressSpace,
    DependentError,
    TexelAccess,
    texel_accesses,
)
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import (
    Binding,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    R16F,
    R32F,
    REPEATING,
    RGBA32F,
    Extent,
    Filter,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
)
from gpgpu_legacy.runtime.executor import reference

LAYOUTS = ("linear", "4x4", "3x5", "morton", "6d")
RASTERS = ("scan", "tiled:8x8", "tiled:4x2", "morton", "hilbert")


def trace(
    plan: Plan,
    layout: str = "linear",
    raster: str = "scan",
    *,
    quads: bool = False,
    in_flight: int = 1,
    **more: Any,
) -> AccessTrace:
    access = parse_access(layout, raster, quads=quads, in_flight=in_flight)
    return trace_fragments(plan, access, **more)


def ran(plan: Plan, **given: F32) -> Replay:
    """Runs a plan; given: inputs, of which the others are 0."""
    zeros = {m.name: np.zeros((m.rows, m.columns), np.float32) for m in plan.operands}
    return lambda observe: reference().run(plan, zeros | given, observer=observe)


def recorded(plan: Plan, *how: str, **more: Any) -> AccessTrace:
    """The trace of a plan of which all lookups are recorded."""

    def only_copies(space: AddressSpace, pass_: Pass, count: int) -> list[TexelAccess]:
        if isinstance(pass_, FragmentPass):
            raise DependentError("by request")
        return texel_accesses(space, pass_, count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fragments, "texel_accesses", only_copies)
        return trace(plan, *how, replay=ran(plan), **more)


def in_lines(accesses: list[Access], line_bytes: int) -> list[Access]:
    return [(number, writes, address // line_bytes) for number, writes, address in accesses]


def assert_as_plain_python(
    plan: Plan, layout: str, raster: str, *, quads: bool, line_bytes: int, in_flight: int = 1
) -> None:
    how: dict[str, Any] = {"quads": quads, "in_flight": in_flight}
    expected = accesses_of(plan, layout, raster, **how)
    for traced in (trace, recorded):
        made = list(pass_traces(traced(plan, layout, raster, line_bytes=line_bytes, **how)))
        assert [each.accesses for each in made] == [len(each) for each in expected]
        for pass_, accesses in zip(made, expected, strict=True):
            assert written_out(pass_) == in_lines(accesses, line_bytes)


# Against plain Python ----------------------------------------------------------------------------


SINGLE = find_product("hall-carr-hart-single")
IN_FLIGHT = st.sampled_from((1, 2, 3, 16, 1000))


@settings(max_examples=80, deadline=None)
@given(
    st.tuples(st.integers(1, 12), st.integers(1, 5), st.integers(1, 12)),
    st.sampled_from([case.values for case in METHODS_AND_WAYS]),
    st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(RASTERS), st.booleans()),
    st.sampled_from((16, 32, 64, 256)),
    IN_FLIGHT,
)
def test_methods(
    shape: tuple[int, int, int],
    method: tuple[Algorithm, Accumulate | None],
    how: tuple[str, str, bool],
    line_bytes: int,
    in_flight: int,
) -> None:
    layout, raster, quads = how
    plan = plan_of(method[0], shape, method[1], block=2)
    assert_as_plain_python(
        plan, layout, raster, quads=quads, line_bytes=line_bytes, in_flight=in_flight
    )


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    plans(tame=True, plain=True),
    st.sampled_from(LAYOUTS),
    st.sampled_from(RASTERS),
    st.booleans(),
    st.sampled_from((16, 64)),
    IN_FLIGHT,
)
def test_random_plans(  # noqa: PLR0917
    made: Made, layout: str, raster: str, quads: bool, line: int, in_flight: int
) -> None:
    """Several targets, blends, copies, discards, Repeats that are not fused, lookups."""
    drawn = [p.drawn.area for p in passes(made.plan) if isinstance(p, FragmentPass)]
    assume(sum(drawn) <= 600)
    try:
        trace(made.plan, layout, raster, quads=quads, line_bytes=line)
    except InputError:
        assume(False)
    assert_as_plain_python(
        made.plan, layout, raster, quads=quads, line_bytes=line, in_flight=in_flight
    )


# Plans made by hand ------------------------------------------------------------------------------

LOOKS = program("TEX R0, fragment.texcoord[0], texture[0], RECT;", "MOV result.color, R0;")


def one_pass(*steps: Step, read: Texture | None = None, size: tuple[int, int] = (4, 2)) -> Plan:
    target, also = (texture(name, *size, R32F) for name in ("T", "U"))
    given = read or texture("G", *size, R32F)
    return Plan("by hand", (), (), (given, target, also), (), steps, ())


def draw(
    text: Program = LOOKS, places: Texcoords | None = None, size: tuple[int, int] = (4, 2),
    sampler: Sampler = Sampler(),  # noqa: B008 - frozen
    also: tuple[str, ...] = (),
    **more: Any,
) -> FragmentPass:  # fmt: skip
    return FragmentPass(
        text,
        (Binding(0, "G", sampler),),
        ("T", *also),
        Rect(0, 0, *size),
        (places or fragment_texcoords(0, *size),),
        **more,
    )


def test_a_pass_by_hand() -> None:
    """Rows of 16 bytes, lines of 8: G is lines 0 to 3, T lies 4096 bytes on, at line 512."""
    made = trace(one_pass(draw()), line_bytes=8)
    [step] = made.steps
    [pass_] = step.passes(0)
    [chunk] = pass_.chunks()
    assert [(r.name, r.base, r.size_bytes, r.element_bytes) for r in made.regions] == [
        ("G", 0, 32, 4), ("T", 4096, 32, 4), ("U", 8192, 32, 4),
    ]  # fmt: skip
    assert chunk.kinds.tolist() == [0, 3]
    assert chunk.lines.tolist() == [[0, 512], [1, 513], [2, 514], [3, 515]]
    assert chunk.times.tolist() == [2, 2, 2, 2]
    assert (pass_.accesses, step.count, made.line_bytes) == (16, 1, 8)
    assert made.name == "by hand"


def plane(s: tuple[float, float, float], t: tuple[float, float, float]) -> Texcoords:
    """Set 0: s and t as constant, slope along x, slope along y."""
    base, dx, dy = ((s[i], t[i], 0.0, 1.0) for i in range(3))
    return Texcoords(0, corners(base, dx, dy, 4, 2))


LINEAR_PLACES = {
    "on centres": plane((0.5, 1.0, 0.0), (0.5, 0.0, 1.0)),
    "between texels": plane((0.25, 1.0, 0.0), (0.75, 0.0, 0.5)),
    "beyond all edges": plane((-3.25, 3.5, 0.0), (-1.5, 0.0, 3.25)),
    "turned": plane((-1.0, 1.5, 0.75), (2.0, -1.25, 1.0)),
}


@pytest.mark.parametrize("how", [Filter.NEAREST, Filter.LINEAR])
@pytest.mark.parametrize(
    ("quads", "in_flight", "raster"), [(False, 1, "scan"), (True, 3, "tiled:4x2")]
)
@pytest.mark.parametrize(
    ("kind", "wrap"),
    [
        (kind, wrap)
        for kind in (TextureKind.RECT, TextureKind.T2D, TextureKind.T1D)
        for wrap in Wrap
        if kind is not TextureKind.RECT or wrap not in REPEATING
    ],
)
@pytest.mark.parametrize("places", LINEAR_PLACES)
def test_a_lookup_touches_the_texels_that_it_blends(  # noqa: PLR0917
    places: str,
    kind: TextureKind,
    wrap: Wrap,
    quads: bool,
    in_flight: int,
    raster: str,
    how: Filter,
) -> None:
    scale = np.array([1.0, 1.0] if kind is TextureKind.RECT else [0.125, 0.25])
    read = Texture("G", kind, Extent(8, 1 if kind is TextureKind.T1D else 4), R16F, ZERO)
    text = program(
        f"TEX R0, fragment.texcoord[0], texture[0], {kind.value};", "MOV result.color, R0;"
    )
    placed = Texcoords(
        0,
        tuple((s * scale[0], t * scale[1], 0.0, 1.0) for s, t, *_ in LINEAR_PLACES[places].corners),
    )
    sampler = Sampler(how, wrap_s=wrap, wrap_t=wrap)
    plan = one_pass(draw(text, placed, sampler=sampler), read=read)
    [expected] = accesses_of(plan, "4x4", raster, quads=quads, in_flight=in_flight)
    for traced in (recorded, trace):
        how_many: dict[str, Any] = {"quads": quads, "in_flight": in_flight}
        how_many |= {"replay": ran(plan)} if traced is trace else {}
        [made] = pass_traces(traced(plan, "4x4", raster, line_bytes=4, **how_many))
        assert written_out(made) == in_lines(expected, 4)
    if how is Filter.LINEAR and wrap not in (Wrap.CLAMP, Wrap.CLAMP_TO_BORDER):
        assert made.accesses == len(expected) == 8 * (3 if kind is TextureKind.T1D else 5)


# What only a run tells ---------------------------------------------------------------------------

CLAMPS = (
    "ADD R0, fragment.texcoord[0], -1; MAX R0, R0, 0.5;",
    "SUB R0, 3, fragment.texcoord[0]; MIN R0, R0.yxzw, 1.5; MAX R0, 0, R0;",
    "MUL_SAT R0, fragment.texcoord[0], {0.25, 0.5, 0, 0}; MAD R0, R0, {4, -2, 0, 0}, {0, 2, 0, 0};",
    "MAX R0, fragment.texcoord[0], 1; MIN R0, 2.5, R0; MAD R0, R0, -0.5, 2;",
)


@pytest.mark.parametrize(("quads", "layout"), [(False, "linear"), (True, "3x5")])
@pytest.mark.parametrize(
    "sampler", [Sampler(), Sampler(Filter.LINEAR, Wrap.CLAMP), Sampler(wrap_s=Wrap.CLAMP_TO_BORDER)]
)
@pytest.mark.parametrize("lines", CLAMPS)
def test_clamps_are_recorded(lines: str, sampler: Sampler, quads: bool, layout: str) -> None:
    text = program(lines, "TEX R0, R0, texture[0], RECT;", "MOV result.color, R0;")
    each = draw(text, plane((-1.5, 1.5, 0.5), (0.25, 0.5, 1.0)), sampler=sampler)
    plan = one_pass(each, read=texture("G", 4, 2, R32F))
    [made] = pass_traces(trace(plan, layout, quads=quads, line_bytes=4, replay=ran(plan)))
    [expected] = accesses_of(plan, layout, "scan", quads=quads, in_flight=1)
    assert written_out(made) == in_lines(expected, 4)


DEPENDENT = (
    ("MUL R0, fragment.texcoord[0], fragment.texcoord[0];", "TXP R1, R0, texture[0], RECT;"),
    ("TEX R1, fragment.color, texture[0], RECT;",),
    ("MAX R0, fragment.texcoord[0], fragment.texcoord[0].y;", "TEX R1, R0, texture[0], RECT;"),
)


@pytest.mark.parametrize("lines", DEPENDENT)
def test_a_lookup_that_is_not_affine_is_recorded(lines: tuple[str, ...]) -> None:
    plan = one_pass(draw(program(*lines, "MOV result.color, R1;")))
    with pytest.raises(DependentError, match=f"test.fp:{2 + len(lines)}: T.. from G is at coordin"):
        trace(plan)
    [made] = pass_traces(trace(plan, line_bytes=4, replay=ran(plan)))
    [expected] = accesses_of(plan, "linear", "scan", quads=False)
    assert written_out(made) == in_lines(expected, 4)


@pytest.mark.parametrize("quads", [False, True])
def test_a_branch_is_recorded_fragment_by_fragment(quads: bool) -> None:
    """G has the places 3, 2, 1 and 0 in its lower row, where columns 0 and 1 look up once more; the
    others look up twice in the upper row. Then the lower row looks up once, and the upper one four
    times.
    """
    text = program(
        "OPTION NV_fragment_program2;",
        "TEMP R0, R1, R2;",
        "TEX R0, fragment.texcoord[0], texture[0], RECT;",
        "SUBC R1.x, fragment.position, 2; IF LT.x; TEX R2, R0.xyxx, texture[0], RECT;",
        "ELSE; TEX R2, {0, 1}, texture[0], RECT; TEX R2, {1, 1}, texture[0], RECT; ENDIF;",
        "REP {4}; SUBC R1.y, 1, fragment.position; TEX R2, {2, 1}, texture[0], RECT;",
        "BRK (GT.y); ENDREP; MOV result.color, R2;",
        temporaries="",
    )
    values = np.array([[3, 2, 1, 0], [0, 0, 0, 0]], np.float32)
    plan = show([Repeat(2, (draw(text),))], texture("T", 4, 2, R32F), {"G": values[..., None]})
    made = trace(plan, quads=quads, line_bytes=4, replay=ran(plan, G=values))
    assert made.of_inputs
    sides = {(x, y): [(3 - x) * (1 - y)] if x < 2 else [4, 5] for x in range(4) for y in range(2)}
    of_fragment = {
        (x, y): [4 * y + x, *side, *[6] * (4 if y else 1)] for (x, y), side in sides.items()
    }
    places = [[(x, y)] for y in range(2) for x in range(4)]
    if quads:
        places = [[(x + i, j) for j in range(2) for i in range(2)] for x in (0, 2)]
    for pass_ in pass_traces(made):
        [chunk] = pass_.chunks()
        by_row = [[n for n in row if n != NO_ACCESS and n < 8] for row in chunk.lines.tolist()]
        for row, fragments_ in zip(by_row, places, strict=True):
            assert sorted(row) == sorted(n for place in fragments_ for n in of_fragment[place])
            assert quads or row == of_fragment[fragments_[0]]


def test_dispatches_are_refused() -> None:
    plan = find_product("opengl-compute-tiled").plan(n=8)
    with pytest.raises(InputError, match="dispatches kernels"):
        trace(plan)


# Chunks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quads", [False, True])
@pytest.mark.parametrize(("block", "size"), [(2, 430), (64, 130)])
def test_chunks_are_bounded_and_not_used_again(block: int, size: int, quads: bool) -> None:
    """Lines as short as a texel, so that no two fragments share one."""
    plan = SINGLE.plan(n=size, l=block, block=block)
    pass_ = next(pass_traces(trace(plan, quads=quads, line_bytes=4)))
    chunks = list(pass_.chunks())
    assert len(chunks) > 1
    assert all(c.lines.shape == (len(c.times), len(c.kinds)) for c in chunks)
    assert all(c.lines.size <= MOST_LINES for c in chunks)
    there = sum(int(((c.lines != NO_ACCESS).sum(axis=1) * c.times).sum()) for c in chunks)
    assert there == pass_.accesses == size * size * (2 * block + 2)
    for again, before in zip(pass_.chunks(), chunks, strict=True):
        assert np.array_equal(again.lines, before.lines)


# Totals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quads", [False, True])
@pytest.mark.parametrize(
    "more",
    [{}, {"largest_texture": 8}, {"alpha": 2.0, "beta": 3.0}],
    ids=["plain", "cut", "scaled"],
)
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_bytes_are_those_that_the_plan_is_counted_to_request(
    method: Algorithm, way: Accumulate | None, more: dict[str, Any], quads: bool
) -> None:
    plan = plan_of(method, (21, 11, 18), way, **more)
    made = trace(plan, "4x4", "tiled:8x8", quads=quads)
    found = 0
    for chunk in chain.from_iterable(pass_.chunks() for pass_ in pass_traces(made)):
        sizes = np.array([made.regions[kind // 2].element_bytes for kind in chunk.kinds])
        found += int(((chunk.lines != NO_ACCESS) * sizes * chunk.times[:, None]).sum())
    counts = count_plan(plan)
    assert found == counts.bytes_requested + counts.copy_bytes


# Shifts ------------------------------------------------------------------------------------------


def real_shifts(made: AccessTrace, step: int, iteration: int) -> dict[int, int] | None:
    """By how many bytes each region's accesses really are moved; lines must be texels."""
    first, other = (
        [access for pass_ in made.steps[step].passes(i) for access in written_out(pass_)]
        for i in (0, iteration)
    )
    found: dict[int, set[int]] = {}
    for (region, writes, line), (same, also, moved) in zip(first, other, strict=True):
        assert (region, writes) == (same, also)
        found.setdefault(region, set()).add((moved - line) * made.line_bytes)
    if any(len(each) > 1 for each in found.values()):
        return None
    return {region: each.pop() for region, each in found.items()}


@pytest.mark.parametrize("quads", [False, True])
@pytest.mark.parametrize("layout", ["linear", "3x5", "morton"])
@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_shifts_are_real(
    method: Algorithm, way: Accumulate | None, block: int, layout: str, quads: bool
) -> None:
    """What is proven is so; and for these methods all that is so is proven."""
    plan = plan_of(method, (5, 18, 7), way, block=block)
    texel_bytes = plan.textures[0].format.texel_bytes
    made = trace(plan, layout, quads=quads, line_bytes=texel_bytes)
    for number, step in enumerate(made.steps):
        for iteration in range(step.count):
            assert step.shifts(iteration) == real_shifts(made, number, iteration)


@pytest.mark.parametrize(
    ("sampler", "width", "once"),
    [
        (Sampler(), 7, True),  # texels 3 to 6 in iteration 1
        (Sampler(Filter.LINEAR), 8, True),  # and one more to the right
        (Sampler(Filter.LINEAR), 7, False),
    ],
)
def test_what_is_clamped_is_no_shift(sampler: Sampler, width: int, once: bool) -> None:
    """Three texels to the right each iteration, in a texture of seven or eight."""
    moving = tuple(
        (Affine(float(x), 3.0), y, 0.0, 1.0)
        for x, y in ((0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (0.0, 2.0))
    )
    each = draw(places=Texcoords(0, moving), sampler=sampler)  # type: ignore[arg-type]
    plan = one_pass(Repeat(3, (each,)), read=texture("G", width, 2, R32F))
    [step] = trace(plan).steps
    shifted = {0: 12, 1: 0} if once else None
    assert [step.shifts(i) for i in range(3)] == [{0: 0, 1: 0}, shifted, None]


def test_buffers_stay_linear() -> None:
    buffers = tuple(Texture(name, TextureKind.BUFFER, Extent(5, 5), RGBA32F, (0.0,) * 4)
                    for name in ("X", "Y"))  # fmt: skip
    whole = Rect(0, 0, 5, 5)
    plan = Plan("buffers", (), (), buffers, (), (CopyPass("X", whole, "Y", whole),), ())
    made = trace(plan, "morton", line_bytes=16)
    assert [each.size_bytes for each in made.regions] == [400, 400]
    assert [line for _, _, line in written_out(next(pass_traces(made)))[::2]] == list(range(25))


@pytest.mark.parametrize(
    ("sampler", "levels"),
    [
        (Sampler(Filter.NEAREST_MIPMAP_NEAREST), {1: 1}),
        (Sampler(Filter.LINEAR_MIPMAP_NEAREST, bias=1.0), {2: 4}),
        (Sampler(Filter.LINEAR_MIPMAP_LINEAR, bias=0.25), {1: 4, 2: 4}),
        (Sampler(Filter.LINEAR_MIPMAP_LINEAR), {1: 4}),  # it has no part of the next
        (Sampler(Filter.NEAREST_MIPMAP_LINEAR, bias=0.5), {1: 1, 2: 1}),
        (Sampler(Filter.NEAREST_MIPMAP_NEAREST, magnify=Filter.LINEAR, bias=-1.0), {0: 4}),
        (Sampler(Filter.LINEAR, base_level=2), {2: 4}),
    ],
)
def test_a_mipmap_is_read_in_the_levels_that_the_slopes_choose(
    sampler: Sampler, levels: dict[int, int]
) -> None:
    """Two texels of level 0 a fragment: λ is 1, and a trilinear lookup reads eight texels."""
    text = program("TEX R0, fragment.texcoord[0], texture[0], 2D;", "MOV result.color, R0;")
    read = Texture("G", TextureKind.T2D, Extent(16, 16, 1, 5), R32F, ZERO)
    places = Texcoords(0, corners((0.0, 0, 0, 1), (2 / 16, 0, 0, 0), (0, 2 / 16, 0, 0), 2, 2))
    each = draw(text, places, sampler=sampler, size=(2, 2))
    plan = one_pass(each, read=read, size=(2, 2))
    [made] = pass_traces(trace(plan, line_bytes=4, replay=ran(plan)))
    rows = [line // 16 for _, writes, line in written_out(made) if not writes]
    firsts = [read.extent.first_row(n) for n in range(6)]
    found = Counter(sum(row >= first for first in firsts) - 1 for row in rows)
    assert found == {level: 4 * texels for level, texels in levels.items()}
