from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from buffers import bindings, buffer, uniforms
from drawing import (
    program,
    texture,
)
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.interp.numeric import pack, unpack
from gpgpu_legacy.isa.program import AttributeKind
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.plan.expand import execution_order, expand, passes
from gpgpu_legacy.plan.numbers import Affine, Integer, Number, Table
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    StateValue,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
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
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.executor import find_executor

WHOLE = Rect(0, 0, 4, 3)
ONES = (1.0, 1.0, 1.0, 1.0)
LEVEL = (ONES, ONES, ONES, ONES)
CONSTANT = program("MOV result.color, 1;")


def level(s: Number) -> Texcoords:
    return Texcoords(0, ((s, 0.0, 0.0, 1.0),) * 4)


# Expansion ---------------------------------------------------------------------------------------


def test_a_repeat_is_its_body_written_out_once_an_iteration() -> None:
    def there(s: float | Affine, p: float | Affine, e: float | Affine) -> FragmentPass:
        local = (ParameterValue(1, (p, 7.0, 7.0, 7.0)),)
        env = (ParameterValue(2, (0.0, 0.0, 0.0, e)),)
        return FragmentPass(CONSTANT, (), ("T",), WHOLE, (level(s),), local, env)

    back, clear = CopyPass("T", WHOLE, "U", WHOLE), ClearPass("U")
    moving = there(Affine(0.5, 2.0), Affine(10.0, -1.0), Affine(3.0, 0.0))
    plan = raw(clear, Repeat(3, (moving, back)), clear)
    expected = (
        clear,
        there(0.5, 10.0, 3.0), back,
        there(2.5, 9.0, 3.0), back,
        there(4.5, 8.0, 3.0), back,
        clear,
    )  # fmt: skip
    assert expand(plan).steps == expected
    assert tuple(passes(plan)) == expected
    assert expand(expand(plan)) == expand(plan)
    turns = [(written, iteration) for written, _, iteration in execution_order(plan)]
    loop = [(pass_, i) for i in range(3) for pass_ in (moving, back)]
    assert turns == [(clear, 0), *loop, (clear, 0)]
    assert list(plan.weighted_passes()) == [(1, clear), (3, moving), (3, back), (1, clear)]


# Validation --------------------------------------------------------------------------------------


def raw(*steps: Step) -> Plan:
    """A plan of these steps on textures of 4×3 that begin as zeros, but N; nothing is checked."""
    t, u, n = (texture(name, 4, 3, RGBA32F) for name in "TUN")
    others = (texture("R", 4, 3, R32F), replace(t, name="FLAT", kind=TextureKind.T2D))
    return Plan("odd", (), (), (t, u, replace(n, initial=None), *others), (), steps, ())


def drawn(text: str = "MOV result.color, 1;", **more: Any) -> FragmentPass:
    return FragmentPass(program(text), **{"bindings": (), "targets": ("T",), "rect": WHOLE, **more})


def both(*targets: str, **more: Any) -> FragmentPass:
    text = "!!ARBfp1.0 OPTION ARB_draw_buffers; MOV result.color, 1; MOV result.color[1], 2; END"
    return replace(drawn(targets=targets, **more), program=assemble(text, name="both.fp"))


def looks(texture: str, **more: Any) -> FragmentPass:
    text = "TEX result.color, fragment.texcoord[0], texture[3], RECT;"
    return drawn(text, bindings=(Binding(3, texture),), **more)


def given_local(number: Number) -> FragmentPass:
    return drawn(locals=(ParameterValue(0, (number, 0.0, 0.0, 0.0)),))


def moved(*sides: Integer) -> FragmentPass:
    return drawn(rect=MovingRect(*sides))


def refused(plan: Plan, *words: str) -> None:
    with pytest.raises(PlanError) as raised:
        validate(plan)
    message = str(raised.value)
    assert message.startswith("plan odd: ")
    assert "\n" not in message
    for word in words:
        assert word in message


NAN, INFINITY = float("nan"), float("inf")
INFINITE = ((INFINITY, 0.0, 0.0, 1.0), *LEVEL[1:])
CORNER = Rect(0, 0, 1, 1)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (drawn(targets=("Z",)), "there is no texture Z"),
        (looks("Z"), "there is no texture Z"),
        (drawn(targets=()), "a pass of test.fp has no target"),
        (both("T", "T"), "name each target once"),
        (drawn(rect=Rect(-1, 0, 2, 2)), "4 by 3"),
        (drawn(rect=Rect(0, 0, 0, 1)), "at least one texel"),
        (CopyPass("U", Rect(1, 0, 4, 1), "T", Rect(0, 0, 4, 1)), "4 by 3"),
        (CopyPass("U", WHOLE, "T", Rect(0, 0, 3, 3)), "changes size or format"),
        (CopyPass("U", WHOLE, "R", WHOLE), "changes size or format"),
        (CopyPass("T", CORNER, "T", Rect(1, 1, 1, 1)), "copied to itself"),
        (looks("N"), "texture N is bound before anything was written"),
        (CopyPass("N", WHOLE, "T", WHOLE), "texture N is copied before"),
        (Repeat(2, (CopyPass("N", WHOLE, "T", WHOLE), ClearPass("N"))), "N is copied before"),
        (replace(looks("U"), bindings=(Binding(2, "U"),)), "nothing is bound"),
        (looks("FLAT"), "texture[3] as RECT"),
        (looks("T"), "texture T is read and written"),
        (drawn(bindings=(Binding(1, "U", Sampler(wrap_t=Wrap.REPEAT)),)), "has the wrap repeat"),
        (
            drawn(bindings=(Binding(1, "U", Sampler(Filter.LINEAR_MIPMAP_LINEAR)),)),
            "reads levels of a mipmap, which RECT",
        ),
        (drawn(bindings=(Binding(32, "U"),)), "texture[32]; give indices from 0 to 31"),
        (drawn(texcoords=(replace(level(1.0), set=8),)), "fragment.texcoord[8]"),
        (drawn(locals=(ParameterValue(2048, ONES),)), "program.local[2048]"),
        (drawn(state=(StateValue("state.nonsense", ONES),)), "state.nonsense"),
        (drawn(attributes=(AttributeCorners(AttributeKind.TEXCOORD, LEVEL),)), "texcoord"),
        (drawn(attributes=(AttributeCorners(AttributeKind.COLOR, LEVEL),) * 2), "color twice"),
        (drawn(attributes=(AttributeCorners(AttributeKind.FOGCOORD, INFINITE),)), "not finite"),
        (Repeat(-1, ()), "a Repeat of -1 iterations"),
        (Repeat(1, (Repeat(1, ()),)), "a Repeat contains a Repeat"),
        (given_local(Table((1.0,))), "outside of a Repeat"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_step(step: Any, words: str) -> None:
    refused(raw(step), words)


@pytest.mark.parametrize(
    ("pass_", "words"),
    [
        (given_local(Table((1.0, 2.0))), ("a Table of 2 values in a Repeat of 3", "give one")),
        (given_local(Affine(NAN, 1.0)), ("base=nan", "finite")),
        (moved(0, 0, Table((1, 5, 1)), 1), ("width=5", "in iteration 1", "4 by 3", "inside")),
        (moved(0, Affine(0, -1), 4, 1), ("y=-2", "in iteration 2")),
        (drawn(texcoords=(level(Table((1.0, NAN, 1.0))),)), ("set 0", "not finite")),
        (CopyPass("U", MovingRect(0, 0, Affine(1, 1), 1), "T",
                  MovingRect(0, 0, Affine(3, -1), 1)), ("changes size",)),
    ],
)  # fmt: skip
def test_what_varies_is_right_in_every_iteration(pass_: Pass, words: tuple[str, ...]) -> None:
    refused(raw(Repeat(3, (pass_,))), *words)


@pytest.mark.parametrize("step", [ClearPass("N"), CopyPass("U", WHOLE, "N", WHOLE), both("T", "N")])
def test_what_has_been_written_may_be_read(step: Step) -> None:
    load = Transfer("A", Region(0, 0, 3, 4), "N", WHOLE, Packing(((0, 0),) * 4))
    validate(replace(raw(looks("N")), operands=(Matrix("A", 3, 4),), inputs=(load,)))
    validate(raw(Repeat(2, (step, looks("N")))))
    refused(raw(Repeat(0, (step,)), looks("N")), "texture N is bound before")


KERNEL = """#version 430 core
layout(local_size_x = 1) in;
uniform int n;
uniform uint u;
uniform bool b;
layout(std430, binding = 0) buffer buffer_R { float R[]; };
void main() { if (b && int(gl_GlobalInvocationID.x) < n && u > 0u) R[0] = 1.0; }
"""


@pytest.mark.parametrize(
    ("given_values", "across", "words"),
    [
        ({}, Table((1, 0, 1)), "0 by 1 work groups"),
        ({"n": Table((1, 2.5, 3))}, 1, "is 2.5"),
        ({"n": Table((0, -(2**31) - 1, 0))}, 1, "uniform n of the dispatch of k"),
        ({"n": NAN}, 1, "uniform n of"),
        ({"u": -1}, 1, "uniform u of"),
        ({"b": 2.0}, 1, "uniform b of"),
        ({}, Affine(3, -1), None),
        ({"n": Table((-(2**31), 2.0, 3)), "u": 2**32 - 1, "b": Table((True, False, 0))}, 1, None),
    ],
)
def test_dispatches_vary_by_what_their_kernel_takes(
    given_values: dict[str, Number], across: Integer, words: str | None
) -> None:
    values = uniforms(**{"n": 1, "u": 1, "b": True, **given_values})
    pass_ = ComputePass(parse_kernel(KERNEL, "k"), bindings("R"), values, (across, 1))
    plan = replace(raw(Repeat(3, (pass_,))), textures=(buffer("R", 1, 1, zero=True),))
    if words:
        refused(plan, words)
    else:
        validate(plan)


# Textures, matrices and transfers ----------------------------------------------------------------


def shaped(kind: TextureKind, width: int, height: int, depth: int = 1) -> Texture:
    return Texture("V", kind, Extent(width, height, depth), RGBA32F, ONES)


def with_texture(step: Step, *others: Texture) -> Plan:
    plan = raw(step)
    return replace(plan, textures=(*plan.textures, *others))


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (texture("U", 1, 1, R32F), "share a name"),
        (texture("E", 4, 0, R32F), "texture E is empty"),
        (texture("E", -1, 3, R32F), "texture E is empty"),
        (shaped(TextureKind.CUBE, 4, 4, 5), "CUBE texture V is 4×4×5 texels; make it 4×4×6"),
        (shaped(TextureKind.CUBE, 4, 3, 6), "CUBE texture V is 4×3×6 texels; make it 4×4×6"),
        (shaped(TextureKind.T1D, 4, 2), "1D texture V is 4×2×1 texels; make it 4×1×1"),
        (shaped(TextureKind.RECT, 4, 3, 6), "RECT texture V is 4×3×6 texels; make it 4×3×1"),
        (shaped(TextureKind.T3D, 4, 3, 0), "texture V is empty"),
    ],
)
def test_extents_are_those_of_the_kind(odd: Texture, words: str) -> None:
    refused(with_texture(ClearPass("T"), odd), words)


@pytest.mark.parametrize(
    "other",
    [
        shaped(TextureKind.T1D, 4, 1),
        shaped(TextureKind.T3D, 4, 3, 2),
        shaped(TextureKind.CUBE, 4, 4, 6),
    ],
    ids=lambda other: other.kind.value,
)
def test_passes_draw_into_planes(other: Texture) -> None:
    back, forth = (CopyPass(a, WHOLE, b, WHOLE) for a, b in (("T", "V"), ("V", "T")))
    for step in (drawn(targets=("V",), rect=CORNER), back, forth):
        refused(with_texture(step, other), f"V, which is a {other.kind.value} texture")
    text = f"TEX result.color, fragment.texcoord[0], texture[3], {other.kind.value};"
    validate(with_texture(drawn(text, bindings=(Binding(3, "V"),)), other))
    store = buffer("B", 1, 1, zero=True)
    refused(with_texture(drawn(targets=("B",), rect=CORNER), store), "B, which is a")
    refused(with_texture(drawn(bindings=(Binding(0, "B"),)), store), "binds B, which is a buffer")


@pytest.mark.parametrize("shape", [None, (12,), (1, 3, 4)])
def test_callers_give_a_matrix_in_any_shape_of_its_elements(shape: tuple[int, ...] | None) -> None:
    """Elements in row-major order, whatever the shape; results have rows and columns."""
    matrix = Matrix("M", 3, 4, shape)
    one = {"texture": "R", "packing": ONE_PER_TEXEL}
    plan = replace(with_transfer(UPLOAD, **one), operands=(matrix,),
                   results=(Matrix("N", 3, 4, shape),),
                   outputs=with_transfer(READ_BACK, matrix="N", **one).outputs)  # fmt: skip
    values = np.arange(12, dtype=np.float32)
    for given_shape in ((3, 4), matrix.array_shape):
        found = find_executor("numpy").run(plan, {"M": values.reshape(given_shape)}).outputs["N"]
        np.testing.assert_array_equal(found, values.reshape(3, 4))
    wanted = {None: "3×4", (12,): "a vector of 12"}.get(shape, "1×3×4")
    with pytest.raises(InputError, match=f"operand M is a vector of 4, but .* needs {wanted}$"):
        find_executor("numpy").run(plan, {"M": values[:4]})


@pytest.mark.parametrize(
    ("matrices", "problem"),
    [
        ((Matrix("M", 3, 4, (13,)),), "M has 3×4 elements, but callers give or get a vector of 13"),
        ((Matrix("M", 3, 4, ()),), "a single number"),
        ((Matrix("M", 3, 4, (-3, -4)),), "matrix M is -3×-4"),
        ((Matrix("M", -1, 4),), "matrix M is -1×4"),
        ((Matrix("M", 1, 1), Matrix("M", 2, 2)), "share a name, M"),
    ],
)
def test_matrices_have_their_elements_and_names(matrices: tuple[Matrix, ...], problem: str) -> None:
    refused(replace(raw(), operands=matrices), problem)
    refused(replace(raw(), results=matrices), problem)


UPLOAD, READ_BACK = ("operands", "inputs"), ("results", "outputs")


def with_transfer(way: tuple[str, str], **more: Any) -> Plan:
    fields = {"matrix": "M", "region": Region(0, 0, 3, 4), "texture": "T", "rect": WHOLE,
              "packing": Packing(((0, 0),) * 4)}  # fmt: skip
    matrices, transfers = way
    parts: dict[str, Any] = {
        matrices: (Matrix("M", 3, 4),), transfers: (Transfer(**{**fields, **more}),)
    }  # fmt: skip
    return replace(raw(), **parts)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"matrix": "Q"}, "Q; the plan has M"),
        ({"texture": "Q"}, "there is no texture Q"),
        ({"rect": Rect(1, 0, 4, 3)}, "4 by 3"),
        ({"packing": ONE_PER_TEXEL}, "1 channels"),
        ({"region": Region(1, 0, 3, 4)}, "outside matrix M"),
        ({"region": Region(0, -1, 2, 2)}, "outside matrix M"),
        ({"region": Region(0, 2, 3, -1)}, "outside matrix M"),
        ({"packing": Packing(((0, 0), (0, 0), (0, 0), (0, -1)))}, "matrix M is packed by"),
        ({"packing": Packing(((0, 0),) * 4, row_step=0)}, "at least 1"),
        ({"packing": Packing(((0, 0),) * 4, column_step=-1)}, "at least 1"),
    ],
)
def test_transfers_fit_what_they_connect(more: dict[str, Any], words: str) -> None:
    for way in (UPLOAD, READ_BACK):
        refused(with_transfer(way, **more), words)
        validate(with_transfer(way))
    refused(with_transfer(READ_BACK, texture="N"), "texture N is read back before")


def test_an_error_names_its_place_as_plan_json_has_it() -> None:
    good, bad = drawn(), drawn(targets=("Z",))
    for broken, place in (
        (raw(good, Repeat(2, (good, bad))), "steps[1].body[1]"),
        (raw(good, bad), "steps[1]"),
        (with_transfer(UPLOAD, rect=Rect(9, 9, 1, 1)), "inputs[0]"),
        (replace(raw(), textures=(texture("T", 1, 1, R32F),) * 2), "textures[1]"),
    ):
        with pytest.raises(PlanError) as raised:
            validate(broken)
        assert raised.value.place == place
        assert str(raised.value) == f"plan odd: {raised.value.problem}"


# Packing -----------------------------------------------------------------------------------------


def packings() -> st.SearchStrategy[Packing]:
    """One element a texel, quadrants, 2×2 blocks, and runs along a column and along a row."""
    four = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda size: quadrants(*size))
    blocks = Packing(((0, 0), (0, 1), (1, 0), (1, 1)), row_step=2, column_step=2)
    down = Packing(((0, 0), (1, 0), (2, 0), (3, 0)), row_step=4)
    along = Packing(((0, 0), (0, 1), (0, 2)), column_step=3)
    return four | st.sampled_from((ONE_PER_TEXEL, blocks, down, along))


@given(packings(), st.data())
def test_packing_and_unpacking_element_by_element(packing: Packing, data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    row, column = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    width, height = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    matrix = np.arange(1, (row + rows + 2) * (column + columns + 1) + 1, dtype=np.float32)
    matrix = matrix.reshape(row + rows + 2, column + columns + 1)
    region = Region(row, column, rows, columns)
    texels = np.zeros((height, width, len(packing.offsets)), np.float32)
    pack(matrix, texels, region, packing)
    assert texels.shape == (height, width, len(packing.offsets))
    blank = np.full_like(matrix, -1.0)
    expected = blank.copy()
    for i in range(height):
        for j in range(width):
            for c, (first_row, first_column) in enumerate(packing.offsets):
                r, s = first_row + packing.row_step * i, first_column + packing.column_step * j
                inside = r < rows and s < columns
                assert texels[i, j, c] == (matrix[row + r, column + s] if inside else 0)
                if inside:
                    expected[row + r, column + s] = matrix[row + r, column + s]
    unpack(texels, blank, region, packing)
    assert (blank == expected).all()
