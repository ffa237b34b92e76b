"""Packing and unpacking on the device, against the NumPy functions that define them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any
from weakref import ref

import numpy as np
import pytest
from drawing import F32, ZERO, texture
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.interp.numeric import decode, encode, pack, unpack
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    R16F,
    R32F,
    RGBA8,
    RGBA32F,
    Extent,
    Format,
    Matrix,
    Packing,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.gl import core
from gpgpu_legacy.runtime.gl.compute import GlComputePrepared
from gpgpu_legacy.runtime.gl.raster import GlRasterPrepared
from gpgpu_legacy.runtime.gl.transfers import movable
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import Prepared

FORMATS = st.sampled_from([R32F, RGBA32F, RGBA32F, R16F, RGBA8])
# Bits that arithmetic would not keep: quiet NaNs with payloads, denormals, zeros of both signs.
ODD_BITS = (0x7FC01234, 0xFFC00001, 0x00000001, 0x80000001, 0x80000000, 0x7F800000, 0x007FFFFF)


def bits(rows: int, columns: int, seed: int) -> F32:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((rows, columns)).astype(np.float32).view(np.uint32)
    odd = rng.choice(np.array(ODD_BITS, np.uint32), (rows, columns))
    return np.where(rng.random((rows, columns)) < 0.2, odd, values).view(np.float32)


@st.composite
def packings(draw: st.DrawFn, channels: int) -> Packing:
    """Any: what overlaps, what leaves gaps, what lies outside."""
    offset = st.tuples(st.integers(0, 6), st.integers(0, 6))
    offsets = tuple(draw(offset) for _ in range(channels))
    return Packing(
        offsets, draw(st.integers(1, 3)), draw(st.integers(1, 3)), transposed=draw(st.booleans())
    )


@st.composite
def regions(draw: st.DrawFn, matrix: Matrix) -> Region:
    row, column = (draw(st.integers(0, n - 1)) for n in (matrix.rows, matrix.columns))
    rows = draw(st.integers(1, matrix.rows - row))
    return Region(row, column, rows, draw(st.integers(1, matrix.columns - column)))


@st.composite
def rects(draw: st.DrawFn, extent: Extent) -> Rect:
    x, y = draw(st.integers(0, extent.width - 1)), draw(st.integers(0, extent.height - 1))
    width = draw(st.integers(1, extent.width - x))
    return Rect(x, y, width, draw(st.integers(1, extent.height - y)))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Matrices to textures and back, with no pass between; an operand and a result share a name."""
    side = st.integers(1, 12) | st.integers(1, 40)
    matrices = [Matrix(name, draw(side), draw(side)) for name in "ABBC"]
    textures = [
        Texture(
            name,
            TextureKind.RECT,
            Extent(draw(st.integers(1, 20)), draw(st.integers(1, 20))),
            draw(FORMATS),
            (0.25, -1.0, 3.0, 0.5),
        )
        for name in "TU"
    ]

    def transfer(among: list[Matrix]) -> Transfer:
        matrix, target = draw(st.sampled_from(among)), draw(st.sampled_from(textures))
        return Transfer(
            matrix.name,
            draw(regions(matrix)),
            target.name,
            draw(rects(target.extent)),
            draw(packings(target.format.channels)),
        )

    inputs = [transfer(matrices[:2]) for _ in range(draw(st.integers(0, 4)))]
    outputs = [transfer(matrices[2:]) for _ in range(draw(st.integers(1, 4)))]
    return Plan(
        "transfers",
        tuple(matrices[:2]),
        tuple(matrices[2:]),
        tuple(textures),
        tuple(inputs),
        (),
        tuple(outputs),
    )


def expected_of(plan: Plan, operands: Mapping[str, F32]) -> dict[str, F32]:
    """By the functions that say what a packing is."""
    texels = {}
    for each in plan.textures:
        value = np.array(each.initial or ZERO, np.float32)[: each.format.channels]
        shape = (each.extent.rows, each.extent.width, each.format.channels)
        texels[each.name] = decode(encode(np.broadcast_to(value, shape), each.format), each.format)
    for given_ in plan.inputs:
        shape = given_.rect.height, given_.rect.width, len(given_.packing.offsets)
        packed = np.zeros(shape, np.float32)
        pack(operands[given_.matrix], packed, given_.region, given_.packing)
        form, rect = plan.texture(given_.texture).format, given_.rect
        stored = decode(encode(packed, form), form)
        texels[given_.texture] = texels[given_.texture].copy()
        texels[given_.texture][rect.y : rect.y + rect.height, rect.x : rect.x + rect.width] = stored
    results = {m.name: np.zeros((m.rows, m.columns), np.float32) for m in plan.results}
    for out in plan.outputs:
        rect = out.rect
        part = texels[out.texture][rect.y : rect.y + rect.height, rect.x : rect.x + rect.width]
        unpack(part, results[out.matrix], out.region, out.packing)
    return results


def drawn(plan: Plan, *, on_device: bool = True) -> Prepared:
    return GlRasterPrepared(core.context(), plan, Machine(), on_device=on_device)


def computed(plan: Plan, *, on_device: bool = True) -> Prepared:
    return GlComputePrepared(core.compute_context(), plan, Machine(), on_device=on_device)


def assert_moves(prepared: Prepared) -> None:
    """Twice, with other numbers."""
    plan = prepared.plan
    with prepared:
        for seed in range(2):
            operands = {m.name: bits(m.rows, m.columns, seed) for m in plan.operands}
            found = prepared.run(operands).outputs
            for name, expected in expected_of(plan, operands).items():
                np.testing.assert_array_equal(found[name].view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("prepare", [find_executor(name).prepare for name in ("numpy", "jit")])
@settings(max_examples=30)
@given(plan=plans())
def test_any_transfer_on_the_host(prepare: Callable[[Plan], Prepared], plan: Plan) -> None:
    assert_moves(prepare(plan))


@pytest.mark.gl
@pytest.mark.parametrize("on_device", [True, False], ids=["device", "host"])
@pytest.mark.parametrize("prepare", [drawn, computed])
@settings(max_examples=30)
@given(plan=plans())
def test_any_transfer(prepare: Callable[..., Prepared], on_device: bool, plan: Plan) -> None:
    assert_moves(prepare(plan, on_device=on_device))


@pytest.mark.gl
@pytest.mark.parametrize("prepare", [drawn, computed])
def test_a_plan_that_nobody_closes_is_collected(prepare: Callable[..., Prepared]) -> None:
    prepared = prepare(moved(3, 5, 4, 3))
    alive = ref(prepared)
    del prepared
    gc.collect()
    assert alive() is None


def moved(rows: int, columns: int, width: int, height: int, form: Format = R32F) -> Plan:
    """A matrix packed into quadrants of 1 or 4 channels, and back."""
    one = form.channels == 1
    packing = ONE_PER_TEXEL if one else Packing(((0, 0), (0, width), (height, 0), (height, width)))
    region, rect = Region(0, 0, rows, columns), Rect(0, 0, width, height)
    return Plan(
        "there and back",
        (Matrix("A", rows, columns),),
        (Matrix("C", rows, columns),),
        (texture("T", width, height, form, None),),
        (Transfer("A", region, "T", rect, packing),),
        (),
        (Transfer("C", region, "T", rect, packing),),
    )


LARGE = [(1, 5000, R32F), (5000, 1, R32F), (1, 30000, RGBA32F), (300, 300, RGBA32F),
         (4097, 2, R32F)]  # fmt: skip


@pytest.mark.gl
@pytest.mark.parametrize(("rows", "columns", "form"), LARGE)
def test_matrices_of_any_shape_are_moved_by_the_device(
    rows: int, columns: int, form: Format
) -> None:
    quarter = 1 if form.channels == 1 else 2
    plan = moved(rows, columns, -(-columns // quarter), -(-rows // quarter), form)
    assert_moves(drawn(plan))
    assert_moves(computed(plan))


@pytest.mark.gl
@pytest.mark.parametrize(
    "limit",
    [
        {"GL_MAX_SHADER_STORAGE_BLOCK_SIZE": 64},
        {"GL_MAX_COMPUTE_WORK_GROUP_COUNT": (1, 1, 1)},
    ],
)
def test_what_is_too_large_for_shaders_goes_by_the_host(
    limit: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.context(), "info", {**core.context().info, **limit})
    plan = moved(40, 50, 50, 40)
    assert movable(plan, core.context()) == ([], [])
    assert_moves(drawn(plan))
