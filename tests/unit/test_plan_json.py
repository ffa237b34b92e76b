"""Plans as files: what is written is read back, and what is wrong is refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drawing import texture
from hypothesis import given, settings
from plans import Made, plans
from products import options_of, ways
from varying import dispatch_plans

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.algorithms.registry import methods
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import AttributeKind
from gpgpu_legacy.kernel.parser import parse_kernel
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.plan.formats import FORMATS, R32F, RGBA32F, Format, Numeric
from gpgpu_legacy.plan.numbers import Affine, Table
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    Blend,
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
    plan_from_json,
    read_plan,
)
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Extent,
    Filter,
    Input,
    Matrix,
    MovingRect,
    Output,
    Packing,
    Rect,
    Region,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
    quadrants,
)

NAN, INF = float("nan"), float("inf")


def read_back(plan: Plan) -> Plan:
    """The plan that comes back; NaN aside, it is equal to the one that went."""
    text = plan_as_json(plan)
    found = plan_from_json(text)
    assert found == plan_from_json(text)
    assert plan_as_json(found) == text
    return found


# There and back --------------------------------------------------------------------------------

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
    """A valid plan in which every field of the format is used, with a value that is no default."""
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
        Blend.ADD,
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
            Input("A", Region(1, 2, 3, 4), "T", Rect(0, 1, 2, 2), quadrants(2, 2)),
            Input("A", Region(0, 0, 4, 6), "V", Rect(0, 0, 2, 12),
                  Packing(((1, 0),), row_step=2, column_step=3, transposed=True)),
        ),
        (ClearPass("W"), Repeat(3, body), Repeat(0, (draw_never(),)), still),
        (Output("A", Region(0, 0, 2, 2), "B", Rect(0, 0, 2, 2), ONE_PER_TEXEL),),
    )  # fmt: skip


def draw_never() -> FragmentPass:
    program = assemble("!!ARBfp1.0 MOV result.color, {1}; END", "C:\\shaders\\LOOKS TWICE.fp.j2")
    return FragmentPass(program, (), ("T",), MovingRect(0, 0, 1, 1))


def test_every_field_comes_back() -> None:
    found = read_back(everything())
    assert repr(found) == repr(as_python(everything()))


def as_python(plan: Plan) -> Plan:
    """The plan with Python's numbers, and the programs' names in the file."""
    [clear, repeat, never, still] = plan.steps
    assert isinstance(repeat, Repeat) and isinstance(never, Repeat)
    [draw, copy, cleared, dispatch] = repeat.body
    assert isinstance(draw, FragmentPass) and isinstance(dispatch, ComputePass)
    assert isinstance(still, ComputePass) and isinstance(never.body[0], FragmentPass)
    canonical = assemble(disassemble(LOOK), "looks-twice.fp")
    kernel = parse_kernel(KERNEL.text, "k.comp")
    env = (ParameterValue(9, (0.10000000149011612, 3, 1e-45, 1e300)),)
    draw = replace(draw, program=canonical, env=env)
    other = assemble(disassemble(never.body[0].program), "LOOKS-TWICE-2.fp")
    body = (draw, copy, cleared, replace(dispatch, kernel=kernel))
    steps = (clear, replace(repeat, body=body),
             replace(never, body=(replace(never.body[0], program=other),)),
             replace(still, kernel=kernel))  # fmt: skip
    return replace(plan, steps=steps)


def test_numbers_keep_their_types() -> None:
    """1 and 1.0 differ, and -0.0 and 0.0; NumPy's numbers become Python's."""
    values = (1, 1.0, -0.0, np.float32(0.1))
    plan = Plan("n", (), (), (texture("T", 1, 1, R32F),), (), (ClearPass("T", values),), ())
    [found] = read_back(plan).steps
    assert isinstance(found, ClearPass)
    assert repr(found.value) == "(1, 1.0, -0.0, 0.10000000149011612)"


@settings(max_examples=60)
@given(plans())
def test_random_plans_that_draw_come_back(made: Made) -> None:
    """Two of their infinities are equal, and so is a NaN to itself; others are strings alike."""
    assert read_back(made.plan) == made.plan or "NaN" in plan_as_json(made.plan)


@settings(max_examples=40)
@given(dispatch_plans())
def test_random_plans_that_dispatch_come_back(plan: Plan) -> None:
    assert read_back(plan) == plan


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_product_comes_back(method: Method) -> None:
    for way in ways(method):
        for more in ({}, {"alpha": 2.0}, {"transpose_a": True}):
            if method.refuses & more.keys():
                continue
            plan = method.plan(Shape(9, 10, 11), options_of(method, way, **more))
            assert read_back(plan) == plan


def test_a_file_and_its_text(tmp_path: Path) -> None:
    path = tmp_path / "any name.json"
    path.write_text(plan_as_json(everything()), encoding="utf-8")
    assert plan_as_json(read_plan(path)) == plan_as_json(read_plan(str(path)))


def test_a_file_names_no_folders() -> None:
    """Two programs whose names differ in nothing but case would be one file on some systems."""
    data = json.loads(plan_as_json(everything()))
    assert list(data["programs"]) == ["looks-twice.fp", "LOOKS-TWICE-2.fp"]
    assert data["kernels"] == {"k.comp": KERNEL.text}
    assert "someone" not in json.dumps(data)


def test_a_format_of_the_callers_own_has_no_name_in_a_file() -> None:
    own = Format("r8", 1, 8, Numeric.UNORM)
    with pytest.raises(InputError, match=r"texture T has the format .*choose from r16f, "):
        plan_as_json(Plan("own", (), (), (texture("T", 1, 1, own),), (), (), ()))
