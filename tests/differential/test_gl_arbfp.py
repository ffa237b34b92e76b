"""The numpy executor against the GL driver's own ARB_fragment_program, plan by plan."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from departures import LLVMPIPE, driver_of
from products import fragment_methods

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.errors import ExecutorUnavailableError, PlanError
from gpgpu_legacy.interp.numeric import decode, encode
from gpgpu_legacy.isa.ir import (
    Dst,
    Instruction,
    Program,
    ResultKind,
    ResultRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.formats import R32F, RGBA32F, UNORM8, Format
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    ClearPass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Extent,
    Input,
    Matrix,
    Output,
    Packing,
    Rect,
    Region,
    Texture,
    TextureKind,
)
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime import gl_arbfp_context
from gpgpu_legacy.runtime.executors import gl_arbfp, numpy_machine
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.registry import executors

pytestmark = pytest.mark.gl

NUMPY = numpy_machine.EXECUTOR
HALF_ULP = 2.0**-24
SHAPES = (Shape(1, 1, 1), Shape(5, 7, 3), Shape(33, 18, 21), Shape(2, 65, 31))
ZERO = (0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def arbfp() -> gl_arbfp.GlArbfpExecutor:
    gl_arbfp.EXECUTOR.device()
    return gl_arbfp.EXECUTOR


# The methods ---------------------------------------------------------------------------------


def ways(method: Method) -> list[Accumulate | None]:
    return [None] if "accumulate" in method.refuses else list(Accumulate)


METHODS_AND_WAYS = [
    pytest.param(method, way, id=f"{method.name}-{way.value if way else 'default'}")
    for method in fragment_methods()
    for way in ways(method)
]


def options_of(method: Method, way: Accumulate | None, block: int = 4, **more: object) -> Options:
    refused = [name for name in sorted(method.refuses & more.keys()) if more[name]]
    if refused:
        pytest.skip(f"{method.name} takes no {' and no '.join(refused)}")
    chosen = None if "block" in method.refuses else block
    return Options(block=chosen, accumulate=way, **more)  # type: ignore[arg-type]


def random_operands(plan: Plan, low: float = -0.5, high: float = 0.5) -> dict[str, F32]:
    random = np.random.default_rng(11)
    return {
        m.name: random.uniform(low, high, (m.rows, m.columns)).astype(np.float32)
        for m in plan.operands
    }


def assert_agrees(
    arbfp: gl_arbfp.GlArbfpExecutor, plan: Plan, shape: Shape, options: Options
) -> None:
    """Bit for bit where the driver is llvmpipe; within the bound of sequential sums everywhere.

    The extension leaves the order of a dot product's sum open, and llvmpipe has one of its own.
    """
    instructions = [i for program in plan.programs() for i in program.instructions]
    in_order = all(OPCODES[i.mnemonic].form is not Form.VECTOR for i in instructions)
    operands = random_operands(plan)
    found = arbfp.run(plan, operands).outputs["C"]
    if in_order and driver_of(arbfp).keeps_order:
        np.testing.assert_array_equal(found, NUMPY.run(plan, operands).outputs["C"])
    a, b = (operands[name].astype(np.float64) for name in "AB")
    a, b = a.T if options.transpose_a else a, b.T if options.transpose_b else b
    passes = sum(count for count, _ in plan.weighted_passes())
    bound = (shape.l + passes + 2) * HALF_ULP * (np.abs(a) @ np.abs(b))
    assert found.shape == (shape.m, shape.n)
    assert np.all(np.abs(found - a @ b) <= bound)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_every_method(
    arbfp: gl_arbfp.GlArbfpExecutor, method: Method, way: Accumulate | None, shape: Shape
) -> None:
    options = options_of(method, way)
    assert_agrees(arbfp, method.plan(shape, options), shape, options)


@pytest.mark.parametrize(("a", "b"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_transposed_operands(
    arbfp: gl_arbfp.GlArbfpExecutor, method: Method, way: Accumulate | None, a: bool, b: bool
) -> None:
    shape = Shape(13, 22, 17)
    options = options_of(method, way, transpose_a=a, transpose_b=b)
    assert_agrees(arbfp, method.plan(shape, options), shape, options)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_matrices_larger_than_the_largest_texture(
    arbfp: gl_arbfp.GlArbfpExecutor, method: Method, way: Accumulate | None
) -> None:
    shape = Shape(35, 42, 33)
    options = options_of(method, way, largest_texture=16)
    plan = method.plan(shape, options)
    assert max(max(t.extent.width, t.extent.height) for t in plan.textures) == 16
    assert_agrees(arbfp, plan, shape, options)


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_the_papers_block(
    arbfp: gl_arbfp.GlArbfpExecutor, method: Method, way: Accumulate | None
) -> None:
    shape = Shape(40, 150, 36)
    options = options_of(method, way, block=32)
    assert_agrees(arbfp, method.plan(shape, options), shape, options)


@pytest.mark.parametrize("high", [1.0, 0.1], ids=["saturating", "within"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_eight_bits(arbfp: gl_arbfp.GlArbfpExecutor, shape: Shape, high: float) -> None:
    """Products and saturating sums, against integer arithmetic.

    llvmpipe rounds every product to the nearest of 256 values, and so agrees bit for bit. An H100
    cuts a colour to 12 bits before it rounds it to 8 (measured: every value less than 1/16 of a
    step above the middle of two goes down), so each product may come out that much lower.
    """
    plan = find_method("larson-mcallister").plan(shape, Options(texture_format=UNORM8.name))
    operands = random_operands(plan, low=-0.05, high=high)
    a, b = (encode(operands[name], UNORM8).astype(np.int64) for name in "AB")
    products = a[:, :, None] * b[None, :, :]  # in units of 1 / 255²
    nearest = np.minimum(((2 * products + 255) // (2 * 255)).sum(axis=1), 255)
    lowest = np.minimum(((16 * products + 7 * 255) // (16 * 255)).sum(axis=1), 255)
    expected = decode(nearest.astype(np.uint8), UNORM8)
    np.testing.assert_array_equal(NUMPY.run(plan, operands).outputs["C"], expected)
    found = arbfp.run(plan, operands).outputs["C"]
    if driver_of(arbfp) is LLVMPIPE:
        np.testing.assert_array_equal(found, expected)
    assert np.all(found <= expected)
    assert np.all(found >= decode(lowest.astype(np.uint8), UNORM8))


def test_an_empty_sum_is_zero_and_needs_no_gl(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("GL was asked for")

    monkeypatch.setattr(gl_arbfp_context, "context", refuse)
    plan = find_method("hall-carr-hart-multi").plan(Shape(3, 0, 4))
    operands = {"A": np.zeros((3, 0), np.float32), "B": np.zeros((0, 4), np.float32)}
    result = gl_arbfp.EXECUTOR.run(plan, operands)
    np.testing.assert_array_equal(result.outputs["C"], np.zeros((3, 4), np.float32))


def test_the_registry_finds_it() -> None:
    assert gl_arbfp.EXECUTOR in executors()


# Single features, by plans made for them -------------------------------------------------------


def rect_texture(
    name: str,
    width: int,
    height: int,
    texel_format: Format,
    initial: tuple[float, float, float, float] | None = ZERO,
) -> Texture:
    return Texture(name, TextureKind.RECT, Extent(width, height), texel_format, initial)


def show_all(target: Texture, *steps: Step, more: tuple[Texture, ...] = ()) -> Plan:
    """A plan of these steps whose result is the channels of `target`, one below the other."""
    width, height = target.extent.width, target.extent.height
    channels = target.format.channels
    packing = Packing(tuple((c * height, 0) for c in range(channels)))
    whole = Rect(0, 0, width, height)
    region = Region(0, 0, channels * height, width)
    plan = Plan(
        "made for a test",
        (),
        (Matrix("C", channels * height, width),),
        (target, *more),
        (),
        steps,
        (Output("C", region, target.name, whole, packing),),
    )
    validate(plan)
    return plan


def assert_same(arbfp: gl_arbfp.GlArbfpExecutor, plan: Plan, **operands: F32) -> F32:
    found = arbfp.run(plan, operands).outputs["C"]
    np.testing.assert_array_equal(found, NUMPY.run(plan, operands).outputs["C"])
    return found


def program(*lines: str) -> Program:
    return assemble("\n".join(["!!ARBfp1.0", *lines, "END", ""]), name="test.fp")


def test_clears_and_initial_values_are_not_clamped(arbfp: gl_arbfp.GlArbfpExecutor) -> None:
    target = rect_texture("T", 3, 2, RGBA32F, initial=(-3.5, 1e30, 0.1, 2.0))
    found = assert_same(arbfp, show_all(target))
    expected = np.repeat(np.array([-3.5, 1e30, 0.1, 2.0], np.float32), 2)
    np.testing.assert_array_equal(found[:, 0], expected)
    assert_same(arbfp, show_all(target, ClearPass("T", (7.0, -8.0, 1e-30, 65536.5))))


@pytest.mark.parametrize("value", [-1.0, 0.0, 0.3, 0.4999, 127.5 / 255, 0.999, 1.0, 3.0])
def test_eight_bit_clears_round_alike(arbfp: gl_arbfp.GlArbfpExecutor, value: float) -> None:
    target = rect_texture("T", 2, 2, UNORM8)
    assert_same(arbfp, show_all(target, ClearPass("T", (value, 0.0, 0.0, 0.0))))


def test_colours_are_not_clamped_and_missing_parameters_are_zero(
    arbfp: gl_arbfp.GlArbfpExecutor,
) -> None:
    target, rect = rect_texture("T", 5, 3, RGBA32F), Rect(1, 1, 3, 2)
    text = program("ADD result.color, program.local[1], program.env[2];")
    given = (ParameterValue(1, (-4.0, 5.0, 0.25, 1e20)),)
    env = (ParameterValue(2, (1.0, Affine(10.0, 1.0), 0.0, 0.0)),)
    both = FragmentPass(text, (), ("T",), rect, locals=given, env=env)
    found = assert_same(arbfp, show_all(target, Repeat(3, (both,))))
    assert found[3 + 1, 1] == 5.0 + 12.0
    # The second pass gives neither, and must not find what the first one left behind.
    neither = FragmentPass(text, (), ("T",), Rect(0, 0, 2, 2))
    found = assert_same(arbfp, show_all(target, Repeat(1, (both, neither))))
    assert found[1, 1] == 0.0


def test_sets_that_a_pass_does_not_give(arbfp: gl_arbfp.GlArbfpExecutor) -> None:
    target, rect = rect_texture("T", 4, 2, RGBA32F), Rect(0, 0, 4, 2)
    text = program("MOV result.color, fragment.texcoord[3];")
    corners = tuple((x, y, 3.0, 4.0) for x, y in ((0.0, 8.0), (4.0, 8.0), (4.0, 12.0), (0.0, 12.0)))
    given = FragmentPass(text, (), ("T",), rect, texcoords=(Texcoords(3, corners),))  # type: ignore[arg-type]
    found = assert_same(arbfp, show_all(target, given))
    assert found[:2].tolist() == [[0.5, 1.5, 2.5, 3.5]] * 2
    assert found[2:4].tolist() == [[9.0] * 4, [11.0] * 4]
    neither = FragmentPass(text, (), ("T",), Rect(1, 1, 2, 1))
    found = assert_same(arbfp, show_all(target, given, neither))
    assert found[1::2, 1].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_window_position(arbfp: gl_arbfp.GlArbfpExecutor) -> None:
    target = rect_texture("T", 7, 6, RGBA32F)
    text = program("MOV result.color, fragment.position;")
    found = assert_same(arbfp, show_all(target, FragmentPass(text, (), ("T",), Rect(2, 3, 4, 2))))
    assert (found[4, 3], found[6 + 4, 3], found[12 + 4, 3], found[18 + 4, 3]) == (3.5, 4.5, 0.5, 1)


def test_lookups_clamp_to_the_edge_and_fill_missing_channels(
    arbfp: gl_arbfp.GlArbfpExecutor,
) -> None:
    target, source = rect_texture("T", 9, 8, RGBA32F), rect_texture("S", 3, 2, R32F)
    around = ((-3.0, -3.0), (6.0, -3.0), (6.0, 5.0), (-3.0, 5.0))
    corners = tuple((x, y, 0.0, 1.0) for x, y in around)
    look = FragmentPass(
        program("TEX result.color, fragment.texcoord[0], texture[5], RECT;"),
        (Binding(5, "S"),),
        ("T",),
        Rect(0, 0, 9, 8),
        texcoords=(Texcoords(0, corners),),  # type: ignore[arg-type]
    )
    plan = show_all(target, look, more=(source,))
    load = Input("A", Region(0, 0, 2, 3), "S", Rect(0, 0, 3, 2), ONE_PER_TEXEL)
    plan = with_input(plan, Matrix("A", 2, 3), load)
    found = assert_same(arbfp, plan, A=np.arange(1, 7, dtype=np.float32).reshape(2, 3) - 3)
    assert found[0].tolist() == [-2, -2, -2, -2, -1, 0, 0, 0, 0]
    assert found[24:].min() == 1.0


def with_input(plan: Plan, matrix: Matrix, load: Input) -> Plan:
    made = Plan(
        plan.name, (matrix,), plan.results, plan.textures, (load,), plan.steps, plan.outputs
    )
    validate(made)
    return made


@pytest.mark.parametrize("texel_format", [R32F, RGBA32F, UNORM8], ids=lambda f: f.name)
def test_copies_between_any_two_rectangles_are_exact(
    arbfp: gl_arbfp.GlArbfpExecutor, texel_format: Format
) -> None:
    source = rect_texture("S", 7, 6, texel_format)
    target = rect_texture("T", 8, 9, texel_format, initial=(0.2, 9.0, -9.0, 0.5))
    copy = CopyPass("S", Rect(2, 1, 4, 3), "T", Rect(3, 5, 4, 3))
    channels = texel_format.channels
    packing = Packing(tuple((6 * c, 0) for c in range(channels)))
    load = Input("A", Region(0, 0, 6 * channels, 7), "S", Rect(0, 0, 7, 6), packing)
    plan = show_all(target, copy, more=(source,))
    plan = with_input(plan, Matrix("A", 6 * channels, 7), load)
    values = np.random.default_rng(3).normal(0.4, 100.0, (6 * channels, 7)).astype(np.float32)
    values.flat[:10] = [-0.0, 1e-42, 3e38, -3e38, 0.5, 1.5, -1.5, 1e-20, 2.0, 0.25]
    assert_same(arbfp, plan, A=values)


@pytest.mark.parametrize("texel_format", [R32F, RGBA32F, UNORM8], ids=lambda f: f.name)
def test_blending_adds_and_ends_with_its_pass(
    arbfp: gl_arbfp.GlArbfpExecutor, texel_format: Format
) -> None:
    target = rect_texture("T", 4, 3, texel_format, initial=(0.25, 1.0, -2.0, 4.0))
    text = program("MOV result.color, program.local[0];")
    value = (ParameterValue(0, (0.31, -7.0, 5.0, 0.125)),)
    add = FragmentPass(text, (), ("T",), Rect(1, 0, 2, 3), locals=value, blend=Blend.ADD)
    put = FragmentPass(text, (), ("T",), Rect(0, 2, 4, 1), locals=value)
    assert_same(arbfp, show_all(target, Repeat(3, (add,)), put))


# Behaviour of the executor ---------------------------------------------------------------------


def test_the_observer_sees_each_pass_and_disturbs_nothing(
    arbfp: gl_arbfp.GlArbfpExecutor,
) -> None:
    shape, options = Shape(9, 14, 5), Options(block=3, accumulate=Accumulate.PING_PONG)
    plan = find_method("hall-carr-hart-multi").plan(shape, options)
    operands = random_operands(plan)

    def record(into: list[tuple[int, str, F32]]) -> Callable[..., None]:
        def observe(number: int, each: Pass, read: Callable[[str], F32]) -> None:
            into.append((number, each.target, read(each.target)))
            # A run of the same executor inside a run: both have to come out right.
            into.append((number, "nested", arbfp.run(plan, operands).outputs["C"]))

        return observe

    found: list[tuple[int, str, F32]] = []
    expected: list[tuple[int, str, F32]] = []
    last = arbfp.run(plan, operands, observer=record(found)).outputs["C"]
    NUMPY.run(plan, operands, observer=record(expected))
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    for (_, _, mine), (_, _, theirs) in zip(found, expected, strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last, arbfp.run(plan, operands).outputs["C"])


@pytest.fixture
def before(arbfp: gl_arbfp.GlArbfpExecutor) -> int:
    """Objects of plans that others in this process have still open."""
    return objects_alive()


def undeclared() -> Program:
    """A program that no assembler takes: it reads a temporary that is not declared."""
    color = Dst(ResultRegister(ResultKind.COLOR))
    return Program((Instruction("MOV", color, (Src(Temporary("NOWHERE")),)),), (), name="bad.fp")


def test_a_refused_program_is_a_plan_error(arbfp: gl_arbfp.GlArbfpExecutor, before: int) -> None:
    target = rect_texture("T", 2, 2, R32F)
    plan = show_all(target, FragmentPass(undeclared(), (), ("T",), Rect(0, 0, 2, 2)))
    with pytest.raises(PlanError, match=r"refuses program bad\.fp at position \d+: \S") as raised:
        arbfp.run(plan, {})
    assert "\n" not in str(raised.value)
    assert objects_alive() == before


def test_a_texture_too_large_is_a_plan_error(arbfp: gl_arbfp.GlArbfpExecutor, before: int) -> None:
    plan = show_all(rect_texture("T", 1 << 20, 1, R32F))
    with pytest.raises(PlanError, match=r"texture T is 1048576 by 1.*largest_texture"):
        arbfp.run(plan, {})
    assert objects_alive() == before


def test_an_unknown_format_is_a_plan_error(arbfp: gl_arbfp.GlArbfpExecutor) -> None:
    odd = Format("rg32f", 2, 32, R32F.numeric)
    with pytest.raises(PlanError, match="texture T is rg32f; gl-arbfp has r16f, rgba16f, r32f"):
        arbfp.run(show_all(rect_texture("T", 2, 2, odd)), {})


class _ObserverError(Exception):
    pass


def test_nothing_is_left_behind(arbfp: gl_arbfp.GlArbfpExecutor, before: int) -> None:
    plan = find_method("hall-carr-hart-single").plan(Shape(5, 6, 7))
    arbfp.run(plan, random_operands(plan))
    assert objects_alive() == before

    def fail(*_: object) -> None:
        raise _ObserverError

    with pytest.raises(_ObserverError):
        arbfp.run(plan, random_operands(plan), observer=fail)
    assert objects_alive() == before


def objects_alive() -> int:
    """Textures, framebuffers, samplers and programs in the executor's context, by small names.

    Programs that are kept for later plans do not count.
    """
    with gl_arbfp_context.context().current() as gl:
        kinds = (gl.glIsTexture, gl.glIsFramebuffer, gl.glIsSampler, gl.glIsProgramARB)
        alive = sum(bool(is_one(name)) for is_one in kinds for name in range(1, 1 << 15))
        return alive - len(gl_arbfp_context.context().programs)


@pytest.fixture
def current() -> Callable[[], int | None]:
    library = ctypes.CDLL("libEGL.so.1")
    library.eglGetCurrentContext.restype = ctypes.c_void_p
    library.eglBindAPI(0x30A2)
    found: Callable[[], int | None] = library.eglGetCurrentContext
    return found


def test_the_context_of_others_is_current_again(
    arbfp: gl_arbfp.GlArbfpExecutor, current: Callable[[], int | None]
) -> None:
    plan = find_method("hall-carr-hart-single").plan(Shape(5, 6, 7))
    before = current()
    arbfp.run(plan, random_operands(plan))
    assert current() == before
    with gl_arbfp_context.context().current():
        ours = current()
        assert ours is not None
        arbfp.run(plan, random_operands(plan))
        assert current() == ours
    assert current() == before


def test_beside_another_context_of_the_process(
    arbfp: gl_arbfp.GlArbfpExecutor, current: Callable[[], int | None], before: int
) -> None:
    """Runs of two GL executors by turns, and one inside the other, in one thread."""
    others = [e for e in executors() if e.name == "gl-raster"]
    if not others:
        pytest.skip("there is no other GL executor")
    other = others[0]
    try:
        other.device()
    except ExecutorUnavailableError as error:
        pytest.skip(str(error))
    plan = find_method("hall-carr-hart-multi").plan(Shape(9, 14, 5), Options(block=3))
    operands = random_operands(plan)
    alone = other.run(plan, operands).outputs["C"]
    theirs = current()
    expected = arbfp.run(plan, operands).outputs["C"]
    assert current() == theirs
    np.testing.assert_array_equal(other.run(plan, operands).outputs["C"], alone)
    inside: list[Mapping[str, F32]] = []

    def run_other(*_: object) -> None:
        inside.append(other.run(plan, operands).outputs)

    found = arbfp.run(plan, operands, observer=run_other).outputs["C"]
    np.testing.assert_array_equal(found, expected)
    assert inside
    for outputs in inside:
        np.testing.assert_array_equal(outputs["C"], alone)
    assert current() == theirs
    assert objects_alive() == before
