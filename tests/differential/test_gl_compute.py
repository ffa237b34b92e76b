"""The gl-compute executor against the reference machine, on the same plans.

On llvmpipe, which keeps the order of operations and fuses none, results are the same bit for bit;
on other drivers products lie within the bound of sequential sums.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from buffers import bindings, buffer, read_from, uniforms
from departures import driver_of
from drawing import EXACT, assert_same_bits
from products import (
    F32,
    METHODS_AND_WAYS,
    assert_within_the_bound,
    fragment_passes,
    options_of,
    plan_of,
    random_operands,
)

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.errors import ExecutorUnavailableError, PlanError
from gpgpu_legacy.kernel.parser import parse_kernel
from gpgpu_legacy.lower.workgroups import GroupShape, Multiprocessors
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.formats import R32F, RGBA32F
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, Pass, Plan, Repeat, Step
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Extent,
    Input,
    Matrix,
    Output,
    Rect,
    Region,
    Texture,
    TextureKind,
)
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime import gl, gl_compute
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl_fragments import Device
from gpgpu_legacy.runtime.machine import Machine, Tuning
from gpgpu_legacy.runtime.registry import find_executor

pytestmark = pytest.mark.gl

NUMPY = find_executor("numpy")
NAN, INF = float("nan"), float("inf")
SHAPES = [(1, 1, 1), (1, 7, 1), (9, 1, 1), (1, 1, 13), (5, 7, 3), (16, 16, 16), (13, 17, 11),
          (2, 67, 3), (31, 2, 37)]  # fmt: skip


def dispatches(method: Method) -> bool:
    plan = method.plan(Shape(1, 1, 1))
    return any(isinstance(each, ComputePass) for _, each in plan.weighted_passes())


COMPUTE_METHODS = [method for method in methods() if dispatches(method)]
every_method = pytest.mark.parametrize("method", COMPUTE_METHODS, ids=lambda m: m.name)


@pytest.fixture(scope="module")
def compute(ready: Callable[[str], Executor]) -> Executor:
    return ready("gl-compute")


@pytest.fixture
def limit(compute: Executor, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Changes what the device says of its limits."""

    def change(**values: Any) -> None:
        monkeypatch.setattr(gl.context(), "_info", {**gl.context().info, **values})

    return change


def regroups(plan: Plan) -> bool:
    """mali-sgemm's last line adds four sums at once, which Mesa takes two by two."""
    return plan.name == "mali-sgemm"


def assert_agrees(executor: Executor, plan: Plan) -> None:
    """Bit for bit where the driver keeps the order; within the bound of sums everywhere."""
    operands = random_operands(plan, 11)
    found = executor.run(plan, operands).outputs["C"]
    if driver_of(executor).keeps_order and not regroups(plan):
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    passes = sum(n for n, _ in plan.weighted_passes())
    assert_within_the_bound(found, operands["A"], operands["B"], passes)


# The methods -------------------------------------------------------------------------------------


def test_there_are_methods_to_test() -> None:
    assert len(COMPUTE_METHODS) >= 5


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@every_method
def test_products_of_many_shapes(
    compute: Executor, method: Method, shape: tuple[int, int, int]
) -> None:
    assert_agrees(compute, plan_of(method, shape, options_of(method)))


@pytest.mark.parametrize(
    ("method", "block"),
    [(m, block) for m in COMPUTE_METHODS for block in m.blocks],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_blocks_of_every_size(compute: Executor, method: Method, block: int) -> None:
    assert_agrees(compute, plan_of(method, (19, 41, 35), options_of(method, block=block)))


@pytest.mark.parametrize("block", [1, 8, 32])
def test_shared_memory_of_one_dimension(compute: Executor, block: int) -> None:
    method = find_method("dobravec-bulic-shared")
    options = options_of(method, block=block, dynamic=True)
    assert_agrees(compute, plan_of(method, (19, 41, 35), options))


def test_a_whole_batch_as_printed(compute: Executor) -> None:
    method = find_method("opengl-compute-tiled")
    assert_agrees(compute, plan_of(method, (33, 7, 70), Options(as_printed=True)))


def test_more_than_one_batch(compute: Executor) -> None:
    plan = plan_of(find_method("opengl-compute-tiled"), (2060, 3, 2051), Options())
    assert len(plan.steps) == 4
    assert_agrees(compute, plan)


@pytest.mark.parametrize("adds", [False, True])
@every_method
def test_scaled_and_added_to(compute: Executor, method: Method, adds: bool) -> None:
    alpha, beta = -1.75, 0.375 if adds else 0.0
    plan = plan_of(method, (13, 17, 11), options_of(method, alpha=alpha, beta=beta, adds=adds))
    operands = random_operands(plan, 5)
    assert ("C0" in operands) is adds
    found = compute.run(plan, operands).outputs["C"]
    if driver_of(compute).keeps_order and not regroups(plan):
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    a, b = (operands[name].astype(np.float64) for name in "AB")
    addend = operands["C0"].astype(np.float64) if adds else np.zeros((13, 11))
    size = abs(alpha) * (np.abs(a) @ np.abs(b)) + abs(beta * addend)
    error = np.abs(found - (alpha * (a @ b) + beta * addend))
    assert (error <= (17 + 5) * 2.0**-24 * size).all()


@every_method
def test_values_that_are_not_finite(compute: Executor, method: Method) -> None:
    """What a row of A has reaches its row of C, and no other."""
    plan = plan_of(method, (9, 10, 7), options_of(method))
    operands = random_operands(plan, 3)
    operands["A"][1, 4], operands["A"][3, 9], operands["B"][2, 5] = NAN, INF, -INF
    operands["A"][5, 2] = 0.0  # times infinity
    found = compute.run(plan, operands).outputs["C"]
    expected = NUMPY.run(plan, operands).outputs["C"]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert np.isnan(found[1]).all()
    assert np.isnan(found[5, 5])
    assert np.isinf(found[3, :5]).all()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(7, 300, 5), (20, 30, 40)], ids=str)
def test_the_host_s_product_is_summed_in_double(
    compute: Executor, shape: tuple[int, int, int]
) -> None:
    plan = plan_of(find_method("dobravec-bulic-host"), shape, Options())
    operands = random_operands(plan, 2)
    exact = operands["A"].astype(np.float64) @ operands["B"].astype(np.float64)
    found = compute.run(plan, operands).outputs["C"]
    assert (np.abs(found - exact) <= 0.5001 * np.spacing(np.abs(exact).astype(np.float32))).all()


@every_method
def test_an_empty_sum_is_zero(compute: Executor, method: Method) -> None:
    plan = plan_of(method, (3, 0, 2), options_of(method))
    assert compute.run(plan, random_operands(plan)).outputs["C"].tolist() == [[0, 0]] * 3


# Fragment programs -------------------------------------------------------------------------------

# How many fragments an invocation has, and how many turns are staged: one and none, few and odd,
# neighbours. No shape's tile divides the product's 67 by 21 (or, of 2 by 2 blocks, 34 by 11).
GROUPS = {
    "one fragment an invocation": GroupShape((8, 8), 1, 1, 0, 1),
    "odd": GroupShape((4, 16), 3, 2, 4, 2),
    "neighbours": GroupShape((8, 8), 4, 4, 8, 4, 4),
    "more neighbours across than up": GroupShape((8, 8), 4, 2, 8, 4, 4),
}


GROUPED = ("hall-carr-hart-multi", "hall-carr-hart-single", "larson-mcallister")
WAYS_AND_GROUPS = [
    *(pytest.param(*each.values, None, id=each.id) for each in METHODS_AND_WAYS),
    *(
        pytest.param(find_method(name), None, group, id=f"{name}-{kind}")
        for name in GROUPED
        for kind, group in GROUPS.items()
    ),
]


@pytest.mark.parametrize(("method", "way", "group"), WAYS_AND_GROUPS)
def test_drawn_products_in_groups_of_every_shape(
    compute: Executor, method: Method, way: Accumulate | None, group: GroupShape | None
) -> None:
    plan = plan_of(method, (21, 19, 67), options_of(method, way))
    operands = random_operands(plan, 7)
    found = compute.run(plan, operands, replace(EXACT, tuning=Tuning(group=group))).outputs["C"]
    if driver_of(compute).keeps_order:
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    assert_within_the_bound(found, operands["A"], operands["B"], fragment_passes(plan))


@pytest.mark.parametrize("most", [1, 7])
def test_a_driver_that_ends_loops_gets_some_iterations_at_a_time(
    compute: Executor, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(find_method("larson-mcallister"), (5, 23, 9), Options())
    operands = random_operands(plan, 7)
    monkeypatch.setattr(
        gl_compute, "_device", lambda *_: Device(32 << 10, 16, Multiprocessors(), most)
    )
    found = compute.run(plan, operands, EXACT).outputs["C"]
    if driver_of(compute).keeps_order:
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    assert_within_the_bound(found, operands["A"], operands["B"], fragment_passes(plan))


# Plans of buffers made by hand -------------------------------------------------------------------

NUMBERS = parse_kernel(
    """#version 430 core
layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;
uniform int width;
uniform uint offset;
uniform float scale;
uniform int unused;
layout(std430, binding = 0) buffer buffer_R { float R[]; };
void main()
{
    int i = int(gl_GlobalInvocationID.y) * width + int(gl_GlobalInvocationID.x);
    R[i] = R[i] + scale * float(i) + float(offset);
}
""",
    "numbers.comp",
)


def numbers(scale: float | Affine = 1.0, offset: int = 0) -> ComputePass:
    """R[i] += scale·i + offset over a buffer of 4 by 4."""
    given = uniforms(width=4, offset=offset, scale=scale, unused=-1)
    return ComputePass(NUMBERS, bindings("R"), given, (1, 2))


def shown(*steps: Step, others: tuple[Texture, ...] = (), inputs: tuple[Input, ...] = ()) -> Plan:
    """A plan that shows the buffer R of 4 by 4, which begins as zeros."""
    result, given = Matrix("C", 4, 4), Matrix("A", 3, 2)
    buffers = (buffer("R", 4, 4, zero=True), *others)
    outputs = (read_from(result, buffers[0]),)
    plan = Plan("by hand", (given,), (result,), buffers, inputs, steps, outputs)
    validate(plan)
    return plan


OPERANDS = {"A": np.arange(1, 7, dtype=np.float32).reshape(3, 2)}


def test_uniforms_of_every_type_and_the_iterations_of_a_repeat(compute: Executor) -> None:
    plan = shown(Repeat(3, (numbers(Affine(1.0, 0.5), 2),)), numbers(-1.0, 3_000_000_000))
    for each in (plan, expand(plan)):
        found = compute.run(each, OPERANDS).outputs["C"]
        assert_same_bits(found, NUMPY.run(each, OPERANDS).outputs["C"])
    early = compute.run(shown(Repeat(3, (numbers(Affine(1.0, 0.5), 2),))), OPERANDS).outputs["C"]
    assert early.ravel().tolist() == [4.5 * i + 6 for i in range(16)]


def test_a_part_of_a_buffer_is_filled_and_a_part_is_read(compute: Executor) -> None:
    part = Input("A", Region(0, 0, 3, 2), "R", Rect(1, 1, 2, 3), ONE_PER_TEXEL)
    plan = shown(inputs=(part,))
    found = compute.run(plan, OPERANDS).outputs["C"]
    assert found.tolist() == [[0, 0, 0, 0], [0, 1, 2, 0], [0, 3, 4, 0], [0, 5, 6, 0]]
    some = Output("C", Region(1, 2, 2, 2), "R", Rect(2, 1, 2, 2), ONE_PER_TEXEL)
    found = compute.run(replace(plan, outputs=(some,)), OPERANDS).outputs["C"]
    assert found.tolist() == [[0, 0, 0, 0], [0, 0, 2, 0], [0, 0, 4, 0], [0, 0, 0, 0]]


def test_clears_and_copies_between_dispatches(compute: Executor) -> None:
    plan = shown(
        ClearPass("S", (7.5, 1.0, 1.0, 1.0)),
        numbers(2.0),
        CopyPass("R", Rect(1, 0, 2, 3), "S", Rect(3, 1, 2, 3)),
        ClearPass("R"),
        CopyPass("S", Rect(2, 0, 3, 4), "R", Rect(0, 0, 3, 4)),
        numbers(),
        others=(buffer("S", 4, 5),),
    )
    found = compute.run(plan, OPERANDS).outputs["C"]
    assert_same_bits(found, NUMPY.run(plan, OPERANDS).outputs["C"])
    assert found.tolist() == [[7.5, 8.5, 9.5, 3], [11.5, 7, 10, 7], [15.5, 19, 22, 11],
                              [19.5, 31, 34, 15]]  # fmt: skip


def test_an_observer_sees_every_pass_as_the_reference_has_it(compute: Executor) -> None:
    plan = shown(numbers(2.0), ClearPass("R", (1.0, 0.0, 0.0, 0.0)), numbers(3.0))

    def recorded(executor: Executor) -> list[tuple[int, Pass, F32]]:
        seen: list[tuple[int, Pass, F32]] = []
        executor.run(
            plan, OPERANDS, observer=lambda n, each, read: seen.append((n, each, read("R")))
        )
        return seen

    found, expected = recorded(compute), recorded(NUMPY)
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    for (_, _, mine), (_, _, theirs) in zip(found, expected, strict=True):
        assert mine.shape == (4, 4, 1)
        assert mine.dtype == np.float32
        assert_same_bits(mine, theirs)


def test_a_run_inside_an_observer_disturbs_nothing(compute: Executor) -> None:
    plan, other = shown(numbers(2.0), numbers(3.0)), shown(numbers(5.0, 1))
    alone = compute.run(plan, OPERANDS).outputs["C"]

    def run_other(number: int, each: Pass, read: Callable[[str], F32]) -> None:
        compute.run(other, OPERANDS)
        assert read("R")[0, 1, 0] == (2, 5)[number]

    assert_same_bits(compute.run(plan, OPERANDS, observer=run_other).outputs["C"], alone)


def test_times_are_not_negative(compute: Executor) -> None:
    times = compute.run(shown(numbers()), OPERANDS).timings
    assert min(times.upload_s, times.compute_s, times.readback_s) >= 0


def test_kernels_are_compiled_once(compute: Executor) -> None:
    compute.run(shown(numbers()), OPERANDS)
    made = gl.context().programs.created
    compute.run(shown(numbers(2.0), numbers(3.0)), OPERANDS)
    assert gl.context().programs.created == made


# What is refused ---------------------------------------------------------------------------------


def refusal(executor: Executor, plan: Plan, machine: Machine = Machine()) -> str:
    with pytest.raises(PlanError) as raised:
        executor.run(plan, random_operands(plan), machine)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS": 128}, ["256 invocations", "smaller --block"]),
        ({"GL_MAX_COMPUTE_WORK_GROUP_SIZE": (16, 8, 1)}, ["16 along y", "smaller --block"]),
        ({"GL_MAX_COMPUTE_SHARED_MEMORY_SIZE": 2047}, ["2048 bytes", "smaller --block"]),
        ({"GL_MAX_COMPUTE_WORK_GROUP_COUNT": (1, 9, 9)}, ["2 work groups along x", "larger"]),
        ({"GL_MAX_SHADER_STORAGE_BLOCK_SIZE": 1023}, ["buffer A", "1024 bytes", "numpy"]),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_a_limit_of_the_device_is_named_in_one_line(
    compute: Executor, limit: Callable[..., None], limits: Mapping[str, Any], words: list[str]
) -> None:
    plan = plan_of(find_method("dobravec-bulic-shared"), (16, 16, 20), Options(block=16))
    limit(**limits)
    message = refusal(compute, plan)
    [(name, value)] = limits.items()
    allowed = value if isinstance(value, int) else value[0 if "along x" in message else 1]
    assert f"{name} is {allowed} here" in message
    for each in words:
        assert each in message


def test_textures_of_other_kinds_may_stand_beside_kernels(compute: Executor) -> None:
    for kind, texel_format in ((TextureKind.RECT, R32F), (TextureKind.BUFFER, RGBA32F)):
        other = Texture("picture", kind, Extent(2, 2), texel_format, (0.0,) * 4)
        plan = shown(numbers(), others=(other,))
        operands = random_operands(plan)
        assert_same_bits(
            compute.run(plan, operands).outputs["C"], NUMPY.run(plan, operands).outputs["C"]
        )


def test_an_exact_run_is_llvmpipe_s(compute: Executor, limit: Callable[..., None]) -> None:
    plan = plan_of(find_method("dobravec-bulic-global"), (5, 7, 3), Options())
    operands = random_operands(plan)
    if driver_of(compute).keeps_order:
        found = compute.run(plan, operands, EXACT).outputs["C"]
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    limit(GL_RENDERER="A GPU of 2017")
    assert "contract" in refusal(compute, plan, EXACT)
    compute.run(plan, operands)
    limit(GL_RENDERER="llvmpipe")
    chain = plan_of(find_method("mali-sgemm"), (5, 7, 3), Options())
    assert "regroup" in refusal(compute, chain, EXACT)


def test_loops_that_llvmpipe_would_leave_are_refused(
    compute: Executor, limit: Callable[..., None]
) -> None:
    limit(GL_RENDERER="llvmpipe")
    for name, shape in (("dobravec-bulic-host", (40, 40, 40)),
                        ("dobravec-bulic-global", (1, 65600, 1))):  # fmt: skip
        message = refusal(compute, plan_of(find_method(name), shape, Options()))
        assert "65535 iterations" in message
        assert "numpy" in message


def test_loops_that_grow_in_a_repeat_are_refused_too(
    compute: Executor, limit: Callable[..., None]
) -> None:
    limit(GL_RENDERER="llvmpipe")
    plan = plan_of(find_method("dobravec-bulic-global"), (1, 65600, 1), Options())
    [each] = [each for _, each in plan.weighted_passes() if isinstance(each, ComputePass)]
    length = next(u for u in each.uniforms if u.value == 65600)

    def repeated(last: int) -> Plan:
        grows = replace(length, value=Affine(1, last - 1))
        uniforms = tuple(grows if u == length else u for u in each.uniforms)
        return replace(plan, steps=(Repeat(2, (replace(each, uniforms=uniforms),)),))

    assert "65535 iterations" in refusal(compute, repeated(65600))
    compute.prepare(repeated(65000)).close()


def test_a_context_before_4_3_has_no_compute_shaders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gl, "context", lambda: SimpleNamespace(version_code=420))
    with pytest.raises(ExecutorUnavailableError) as raised:
        find_executor("gl-compute")
    assert "OpenGL 4.3" in str(raised.value)
    assert "gives 4.2" in str(raised.value)
    assert "\n" not in str(raised.value)


# Objects -----------------------------------------------------------------------------------------


class _ObserverError(Exception):
    pass


def test_runs_leave_no_buffers_behind(compute: Executor) -> None:
    plan = plan_of(find_method("dobravec-bulic-shared"), (9, 5, 7), Options(block=4))
    compute.run(plan, random_operands(plan))
    before = buffers_alive()
    for _ in range(5):
        compute.run(plan, random_operands(plan))
    assert buffers_alive() == before

    def fail(*_: object) -> None:
        raise _ObserverError

    with pytest.raises(_ObserverError):
        compute.run(plan, random_operands(plan), observer=fail)
    assert buffers_alive() == before


def buffers_alive() -> int:
    """Buffers of the executor's context."""
    try:
        library = ctypes.CDLL("libEGL.so.1")
    except OSError:
        pytest.skip("GL does not come through EGL here")
    library.eglGetProcAddress.restype = ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(ctypes.c_ubyte, ctypes.c_uint)
    with gl.context().current() as ctx:
        made = ctx.buffer(reserve=4)
        last = int(made.glo)
        made.release()
        is_buffer = kind(library.eglGetProcAddress(b"glIsBuffer"))
        return sum(bool(is_buffer(n)) for n in range(1, last + 1))
