"""Every reader gives on a plan with Tables and moving rectangles what it gives on its expansion."""

from __future__ import annotations

from dataclasses import replace

from buffers import bindings, buffer
from drawing import program, texture
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plans import Made, plans
from varying import KERNEL, dispatch_plans

from gpgpu_legacy.cache.access import Access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run, heat_map
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.count.coalescing import RULES, transactions
from gpgpu_legacy.count.traffic import count_plan, fragments_per_pass
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.numbers import Affine, Integer, Number, Table
from gpgpu_legacy.plan.plan import (
    ComputePass,
    CopyPass,
    Corners,
    FragmentPass,
    Plan,
    Repeat,
    Step,
    Texcoords,
    UniformValue,
)
from gpgpu_legacy.plan.textures import RGBA32F, MovingRect, Rect
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.predict.model import predict

SMALL = Memory((parse_cache("256,2way,32B"),))
DRAWING_CHIPS = ("radeon-9700-pro", "geforce3", "geforce-6800-ultra")
COMPUTING_CHIPS = ("quadro-4000", "geforce-9400m")


# Plans that draw ---------------------------------------------------------------------------------


@settings(max_examples=15)
@given(plans(tame=True))
def test_counts(made: Made) -> None:
    plan, whole = made.plan, expand(made.plan)
    assert count_plan(plan) == count_plan(whole)
    assert fragments_per_pass(plan) == fragments_per_pass(whole)


@settings(max_examples=10)
@given(plans(tame=True))
def test_chips_and_predictions(made: Made) -> None:
    plan, whole = made.plan, expand(made.plan)
    validate(whole)
    for name in DRAWING_CHIPS:
        chip = find_profile(name)
        assert check_plan(plan, chip).limits == check_plan(whole, chip).limits
        assert predict(plan, chip).terms == predict(whole, chip).terms


def simulated(plan: Plan, *, quads: bool) -> object:
    """What becomes of a plan in a small cache; None where it cannot be followed."""
    try:
        result = cache_run(plan, SMALL, Access(quads=quads))
        mapped = heat_map(plan, SMALL, Access(quads=quads))[1]
    except InputError as error:
        return str(error).partition(" ")[0]
    return (result.regions, result.levels, int(mapped.reads.sum()), int(mapped.hits.sum()),
            mapped.reads.tolist(), mapped.hits.tolist())  # fmt: skip


@settings(max_examples=15)
@given(plans(tame=True), st.booleans())
def test_caches(made: Made, quads: bool) -> None:
    whole = expand(made.plan)
    assume(sum(p.rect.area for p in whole.steps if isinstance(p, FragmentPass)) <= 3000)
    assert simulated(made.plan, quads=quads) == simulated(whole, quads=quads)


# Plans of dispatches -----------------------------------------------------------------------------


@settings(max_examples=15)
@given(dispatch_plans())
def test_dispatches(plan: Plan) -> None:
    whole = expand(plan)
    validate(plan)
    validate(whole)
    assert count_plan(plan) == count_plan(whole)
    for rule in RULES.values():
        assert transactions(plan, rule) == transactions(whole, rule)
    result, expected = (cache_run(one, SMALL) for one in (plan, whole))
    assert (result.regions, result.levels) == (expected.regions, expected.levels)
    for name in COMPUTING_CHIPS:
        chip = find_profile(name)
        assert predict(plan, chip).terms == predict(whole, chip).terms
        assert check_plan(plan, chip).limits == check_plan(whole, chip).limits


# What is accepted --------------------------------------------------------------------------------

WHOLES = st.integers(-1, 4)
PLAIN = program("MOV result.color, fragment.texcoord[0];")
SMALL_SIDE = 4


def accepts(plan: Plan) -> bool:
    try:
        validate(plan)
    except PlanError as error:
        assert "\n" not in str(error)
        return False
    return True


def wholes(count: int) -> st.SearchStrategy[Integer]:
    tables = st.lists(WHOLES, min_size=count, max_size=count).map(tuple).map(Table)
    return WHOLES | st.builds(Affine, WHOLES, st.integers(-1, 1)) | tables


def any_rects(count: int) -> st.SearchStrategy[MovingRect]:
    return st.builds(MovingRect, *[wholes(count)] * 4)


def any_numbers(count: int) -> st.SearchStrategy[Number]:
    values = st.sampled_from((0.0, 1.0, 1e308, float("inf"), float("nan")))
    tables = st.lists(values, min_size=count, max_size=count).map(tuple).map(Table)
    return tables | st.builds(Affine, st.just(0.0), st.sampled_from((0.0, 1.0, 1e308)))


@st.composite
def odd_plans(draw: st.DrawFn) -> Plan:
    """Plans of which many are wrong in some iteration."""
    count = draw(st.integers(1, 4))
    number = draw(any_numbers(count))
    four: Corners = ((0.0, number, 0.0, 1.0),) * 4
    pass_ = draw(
        st.sampled_from(
            (
                FragmentPass(PLAIN, (), ("T",), draw(any_rects(count))),
                FragmentPass(PLAIN, (), ("T",), Rect(0, 0, 1, 1), (Texcoords(0, four),)),
                CopyPass("U", draw(any_rects(count)), "T", draw(any_rects(count))),
                CopyPass("U", moving := draw(any_rects(count)), "T", moving),
            )
        )
    )
    return raw(Repeat(count, (pass_,)))


def raw(*steps: Step) -> Plan:
    textures = tuple(texture(name, SMALL_SIDE, SMALL_SIDE, RGBA32F) for name in ("T", "U"))
    return Plan("odd", (), (), textures, (), steps, ())


@settings(max_examples=200)
@given(odd_plans())
def test_what_is_valid_is_what_is_valid_written_out(plan: Plan) -> None:
    assert accepts(plan) == accepts(expand(plan))


# Cost --------------------------------------------------------------------------------------------

MANY = 1_000_000


def test_a_million_iterations_are_counted_at_once() -> None:
    """Their parameters, coordinates and offsets differ, and what is counted does not."""
    moving: Corners = ((Affine(0.5, 1.0), 0.0, 0.0, 1.0),) * 4
    draw = FragmentPass(PLAIN, (), ("T",), Rect(0, 0, 4, 4), (Texcoords(0, moving),), blend=ADD)
    one = ComputePass(
        parse_kernel(KERNEL), bindings("A", "R"),
        (UniformValue("trips", 2), UniformValue("from", 3), UniformValue("factor", Affine(0, 1))),
        (1, 1),
    )  # fmt: skip
    textures = (*raw().textures, buffer("A", 14, 8, zero=True), buffer("R", 8, 12, zero=True))
    plan = replace(raw(Repeat(MANY, (draw, one))), textures=textures)
    validate(plan)
    once = count_plan(replace(raw(draw, one), textures=textures))
    counts = count_plan(plan)
    assert counts.fragments == MANY * 16
    assert counts.bytes_requested == MANY * once.bytes_requested
    assert counts.global_loads == MANY * once.global_loads
    kernels = replace(plan, steps=(Repeat(MANY, (one,)),))
    moved = transactions(kernels, RULES["fermi"])
    single = transactions(replace(kernels, steps=(Repeat(1, (one,)),)), RULES["fermi"])
    assert single.load_transactions > 0
    assert moved == single.times(MANY)
