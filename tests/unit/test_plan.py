from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest
from buffers import bindings, buffer
from drawing import (
    assert_same_bits,
    execute,
    fragment_texcoords,
    program,
    show,
    texture,
)
from hypothesis import given
from hypothesis import strategies as st
from products import METHODS_AND_WAYS, options_of, random_operands

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Shape
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.interp.numeric import decode, encode, pack, unpack
from gpgpu_legacy.isa.ir import AttributeKind
from gpgpu_legacy.kernel.parser import parse_kernel
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.expand import execution_order, expand, passes
from gpgpu_legacy.plan.formats import FORMATS, R32F, RGBA16F, RGBA32F, UNORM8, Numeric
from gpgpu_legacy.plan.interpolation import Plane, is_planar, plane, triangle_planes
from gpgpu_legacy.plan.numbers import Affine, Integer, Number, Table
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    Blend,
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
    UniformValue,
)
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Extent,
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
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.registry import find_executor

WHOLE = Rect(0, 0, 4, 3)
ONES = (1.0, 1.0, 1.0, 1.0)
LEVEL = (ONES, ONES, ONES, ONES)
CONSTANT = program("MOV result.color, 1;")
COPIER = program("TEX result.color, fragment.texcoord[0], texture[0], RECT;")


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


def test_what_does_not_change_is_the_same_object_each_time() -> None:
    still = FragmentPass(CONSTANT, (), ("T",), WHOLE, (level(0.5),))
    result = list(passes(raw(Repeat(4, (still,)))))
    assert len(result) == 4
    assert all(pass_ is still for pass_ in result)


def test_a_repeat_of_nothing_is_nothing() -> None:
    assert list(passes(raw(Repeat(0, (ClearPass("T"),))))) == []


def test_only_one_corner_may_move() -> None:
    four = ((0.0, 0.0, 0.0, 1.0), (Affine(4.0, 1.0), 0.0, 0.0, 1.0)) * 2
    pass_ = FragmentPass(CONSTANT, (), ("T",), WHOLE, (Texcoords(0, four),))
    last = list(passes(raw(Repeat(3, (pass_,)))))[-1]
    assert isinstance(last, FragmentPass)
    assert last.texcoords[0].corners[1][0] == 6.0
    assert last.texcoords[0].corners[2][0] == 0.0


@pytest.mark.parametrize(("method", "way"), METHODS_AND_WAYS)
def test_an_expanded_plan_counts_and_runs_the_same(method: Method, way: Accumulate | None) -> None:
    plan = method.plan(Shape(5, 19, 7), options_of(method, way, block=2, largest_texture=8))
    written_out = expand(plan)
    assert not any(isinstance(step, Repeat) for step in written_out.steps)
    validate(written_out)
    assert count_plan(written_out) == count_plan(plan)
    operands, numpy = random_operands(plan), find_executor("numpy")
    assert_same_bits(
        numpy.run(written_out, operands).outputs["C"], numpy.run(plan, operands).outputs["C"]
    )


def test_the_programs_of_a_plan_are_listed_once_each() -> None:
    one = FragmentPass(CONSTANT, (), ("T",), WHOLE)
    other = FragmentPass(program("MOV result.color, 2;"), (), ("T",), WHOLE)
    same_text = FragmentPass(program("MOV result.color, 1;"), (), ("T",), WHOLE)
    result = raw(one, Repeat(2, (other, one)), same_text).programs()
    assert result == (one.program, other.program)


def test_a_texture_is_found_by_its_name() -> None:
    assert raw().texture("U").name == "U"
    with pytest.raises(InputError, match="no texture 'V'; its textures are"):
        raw().texture("V")


def test_a_plane_goes_through_its_corners() -> None:
    """Corners (0, 0), (W, 0), (W, H), (0, H) of a 4×2 rectangle."""
    four = ((1.0, 0.0, 5.0, 2.0), (9.0, 0.0, 3.0, 2.0), (9.0, 8.0, 2.0, 2.0), (1.0, 8.0, 4.0, 2.0))
    expected = Plane((1.0, 0.0, 5.0, 2.0), (2.0, 0.0, -0.5, 0.0), (0.0, 4.0, -0.5, 0.0))
    assert plane(four, Rect(3, 3, 4, 2)) == expected


# Opposite corners add up to the same where the values lie in a plane.
BENT = ((0.0, 1.0, 0.0, 1.0), (4.0, 1.0, 8.0, 1.0), (4.0, 1.0, 0.0, 5.0), (0.0, 1.0, 0.0, 1.0))


def test_values_that_are_not_planar_have_two_planes() -> None:
    """Over 4×2, from the three corners of each triangle."""
    assert not is_planar(BENT)
    lower, upper = triangle_planes(BENT, Rect(0, 0, 4, 2))
    assert lower == Plane((0.0, 1.0, 0.0, 1.0), (1.0, 0.0, 2.0, 0.0), (0.0, 0.0, -4.0, 2.0))
    assert upper == Plane((0.0, 1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 0.0))


# Validation --------------------------------------------------------------------------------------


def raw(*steps: Step) -> Plan:
    """A plan of these steps on two textures of 4×3 that begin as zeros; nothing is checked."""
    textures = (texture("T", 4, 3, RGBA32F), texture("U", 4, 3, RGBA32F))
    return Plan("odd", (), (), textures, (), steps, ())


def drawn(text: str = "MOV result.color, 1;", **more: object) -> FragmentPass:
    given_fields: dict[str, object] = {"bindings": (), "targets": ("T",), "rect": WHOLE, **more}
    return FragmentPass(program(text), **given_fields)  # type: ignore[arg-type]


def refused(plan: Plan, *words: str) -> None:
    with pytest.raises(PlanError) as raised:
        validate(plan)
    message = str(raised.value)
    assert message.startswith("plan odd: ")
    assert "\n" not in message
    for word in words:
        assert word in message


LOOK = "TEX result.color, fragment.texcoord[0], texture[3], RECT;"
UNDEFINED = texture("N", 4, 3, RGBA32F, None)


def test_textures_have_names_of_their_own() -> None:
    plan = raw()
    refused(replace(plan, textures=(*plan.textures, texture("U", 1, 1, R32F))), "share a name")


@pytest.mark.parametrize("size", [(0, 3), (4, 0), (-1, 3)])
def test_textures_are_not_empty(size: tuple[int, int]) -> None:
    refused(replace(raw(), textures=(texture("E", *size, R32F),)), "texture E is empty")


@pytest.mark.parametrize(
    "step",
    [
        ClearPass("Z"),
        CopyPass("Z", WHOLE, "T", WHOLE),
        CopyPass("T", WHOLE, "Z", WHOLE),
        drawn(targets=("Z",)),
        drawn(LOOK, bindings=(Binding(3, "Z"),)),
    ],
    ids=["clear", "copied", "copied to", "drawn to", "bound"],
)
def test_steps_name_textures_that_there_are(step: Step) -> None:
    refused(raw(step), "there is no texture Z")


@pytest.mark.parametrize(
    "rect",
    [Rect(-1, 0, 2, 2), Rect(0, -1, 2, 2), Rect(1, 0, 4, 1), Rect(0, 1, 1, 3), Rect(0, 0, 0, 1),
     Rect(0, 0, 1, 0), Rect(4, 3, 1, 1), Rect(2, 2, -1, -1)],
)  # fmt: skip
@pytest.mark.parametrize(
    "step",
    [
        lambda rect: drawn(rect=rect),
        lambda rect: CopyPass("U", rect, "T", Rect(0, 0, rect.width, rect.height)),
        lambda rect: CopyPass("U", Rect(0, 0, rect.width, rect.height), "T", rect),
    ],
    ids=["drawn to", "copied from", "copied to"],
)
def test_rectangles_lie_in_their_textures(rect: Rect, step: Callable[[Rect], Step]) -> None:
    refused(raw(step(rect)), "4 by 3")


def test_what_is_bound_has_been_written() -> None:
    plan = raw(drawn(LOOK, bindings=(Binding(3, "N"),)))
    plan = replace(plan, textures=(*plan.textures, UNDEFINED))
    refused(plan, "texture N is bound before anything was written")
    validate(replace(plan, steps=(ClearPass("N"), *plan.steps)))
    validate(replace(plan, steps=(CopyPass("U", WHOLE, "N", WHOLE), *plan.steps)))
    validate(replace(plan, steps=(drawn(targets=("N",)), *plan.steps)))
    load = Input("A", Region(0, 0, 3, 4), "N", WHOLE, Packing(((0, 0),) * 4))
    validate(replace(plan, operands=(Matrix("A", 3, 4),), inputs=(load,)))


def test_what_is_copied_has_been_written() -> None:
    plan = raw(CopyPass("N", WHOLE, "T", WHOLE))
    refused(replace(plan, textures=(*plan.textures, UNDEFINED)), "texture N is copied before")


def test_what_is_blended_with_has_been_written() -> None:
    plan = raw(drawn(targets=("N",), blend=Blend.ADD))
    refused(replace(plan, textures=(*plan.textures, UNDEFINED)), "texture N is blended with before")


def test_what_is_read_back_has_been_written() -> None:
    out = Output("C", Region(0, 0, 3, 4), "N", WHOLE, Packing(((0, 0),) * 4))
    plan = replace(raw(), textures=(UNDEFINED,), results=(Matrix("C", 3, 4),), outputs=(out,))
    refused(plan, "texture N is read back before")


def test_nothing_is_defined_by_a_repeat_of_nothing() -> None:
    plan = raw(Repeat(0, (ClearPass("N"),)), CopyPass("N", WHOLE, "T", WHOLE))
    refused(replace(plan, textures=(*plan.textures, UNDEFINED)), "texture N is copied before")


def test_a_pass_defines_what_the_next_one_of_its_body_reads() -> None:
    body = (drawn(targets=("N",)), CopyPass("N", WHOLE, "T", WHOLE))
    plan = raw(Repeat(2, body))
    validate(replace(plan, textures=(*plan.textures, UNDEFINED)))
    plan = raw(Repeat(2, body[::-1]))
    refused(replace(plan, textures=(*plan.textures, UNDEFINED)), "texture N is copied before")


def test_a_repeat_does_not_count_backwards() -> None:
    refused(raw(Repeat(-1, ())), "-1 iterations")


def test_every_unit_that_a_program_reads_is_bound() -> None:
    refused(raw(drawn(LOOK, bindings=(Binding(2, "U"),))), "texture[3]", "nothing is bound")


def test_a_unit_is_bound_once() -> None:
    twice = (Binding(3, "T"), Binding(3, "U"))  # the first of them to the pass's own target
    refused(raw(drawn(LOOK, bindings=twice)), "texture[3]")


def test_a_texture_is_read_as_what_it_is() -> None:
    text = LOOK.replace("RECT", "2D")
    refused(raw(drawn(text, bindings=(Binding(3, "U"),))), "texture[3] as 2D", "U is RECT")


def test_no_pass_reads_what_it_writes() -> None:
    refused(raw(drawn(LOOK, bindings=(Binding(3, "T"),))), "texture T is read and written")


def test_corner_values_need_not_lie_in_a_plane() -> None:
    four = ((0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 1.0), (0.5, 0.0, 0.0, 1.0))
    validate(raw(drawn(texcoords=(Texcoords(6, four),))))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_corner_values_are_finite(value: float) -> None:
    four = ((value, 0.0, 0.0, 1.0),) + ((1.0, 0.0, 0.0, 1.0),) * 3
    refused(raw(drawn(texcoords=(Texcoords(6, four),))), "set 6")


def test_corner_values_may_be_rounded() -> None:
    third = float(np.float32(1 / 3))
    four = ((0.0, 0.0, 0.0, 1.0), (third, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 1.0),
            (2 / 3, 0.0, 0.0, 1.0))  # fmt: skip
    validate(raw(drawn(texcoords=(Texcoords(0, four),))))


def test_the_last_iteration_is_checked_too() -> None:
    four = ((0.0, 0.0, 0.0, 1.0),) * 3 + ((Affine(0.0, 1e308), 0.0, 0.0, 1.0),)
    moving = drawn(texcoords=(Texcoords(1, four),))
    validate(raw(Repeat(2, (moving,))))
    refused(raw(Repeat(3, (moving,))), "set 1", "not finite")


# What varies in a Repeat --------------------------------------------------------------------------

NAN, INFINITY = float("nan"), float("inf")


def moved(*sides: object) -> FragmentPass:
    return drawn(rect=MovingRect(*sides))  # type: ignore[arg-type]


def given_local(number: object) -> FragmentPass:
    return drawn(locals=(ParameterValue(0, (number, 0.0, 0.0, 0.0)),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pass_", "words"),
    [
        (given_local(Table((1.0, 2.0))), ("a Table of 2 values in a Repeat of 3", "give one")),
        (given_local(Table(())), ("a Table of 0 values in a Repeat of 3",)),
        (given_local(Affine(NAN, 1.0)), ("base=nan", "finite")),
        (given_local(Affine(0.0, INFINITY)), ("step=inf", "finite")),
        (moved(0, 0, Table((1, 2)), 1), ("a Table of 2 values",)),
        (moved(0, 0, Table((1, 2.5, 3)), 1), ("is 2.5", "give integers")),
        (moved(0, 0, Table((1, NAN, 3)), 1), ("is nan", "give integers")),
        (moved(Affine(0, 0.5), 0, 1, 1), ("is 0.5", "give integers")),
        (moved(0, 0, 1.5, Affine(1, 1)), ("1.5", "give integers")),
        (moved(0, 0, Table((1, 5, 1)), 1), ("width=5", "in iteration 1", "4 by 3", "inside")),
        (moved(0, 0, Table((1, 2, 0)), 1), ("width=0", "in iteration 2", "at least one texel")),
        (moved(0, 0, Table((-1, 2, 3)), 1), ("width=-1", "in iteration 0")),
        (moved(Table((0, 1, 2)), 0, 3, 1), ("x=2", "in iteration 2")),
        (moved(0, Affine(0, 1), 4, 2), ("y=2", "in iteration 2")),
        (moved(0, Affine(0, -1), 4, 1), ("y=-2", "in iteration 2")),
        (moved(0, 0, 4, Affine(2, -1)), ("height=0", "in iteration 2")),
        (drawn(rect=Rect(Affine(0, 1), 0, 1, 1)), ("Rect whose numbers change", "MovingRect")),  # type: ignore[arg-type]
        (drawn(texcoords=(level(Table((1.0, NAN, 1.0))),)), ("set 0", "not finite")),
        (drawn(texcoords=(level(Table((1.0, 1.0, INFINITY))),)), ("set 0", "not finite")),
        (
            CopyPass("U", MovingRect(0, 0, Table((1, 2, 3)), 1), "T", Rect(0, 0, 3, 1)),
            ("changes size",),
        ),
        (
            CopyPass("U", MovingRect(0, 0, Affine(1, 1), 1), "T",
                     MovingRect(0, 0, Affine(3, -1), 1)),
            ("changes size",),
        ),
        (ClearPass("T", (Table((1.0,)), 0.0, 0.0, 0.0)), ("the clear of T", "a Table of 1 values")),
        (Repeat(1, ()), ("a Repeat contains a Repeat",)),
    ],
)  # fmt: skip
def test_what_varies_is_right_in_every_iteration(pass_: Pass, words: tuple[str, ...]) -> None:
    refused(raw(Repeat(3, (pass_,))), *words)


@pytest.mark.parametrize(
    "pass_",
    [
        given_local(Table((1, NAN, -INFINITY))),  # parameters may be anything, as constants may
        given_local(np.float32(0.1)),
        moved(Table((0, 1, 2)), Affine(2, -1), Table((4, 3.0, 1)), np.int64(1)),
        moved(Affine(0.0, 1.0), 0, Affine(4.0, -1.0), 3),
        moved(0, 0, 4, 3),
        drawn(texcoords=(level(Table((1.0, -1e30, 7))),)),
        CopyPass("U", MovingRect(0, 0, Table((1, 2, 3)), 1), "T",
                 MovingRect(1, Affine(0, 1), Affine(1, 1), 1)),
        ClearPass("T", (Table((1.0, 2.0, NAN)), 0.0, 0.0, 0.0)),
    ],
)  # fmt: skip
def test_what_may_vary(pass_: Pass) -> None:
    plan = raw(Repeat(3, (pass_,)))
    validate(plan)
    written_out = expand(plan)
    validate(written_out)
    assert not any(isinstance(p.rect, MovingRect) for p in written_out.steps
                   if isinstance(p, FragmentPass))  # fmt: skip


@pytest.mark.parametrize(
    "pass_",
    [
        given_local(Table((1.0,))),
        given_local(Affine(1.0, 0.0)),
        moved(0, 0, 4, 3),
        ClearPass("T", (Affine(0.0, 1.0), 0.0, 0.0, 0.0)),
        CopyPass("U", MovingRect(0, 0, 1, 1), "T", Rect(0, 0, 1, 1)),
    ],
)
def test_nothing_varies_outside_of_a_repeat(pass_: Pass) -> None:
    refused(raw(pass_), "outside of a Repeat", "repeat the pass")


def test_iterations_are_counted_from_0() -> None:
    refused(raw(Repeat(-1, ())), "a Repeat of -1 iterations")


def test_a_repeat_of_nothing_has_tables_of_nothing() -> None:
    validate(raw(Repeat(0, (moved(Table(()), 0, 1, 1),))))
    refused(raw(Repeat(0, (moved(Table((1,)), 0, 1, 1),))), "1 values in a Repeat of 0")


KERNEL = """#version 430 core
layout(local_size_x = 1, local_size_y = 1, local_size_z = 1) in;
uniform int n;
layout(std430, binding = 0) buffer buffer_R { float R[]; };
void main() { if (int(gl_GlobalInvocationID.x) < n) R[0] = 1.0; }
"""


@pytest.mark.parametrize(
    ("n", "across", "words"),
    [
        (Table((1, 2, 3)), Table((1, 0, 1)), ("0 by 1 work groups",)),
        (Table((1, 2, 3)), Affine(2, -1), ("0 by 1 work groups",)),
        (Table((1, 2, 3)), Table((1, 1.5, 1)), ("is 1.5", "give integers")),
        (Table((1, 2)), 1, ("uniform n", "a Table of 2 values")),
        (Table((1, 2.5, 3)), 1, ("uniform n", "is 2.5")),
        (0.5, 1, ("uniform n", "is 0.5")),
    ],
)
def test_dispatches_vary_by_integers(n: Number, across: Integer, words: tuple[str, ...]) -> None:
    kernel = parse_kernel(KERNEL, "small.comp")
    pass_ = ComputePass(kernel, bindings("R"), (UniformValue("n", n),), (across, 1))
    odd = replace(raw(Repeat(3, (pass_,))), textures=(buffer("R", 1, 1, zero=True),))
    refused(odd, *words)
    right = replace(
        pass_, uniforms=(UniformValue("n", Table((1, 2.0, 3))),), groups=(Affine(3, -1), 1)
    )
    validate(replace(odd, steps=(Repeat(3, (right,)),)))


def test_long_repeats_are_checked_in_no_time() -> None:
    """Affine ones at their ends; Tables as fast as they are read."""
    count = 100_000
    four = ((Affine(0.0, 1.0), 0.0, 0.0, 1.0),) * 4
    affine = replace(given_local(Affine(0.0, 1.0)), texcoords=(Texcoords(0, four),))
    table = Table(tuple(map(float, range(count))))
    rect = MovingRect(Table((0, 1) * (count // 2)), 0, Table((4, 3) * (count // 2)), 1)
    tabled = replace(given_local(table), rect=rect, texcoords=(level(table),))
    for pass_, most_s in ((affine, 0.02), (tabled, 1.0)):
        started = perf_counter()
        validate(raw(Repeat(count, (pass_,))))
        assert perf_counter() - started < most_s


@pytest.mark.parametrize(
    "read", ["color", "color.secondary", "fogcoord", "texcoord[3]", "position"]
)
def test_programs_may_read_any_attribute(read: str) -> None:
    validate(raw(drawn(f"MOV result.color, fragment.{read};")))


def test_depth_may_be_written_and_goes_nowhere() -> None:
    plan = raw(drawn("MOV result.depth.z, 9;", targets=("T",)))
    result = find_executor("numpy").run(replace(plan, **all_of("T")), {})
    assert (result.outputs["C"] == 0).all()


def all_of(name: str) -> dict[str, object]:
    """The fields of a plan that shows all of a texture of 4×3."""
    packing = Packing(tuple((3 * c, 0) for c in range(4)))
    return {
        "results": (Matrix("C", 12, 4),),
        "outputs": (Output("C", Region(0, 0, 12, 4), name, WHOLE, packing),),
    }


@pytest.mark.parametrize("kind", [AttributeKind.TEXCOORD, AttributeKind.POSITION])
def test_only_colours_and_the_fog_coordinate_are_attributes_of_a_pass(kind: AttributeKind) -> None:
    refused(raw(drawn(attributes=(AttributeCorners(kind, LEVEL),))), f"fragment.{kind.value}")


def test_an_attribute_is_finite_and_given_once() -> None:
    color = AttributeCorners(AttributeKind.COLOR, LEVEL)
    validate(raw(drawn(attributes=(color, AttributeCorners(AttributeKind.FOGCOORD, LEVEL)))))
    refused(raw(drawn(attributes=(color, color))), "gives fragment.color twice")
    refused(raw(drawn(texcoords=(level(1.0), level(2.0)))), "gives fragment.texcoord[0] twice")
    infinite = ((float("inf"), 0.0, 0.0, 1.0), *LEVEL[1:])
    odd = AttributeCorners(AttributeKind.FOGCOORD, infinite)
    refused(raw(drawn(attributes=(odd,))), "fragment.fogcoord is not finite")


# Several targets, and textures that are no rectangles --------------------------------------------

BOTH = "OPTION ARB_draw_buffers; MOV result.color, 1; MOV result.color[1], 2;"


def both(**more: object) -> FragmentPass:
    text = assemble(f"!!ARBfp1.0 {BOTH} END", name="both.fp")
    return replace(drawn(), program=text, **more)


def with_texture(step: Step, *others: Texture) -> Plan:
    plan = raw(step)
    return replace(plan, textures=(*plan.textures, *others))


def test_every_colour_has_a_target() -> None:
    validate(raw(both(targets=("T", "U"))))
    refused(raw(both()), "writes result.color[1]", "1 target;")
    validate(raw(drawn(targets=("T", "U"))))
    refused(raw(drawn(targets=())), "a pass of test.fp has no target")


def test_targets_are_different_ones_of_one_size_and_kind() -> None:
    refused(raw(both(targets=("T", "T"))), "name each target once")
    refused(raw(both(targets=("T", "V"))), "there is no texture V")
    wide = texture("V", 5, 3, RGBA32F)
    refused(with_texture(both(targets=("T", "V")), wide), "T and V", "size")
    flat = replace(texture("V", 4, 3, RGBA32F), kind=TextureKind.T2D)
    refused(with_texture(both(targets=("T", "V")), flat), "T and V", "kind")
    validate(with_texture(both(targets=("T", "V")), texture("V", 4, 3, R32F)))


def test_no_target_is_looked_up_or_blended_with_what_was_never_written() -> None:
    look = drawn(LOOK, bindings=(Binding(3, "U"),), targets=("T", "U"))
    refused(raw(look), "texture U is read and written")
    refused(
        with_texture(both(targets=("T", "N"), blend=Blend.ADD), UNDEFINED),
        "texture N is blended with",
    )
    after = drawn("TEX result.color, fragment.texcoord[0], texture[3], RECT;",
                  bindings=(Binding(3, "N"),))  # fmt: skip
    plan = with_texture(both(targets=("T", "N")), UNDEFINED)
    validate(replace(plan, steps=(*plan.steps, after)))


def shaped(kind: TextureKind, width: int, height: int, depth: int = 1) -> Texture:
    return Texture("V", kind, Extent(width, height, depth), RGBA32F, ONES)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (
            shaped(TextureKind.CUBE, 4, 4, 5),
            "cube map V has 5 faces of 4×4 texels",
        ),
        (shaped(TextureKind.CUBE, 4, 3, 6), "cube map V has 6 faces of 4×3"),
        (shaped(TextureKind.T1D, 4, 2), "1D texture V has a height of 2"),
        (shaped(TextureKind.T2D, 4, 3, 2), "2D texture V has 2 layers"),
        (shaped(TextureKind.RECT, 4, 3, 6), "RECT texture V has 6 layers"),
        (shaped(TextureKind.T3D, 4, 3, 0), "texture V is empty"),
    ],
)
def test_extents_are_those_of_the_kind(odd: Texture, words: str) -> None:
    refused(with_texture(ClearPass("T"), odd), words)


@pytest.mark.parametrize(
    ("kind", "extent"),
    [
        (TextureKind.T1D, (4, 1, 1)), (TextureKind.T3D, (4, 3, 2)), (TextureKind.CUBE, (4, 4, 6)),
        (TextureKind.BUFFER, (4, 3, 1)),
    ],
)  # fmt: skip
def test_passes_draw_into_planes(kind: TextureKind, extent: tuple[int, int, int]) -> None:
    other = shaped(kind, *extent)
    refused(with_texture(drawn(targets=("V",), rect=Rect(0, 0, 1, 1)), other), "V, which is a")
    if kind is not TextureKind.BUFFER:
        back, forth = (CopyPass(a, WHOLE, b, WHOLE) for a, b in (("T", "V"), ("V", "T")))
        refused(with_texture(back, other), f"V, which is a {kind.value} texture")
        refused(with_texture(forth, other), f"V, which is a {kind.value} texture")
        text = f"TEX result.color, fragment.texcoord[0], texture[3], {kind.value};"
        validate(with_texture(drawn(text, bindings=(Binding(3, "V"),)), other))


def test_layers_are_transferred_one_above_the_other() -> None:
    cube, load = shaped(TextureKind.T3D, 4, 3, 2), transfer(texture="V", rect=Rect(0, 0, 4, 6))
    plan = with_texture(ClearPass("T"), cube)
    region = Region(0, 0, 6, 4)
    plan = replace(plan, operands=(Matrix("M", 6, 4),))
    validate(replace(plan, inputs=(Input(**{**load, "region": region}),)))  # type: ignore[arg-type]
    tall = Input(**{**load, "rect": Rect(0, 0, 4, 7)})  # type: ignore[arg-type]
    refused(replace(plan, inputs=(tall,)), "4 by 6")


@pytest.mark.parametrize("shape", [None, (3, 4), (12,), (4, 3), (1, 3, 4), (12, 1, 1)])
def test_callers_give_a_matrix_in_any_shape_of_its_elements(shape: tuple[int, ...] | None) -> None:
    """Elements in row-major order, whatever the shape; results have rows and columns."""
    matrix = Matrix("M", 3, 4, shape)
    assert matrix.array_shape == (shape or (3, 4))
    both = transfer(texture="V", packing=ONE_PER_TEXEL)
    plan = replace(with_texture(ClearPass("T"), texture("V", 4, 3, R32F)), operands=(matrix,),
                   results=(replace(matrix, name="N"),), inputs=(Input(**both),),
                   outputs=(Output(**{**both, "matrix": "N"}),))  # fmt: skip
    values = np.arange(12, dtype=np.float32)
    for given_shape in ((3, 4), matrix.array_shape):
        found = find_executor("numpy").run(plan, {"M": values.reshape(given_shape)}).outputs["N"]
        np.testing.assert_array_equal(found, values.reshape(3, 4))
    wanted = {None: "3×4", (12,): "a vector of 12"}.get(shape, "×".join(map(str, shape or ())))
    with pytest.raises(InputError, match=f"operand M is a vector of 4, but .* needs {wanted}$"):
        find_executor("numpy").run(plan, {"M": values[:4]})


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        (Matrix("M", 3, 4, (13,)), "M has 3×4 elements, but callers give or get a vector of 13"),
        (Matrix("M", 3, 4, ()), "a single number"),
        (Matrix("M", 3, 4, (-3, -4)), "matrix M is -3×-4"),
        (Matrix("M", -1, 4), "matrix M is -1×4"),
    ],
)
def test_the_shape_of_a_matrix_has_all_its_elements(matrix: Matrix, problem: str) -> None:
    refused(replace(raw(), operands=(matrix,)), problem)
    refused(replace(raw(), results=(matrix,)), problem)


@pytest.mark.parametrize("axis", ["wrap_s", "wrap_t"])
def test_rectangle_textures_do_not_repeat(axis: str) -> None:
    def bound(wrap: Wrap) -> Plan:
        sampler = Sampler(**{axis: wrap})  # type: ignore[arg-type]
        return raw(drawn(LOOK, bindings=(Binding(3, "U", sampler),)))

    refused(bound(Wrap.REPEAT), "RECT texture U is bound with wrap repeat", "clamp")
    validate(bound(Wrap.CLAMP))


def test_a_copy_keeps_its_size() -> None:
    refused(raw(CopyPass("U", WHOLE, "T", Rect(0, 0, 3, 3))), "changes size or format")


def test_a_copy_keeps_its_format() -> None:
    plan = raw(CopyPass("U", WHOLE, "R", WHOLE))
    refused(
        replace(plan, textures=(*plan.textures, texture("R", 4, 3, R32F))), "changes size or format"
    )


def test_nothing_is_copied_to_itself() -> None:
    refused(raw(CopyPass("T", Rect(0, 0, 1, 1), "T", Rect(1, 1, 1, 1))), "copied to itself")


def transfer(**more: object) -> dict[str, object]:
    return {
        "matrix": "M",
        "region": Region(0, 0, 3, 4),
        "texture": "T",
        "rect": WHOLE,
        "packing": Packing(((0, 0),) * 4),
        **more,
    }


def with_transfer(kind: type[Input] | type[Output], **more: object) -> Plan:
    one_transfer = kind(**transfer(**more))  # type: ignore[arg-type]
    if isinstance(one_transfer, Input):
        return replace(raw(), operands=(Matrix("M", 3, 4),), inputs=(one_transfer,))
    return replace(raw(), results=(Matrix("M", 3, 4),), outputs=(one_transfer,))


@pytest.mark.parametrize("kind", [Input, Output])
def test_transfers_fit_what_they_connect(kind: type[Input] | type[Output]) -> None:
    validate(with_transfer(kind))
    odd = with_transfer(kind, matrix="Q")
    whose = "operand" if kind is Input else "result"
    refused(odd, f"there is no {whose} Q; the plan has M")
    refused(replace(odd, operands=odd.results, results=odd.operands), "the plan has none")
    refused(with_transfer(kind, texture="Q"), "there is no texture Q")
    refused(with_transfer(kind, rect=Rect(1, 0, 4, 3)), "the transfer of M", "4 by 3")
    refused(with_transfer(kind, packing=ONE_PER_TEXEL), "1 channels", "has 4")
    for region in (
        Region(1, 0, 3, 4),
        Region(0, 1, 3, 4),
        Region(-1, 0, 2, 2),
        Region(0, -1, 2, 2),
        Region(0, 2, 3, -1),
        Region(2, 0, -1, 4),
    ):
        refused(with_transfer(kind, region=region), "outside matrix M")
    for packing in (
        Packing(((0, 0), (0, 0), (0, 0), (0, -1))),
        Packing(((0, 0),) * 4, row_step=0),
        Packing(((0, 0),) * 4, column_step=-1),
    ):
        refused(with_transfer(kind, packing=packing), "matrix M is packed by", "at least 1")


def test_matrices_have_names_of_their_own() -> None:
    twice = (Matrix("M", 1, 1), Matrix("M", 2, 2))
    refused(replace(raw(), operands=twice), "two operands share a name, M")
    refused(replace(raw(), results=twice), "two results share a name, M")
    validate(replace(raw(), operands=twice[:1], results=twice[1:]))


@pytest.mark.parametrize(
    ("given_values", "problem"),
    [
        ({"bindings": (Binding(32, "U"),)}, "texture[32]; give indices from 0 to 31"),
        ({"bindings": (Binding(-1, "U"),)}, "texture[-1]"),
        ({"bindings": (Binding(1, "U"), Binding(1, "U"))}, "texture[1] twice"),
        ({"texcoords": (replace(level(1.0), set=8),)}, "fragment.texcoord[8]"),
        ({"locals": (ParameterValue(2048, LEVEL[0]),)}, "program.local[2048]"),
        ({"env": (ParameterValue(256, LEVEL[0]),)}, "program.env[256]"),
        ({"env": (ParameterValue(1, LEVEL[0]), ParameterValue(1, LEVEL[1]))}, "env[1] twice"),
        ({"state": (StateValue("state.nonsense", LEVEL[0]),)}, "state.nonsense"),
        ({"state": (StateValue("state.fog.color", LEVEL[0]),) * 2}, "state.fog.color twice"),
    ],
)
def test_values_have_a_place_of_their_own(given_values: dict[str, object], problem: str) -> None:
    """The places are those that the assembler knows (languages/arb/limits.py)."""
    refused(raw(drawn(**given_values)), "a pass gives " * ("nonsense" not in problem), problem)


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [(True, True), (0, True), (Table((True, False)), True), (2.0, False), (float("nan"), False),
     (Table((True,)), False), (Table((True, 2.0)), False), (Affine(0.0, 1.0), False)],
)  # fmt: skip
def test_a_bool_uniform_is_true_or_false(value: Number, is_valid: bool) -> None:
    text = """#version 430 core
        layout(local_size_x = 1) in;
        uniform bool b;
        void main() { float x = b ? 1.0 : 2.0; }"""
    pass_ = ComputePass(parse_kernel(text, "k"), (), (UniformValue("b", value),), (1, 1))
    if is_valid:
        validate(raw(Repeat(2, (pass_,))))
    else:
        refused(raw(Repeat(2, (pass_,))), "uniform b of")
    refused(raw(replace(pass_, uniforms=(UniformValue("b", True),) * 2)), "uniform of k: b twice")


@pytest.mark.parametrize(
    ("kind", "value", "is_valid"),
    [("int", -(2**31), True), ("int", 2**31, False), ("int", Table((0, -(2**31) - 1)), False),
     ("uint", 2**32 - 1, True), ("uint", -1, False), ("uint", Affine(2**32 - 2, 1), True),
     ("uint", Affine(2**32 - 1, 1), False), ("int", float("nan"), False)],
)  # fmt: skip
def test_integer_uniforms_have_32_bits(kind: str, value: Number, is_valid: bool) -> None:
    text = f"""#version 430 core
        layout(local_size_x = 1) in;
        uniform {kind} n;
        void main() {{ {kind} m = n; }}"""
    pass_ = ComputePass(parse_kernel(text, "k"), (), (UniformValue("n", value),), (1, 1))
    if is_valid:
        validate(raw(Repeat(2, (pass_,))))
    else:
        refused(raw(Repeat(2, (pass_,))), "uniform n of the dispatch of k")


def test_a_buffer_is_not_bound_to_a_program() -> None:
    one = with_texture(drawn(bindings=(Binding(0, "B"),)), buffer("B", 1, 1, zero=True))
    refused(one, "a pass binds B, which is a buffer")


def test_an_error_names_its_place_as_plan_json_has_it() -> None:
    good, bad = drawn(), drawn(targets=("Z",))
    plan = raw(good, Repeat(2, (good, bad)))
    for broken, place in (
        (plan, "steps[1].body[1]"),
        (raw(good, bad), "steps[1]"),
        (replace(raw(), textures=(texture("T", 1, 1, R32F), texture("E", 0, 1, R32F))),
         "textures[1]"),
        (with_transfer(Input, rect=Rect(9, 9, 1, 1)), "inputs[0]"),
        (replace(raw(), textures=(texture("T", 1, 1, R32F),) * 2), "textures[1]"),
    ):  # fmt: skip
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
    texels = pack(matrix, region, Rect(0, 0, width, height), packing)
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


@given(st.integers(1, 9), st.integers(1, 9))
def test_four_quadrants_hold_a_whole_matrix(rows: int, columns: int) -> None:
    """Equation (8): upper left, upper right, lower left, lower right in r, g, b, a; padded."""
    matrix = np.arange(1, rows * columns + 1, dtype=np.float32).reshape(rows, columns)
    height, width = -(-rows // 2), -(-columns // 2)
    region, packing = Region(0, 0, rows, columns), quadrants(height, width)
    texels = pack(matrix, region, Rect(0, 0, width, height), packing)
    padded = np.zeros((2 * height, 2 * width), np.float32)
    padded[:rows, :columns] = matrix
    assert (texels[..., 0] == padded[:height, :width]).all()
    assert (texels[..., 1] == padded[:height, width:]).all()
    assert (texels[..., 2] == padded[height:, :width]).all()
    assert (texels[..., 3] == padded[height:, width:]).all()
    back = np.zeros_like(matrix)
    unpack(texels, back, region, packing)
    assert (back == matrix).all()


# Formats -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "channels", "texel_bytes", "numeric"),
    [
        ("r32f", 1, 4, Numeric.FLOAT),
        ("rgba32f", 4, 16, Numeric.FLOAT),
        ("r16f", 1, 2, Numeric.FLOAT),
        ("rgba16f", 4, 8, Numeric.FLOAT),
        ("unorm8", 1, 1, Numeric.UNORM),
        ("rgba8", 4, 4, Numeric.UNORM),
    ],
)
def test_formats(name: str, channels: int, texel_bytes: int, numeric: Numeric) -> None:
    result = FORMATS[name]
    assert (result.name, result.channels, result.texel_bytes) == (name, channels, texel_bytes)
    assert result.numeric is numeric


def test_all_formats_are_tested() -> None:
    assert set(FORMATS) == {"r16f", "rgba16f", "r32f", "rgba32f", "unorm8", "rgba8"}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (1 + 2.0**-11, 1.0), (1 + 3 * 2.0**-11, 1 + 2.0**-9), (65519.0, 65504.0), (65520.0, np.inf),
        (2.0**-24, 2.0**-24), (2.0**-25, 0.0), (-1e30, -np.inf), (np.nan, np.nan), (-0.0, -0.0),
    ],
)  # fmt: skip
def test_half_precision_stores_the_nearest(value: float, stored: float) -> None:
    result = decode(encode(np.array([value], np.float32), RGBA16F), RGBA16F)
    assert_same_bits(result, np.array([stored], np.float32))


def test_half_precision_blending_rounds_the_sum() -> None:
    halves = Texture("T", TextureKind.RECT, Extent(1, 1), RGBA16F, (2048.0, 1.0, -65504.0, 0.0))
    add = replace(drawn("MOV result.color, {1, 3, -32, 7};"), rect=Rect(0, 0, 1, 1))
    plan = show([replace(add, blend=Blend.ADD)], halves)
    assert execute(plan).tolist() == [[[2048, 4, -np.inf, 7]]]


# Copies, clears and what they leave alone --------------------------------------------------------


@pytest.mark.parametrize("texel_format", [R32F, RGBA32F, UNORM8], ids=lambda f: f.name)
def test_a_copy_moves_a_rectangle_bit_for_bit(texel_format: object) -> None:
    channels = texel_format.channels  # type: ignore[attr-defined]
    values = np.random.default_rng(8).random((4, 5, channels), np.float32)
    if texel_format is not UNORM8:
        values.flat[:4] = [np.nan, -np.inf, -0.0, 2.0**-149]
    given_texels = {"S": values}
    target = texture("target", 6, 5, texel_format, (1.0, 1.0, 1.0, 1.0))  # type: ignore[arg-type]
    copy = CopyPass("S", Rect(1, 0, 3, 4), "target", Rect(2, 1, 3, 4))
    plan = show([copy], target, given_texels, formats={"S": texel_format})  # type: ignore[dict-item]
    expected = np.ones((5, 6, channels), np.float32)
    moved = values[0:4, 1:4]
    if texel_format is UNORM8:
        moved = (np.floor(moved.astype(float) * 255 + 0.5)).astype(np.float32) / np.float32(255)
    expected[1:5, 2:5] = moved
    assert_same_bits(execute(plan, given_texels), expected)


def test_a_clear_covers_the_whole_texture_with_one_value() -> None:
    target = texture("target", 3, 2, RGBA32F, (5.0, 5.0, 5.0, 5.0))
    result = execute(show([ClearPass("target", (-2.0, 0.5, 7.0, 1e30))], target))
    assert_same_bits(result, np.broadcast_to(np.array([-2.0, 0.5, 7.0, 1e30]), (2, 3, 4)))


def test_a_repeat_runs_its_body_in_order() -> None:
    """x becomes x + local, copied back each time: 1 + 0 + 1 + 2 + 3."""
    text = program(
        "TEX R0, fragment.texcoord[0], texture[0], RECT;",
        "ADD result.color, R0, program.local[0];",
    )
    add = FragmentPass(
        text,
        (Binding(0, "F"),),
        ("target",),
        Rect(0, 0, 1, 1),
        (fragment_texcoords(0, 1, 1),),
        (ParameterValue(0, (Affine(0.0, 1.0), 0.0, 0.0, 0.0)),),
    )
    copy = CopyPass("target", Rect(0, 0, 1, 1), "F", Rect(0, 0, 1, 1))
    plan = show(
        [Repeat(4, (add, copy))],
        texture("target", 1, 1, R32F),
        others=[texture("F", 1, 1, R32F, ONES)],
    )
    assert execute(plan).tolist() == [[[7.0]]]
    assert execute(expand(plan)).tolist() == [[[7.0]]]
