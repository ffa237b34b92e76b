"""Fragment programs in GLSL ES 3.00: compiled, linked and drawn in a context of OpenGL ES 3."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from drawing import (
    EXACT,
    F32,
    Image,
    carry_out_all,
    fragment_texcoords,
    parameters,
    program,
    show,
    texture,
)
from driver_programs import Watch
from gles import CompileError, Gles
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_programs import INEXACT
from strategies import SMALL_NUMBER, Scene, program_texts, reaches, whole_scenes
from uniforms import uniform_rows

from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP32, Arithmetic
from gpgpu_legacy.isa.ir import Program, Vec4
from gpgpu_legacy.isa.opcodes import OPCODES, OperandKind
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.analysis.folding import decide
from gpgpu_legacy.lower.emit.glsl_fragment import GLSL_ES, fragment_shader, vertex_shader
from gpgpu_legacy.lower.fragments import ShaderKey, program_key, shader_key
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan, StateValue
from gpgpu_legacy.plan.textures import (
    Extent,
    Filter,
    Rect,
    Sampler,
    Wrap,
    constant_rect,
)
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.sources import shader_folder, shader_text

pytestmark = pytest.mark.gl

NUMBERS = st.sampled_from((0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 4.0, 0.25, -0.5, 3.0, -1.5))
EXACT_ROWS = sorted(set(OPCODES) - set(INEXACT))
SMOOTH = ("ABS", "ADD", "DP3", "DP4", "DPH", "DST", "LRP", "MAD", "MAX", "MIN", "MOV", "MUL", "SUB",
          "SWZ")  # fmt: skip
SHIPPED = sorted(shader_folder().rglob("*.fp"))


@pytest.fixture(scope="module")
def made() -> Gles:
    return Gles()


@pytest.fixture
def gles(made: Gles) -> Iterator[Gles]:
    with made.current():
        yield made


# GLSL ES 3.00, section 3.8: keywords for future use, which a compiler need not refuse.
_RESERVED = """
    attribute varying coherent volatile restrict readonly writeonly resource atomic_uint
    noperspective patch sample subroutine common partition active asm class union enum typedef
    template this goto inline noinline public static extern external interface long short double
    half fixed unsigned superp input output filter sizeof cast namespace using precise
"""
RESERVED = set(_RESERVED.split())

# Compiled and linked -----------------------------------------------------------------------------


def links(gles: Gles, key: ShaderKey) -> None:
    text = fragment_shader(key, GLSL_ES)
    assert text.startswith("#version 300 es\n")
    for line in text.splitlines():
        code = line.partition("//")[0]
        assert "__" not in code, "reserved, which a compiler need not say"
        assert RESERVED.isdisjoint(re.findall(r"\w+", code))
    gles.gl.glDeleteProgram(gles.program(vertex_shader(key.varyings, GLSL_ES), text))


def test_the_compiler_says_what_it_does_not_take(gles: Gles) -> None:
    """Or these tests would prove nothing."""
    for wrong in ("precise float a = 0.0;", "float a = fma(1.0, 2.0, 3.0);", "float filter = 1.0;",
                  "float a = 1;"):  # fmt: skip
        text = fragment_shader(program_key(program("MOV result.color, 1;")), GLSL_ES)
        broken = text.replace("void main() {", f"void main() {{ {wrong}")
        with pytest.raises(CompileError):
            gles.program(vertex_shader(dialect=GLSL_ES), broken)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_programs_that_come_with_the_package(gles: Gles, path: object) -> None:
    text = assemble(path.read_text("utf-8"), path.name)  # type: ignore[attr-defined]
    for exact in (True, False):
        links(gles, program_key(text, exact=exact))


def with_every_opcode() -> Program:
    operands = {
        OperandKind.DESTINATION: "R0", OperandKind.VECTOR: "-R1", OperandKind.SCALAR: "R1.y",
        OperandKind.REGISTER: "R1", OperandKind.EXTENDED_SWIZZLE: "x, -y, 0, 1",
        OperandKind.TEXTURE_UNIT: "texture[0], 2D",
    }  # fmt: skip
    lines = ["MOV R1, fragment.texcoord[0];"]
    for row in OPCODES.values():
        listed = [operands[kind] for kind in row.shape.value if kind in operands]
        for suffix in ("", "_SAT")[: 1 + row.saturable]:
            lines += [f"{row.mnemonic}{suffix} {', '.join(listed)};", "ADD R1, R1, R0;"]
    return program(*lines, "MOV result.color, R1;")


@pytest.mark.parametrize("arithmetic", ARITHMETICS.values(), ids=ARITHMETICS.keys())
def test_every_opcode_in_every_arithmetic(gles: Gles, arithmetic: Arithmetic) -> None:
    for exact in (True, False):
        links(gles, program_key(with_every_opcode(), exact=exact, arithmetic=arithmetic))


EXTENTS = {"RECT": Extent(5, 4), "1D": Extent(5, 1), "2D": Extent(5, 4), "3D": Extent(5, 4, 3),
           "CUBE": Extent(4, 4, 6)}  # fmt: skip


@pytest.mark.parametrize("target", EXTENTS)
@pytest.mark.parametrize("filter_", Filter)
@pytest.mark.parametrize("wrap", Wrap)
def test_every_sampler(gles: Gles, target: str, filter_: Filter, wrap: Wrap) -> None:
    text = program(f"TXP R0, fragment.texcoord[0], texture[3], {target};",
                   "MOV result.color, R0;")  # fmt: skip
    if target == "RECT" and wrap is Wrap.REPEAT:
        pytest.skip("rectangles do not repeat")
    for exact in (True, False):
        key = program_key(text, exact=exact)
        sampler = Sampler(filter_, wrap, wrap, wrap)
        unit = replace(key.units[0], extent=EXTENTS[target], sampler=sampler)
        links(gles, replace(key, units=(unit,)))


def test_registers_may_be_called_anything(gles: Gles) -> None:
    names = [*sorted(RESERVED), "gl_x", "webgl_x", "_webgl_y", "main", "vec4", "$", "a__b"]
    lines = [f"ADD {name}, {name}, fragment.texcoord[0];" for name in names]
    lines += [f"ADD result.color, {a}, {b};" for a, b in pairwise(names)]
    links(gles, program_key(program(*lines, temporaries=f"TEMP {', '.join(names)};")))


@pytest.mark.parametrize("option", ["ARB_fog_exp", "ARB_fog_exp2", "ARB_fog_linear"])
def test_fog_over_several_targets(gles: Gles, option: str) -> None:
    text = program(
        "MOV result.color[3], fragment.fogcoord;", "MOV result.color, fragment.position;",
        temporaries=f"OPTION ARB_draw_buffers; OPTION {option};",
    )  # fmt: skip
    for exact in (True, False):
        links(gles, program_key(text, exact=exact))


@given(data=st.data())
@settings(max_examples=25)
def test_any_program(made: Gles, data: st.DataObject) -> None:
    text = assemble(data.draw(program_texts(reach=data.draw(reaches()))))
    arithmetic = ARITHMETICS[data.draw(st.sampled_from(sorted(ARITHMETICS)))]
    with made.current() as gles:
        links(gles, program_key(text, exact=data.draw(st.booleans()), arithmetic=arithmetic))


# Drawn -------------------------------------------------------------------------------------------


def drawn(
    gles: Gles, plan: Plan, images: dict[int, Image], arithmetic: Arithmetic = FP32, *, exact: bool
) -> list[F32]:
    """The targets of a plan's one pass. They are rgba32f."""
    [pass_] = plan.steps
    assert isinstance(pass_, FragmentPass)
    decisions = decide(plan, pass_, folding=not arithmetic.rounds)
    key = shader_key(plan, pass_, decisions, exact=exact, arithmetic=arithmetic)
    rect = pass_.rect
    rows = uniform_rows(pass_, key.bent)
    for n, varying in enumerate(decisions.varyings):
        corners = [corner.at(0) for corner in varying.corners(rect)]
        rows[f"varying{n}_corners"] = np.array(corners, np.float32).reshape(4, 2)
    shaders = vertex_shader(key.varyings, GLSL_ES), fragment_shader(key, GLSL_ES)
    targets = []
    for name in pass_.targets:
        target = plan.texture(name)
        shape = (target.extent.height, target.extent.width, 4)
        targets.append(np.broadcast_to(np.array(target.initial, np.float32), shape).copy())
    return gles.draw(
        shaders, (rect.x, rect.y, rect.width, rect.height), targets,
        {unit: image.texels for unit, image in images.items()},
        {name: row for name, row in rows.items() if name in "".join(shaders)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def floats(made: Gles) -> Gles:
    """A context that draws to floats."""
    if "GL_EXT_color_buffer_float" not in made.extensions:
        pytest.skip("no GL_EXT_color_buffer_float")
    return made


def pass_of(scene: Scene) -> tuple[Plan, dict[int, Image]]:
    """The plan of a scene, drawn to rgba32f."""
    images = {n: i if isinstance(i, Image) else Image(i) for n, i in scene.textures.items()}
    names = ("target", "also")[: scene.targets]
    pass_ = FragmentPass(
        assemble(scene.text, "random.fp"),
        tuple(Binding(n, f"T{n}", image.sampler) for n, image in images.items()),
        names,
        scene.rect,
        scene.texcoords,
        parameters(scene.local),
        parameters(scene.env),
        attributes=scene.attributes,
        state=tuple(StateValue(*item) for item in scene.state.items()),
    )
    return plan_of(pass_, images, (9.0, 0.5, 1.0, 2.0)), images


def by_machine(plan: Plan, images: dict[int, Image], machine: Machine = EXACT) -> list[F32]:
    named = {f"T{n}": image for n, image in images.items()}
    return carry_out_all(plan, named, machine=machine)


def test_programs_whose_sums_are_exact_in_any_order_to_the_last_bit(floats: Gles) -> None:
    """Departures, on llvmpipe as elsewhere: denormals are flushed and a NaN may become a number,
    which GLSL ES 3.00, section 4.5.1, allows ("NaNs are not required to be generated"); sums may be
    taken in another order, for there is no `precise`. None of them matters to these programs."""
    compared = 0

    @settings(max_examples=40)
    @given(whole_scenes(NUMBERS, NUMBERS, among=EXACT_ROWS, most=6))
    def check(scene: Scene) -> None:
        nonlocal compared
        plan, images = pass_of(scene)
        watch = Watch()
        by_machine(plan, images, watch.machine)
        if not watch.exact:
            return
        with floats.current() as gles:
            found = drawn(gles, plan, images, exact=True)
        for mine, theirs in zip(found, by_machine(plan, images), strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=scene.text)
        compared += 1

    check()
    assert compared > 10


def plan_of(pass_: FragmentPass, images: dict[int, Image], initial: Vec4) -> Plan:
    """The plan of a pass that draws to rgba32f, from (0, 0) on."""
    rect = constant_rect(pass_.rect)
    size = (rect.x + rect.width, rect.y + rect.height)
    target, *also = (texture(name, *size, RGBA32F, initial) for name in pass_.targets)
    return show([pass_], target, {f"T{n}": i for n, i in images.items()}, also=also)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("arithmetic", ARITHMETICS.values(), ids=ARITHMETICS.keys())
def test_smooth_programs_are_near(floats: Gles, exact: bool, arithmetic: Arithmetic) -> None:
    """What sums in another order differ by, and a step of the arithmetic for each instruction."""

    @settings(max_examples=6)
    @given(whole_scenes(SMALL_NUMBER, SMALL_NUMBER, among=SMOOTH, most=3))
    def check(scene: Scene) -> None:
        plan, images = pass_of(scene)
        expected = by_machine(plan, images, replace(EXACT, arithmetic=arithmetic))
        assume(all((np.abs(texels) < 100).all() for texels in expected))
        with floats.current() as gles:
            found = drawn(gles, plan, images, arithmetic, exact=exact)
        relative = max(2e-5, 8 * arithmetic.relative_error)
        absolute = max(2e-5, 100 * arithmetic.relative_error, 400 * arithmetic.absolute_error)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, relative, absolute, err_msg=scene.text)

    check()


def test_a_shipped_program_with_lookups_that_the_rasteriser_places(floats: Gles) -> None:
    text = assemble(shader_text("examples/blur.fp"), "blur")
    images = {0: Image(np.random.default_rng(0).integers(0, 2, (9, 12, 4)).astype(np.float32))}
    pass_ = FragmentPass(
        text, (Binding(0, "T0"),), ("target",), Rect(0, 0, 12, 9),
        (fragment_texcoords(0, 12, 9),), parameters({0: (1.0, 0.0, 0.0, 0.0)}),
    )  # fmt: skip
    plan = plan_of(pass_, images, (0.0, 0.0, 0.0, 0.0))
    for exact in (True, False):
        with floats.current() as gles:
            [found] = drawn(gles, plan, images, exact=exact)
        [expected] = by_machine(plan, images)
        np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
