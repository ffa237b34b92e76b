"""gl-compute: work groups of every shape, buffers and kernels made by hand, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from buffers import bindings, buffer, read_from, uniforms
from departures import driver_of
from drawing import EXACT, assert_same_bits, on
from products import (
    plan_of,
    random_operands,
)

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import ExecutorUnavailableError, PlanError
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.lower.groups.shape import GroupShape, Multiprocessors, measured_shapes
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, Plan, Repeat, Step
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    R32F,
    RGBA32F,
    Extent,
    Matrix,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.gl import compute as gl_compute
from gpgpu_legacy.runtime.gl import core
from gpgpu_legacy.runtime.gl.compute import DeviceLimits
from gpgpu_legacy.runtime.machine import Machine, Tuning

pytestmark = pytest.mark.gl

Ready = Callable[[str], Executor]

NUMPY = find_executor("numpy")


@pytest.fixture
def compute(ready: Ready) -> Executor:
    return ready("gl-compute")


@pytest.fixture
def limit(compute: Executor, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Changes what the device says of its limits."""

    def change(**values: Any) -> None:
        monkeypatch.setattr(core.context(), "info", {**core.context().info, **values})

    return change


# Fragment programs -------------------------------------------------------------------------------

# How many fragments an invocation has, and how many turns are staged: one and none, few and odd,
# neighbours. No shape's tile divides the product's 67 by 21 (or, of 2 by 2 blocks, 34 by 11).
GROUPS = {
    "one fragment an invocation": GroupShape((8, 8), 1, 1, 0, 1),
    "odd": GroupShape((4, 16), 3, 2, 4, 2),
    "neighbours": GroupShape((8, 8), 4, 4, 8, 4, 4),
    "more neighbours across than up": GroupShape((8, 8), 4, 2, 8, 4, 4),
}


def assert_exact(compute: Executor, plan: Plan, group: GroupShape | None = None) -> None:
    operands = random_operands(plan, 7)
    found = compute.run(plan, operands, replace(EXACT, tuning=Tuning(group=group))).outputs["C"]
    assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize(
    "method", ["hall-carr-hart-multi", "hall-carr-hart-single", "larson-mcallister"]
)
def test_products_in_groups_of_every_shape(
    compute: Executor, method: str, group: GroupShape
) -> None:
    assert_exact(compute, plan_of(find_product(method), (21, 19, 67)), group)


SHIPPED = {
    "hall-carr-hart-multi": (4, 8), "hall-carr-hart-single": (1, 2), "larson-mcallister": (1, 1),
}  # fmt: skip
"""Products, and the kind of passes that their shapes in group_shapes.toml are for."""


@pytest.mark.parametrize("method", SHIPPED)
def test_products_are_whole_in_every_shape_that_ships(compute: Executor, method: str) -> None:
    """The kinds are all that there are; each shape has two tiles at least, not unrolled."""
    shapes = measured_shapes()
    assert set(shapes) == {*SHIPPED.values()}
    for timed in shapes[SHIPPED[method]]:
        across, up = timed.shape.tile
        blocks = 2 if method == "hall-carr-hart-multi" else 1
        plan = plan_of(find_product(method), (blocks * (up + 3), 9, blocks * (across + 5)))
        assert_exact(compute, plan, replace(timed.shape, unroll=1))


@pytest.mark.parametrize("most", [1, 7])
def test_a_driver_that_ends_loops_gets_some_iterations_at_a_time(
    compute: Executor, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = DeviceLimits(32 << 10, 16, Multiprocessors(), most)
    monkeypatch.setattr(gl_compute, "_device", lambda *_: device)
    assert_exact(compute, plan_of(find_product("larson-mcallister"), (5, 23, 9)))


# Plans of buffers made by hand -------------------------------------------------------------------

dispatching = on("jit", "gl-compute")

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


def shown(
    *steps: Step, others: tuple[Texture, ...] = (), inputs: tuple[Transfer, ...] = ()
) -> Plan:
    """A plan that shows the buffer R of 4 by 4, which begins as zeros."""
    result, given = Matrix("C", 4, 4), Matrix("A", 3, 2)
    buffers = (buffer("R", 4, 4, zero=True), *others)
    outputs = (read_from(result, buffers[0]),)
    plan = Plan("by hand", (given,), (result,), buffers, inputs, steps, outputs)
    validate(plan)
    return plan


OPERANDS = {"A": np.arange(1, 7, dtype=np.float32).reshape(3, 2)}


@dispatching
def test_uniforms_of_every_type_and_the_iterations_of_a_repeat(ready: Ready, name: str) -> None:
    plan = shown(Repeat(3, (numbers(Affine(1.0, 0.5), 2),)), numbers(-1.0, 3_000_000_000))
    for each in (plan, expand(plan)):
        found = ready(name).run(each, OPERANDS).outputs["C"]
        assert_same_bits(found, NUMPY.run(each, OPERANDS).outputs["C"])
    early = (
        ready(name).run(shown(Repeat(3, (numbers(Affine(1.0, 0.5), 2),))), OPERANDS).outputs["C"]
    )
    assert early.ravel().tolist() == [4.5 * i + 6 for i in range(16)]


@dispatching
def test_a_part_of_a_buffer_is_filled_and_a_part_is_read(ready: Ready, name: str) -> None:
    part = Transfer("A", Region(0, 0, 3, 2), "R", Rect(1, 1, 2, 3), ONE_PER_TEXEL)
    plan = shown(inputs=(part,))
    found = ready(name).run(plan, OPERANDS).outputs["C"]
    assert found.tolist() == [[0, 0, 0, 0], [0, 1, 2, 0], [0, 3, 4, 0], [0, 5, 6, 0]]
    some = Transfer("C", Region(1, 2, 2, 2), "R", Rect(2, 1, 2, 2), ONE_PER_TEXEL)
    found = ready(name).run(replace(plan, outputs=(some,)), OPERANDS).outputs["C"]
    assert found.tolist() == [[0, 0, 0, 0], [0, 0, 2, 0], [0, 0, 4, 0], [0, 0, 0, 0]]


@dispatching
def test_clears_and_copies_between_dispatches(ready: Ready, name: str) -> None:
    plan = shown(
        ClearPass("S", (7.5, 1.0, 1.0, 1.0)),
        numbers(2.0),
        CopyPass("R", Rect(1, 0, 2, 3), "S", Rect(3, 1, 2, 3)),
        ClearPass("R"),
        CopyPass("S", Rect(2, 0, 3, 4), "R", Rect(0, 0, 3, 4)),
        numbers(),
        others=(buffer("S", 4, 5),),
    )
    found = ready(name).run(plan, OPERANDS).outputs["C"]
    assert_same_bits(found, NUMPY.run(plan, OPERANDS).outputs["C"])
    assert found.tolist() == [[7.5, 8.5, 9.5, 3], [11.5, 7, 10, 7], [15.5, 19, 22, 11],
                              [19.5, 31, 34, 15]]  # fmt: skip


# What is refused ---------------------------------------------------------------------------------


def refusal(executor: Executor, plan: Plan, machine: Machine = Machine()) -> str:
    with pytest.raises(PlanError) as raised:
        executor.run(plan, random_operands(plan), machine)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS": 128}, ["256 invocations", "smaller block"]),
        ({"GL_MAX_COMPUTE_WORK_GROUP_SIZE": (16, 8, 1)}, ["16 along y", "smaller block"]),
        ({"GL_MAX_COMPUTE_SHARED_MEMORY_SIZE": 2047}, ["2048 bytes", "smaller block"]),
        ({"GL_MAX_COMPUTE_WORK_GROUP_COUNT": (1, 9, 9)}, ["2 work groups along x", "larger"]),
        ({"GL_MAX_SHADER_STORAGE_BLOCK_SIZE": 1023}, ["buffer A", "1024 bytes", "numpy"]),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_a_limit_of_the_device_is_named_in_one_line(
    compute: Executor, limit: Callable[..., None], limits: Mapping[str, Any], words: list[str]
) -> None:
    plan = find_product("dobravec-bulic-shared").plan(n=20, m=16, l=16, block=16)
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
    plan = find_product("dobravec-bulic-global").plan(m=5, l=7, n=3)
    operands = random_operands(plan)
    if driver_of(compute).keeps_order:
        found = compute.run(plan, operands, EXACT).outputs["C"]
        assert_same_bits(found, NUMPY.run(plan, operands).outputs["C"])
    limit(GL_RENDERER="A GPU of 2017")
    assert "contract" in refusal(compute, plan, EXACT)
    compute.run(plan, operands)
    limit(GL_RENDERER="llvmpipe")
    chain = find_product("mali-sgemm").plan(m=5, l=7, n=3)
    assert "regroup" in refusal(compute, chain, EXACT)


def test_loops_that_llvmpipe_would_leave_are_refused(
    compute: Executor, limit: Callable[..., None]
) -> None:
    """Those that grow in a Repeat, too."""
    limit(GL_RENDERER="llvmpipe")
    plan = find_product("dobravec-bulic-global").plan(n=1, l=65600)
    [each] = plan.only(ComputePass)
    length = next(u for u in each.uniforms if u.value == 65600)

    def repeated(last: int) -> Plan:
        grows = replace(length, value=Affine(1, last - 1))
        uniforms = tuple(grows if u == length else u for u in each.uniforms)
        return replace(plan, steps=(Repeat(2, (replace(each, uniforms=uniforms),)),))

    host = find_product("dobravec-bulic-host").plan(n=40)
    for long in (host, plan, repeated(65600)):
        message = refusal(compute, long)
        assert "65535 iterations" in message and "numpy" in message
    compute.prepare(repeated(65000)).close()


def test_a_context_before_4_3_has_no_compute_shaders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "context", lambda: SimpleNamespace(version_code=420))
    with pytest.raises(ExecutorUnavailableError) as raised:
        find_executor("gl-compute")
    assert "OpenGL 4.3" in str(raised.value)
    assert "gives 4.2" in str(raised.value)
    assert "\n" not in str(raised.value)
