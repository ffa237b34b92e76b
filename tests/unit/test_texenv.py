"""Texture environments: their text, their faults, and what they compute on NumPy."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from environments import differing_bytes, random_scene

from gpgpu_legacy.api.check import count_program
from gpgpu_legacy.api.pipeline import Pipeline, find
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.combiners import (
    Combiner,
    CombinerArgument,
    CombinerFunction,
    CombinerMode,
    CombinerOperand,
    CombinerSource,
)
from gpgpu_legacy.isa.program import Span, TextureTarget, TextureUnit
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.languages.registry import disassemble as source_of
from gpgpu_legacy.languages.registry import language_of
from gpgpu_legacy.page.scenes import scene_of
from gpgpu_legacy.plan.serialise import plan_as_json, plan_from_json, program_names

MODULATE = "!!texenv1.3\nTEXTURE0 RECT REPLACE\nTEXTURE1 RECT MODULATE\n"


def test_a_stage_is_an_instruction_of_its_line() -> None:
    """What Larson & McAllister's card did, by hand: two lookups, and a stage for each unit."""
    program = language_of(MODULATE).assemble(MODULATE, "modulate")
    assert disassemble(program).splitlines()[2:6] == [
        "TEX texture0, fragment.texcoord[0], texture[0], RECT;",
        "TEX texture1, fragment.texcoord[1], texture[1], RECT;",
        "MOV_SAT stage0, texture0;",
        "MUL_SAT result.color, stage0, texture1;",
    ]
    assert [i.span.line for i in program.instructions] == [2, 3, 2, 3]


def test_a_program_holds_what_its_units_are_set_to() -> None:
    """By hand; of COMBINE's alpha OpenGL's initial values (table 6.17)."""
    unit = (
        "TEXTURE1 2D COMBINE RGB = SUBTRACT(TEXTURE0.SRC_ALPHA, PREVIOUS) * 2 COLOR = (0, 1, 0, 1)"
    )
    text = f"!!texenv1.3\nCLAMP_FRAGMENT_COLOR FALSE\nTEXTURE0 RECT DECAL\n{unit}\n"
    state = language_of(text).assemble(text, "units").state
    assert state is not None and not state.clamped
    decal, combined = state.units
    assert (decal.number, decal.mode, decal.color) == (0, CombinerMode.DECAL, None)
    alpha, texture = CombinerOperand.SRC_ALPHA, CombinerSource.TEXTURE
    color, previous = CombinerOperand.SRC_COLOR, CombinerSource.PREVIOUS
    crossed = CombinerArgument(CombinerSource.TEXTURE0, alpha)
    subtracted = (crossed, CombinerArgument(previous, color))
    modulated = (CombinerArgument(texture, alpha), CombinerArgument(previous, alpha))
    assert combined == TextureUnit(
        number=1,
        target=TextureTarget.T2D,
        mode=CombinerMode.COMBINE,
        rgb=Combiner(CombinerFunction.SUBTRACT, subtracted, scale=2),
        alpha=Combiner(CombinerFunction.MODULATE, modulated),
        color=(0.0, 1.0, 0.0, 1.0),
        span=Span(4, 1),
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_canonical_text_and_the_equations_of_opengl(seed: int) -> None:
    scene = random_scene(Random(seed))
    program = language_of(scene.text).assemble(scene.text, "scene")
    again = source_of(program)
    assert language_of(again).assemble(again, "again") == program
    expected = scene.expected()
    np.testing.assert_allclose(scene.drawn("numpy", "rgba32f"), expected, atol=1e-5)
    assert differing_bytes(scene.drawn("numpy"), expected, expected) == 0


def test_a_small_constant_is_read_as_it_is_printed() -> None:
    text = "!!texenv1.3\nTEXTURE0 2D COMBINE RGB = REPLACE(CONSTANT) COLOR = (0.00001, 0, 0, 1)"
    program = language_of(text).assemble(text, "small")
    assert language_of(text).assemble(source_of(program), "again").state == program.state


def test_every_product_of_two_bytes_and_sums_that_saturate() -> None:
    """Whole numbers say what 8 bits hold: round(a·b / 255), and sums that end at 255."""
    levels = np.arange(256)
    a = (levels / 255).astype(np.float32)
    state = {"texture_format": "unorm8", "state": "texture-environment"}
    p = find("larson-mcallister", n=256, l=1, **state)
    product = np.rint(p.run(A=a[:, None], B=a[None, :], executor="numpy").outputs["C"] * 255)
    exact = (2 * levels[:, None] * levels[None, :] + 255) // 510
    np.testing.assert_array_equal(product, exact)

    twice = find(
        "larson-mcallister", n=256, l=2, texture_format="unorm8", state="texture-environment"
    )
    pair = np.stack([a, a], 1)
    total = twice.run(A=pair, B=pair.T.copy(), executor="numpy").outputs["C"]
    np.testing.assert_array_equal(np.rint(total * 255), np.minimum(2 * exact, 255))


@pytest.mark.parametrize(
    ("line", "column", "problem"),
    [
        ("TEXTURE0 2D COMBINE RGB = REPLACE(TEXTURE) * 3", 46, "unexpected 3; RGB_SCALE"),
        ("TEXTURE0 2D COMBINE ALPHA = REPLACE(TEXTURE.SRC_COLOR)", 45, "OPERAND0_ALPHA"),
        ("TEXTURE0 2D COMBINE ALPHA = DOT3_RGB(TEXTURE, PREVIOUS)", 29, "unexpected DOT3_RGB"),
        ("TEXTURE9 2D MODULATE", 1, "there is no unit TEXTURE9"),
        ("TEXTURE1 2D COMBINE RGB = REPLACE(TEXTURE0)", 1, "unit 1 reads TEXTURE0"),
        ("TEXTURE0 2D MODULAT", 13, "unexpected MODULAT; did you mean MODULATE?"),
        ("TEXTURE0 2D", 12, "the line ends too early; TEXTURE_ENV_MODE is one of"),
        ("TEXTURE0 2D COMBINE RGB = ADD(TEXTURE)", 38, "unexpected ); ADD has 2 arguments"),
        ("TEXTURE0 2D BLEND COLOR = (0, 2, 0, 0)", 31, "TEXTURE_ENV_COLOR has a component 2"),
        ("TEXTURE0 2D REPLACE REPLACE", 21, "unexpected REPLACE; expected the end of the line"),
        ("", 1, "no texture unit is enabled"),
    ],
)  # fmt: skip
def test_a_fault_has_its_place_and_opengls_words(line: str, column: int, problem: str) -> None:
    text = f"!!texenv1.3\n{line}"
    with pytest.raises(AssemblyError) as raised:
        language_of(text).assemble(text, "state.texenv")
    first = raised.value.diagnostics[0]
    assert str(first).startswith(problem)
    assert line == "" or (first.line, first.column) == (2, column)


def test_units_ascend_and_each_has_one_line() -> None:
    text = "!!texenv1.3\nTEXTURE1 2D ADD\nTEXTURE1 2D ADD\nTEXTURE0 2D ADD\n"
    with pytest.raises(AssemblyError) as raised:
        language_of(text).assemble(text, "twice")
    assert [d.line for d in raised.value.diagnostics] == [3, 4]


@pytest.mark.parametrize(
    ("chip", "lines", "over"),
    [
        ("geforce3", ("TEXTURE0 RECT REPLACE", "TEXTURE3 RECT MODULATE"), set()),
        ("geforce3", ("TEXTURE0 2D REPLACE", "TEXTURE4 2D MODULATE"), {"texture units"}),
        ("geforce3", ("TEXTURE0 2D COMBINE RGB = REPLACE(TEXTURE0)",), {"crossbar sources"}),
        ("radeon-9700-pro", ("TEXTURE7 2D COMBINE RGB = REPLACE(TEXTURE7)",), set()),
        ("texture-env-combine", ("TEXTURE0 2D COMBINE RGB = DOT3_RGB",), {"dot products"}),
        ("opengl-1.3", ("TEXTURE0 2D COMBINE RGB = DOT3_RGB",), set()),
        ("opengl-1.3", ("CLAMP_FRAGMENT_COLOR FALSE", "TEXTURE0 2D ADD"), {"unclamped colours"}),
        ("mali-t604", ("TEXTURE0 2D REPLACE",), {"texture units"}),
    ],
)
def test_a_chip_is_asked_for_units_and_functions_not_for_programs(
    chip: str, lines: tuple[str, ...], over: set[str]
) -> None:
    text = "\n".join(["!!texenv1.3", *lines])
    verdict = check_program(language_of(text).assemble(text, "state"), find_profile(chip))
    assert {row.limit for row in verdict.exceeded} == over
    assert not {"language", "operations", "temporaries"} & {row.limit for row in verdict.limits}


@pytest.mark.parametrize("seed", range(20))
def test_fixed_function_of_8_bits_keeps_a_byte_between_units(seed: int) -> None:
    """Whole numbers of 255ths: stage by stage the byte nearest to OpenGL's equation."""
    scene = random_scene(Random(seed))
    drawn = scene.drawn("numpy", arithmetic="ff8")
    assert (np.rint(drawn * 255) == np.rint(scene.expected(levels=255) * 255)).all()


def test_a_plan_keeps_the_state_and_the_page_shows_it_beside_the_instruction() -> None:
    plan = find("larson-mcallister", n=2, state="texture-environment").plan()
    read = plan_from_json(plan_as_json(plan), "plan.json")
    assert read == plan
    (name,) = program_names(read).values()
    assert name == "modulate.texenv"
    scene = scene_of(plan)
    lines = scene["plan"]["programs"][name].splitlines()
    first = scene["programs"][name]["line"] - 1
    assert lines[first + 2 : first + 4] == [
        "MOV stage0, texture0;  # TEXTURE0 RECT REPLACE",
        "MUL result.color, stage0, texture1;  # TEXTURE1 RECT MODULATE",
    ]


SIGNED = "TEXTURE1 RECT COMBINE RGB = ADD_SIGNED(TEXTURE, PREVIOUS) ALPHA = REPLACE(PREVIOUS)"


def test_a_stage_counts_once_and_a_trace_says_which_it_is() -> None:
    text = f"!!texenv1.3\nTEXTURE0 RECT REPLACE\n{SIGNED}\n"
    counted = count_program(language_of(text).assemble(text, "signed"))
    assert (counted.per_fragment.arithmetic, counted.per_fragment.lookup) == (2, 2)
    assert sum(counted.opcodes.values()) == 6
    p = Pipeline("signed")
    a = p.input("A", 1, 1)
    c = p.texture("C", 1, 1)
    p.draw(text, {0: a, 1: a}, into=c, texcoords={1: (0.5, 0.5)})
    p.output("C", c)
    traced = p.trace((0, 0), {"A": np.float32([[0.5]])}, instructions=True, executor="numpy")
    shown = [what for _, what, *_ in traced.grids()[0].rows]
    first, second = (next(r for r in shown if f"# line {n}" in str(r)) for n in (2, 3))
    assert (str(first)[:3], str(second)[:3]) == ("1  ", "2  ")
    (stage,) = (place for place, row in enumerate(shown) if str(row).startswith("TEXTURE1"))
    assert str(shown[stage + 1]).startswith("4  ADD")


def test_another_version_is_told_apart_from_a_program() -> None:
    text = "!!texenv1.2\nTEXTURE0 2D ADD\n"
    with pytest.raises(AssemblyError, match=r"texture environments begin with !!texenv1\.3"):
        language_of(text).assemble(text, "version")
