"""Branches, loops and condition codes: what fragments execute, against loops written in Python."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from drawing import F32, assert_same_bits, draw, fragment_texcoords, on
from numpy.testing import assert_allclose, assert_array_equal

from gpgpu_legacy.api.pipeline import find
from gpgpu_legacy.api.programs import make_drawing, run_drawing
from gpgpu_legacy.api.run import branching_of
from gpgpu_legacy.api.steps import trace_fragment
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import Outcome
from gpgpu_legacy.count.instructions import executions
from gpgpu_legacy.errors import AssemblyError, InputError, PlanError
from gpgpu_legacy.interp.machine import FragmentMachine
from gpgpu_legacy.isa.arithmetic import FP32
from gpgpu_legacy.isa.execute import execute
from gpgpu_legacy.isa.program import Attribute, AttributeKind, Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.lower.analysis.liveness import live_components
from gpgpu_legacy.lower.emit.to_glsl import glsl_translation
from gpgpu_legacy.plan.plan import FragmentPass
from gpgpu_legacy.plan.textures import Rect
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.runtime import jit
from gpgpu_legacy.runtime.executor import find_executor

X = np.array([[-3, -1, -0.0], [0.5, 40, np.nan]], np.float32)


def program(*lines: str, option: str = "NV_fragment_program2") -> Program:
    head = ["!!ARBfp1.0", f"OPTION {option};", "TEMP r, c, RC;"]
    return assemble("\n".join([*head, *lines, "END"]), name="test.fp")


def run(*lines: str, x: F32 = X) -> F32:
    """The red of a program, for fragments of which fragment.texcoord.x is x."""
    attribute = Attribute(AttributeKind.TEXCOORD)
    machine = FragmentMachine({attribute: [x] * 4}, {}, {})
    with np.errstate(all="ignore"):
        execute(program(*lines), machine)
    return np.broadcast_to(machine.color(0)[0], x.shape)


RELATIONS = {"EQ": operator.eq, "NE": operator.ne, "LT": operator.lt,
             "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
             "TR": lambda *_: True, "FL": lambda *_: False}  # fmt: skip


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_test_chooses_a_side_masks_a_write_and_is_set_on(relation: str) -> None:
    holds = [[RELATIONS[relation](float(x), 0.0) for x in row] for row in X]
    expected = np.where(holds, 1.0, 2.0)
    code = "MOVC RC.x, fragment.texcoord[0];"
    sides = f"IF {relation}.x; MOV r, 1; ELSE; MOV r, 2; ENDIF;"
    assert_array_equal(run(code, sides, "MOV result.color, r;"), expected)
    masked = f"MOV r, 2; MOV r ({relation}.x), 1;"
    assert_array_equal(run(code, masked, "MOV result.color, r;"), expected)
    set_on = f"S{relation} r, fragment.texcoord[0], 0; SUB result.color, 2, r;"
    assert_array_equal(run(set_on), expected)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("RFL r.xyz, {0, 0, 2}, {1, 2, 3};", (-1, -2, 3)),  # 2·6/4 of the axis, less the direction
        ("X2D r, {1, 2}, {3, 4}, {5, 6, 7, 8};", (40, 55, 40, 55)),  # 1 + 3·5 + 4·6, 2 + 3·7 + 4·8
        ("DIV r, {6, -3, 1, 0}, {4, 9}.x;", (1.5, -0.75, 0.25, 0)),
        ("DP2 r, {1, 2, 9}, {3, 4, 9};", (11,) * 4),
        ("DP2A r, {1, 2, 9}, {3, 4, 9}, {5, 9};", (16,) * 4),
        ("NRM r.xyz, {12, 0, -5, 9};", (12 / 13, 0, -5 / 13)),
    ],
)
def test_vectors_by_hand(code: str, expected: tuple[float, ...]) -> None:
    """NV_fragment_program_option and _program2, sections 3.11.5.36 and 47 to 51."""
    for component, value in zip("xyzw", expected, strict=False):
        red = run(code, f"MOV result.color, r.{component};")
        assert_allclose(red, value, rtol=3e-7)


def test_each_fragment_leaves_a_loop_where_it_breaks() -> None:
    found = run(
        "MOV r, fragment.texcoord[0];",
        "REP {9}; SUBC RC.x, r, 4; IF GT.x; BRK; ENDIF; ADD r.x, r.x, 2; ENDREP;",
        "MOV result.color, r;",
    )
    expected = []
    for x in X.reshape(-1).tolist():
        trips = next((n for n in range(9) if x + 2 * n > 4), 9)
        expected.append(x + 2 * trips)
    assert_array_equal(found.reshape(-1), np.float32(expected))


def test_codes_are_of_components_under_a_swizzle() -> None:
    """The example of NV_fragment_program_option, section 3.11.4.3: R1 is (-2, 0, 2, NaN)."""
    nan = "RSQ c.w, 0; MUL c.w, c.w, 0; MOV c.xyz, {-2, 0, 2};"
    for component, expected in zip("xyzw", (0, 0, np.nan, -2), strict=True):
        lines = f"{nan} MOVC r, c; MOVC r.xyz, c.yzwx; MOVC r (NE), c.zywx;"
        assert_array_equal(
            run(lines, f"MOV result.color, r.{component};"), np.full((2, 3), expected)
        )


def test_what_a_masked_write_and_a_trip_leave_is_live() -> None:
    lines = "MOV c, 1;", "MOVC r, fragment.texcoord[0];", "MOV c (LT.x), r;", "MOV result.color, c;"
    masked = program(*lines)
    assert live_components(masked, ())[0] == (0, 1, 2, 3)
    plain = program(*lines[:2], "MOV c, r;", lines[3])
    assert live_components(plain, ())[0] == ()
    loop = "MOV r.x, 1; REP {9}; ADD c.y, c.y, r.x; MUL r.x, r.x, 2; ENDREP; MOV result.color, c.y;"
    assert live_components(program(loop), ())[3] == (0,)
    assert run(loop).tolist() == [[511.0] * 3] * 2


def test_a_loop_that_goes_on_too_long_is_said_with_its_fragment_and_line() -> None:
    loops = "REP {255}; REP {255}; REP {255}; ADD r, r, 1; ENDREP; ENDREP; ENDREP;"
    with pytest.raises(InputError, match=r"line 4: in this REP fragment \(0, 0\) executes more"):
        run(loops)
    whole = program("REP {255};", loops, "ENDREP;", "MOV result.color, r;")
    with pytest.raises(PlanError, match="jit would not stop it"):
        draw(whole, executor=find_executor("jit"))


def test_subroutines_take_the_place_of_their_calls() -> None:
    made = program(
        "double: ADD r, r, r; RET;",
        "main: MOVC r, 3; CAL double; CAL double (GT.x); RET;",
        "MOV r, 0;",
    )
    text = "MOVC r, 3; ADD r, r, r; IF GT.x; ADD r, r, r; ENDIF;"
    assert made == program(text)


def test_canonical_text_gives_the_program_again() -> None:
    made = program(
        "MULHC_SAT r.xy, |fragment.texcoord[0]|, -|c.yxzw|; DIV c, r, 2;",
        "LOOP {3, 0, 1}; IF NE.xyxy; BRK (TR); ENDIF; ENDLOOP; KIL LT.w; DDX c.x (FL), r;",
    )
    assert assemble(disassemble(made)) == made
    assert "  BRK (TR);" in disassemble(made)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("BRK;", "BRK is not inside a loop"),
        ("IF EQ.x; ENDIF;", "no instruction before it sets the condition code"),
        ("ENDIF;", "ENDIF without a block"),
        ("REP {2}; ENDIF;", "ENDIF after REP"),
        ("REP {2};", "REP has no end"),
        ("REP r; ENDREP;", "the trips of a loop are a program parameter"),
        ("REP 256; ENDREP;", "a loop of 256 trips; at most 255"),
        ("REP {2}; " * 5 + "ENDREP; " * 5, "REP is inside 4 others"),
        ("PK2H r, r;", "PK2H is not supported"),
        ("MOV r, fragment.texcoord[A0.x];", "A0 is not supported"),
        ("CAL there;", "there is no label there"),
        ("CAL 5;", "CAL does not take these"),
        ("CAL |x|; x: RET;", "CAL does not take these"),
        ("x: CAL x;", "x is called inside 4 calls"),
        ("REP {2}; x: ENDREP;", "the label x is inside REP"),
        ("MOVC RC, r; RET (GT.x);", "RET under a condition"),
        ("MOV r, CC;", "CC is a result"),
        ("MOVC CC, r;", "CC cannot be written"),
        ("MOVC RC, r; BRK (ZT);", "ZT is not a test of the condition code"),
        ("IF r; ENDIF;", "IF tests the condition code"),
    ],
)
def test_faults_are_named_at_their_place(line: str, problem: str) -> None:
    with pytest.raises(AssemblyError, match=rf"^test.fp:4:\d+: {problem}"):
        program(line)


def test_what_is_not_translated_is_named_at_its_place() -> None:
    with pytest.raises(
        InputError, match=r"^test\.fp:5:1: REP of NVIDIA's options is not translated"
    ):
        glsl_translation(program("MOV r, 1;", "REP {2};", "ENDREP;"))
    glsl_translation(program("MOV result.color, 1;"))  # the option alone asks for nothing


def test_words_of_an_option_are_names_without_it() -> None:
    text = "!!ARBfp1.0\nTEMP IF, REP, SHORT;\nMOV REP, IF;\nEND"
    assert assemble(text).temporaries == ("IF", "REP", "SHORT")
    with pytest.raises(AssemblyError, match="DIV needs OPTION NV_fragment_program2"):
        program("DIV r, r, r.x;", option="NV_fragment_program")


ESCAPE = """
    MOV r, fragment.texcoord[0]; MAD r.xy, r, 0.4, -1.5; MOV c, r;
    REP program.local[0].w;
      MULC c.zw, c.xyxy, c.xyxy; ADDC RC.x, c.z, c.w; SUBC RC.x, c.z, 4; BRK (GT.x);
      MUL c.y, c.x, c.y; SUB c.x, c.z, c.w; MAD c.y, 2, c.y, r.y; ADD c.x, c.x, r.x;
    ENDREP;
    MOVC RC, c; IF GT.x; KIL -c.y; ENDIF;
    MOV result.color, c;
"""


@on("jit", "gl-raster", "gl-compute")
def test_executors_draw_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_run_on_reference", None)  # the code is native
    given = {"texcoords": [fragment_texcoords(0, 9, 7)], "local": {0: (0.0, 0.0, 0.0, 5.5)}}
    expected = draw(program(ESCAPE), (9, 7), **given)
    assert len(np.unique(expected)) > 20
    assert_same_bits(draw(program(ESCAPE), (9, 7), executor=find_executor(name), **given), expected)


def test_a_run_counts_what_fragments_execute_and_where_they_diverge() -> None:
    text = program(
        "MOVC RC.x, fragment.position; SUBC RC.x, fragment.position, 3; IF GT.x; MOV r, 1; ENDIF;",
        "REP {4}; SUBC RC.x, fragment.position.y, 1; BRK (GT.x); ADD r, r, 1; ENDREP;",
        "MOV result.color, r;",
    )
    drawing = make_drawing(text, 8, 2, executor="numpy")
    _, result = run_drawing(drawing)
    assert drawing.colours(result)[:, 0, 0].tolist() == [4.0, 0.0]
    [found] = branching_of(result.tally)
    # Fragments 3 to 7 of each row are right of 3; those of the upper row leave the loop at once.
    sides = 16 * 4 + 10
    assert found.instructions == sides + 16 + 8 * 4 * 4 + 8 * 2 + 16
    # One more quad has two of them, and every quad has one of each row.
    assert found.in_quads == 16 * 4 + 12 + 16 + 16 * 4 * 4 + 16
    assert found.in_blocks == found.in_quads + 4
    assert (found.tests, found.taken) == (16 + 8 * 4 + 8, 10 + 8)
    # Quads: one of four at the IF, and all four at the first BRK, of 4 + 4 · 4 in all.
    assert found.divergent_quads == 100 * (1 + 4) / (4 + 4 * 4)
    assert found.divergent_blocks == 100 * 2 / 5
    assert executions(text) == (1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 1)


def test_a_chip_is_predicted_at_least_the_fewest_instructions_and_a_range_of_branches() -> None:
    text = program(
        "MOVC RC, fragment.position; IF GT.x; MOV r, 1; MOV r, 2; ELSE; MOV r, 3; ENDIF;",
        "REP {6}; BRK (GT.y); ADD r, r, 1; ENDREP; MOV result.color, r;",
    )
    chip, older = map(find_profile, ("geforce-6800-ultra", "radeon-9700-pro"))
    prediction = predict(make_drawing(text, 8, 4).plan, chip)
    terms = {term.name: term for term in prediction.terms}
    assert terms["arithmetic"].count == 32 * 5  # MOVC, IF, ENDIF, REP and MOV
    assert terms["branches"].count == 32 * 2
    assert "up to 64 branches of at most 6 clocks" in terms["branches"].why
    [row] = [row for row in check_program(text, older).limits if row.limit == "options"]
    assert (row.outcome, row.where) == (Outcome.EXCEEDED, "line 4: MOV")
    assert not check_program(text, chip).exceeded


def test_leaving_early_gives_the_same_picture_for_fewer_instructions() -> None:
    plans = [find("mandelbrot", width=24, height=18, trips=40, early=e) for e in (False, True)]
    fixed, early = (plan.run(executor="numpy", exact=True) for plan in plans)
    cached = [plan.cache("1K,4way,64B", in_flight=5) for plan in plans]
    assert [one.of_inputs for one in cached] == [False, True]
    assert cached[0].regions == cached[1].regions
    assert early.gigabytes_per_s is None and fixed.gigabytes_per_s
    assert "Counted at most: passes" in str(early.grids()[0].notes)
    assert_array_equal(early.steps, fixed.steps)
    assert len(np.unique(early.steps)) > 8
    # In 6 passes of 6 steps and one of 4, one of 2 + 1 instructions more: a fragment that has left
    # executes the TEX, the REP, four of the loop and the MOV of each pass that follows.
    [six, four] = sorted(early.branching, key=lambda one: -one.fragments)
    passes = [np.clip(early.steps - 6 * n, 0, 6) for n in range(6)]
    held = sum(int((done < 6).sum()) for done in passes)
    executed = sum(4 * done.size + int((10 * done).sum()) for done in passes) + 4 * held
    assert (six.instructions, six.taken, six.fragments) == (executed, held, 6 * 24 * 18)
    assert four.fragments == 24 * 18


@on("numpy", "jit", "gl-raster", "gl-compute")
def test_derivatives_are_differences_within_a_quad(name: str) -> None:
    text = "MUL r, fragment.texcoord[0], fragment.texcoord[0].x; DDX c.x, r; DDY c.y, r.y;"
    text += "ADD r, c, r; DDX r, r; DDX c.z, r;"  # of the same in all of the quad
    made = program(text, "MOV result.color, c;", option="NV_fragment_program")
    given = {"texcoords": [fragment_texcoords(0, 5, 3)], "executor": find_executor(name)}
    x = (np.indices((3, 5))[1] // 2 * 2 + 0.5).astype(np.float32)
    expected = np.zeros((3, 5, 4), np.float32)
    expected[..., 0], expected[..., 1] = (x + 1) ** 2 - x**2, x
    assert_same_bits(draw(made, (5, 3), **given), expected)


def test_a_trace_has_the_instructions_that_the_fragment_executes() -> None:
    lines = "MOVC RC, fragment.texcoord[0]; IF GT.x; MOV r, 1; ELSE; MOV r, 2; ENDIF;"
    loop = "REP {3}; SUBC RC.y, fragment.texcoord[0].x, r; BRK (LT.y); ADD r, r, 1; ENDREP;"
    pass_ = FragmentPass(
        program(lines, loop, "MOV result.color, r;"), (), ("t",), Rect(0, 0, 4, 1),
        (fragment_texcoords(0, 4, 1),),
    )  # fmt: skip
    steps, _ = trace_fragment(pass_, {}, (2, 0), FP32)
    found = " ".join(step.instruction.split()[0].rstrip(";") for step in steps)
    once = "SUBC BRK ADD ENDREP"
    assert found == f"MOVC IF MOV ELSE ENDIF REP {once} {once} SUBC BRK MOV"
    assert steps[1].operands[0].text == "GT.x"
    assert str(steps[1].operands[0].value[0]) == "2.5"
