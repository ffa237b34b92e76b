"""Passes that read neighbours on gl-compute: several iterations in one go, or each by itself.

Bit for bit what the passes give one at a time, in default mode as an observed run has it, and with
`exact` as the reference machine has it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from drawing import EXACT, F32, Made, as_exact_as_it_can, assert_same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbours import relaxations, same_as_passes
from plans import plans

from gpgpu_legacy.algorithms.linear_algebra.jacobi import jacobi
from gpgpu_legacy.errors import NoDeviceRoomError
from gpgpu_legacy.lower.groups.shape import GroupShape, Multiprocessors
from gpgpu_legacy.lower.temporal.content import TemporalShape
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.gl import compute as gl_compute
from gpgpu_legacy.runtime.gl import core
from gpgpu_legacy.runtime.gl.compute import DeviceLimits, GlComputePrepared
from gpgpu_legacy.runtime.machine import Machine, Tuning

pytestmark = pytest.mark.gl

EXAMPLES = int(os.environ.get("RELAXATIONS", "6"))
"""How many random plans are run: drivers take most of a second to compile one's shaders."""

NUMPY = find_executor("numpy")

SHAPES = st.builds(
    TemporalShape,
    st.sampled_from(((16, 8), (8, 16), (32, 8))),
    st.integers(1, 2),
    st.integers(1, 3),
    st.sampled_from((1, 1, 2, 3)),
)


GROUPS = {
    "usual": None,
    "blocks of neighbours": GroupShape((2, 4), 4, 2, 0, 1, 2),
    "apart": GroupShape((4, 2), 3, 2, 0, 1, 1),
    "a column": GroupShape((8, 2), 1, 4, 0, 1, 4),
}


@pytest.fixture
def compute(ready: Callable[[str], Executor]) -> Executor:
    return ready("gl-compute")


@pytest.fixture(params=[True], ids=["as hardware"], autouse=True)
def hardware(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """gl-compute chooses as on hardware, whatever the driver; by a parameter, as on llvmpipe."""
    chosen, processors, gpu = gl_compute._device, Multiprocessors.of_gpu(64), request.param

    def device(context: core.GlContext, tuning: Tuning | None) -> DeviceLimits:
        given_ = chosen(context, tuning)
        return replace(given_, shares_fast=gpu, fetches=not gpu, multiprocessors=processors)

    monkeypatch.setattr(gl_compute, "_device", device)


def is_tiled(prepared: object) -> bool:
    """Whether it runs fewer dispatches than passes."""
    assert isinstance(prepared, GlComputePrepared)
    return prepared._recordings[False].has_fused_passes


def assert_same_as_passes(
    compute: Executor, plan: Plan, operands: dict[str, F32], shape: TemporalShape | None = None
) -> bool:
    """Whether the passes were fused into tiles, of that shape or the usual one."""
    return same_as_passes(compute, plan, operands, Tuning(temporal=shape), is_tiled)


def test_random_relaxations(compute: Executor) -> None:
    tiled: list[bool] = []

    @settings(max_examples=EXAMPLES)
    @given(relaxations(), st.none() | SHAPES)
    def run(made: Made, shape: TemporalShape | None) -> None:
        tiled.append(assert_same_as_passes(compute, made.plan, made.operands, shape))

    run()
    assert sum(tiled) >= len(tiled) / 3  # else this says little


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("hardware", [False], ids=["as llvmpipe"], indirect=True)
def test_passes_one_at_a_time(compute: Executor, group: GroupShape | None) -> None:
    """Fragments of an invocation share texels that they look up, fetched from buffer textures."""

    @settings(max_examples=EXAMPLES // 2)
    @given(relaxations())
    def run(made: Made) -> None:
        machine = as_exact_as_it_can(compute, made.plan)
        found = compute.run(made.plan, made.operands, replace(machine, tuning=Tuning(group=group)))
        for name, values in NUMPY.run(made.plan, made.operands, EXACT).outputs.items():
            if machine.exact:
                assert_same_bits(found.outputs[name], values)

    run()


def test_plans_of_all_kinds(compute: Executor) -> None:
    @settings(max_examples=EXAMPLES // 2)
    @given(plans(tame=True))
    def run(made: Made) -> None:
        assert_same_as_passes(compute, made.plan, made.operands)

    run()


# Where passes run one at a time ------------------------------------------------------------------

SHAPE = TemporalShape((16, 8), 1, 4, 2)


def relaxed(compute: Executor, shape: TemporalShape = SHAPE) -> bool:
    """Whether a relaxation is tiled; its results are right in either case."""
    operands = {"b": np.random.default_rng(3).random((21, 21), dtype=np.float32)}
    return assert_same_as_passes(compute, jacobi.plan(n=21, passes=6), operands, shape)


def test_without_room_for_second_buffers(
    compute: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x and b have rows of their own lengths, so the second buffer of x is known by its size."""
    given, sizes = core.GlContext.buffer, list[int]()

    def full(context: core.GlContext, size_bytes: int) -> object:
        sizes.append(size_bytes)
        if sizes.count(4 * 23 * 23) > 2:
            raise NoDeviceRoomError("no room")
        return given(context, size_bytes)

    assert relaxed(compute)
    monkeypatch.setattr(core.GlContext, "buffer", full)
    with compute.prepare(
        jacobi.plan(n=21, passes=6), Machine(tuning=Tuning(temporal=SHAPE))
    ) as prepared:
        assert not is_tiled(prepared)
    assert sizes.count(4 * 23 * 23) == 3  # of x, of y, and the one that was refused


@pytest.mark.parametrize(("blocks", "tiled"), [(4, True), (3, False)])
def test_with_few_buffers(
    compute: Executor, monkeypatch: pytest.MonkeyPatch, blocks: int, tiled: bool
) -> None:
    """The shader has three textures, and the second buffer of one."""
    assert relaxed(compute)
    info = {**core.context().info, "GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS": blocks}
    monkeypatch.setattr(core.context(), "info", info)
    assert relaxed(compute) is tiled


def test_with_tiles_that_do_not_fit(compute: Executor) -> None:
    assert not relaxed(compute, replace(SHAPE, iterations=8))  # 32 texels of edge in 16 of tile
    assert not relaxed(compute, TemporalShape((32, 32), 4, 4, 1))  # 128 KiB of shared memory


def test_a_software_renderer_gains_nothing(
    compute: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with compute.prepare(jacobi.plan(n=64, passes=20), Machine()) as prepared:
        assert is_tiled(prepared) is compute.is_hardware()
