"""How statements of the lowering IR are spelled in GLSL, and that compilers take it.

What the statements are, and compute, is in test_ir.py; what drivers make of the text in
tests/differential/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from drawing import program
from framebuffers import operations
from hypothesis import given, settings
from hypothesis import strategies as st
from program_keys import program_key
from strategies import program_texts, reaches

from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP32, Arithmetic
from gpgpu_legacy.isa.expressions import (
    Array,
    Constant,
    Element,
    Expression,
    Read,
    Swizzle,
    Variable,
    compose,
    constant,
    operation,
)
from gpgpu_legacy.isa.statements import (
    Declare,
)
from gpgpu_legacy.isa.types import BOOL, FLOAT, INT, VEC4, Operator
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.emit.glsl import GlslEmitter, literal, variable_name
from gpgpu_legacy.lower.emit.glsl_fragment import (
    GLSL,
    compute_shader,
    fragment_shader,
    vertex_shader,
)
from gpgpu_legacy.lower.emit.hosts import vertex_shader as host_vertex_shader
from gpgpu_legacy.lower.emit.to_glsl import glsl_translation
from gpgpu_legacy.lower.lowering import Lowering, temporary_variable
from gpgpu_legacy.plan.framebuffer import Writes
from gpgpu_legacy.plan.textures import RGBA32F, Rect
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl import core

NAN, INF = float("nan"), float("inf")


# Numbers and names -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "(-0.0)"),
        (0.5, "0.5"),
        (-2.0, "(-2.0)"),
        (0.1, "0.10000000149011612"),  # the float32 nearest to it
        (16777217.0, "16777216.0"),
        (1e39, "uintBitsToFloat(0x7f800000u)"),
        (-INF, "uintBitsToFloat(0xff800000u)"),
        (NAN, "uintBitsToFloat(0x7fc00000u)"),
        (2.0**-149, "uintBitsToFloat(0x1u)"),
        (-(2.0**-130), "uintBitsToFloat(0x80080000u)"),
        (1e30, "1.0000000150474662e+30"),
    ],
)
def test_numbers_are_spelled_as_the_float32_that_they_are(value: float, text: str) -> None:
    assert literal(value) == text


NAME = st.from_regex("[A-Za-z$_][A-Za-z0-9$_]{0,8}", fullmatch=True)


@given(st.sets(NAME))
def test_names_of_registers_stay_different_and_are_not_reserved(names: set[str]) -> None:
    """GLSL reserves two underscores in a row; the assembly language has them anywhere, and `$`."""
    spelled = [variable_name(temporary_variable(name)) for name in names]
    assert len(set(spelled)) == len(names)
    assert all("__" not in name and "$" not in name for name in spelled)


# Instructions ------------------------------------------------------------------------------------


def spelled(line: str, *, exact: bool = True, arithmetic: Arithmetic = FP32) -> str:
    """An instruction's last statement."""
    return statements_of(line, exact=exact, arithmetic=arithmetic)[-1]


def statements_of(line: str, *, exact: bool = True, arithmetic: Arithmetic = FP32) -> list[str]:
    """An instruction's statements."""
    [instruction] = program(line).instructions
    lowering = Lowering(arithmetic)
    lowering.instruction(instruction, instruction.dst.components if instruction.dst else (0,))
    emitter = GlslEmitter(GLSL, arithmetic, exact=exact)
    return [*map(str.strip, emitter.block(lowering.statements))]


def test_a_multiply_add_is_contracted_only_where_arithmetic_need_not_be_exact() -> None:
    line = "MAD result.color, program.local[0], program.local[1], program.local[2];"
    assert spelled(line, exact=True) == "result0 = local0 * local1 + local2;"
    assert spelled(line, exact=False) == "result0 = fma(local0, local1, local2);"


def test_a_sum_of_two_products_is_not_contracted() -> None:
    """Which of them is rounded by itself would be the compiler's choice."""
    line = "LRP R0, R1, R2, R3;"
    assert spelled(line, exact=False) == "t_R0 = t_R1 * t_R2 + (1.0 - t_R1) * t_R3;"


def test_constants_are_hidden_where_arithmetic_is_exact() -> None:
    """A compiler that knows a 0 or a 1 leaves operations with it out, which NaN and -0 tell."""
    assert spelled("MUL R0.x, R1, 0;", exact=True) == "t_R0.x = t_R1.x * zero;"
    assert spelled("MUL R0.x, R1, 0;", exact=False) == "t_R0.x = t_R1.x * 0.0;"


@pytest.mark.parametrize(
    ("line", "exact", "statements"),
    [
        (
            "ADD_SAT R0.x, R1, R2;",
            True,
            ["precise float argument0 = t_R1.x + t_R2.x;", "t_R0.x = saturated(argument0);"],
        ),
        (
            "MAD_SAT R0.x, R1, R2, R3;",
            False,
            [
                "precise float argument0 = fma(t_R1.x, t_R2.x, t_R3.x);",
                "t_R0.x = clamp(argument0, 0.0, 1.0);",
            ],
        ),
    ],
)
def test_arithmetic_that_a_function_takes_is_precise(
    line: str, exact: bool, statements: list[str]
) -> None:
    """NVIDIA's compiler contracts what is written between the parentheses of a call."""
    assert statements_of(line, exact=exact) == statements


# Statements and expressions ----------------------------------------------------------------------


def emitter(*, exact: bool = False) -> GlslEmitter:
    return GlslEmitter(GLSL, exact=exact)


X, Y = (Read(Variable(name, FLOAT), (0,)) for name in "xy")
N, B = Read(Variable("i", INT), (0,)), Read(Variable("b", BOOL), (0,))
V = Read(Variable("v", VEC4), (0, 1, 2, 3))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((X + Y) * X, "(x + y) * x"),
        (X - (Y - X), "x - (y - x)"),
        (X - Y - X, "x - y - x"),
        (X / (Y * X), "x / (y * x)"),
        (-(X / Y), "negated(x / y)"),
        ((X < Y) | (Y <= X), "x < y || y <= x"),
        (operation(Operator.AND, B, (X < Y) | B), "b && (x < y || b)"),
        (operation(Operator.NOT, X < Y), "!(x < y)"),
        (operation(Operator.SELECT, B, N, N + 1), "b ? i : i + 1"),
        (operation(Operator.SELECT, X < Y, X, Y), "select_less(x, y, x, y)"),
        (operation(Operator.TO_FLOAT, N) * 0.5, "float(i) * 0.5"),
        (
            operation(Operator.SELECT, X < 0.0, V, 0.0),
            "select_less(vec4(x), vec4(0.0), v, vec4(0.0))",
        ),
        (Swizzle((V * 2.0,), (1, 0)), "(v * 2.0).yx"),
        (compose([X, Y, 1.0]), "vec3(x, y, 1.0)"),
        (compose([X, X]), "vec2(x)"),
        (Constant((1.0, 1.0), V.type._replace(width=2)), "vec2(1.0)"),
        (Element((N, N + 1), Array("tile", FLOAT, (4, 8))), "tile[i][i + 1]"),
    ],
)  # fmt: skip
def test_an_expression(value: Expression, text: str) -> None:
    assert emitter().expression(value) == text


@pytest.mark.parametrize("exact", [True, False])
def test_what_is_declared_is_precise_save_whole_numbers(exact: bool) -> None:
    """So no compiler reorders a sum. Of a truth, too: !(a >= b) is not a < b where one is NaN."""
    declared = [Declare(Variable("z", kind)) for kind in (FLOAT, VEC4, BOOL, INT)]
    assert emitter(exact=exact).block(declared) == [
        "    precise float z;", "    precise vec4 z;", "    precise bool z;", "    int z;",
    ]  # fmt: skip


# Functions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (constant(1.0) / X, "quotient(one, x)"),
        (constant(0.0) / X, "quotient(zero, x)"),  # Mesa takes 0.0 / x for 0, though x may be 0
        (constant(2.0) / X, "quotient(constant(2.0), x)"),
        (X * 0.0, "x * zero"),
        (X < 0.0, "x < 0.0"),
    ],
)
def test_constants_are_hidden_where_compilers_fold_them(value: Expression, text: str) -> None:
    assert emitter(exact=True).expression(value) == text


@pytest.fixture(scope="module")
def context(ready: Callable[[str], Executor]) -> core.GlContext:
    ready("gl-compute")
    return core.compute_context()


@pytest.mark.gl
@given(data=st.data())
@settings(max_examples=15)
def test_a_compiler_takes_any_program(context: core.GlContext, data: st.DataObject) -> None:
    """Every name is declared before it is used, once, and of the type that it is used with."""
    text = assemble(data.draw(program_texts(reach=data.draw(reaches()))))
    arithmetic = ARITHMETICS[data.draw(st.sampled_from(sorted(ARITHMETICS)))]
    key = program_key(text, exact=data.draw(st.booleans()), arithmetic=arithmetic)
    given = data.draw(operations(Rect(0, 0, 8, 8), RGBA32F))
    scissored = given.pop("scissor", None) is not None
    written = replace(key, writes=Writes(**given))
    translation = glsl_translation(text, exact=key.exact)
    kept = host_vertex_shader(translation), translation.text
    shaders = fragment_shader(key), compute_shader(written, scissored=scissored), *kept
    for shader in shaders:  # reserved by the specification, which a compiler need not say
        assert all("__" not in line.partition("//")[0] for line in shader.splitlines())
    with context.current() as ctx:
        ctx.program(vertex_shader=vertex_shader(), fragment_shader=shaders[0]).release()
        ctx.compute_shader(shaders[1]).release()
        ctx.program(vertex_shader=kept[0], fragment_shader=kept[1]).release()
