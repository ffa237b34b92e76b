"""The GLSL that is printed for programs, fragment shaders and compute shaders alike."""

from __future__ import annotations

import re

import pytest
from drawing import program
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import program_texts, reaches

from gpgpu_legacy.isa.arithmetic import ARITHMETICS
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.emit.glsl import literal
from gpgpu_legacy.lower.emit.glsl_compute import compute_shader
from gpgpu_legacy.lower.emit.glsl_fragment import fragment_shader
from gpgpu_legacy.lower.shader_key import program_key
from gpgpu_legacy.plan.plan import Blend
from gpgpu_legacy.plan.textures import Extent, Filter, Sampler, Wrap

NAN, INF = float("nan"), float("inf")


def printed(*lines: str, option: str = "", **more: object) -> str:
    text = program(*lines, temporaries=f"{option} TEMP R0, R1, R2, R3;")
    return fragment_shader(program_key(text, **more))  # type: ignore[arg-type]


def statements(*lines: str, **more: object) -> list[str]:
    """The lines of main that assign to a register or a result."""
    return [
        line.strip()
        for line in printed(*lines, **more).splitlines()
        if re.match(r" +(t_|result\d|if \(any)", line)
    ]


def code_of(shader: str) -> str:
    return "\n".join(line.partition("//")[0] for line in shader.splitlines())


# Numbers -----------------------------------------------------------------------------------------


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
def test_numbers_are_printed_as_the_float32_that_they_are(value: float, text: str) -> None:
    assert literal(value) == text


# Operands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("MOV R0, {1, 2, 3, 4};", "t_R0 = constant(vec4(1.0, 2.0, 3.0, 4.0));"),
        ("MOV R0, 2;", "t_R0 = constant(vec4(2.0));"),
        ("MOV R0.y, {1, 2, 3, 4}.wzyx;", "t_R0.y = constant(3.0);"),
        ("MOV R0, -{1, 0, 2, 3};", "t_R0 = constant(vec4((-1.0), (-0.0), (-2.0), (-3.0)));"),
        ("MOV R0.xw, R1.wzyx;", "t_R0.xw = t_R1.wx;"),
        ("SWZ R0, R1, 1, -x, 0, -1;", "t_R0 = vec4(one, negated(t_R1.x), zero, negated(one));"),
        ("SWZ R0.y, R1, 1, -x, 0, w;", "t_R0.y = negated(t_R1.x);"),
        ("RCP R0, R1.z;", "t_R0 = vec4(1.0 / t_R1.z);"),
        ("RCP R0.z, -R1.z;", "t_R0.z = 1.0 / negated(t_R1.z);"),
        ("POW R0.xy, R1.x, R2.w;", "t_R0.xy = vec2(power(t_R1.x, t_R2.w));"),
        ("CMP R0.xy, R1, R2, 1;", "t_R0.xy = cmp(t_R1.xy, t_R2.xy, constant(vec2(1.0)));"),
        ("ADD_SAT R0.x, R1, R2;", "t_R0.x = clamp(t_R1.x + t_R2.x, 0.0, 1.0);"),
        ("MOV R0, program.env[3];", "t_R0 = env3;"),
        ("MOV R0, state.light[2].half;", "t_R0 = state_light_2_half;"),
        ("MOV R0, fragment.color.secondary;", "t_R0 = secondary_color;"),
        ("TXP R0.x, R1, texture[4], 2D;", "t_R0.x = lookup4(vec4(t_R1.xyz / t_R1.w, 0.0)).x;"),
    ],
)
def test_an_instruction_as_a_statement(line: str, statement: str) -> None:
    assert statements(line, "MOV result.color, R0;")[0] == statement


def test_a_discard_is_a_statement_of_its_stage() -> None:
    text = program("KIL R0.x;", "MOV result.color, 1;")
    key = program_key(text)
    condition = "if (any(lessThan(t_R0.xxxx, vec4(0.0))))"
    assert f"{condition} discard;" in fragment_shader(key)
    assert f"{condition} killed = true;" in compute_shader(key)
    assert "if (killed) return;" in compute_shader(key)
    assert "killed" not in compute_shader(program_key(program("MOV result.color, 1;")))


def test_what_is_dead_is_a_comment() -> None:
    lines = printed("MOV R0, R1;", "MOV result.depth, R0;", "MOV result.color, 1;").splitlines()
    assert "    // MOV R0, R1;" in lines
    assert "    // MOV result.depth, R0;" in lines
    assert "t_" not in code_of("\n".join(lines))


# Functions ---------------------------------------------------------------------------------------


def test_a_function_is_printed_once_with_the_widths_that_are_called() -> None:
    text = printed("MAX R0.xy, R1, R2;", "MAX R0.zw, R1, R2;", "MAX R1, R0, R0;",
                   "MOV result.color, R1;")  # fmt: skip
    heads = re.findall(r"^(\w+) larger\(", text, re.MULTILINE)
    assert heads == ["float", "vec2", "vec4"]
    assert "cmp(" not in text


@pytest.mark.parametrize("row", OPCODES.values(), ids=OPCODES.keys())
def test_functions_keep_what_they_compute_precise(row: object) -> None:
    """A compiler may turn a choice that is not precise into a min or a max, which treats NaN
    otherwise, and a product of a logarithm into pow, which is wrong for a base of 0."""
    text = row.glsl_function  # type: ignore[attr-defined]
    if " > b" in text or "exp2" in text:
        assert "precise float" in text


def test_a_rounding_arithmetic_rounds_results_attributes_parameters_and_constants() -> None:
    found = statements(
        "MUL R0, fragment.texcoord[0], program.local[0];",
        "TEX R1.xy, fragment.texcoord[0], texture[0], RECT;",
        "TEX R1.zw, program.local[0], texture[0], RECT;",
        "ADD result.color, R0, R1;",
        "MOV result.color.x, 0.1;",
        arithmetic=ARITHMETICS["fp16"],
    )
    assert found == [
        "t_R0 = quantize(quantize(texcoord0) * quantize(local0));",
        "t_R1.xy = quantize(lookup0(vec4(texcoord0.xyz, 0.0)).xy);",
        "t_R1.zw = quantize(lookup0(vec4(quantize(local0).xyz, 0.0)).zw);",
        "result0 = quantize(t_R0 + t_R1);",
        "result0.x = quantize(constant(0.0999755859375));",
    ]


def test_everything_that_is_assigned_is_precise() -> None:
    text = printed("MAD R0, R1, fragment.color, R2;", "MOV result.color, R0;")
    declared = [line for line in text.splitlines() if re.match(r" +.*\bvec4 \w+ =", line)]
    assert declared
    assert all(line.strip().startswith("precise ") for line in declared)


# Lookups and targets -----------------------------------------------------------------------------


def test_a_program_alone_has_textures_of_an_assumed_size_or_a_given_one() -> None:
    lines = ("TEX R0, fragment.texcoord[0], texture[2], 3D;", "MOV result.color, R0;")
    assert "at.z * 256.0" in printed(*lines)
    linear = Sampler(Filter.LINEAR, Wrap.REPEAT)
    given_text = printed(*lines, units={2: (Extent(7, 5, 3), linear)})
    assert "(at.x - floor(at.x)) * 7.0" in given_text
    assert given_text.count("fetch2(ivec2(") == 8  # the corners of a cube
    assert "t0 + r0 * 5" in given_text


def test_a_target_a_colour() -> None:
    text = printed(
        "MOV result.color[2], 1;", "MOV result.color.x, 2;", option="OPTION ARB_draw_buffers;"
    )
    assert re.findall(r"location = (\d)\) out vec4 target(\d)", text) == [
        ("0", "0"), ("1", "1"), ("2", "2"),
    ]  # fmt: skip


def test_fog_is_the_last_thing_and_reads_what_it_needs() -> None:
    text = printed("MOV result.color, 1;", option="OPTION ARB_fog_exp;")
    assert "uniform vec4 fogcoord_base" in text
    assert "uniform vec4 state_fog_color;" in text
    assert (
        text.index("result0 = constant(vec4(1.0))") < text.index("exp(") < text.index("target0 =")
    )


# Any program -------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=40)
def test_every_name_is_declared_and_none_is_reserved(data: st.DataObject) -> None:
    """What a statement reads stands somewhere before it; GLSL reserves two underscores in a row."""
    text = assemble(data.draw(program_texts(reach=data.draw(reaches()))))
    arithmetic = ARITHMETICS[data.draw(st.sampled_from(sorted(ARITHMETICS)))]
    key = program_key(text, exact=data.draw(st.booleans()), arithmetic=arithmetic)
    for shader in (fragment_shader(key), compute_shader(key, data.draw(st.sampled_from(Blend)))):
        code = code_of(shader)
        assert "__" not in code
        assert code.count("{") == code.count("}")
        assert code.count("(") == code.count(")")
        pattern = (
            r"\b(t_\w+|result\d|local\d+|env\d+|state_\w+|texcoord\d\b|lookup\d|fetch\d|quantize|"
            r"negated|cmp|power|larger|smaller|frc|sge|slt|lit_specular|color|secondary_color|"
            r"fogcoord|position)\b"
        )
        for name in set(re.findall(pattern, code)):
            first = next(line for line in code.splitlines() if re.search(rf"\b{name}\b", line))
            assert re.search(rf"\b(vec[234]|float) {name}\b", first), name
