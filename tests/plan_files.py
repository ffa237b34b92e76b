"""A plan that uses every field of plan.json, and files that are like it but wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from drawing import texture

from gpgpu_legacy.isa.program import AttributeKind
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.numbers import Affine, Table
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    BufferBinding,
    ClearPass,
    ComputePass,
    CopyPass,
    Corners,
    FragmentPass,
    ParameterValue,
    Plan,
    Repeat,
    StateValue,
    Texcoords,
    UniformValue,
)
from gpgpu_legacy.plan.serialise import (
    plan_as_json,
)
from gpgpu_legacy.plan.textures import (
    FORMATS,
    ONE_PER_TEXEL,
    R32F,
    RGBA32F,
    Extent,
    Filter,
    Matrix,
    MovingRect,
    Packing,
    Rect,
    Region,
    Sampler,
    Texture,
    TextureKind,
    Transfer,
    Wrap,
    quadrants,
)

NAN, INF = float("nan"), float("inf")

LOOK = assemble(
    """!!ARBfp1.0
    OPTION ARB_draw_buffers;
    # The comment goes; what executes stays.
    PARAM bound = { 1e999, -1e999, 0.1, 16777217 };
    PARAM table[2] = { program.local[0..1] };
    TEMP a;
    TEX a, fragment.texcoord[0], texture[3], 3D;
    MAD_SAT a, a, bound, table[1].wzyx;
    SWZ result.color, a, x, -0, 1, -w;
    MUL result.color[1], a, state.matrix.mvp.row[2];
    KIL fragment.fogcoord.x;
    END""",
    "/home/someone/looks twice.fp",
)
KERNEL = parse_kernel(
    """#version 430 core
// The comment stays.
layout(local_size_x = 2) in;
uniform bool flag;
uniform int n;
uniform float f;
layout(std430, binding = 4) buffer buffer_A { float A[]; };
void main() { if (flag) A[gl_GlobalInvocationID.x] = f * float(n); }
""",
    "kernels/k.comp",
)


def everything() -> Plan:
    """A valid plan that uses every field of the format, with values that are no defaults."""
    level = ((0.5, Affine(0, 0.25), Table((1, 2.5, 3)), 1.0),) * 4
    corners: Corners = level  # type: ignore[assignment]
    draw = FragmentPass(
        LOOK,
        (Binding(3, "V", Sampler(Filter.LINEAR, Wrap.REPEAT, Wrap.CLAMP, Wrap.REPEAT)),),
        ("T", "U"),
        MovingRect(Affine(0, 1), 0, Table((1, 2, 1)), 2),
        (Texcoords(0, corners),),
        (ParameterValue(0, (NAN, INF, -INF, -0.0)),
         ParameterValue(1, (1, 2, 3, Table((INF, 0, NAN))))),
        (ParameterValue(9, (np.float32(0.1), np.int64(3), 1e-45, 1e300)),),
        ADD,
        (AttributeCorners(AttributeKind.FOGCOORD, corners),),
        (StateValue("state.matrix.mvp.row[2]", (1.0, 0.0, Affine(0.0, -1.5), 0.0)),),
    )  # fmt: skip
    dispatch = ComputePass(
        KERNEL,
        (BufferBinding(4, "B"),),
        (UniformValue("flag", Table((True, False, True))), UniformValue("n", Affine(-3, 2)),
         UniformValue("f", Table((0.5, -INF, NAN)))),
        (Affine(2, 1), 1),
        independent=True,
    )  # fmt: skip
    still = replace(dispatch, uniforms=(UniformValue("flag", True), UniformValue("n", 7),
                                        UniformValue("f", 0.1)), groups=(1, 2))  # fmt: skip
    body = (
        draw,
        CopyPass("T", Rect(0, 0, 2, 2), "W", MovingRect(1, Affine(0, 1), 2, 2)),
        ClearPass("V", (Affine(0, 1), 1, 2, NAN)),
        dispatch,
    )
    return Plan(
        "everything — ∀",
        (Matrix("A", 4, 6, (2, 2, 6)), Matrix("E", 0, 4)),
        (Matrix("A", 2, 2),),
        (
            texture("T", 4, 4, RGBA32F),
            texture("U", 4, 4, FORMATS["rgba8"], (0.5, NAN, INF, -0.0)),
            Texture("V", TextureKind.T3D, Extent(2, 3, 4), R32F, (1, 2, 3, 4)),
            texture("W", 4, 4, RGBA32F, None),
            Texture("B", TextureKind.BUFFER, Extent(70_000, 2), R32F, (0.0,) * 4),
        ),
        (
            Transfer("A", Region(1, 2, 3, 4), "T", Rect(0, 1, 2, 2), quadrants(2, 2)),
            Transfer("A", Region(0, 0, 4, 6), "V", Rect(0, 0, 2, 12),
                  Packing(((1, 0),), row_step=2, column_step=3, transposed=True)),
        ),
        (ClearPass("W"), Repeat(3, body), Repeat(0, (draw_never(),)), still),
        (Transfer("A", Region(0, 0, 2, 2), "B", Rect(0, 0, 2, 2), ONE_PER_TEXEL),),
    )  # fmt: skip


def draw_never() -> FragmentPass:
    program = assemble("!!ARBfp1.0 MOV result.color, {1}; END", "C:\\shaders\\LOOKS TWICE.fp.j2")
    return FragmentPass(program, (), ("T",), MovingRect(0, 0, 1, 1))


WHOLE = plan_as_json(everything())

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 1000, 2**31, 2**53, 10**30, 0.5, -0.0, 1e308, "", "T",
    "NaN", "Infinity", "../../x", "a\nb", [], [0], [0, 0, 0, 0], {}, {"base": 0, "step": 1},
    {"base": 1e308, "step": 1e308}, {"kind": "ClearPass", "target": "T", "value": [0, 0, 0, 0]},
)  # fmt: skip


def mutants(count: int, seed: int) -> Iterator[Any]:
    """The plan of `everything` with one to three values changed, removed, repeated or moved."""
    rng = Random(seed)
    for _ in range(count):
        data = json.loads(WHOLE)
        for _ in range(rng.choice((1, 1, 2, 3))):
            places = list(slots(data))
            holder, key = rng.choice(places)
            match rng.randrange(5):
                case 0:
                    del holder[key]
                case 1:
                    other, there = rng.choice(places)
                    holder[key] = deepcopy(other[there])
                case 2 if isinstance(holder[key], list) and holder[key]:
                    holder[key].append(deepcopy(holder[key][-1]))
                case _:
                    holder[key] = deepcopy(rng.choice(VALUES))
        yield data


def slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """The place of every value in a JSON object: its container, and its key there."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield value, key
        if isinstance(item, dict | list):
            yield from slots(item)
