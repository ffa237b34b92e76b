"""The interpreter of the page against the reference machine: programs, plans and products."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, product
from typing import Any

import numpy as np
import pytest
import random_programs
from browser_pages import Modules
from drawing import (
    assert_same_bits,
    carry_out_all,
    draw_all,
    program,
    show,
    texture,
)
from framebuffers import BLENDS
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from interpreted import Interpreted
from plans import Made, plans
from random_programs import INEXACT
from strategies import Scene, draw_scene, whole_scenes

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.trace import Fate, Visit
from gpgpu_legacy.api.trace import trace as trace_of
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import decode, encode
from gpgpu_legacy.isa.opcodes import ARBFP, Form
from gpgpu_legacy.isa.program import AttributeKind, Fog
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.page.scenes import INTERPRETER, scene_of
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import AttributeCorners, FragmentPass, Plan, written_by
from gpgpu_legacy.plan.serialise import plan_as_json, plan_from_json
from gpgpu_legacy.plan.textures import FORMATS, RGBA32F, Rect
from gpgpu_legacy.runtime.executor import find_executor

NUMPY = find_executor("numpy")
IN_ONE_PAGE = settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],  # to shrink a plan takes minutes
)


@pytest.fixture
def interpreted(modules: Callable[..., Modules]) -> Interpreted:
    return Interpreted(modules(*INTERPRETER))


def are_exact(plan: Plan) -> bool:
    """Whether every function of a plan's programs has one result, whatever library computes it."""
    return all(i.mnemonic not in INEXACT for text in plan.programs() for i in text.instructions)


EXACT_OPCODES = [mnemonic for mnemonic in ARBFP if mnemonic not in INEXACT]


@pytest.mark.parametrize("number", range(12))
def test_branches_loops_and_condition_codes(
    interpreted: Interpreted, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = [row for row in random_programs._NV if row.form in (Form.COMPONENTWISE, Form.VECTOR)]
    monkeypatch.setattr(random_programs, "_NV", plain)
    batch = random_programs.random_batch(f"played {number}", branches=True)
    batch = batch.of(*(part for part in batch.parts if not part.inexact))
    units = batch.program.texture_units
    textures = {n: image for n, image in batch.given["textures"].items() if n in units}
    given = {**batch.given, "textures": textures, "targets": (RGBA32F,) * batch.targets}

    def drawn(executor: Any) -> list[Any]:
        return draw_all(batch.program, random_programs.SIZE, executor=executor, **given)

    if any(image.sampler.has_lod for image in textures.values()):
        with pytest.raises(InputError, match="which pages do not play together"):
            drawn(interpreted)
        return
    found, expected = drawn(interpreted), drawn(NUMPY)
    for part in batch.parts:
        assert_same_bits(found[part.number], expected[part.number])


LINEAR_FOG = st.sampled_from([(), (Fog.LINEAR.value,)])


@IN_ONE_PAGE
@given(LINEAR_FOG.flatmap(lambda fog: whole_scenes(among=EXACT_OPCODES, options=fog)))
def test_whole_scenes(interpreted: Interpreted, scene: Scene) -> None:
    """All that programs may read, drawn to every format, replaced and added."""
    expected, found = (
        [
            draw_scene(
                scene,
                targets=targets[: scene.targets],
                initial=(0.5, -2.0, 1.0, 0.25),
                blend=blend,
                executor=executor,
            )
            for blend in BLENDS
            for targets in ((RGBA32F, FORMATS["rgba16f"]), (FORMATS["rgba8"], FORMATS["unorm8"]))
        ]
        for executor in (NUMPY, interpreted)
    )
    for mine, theirs in zip(chain(*found), chain(*expected), strict=True):
        assert_same_bits(mine, theirs)


@pytest.mark.parametrize("mode", [Fog.EXP, Fog.EXP2])
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_exponential_fog(interpreted: Interpreted, mode: Fog, density: float) -> None:
    """From a coordinate of -2, where the factor may be clamped, to 10, where little is seen."""
    lines = [
        "!!ARBfp1.0",
        f"OPTION {mode.value};",
        "MOV result.color, {0.5, 0.25, 2, 0.75};",
        "END",
    ]
    ends = tuple((at, 0.0, 0.0, 1.0) for at in (-2.0, 10.0, 10.0, -2.0))
    fog = {"state.fog.params": (density, 0.0, 1.0, 1.0), "state.fog.color": (1.0, 0.0, 0.5, 0.0)}
    expected, found = (
        draw_all(
            assemble("\n".join(lines), name="fog.fp"),
            (64, 1),
            attributes=[AttributeCorners(AttributeKind.FOGCOORD, ends)],
            state=fog,
            executor=executor,
        )[0]
        for executor in (NUMPY, interpreted)
    )
    np.testing.assert_allclose(found, expected, rtol=3 * 2.0**-23, atol=2.0**-24)
    assert len(np.unique(expected[..., 0])) > 16


@IN_ONE_PAGE
@given(plans())
def test_random_plans(interpreted: Interpreted, made: Made) -> None:
    assume(are_exact(made.plan))
    expected = carry_out_all(made.plan, made.given, NUMPY)
    found = carry_out_all(made.plan, made.given, interpreted)
    for mine, theirs in zip(found, expected, strict=True):
        assert_same_bits(mine, theirs)


@pytest.mark.parametrize("name", FORMATS)
def test_formats_round_as_the_machines_do(modules: Callable[..., Modules], name: str) -> None:
    """Among the numbers are ties between neighbours, the least and the largest, and no numbers."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    ties = (halves[:-1] + halves[1:]) / 2
    levels = np.concatenate(
        [(np.arange(256) + 0.5) / 255, (np.arange(0, 1 << 16, 97) + 0.5) / 65535]
    )
    values = np.concatenate(
        [halves[::29], ties[::29], ties[:9], levels, [65519, 65520, 1e30, 1e-30, np.inf, np.nan]]
    )
    values = np.concatenate([values, -values]).astype(np.float32)
    code = "given.values.map(ENCODINGS[given.name])"
    found = modules(*INTERPRETER).run(code, {"values": values.tolist(), "name": name})
    with np.errstate(over="ignore"):
        assert_same_bits(found, decode(encode(values, FORMATS[name]), FORMATS[name]))


# Functions that no two libraries compute alike -----------------------------------------------

OFF = 3
"""How many units in the last place a browser's functions are off NumPy's, at most."""

TRANSCENDENTAL = {
    "COS": [(-16, 16)],
    "SIN": [(-16, 16)],
    "EX2": [(-150, 129)],
    "LG2": [(0, 4)],
    "POW": [(0, 100), (-10, 10)],
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0**-149, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("mnemonic", TRANSCENDENTAL)
def test_transcendental_functions_are_near(modules: Callable[..., Modules], mnemonic: str) -> None:
    rng = np.random.default_rng(3)
    spans = TRANSCENDENTAL[mnemonic]
    pairs = np.array(list(product(SPECIAL, repeat=len(spans)))).T
    given_ = [
        np.concatenate([rng.uniform(*span, 4000), special]).astype(np.float32)
        for span, special in zip(spans, pairs, strict=True)
    ]
    code = """(() => {
        const { of } = opcodesIn(Math.fround)[given.mnemonic];
        return given.numbers[0].map((_, n) => of(...given.numbers.map((each) => each[n])));
    })()"""
    numbers = [values.tolist() for values in given_]
    found = modules(*INTERPRETER).run(code, {"mnemonic": mnemonic, "numbers": numbers})
    with np.errstate(all="ignore"):
        expected = ARBFP[mnemonic].evaluate(*given_)
    found = np.array(found, np.float32)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    near = np.abs(found.view(np.int32).astype(np.int64) - expected.view(np.int32)) <= OFF
    assert (same | (near & np.isfinite(found) & np.isfinite(expected))).all()


# Traces and states -------------------------------------------------------------------------------

TRACES = "given.passes.map((k) => player.trace(k, given.x, given.y))"


@pytest.mark.filterwarnings("ignore:.*undefined in the specification")
@IN_ONE_PAGE
@given(plans(), st.data())
def test_a_trace_tells_what_the_packages_own_tells(
    interpreted: Interpreted, made: Made, data: st.DataObject
) -> None:
    plan = plan_from_json(plan_as_json(made.plan))  # lines are those of the text in plan.json
    assume(are_exact(plan))
    operands = made.operands
    names = {name for pass_ in plan.as_written for name in written_by(pass_)}
    assume(names)
    name = data.draw(st.sampled_from(sorted(names)))
    extent = plan.texture(name).extent
    x, y = data.draw(st.integers(0, extent.width - 1)), data.draw(st.integers(0, extent.rows - 1))
    p, how = PlanBuilder.continuing(plan), {"instructions": True, "every_pass": True}
    visits = trace_of(p, (x, y), operands, [name], executor="numpy", **how).visits
    passes = [visit.pass_ - 1 for visit in visits]
    traces = interpreted.ask(plan, operands, TRACES, passes=passes, x=x, y=y)
    for visit, trace in zip(visits, traces, strict=True):
        assert (trace is None) == (visit.fate is Fate.OUTSIDE)
        if trace is not None:
            check_trace(plan, visit, trace)


def check_trace(plan: Plan, visit: Visit, trace: dict[str, Any]) -> None:
    """A trace of the page against a visit of the package's."""
    assert trace["discarded"] == (visit.fate is Fate.DISCARDED)
    targets = {target["name"]: target for target in trace["targets"]}
    for written in visit.written:
        channels = len(written.before)
        target = targets[written.texture]
        assert_same_bits(target["before"][:channels], written.before)
        assert_same_bits(target["after"][:channels], written.after)
    for mine, theirs in zip(trace["steps"], visit.steps or (), strict=True):
        assert (mine["text"], mine["line"]) == (theirs.instruction, theirs.line)
        for operand, expected in zip(mine["operands"], theirs.operands, strict=True):
            assert operand["text"] == expected.text
            assert_same_bits(operand["value"], expected.value)
        for c, value in enumerate(theirs.result or ()):
            assert ("xyzw"[c] in mine["written"]) == (value is not None)
            if value is not None:
                assert_same_bits(mine["result"][c], value)
        assert (mine["lookup"] is None) == (theirs.texel is None)
        if theirs.texel is not None:
            lookup = mine["lookup"]
            read, level = plan.texture(lookup["texture"]), theirs.texel.level
            height = read.extent.level(level, read.kind).height
            row = read.extent.first_row(level) + theirs.texel.layer * height + theirs.texel.y
            place = (theirs.texel.x, row)
            assert (lookup["x"], lookup["y"]) == place
            assert_same_bits(lookup["texel"], theirs.sampled)


def test_saturation_is_shown(interpreted: Interpreted) -> None:
    text = program("MAD_SAT result.color.xz, {1, 2, 3, 4}, {2, 2, -2, 2}, {0.5, 0.5, 0.5, 0.5};")
    target = texture("target", 1, 1, RGBA32F)
    plan = show([FragmentPass(text, (), ("target",), Rect(0, 0, 1, 1))], target)
    trace = interpreted.ask(plan, {}, "player.trace(0, 0, 0)")
    assert trace["steps"][0]["unsaturated"] == [2.5, 0, -5.5, 0]
    assert trace["steps"][0]["result"] == [1, 0, 0, 0]
    assert trace["after"] == [1, 0, 0, 0]


# What is refused ---------------------------------------------------------------------------------


def said(page: Modules, code: str, given_: Any) -> str:
    """What an error of the page's says."""
    tried = f"(() => {{ try {{ {code}; }} catch (error) {{ return error.message; }} }})()"
    words = page.run(tried, given_)
    assert isinstance(words, str), "nothing was refused"
    return words


def test_what_cannot_be_played_is_said(modules: Callable[..., Modules]) -> None:
    page = modules(*INTERPRETER)
    kernels = scene_of(find_product("opengl-compute-tiled").plan(n=2))
    assert "dispatches kernels" in said(page, "new PlanOf(given)", kernels)
    scene = scene_of(find_product("larson-mcallister").plan(m=2, l=3, n=4))
    plan = "const plan = new PlanOf(given);"
    a = "A: {rows: 2, columns: 3, values: new Float32Array(6)}"
    assert "needs the matrix B" in said(page, f"{plan} packed(plan, {{{a}}})", scene)
    wrong = f"{plan} packed(plan, {{{a}, B: {{rows: 4, columns: 3}}}})"
    assert "takes 3 × 4 numbers as B, and was given 4 × 3" in said(page, wrong, scene)
    assert "and none 99" in said(page, f"{plan} plan.pass(99)", scene)
    assert "no texture Z" in said(page, f"{plan} plan.texture('Z')", scene)
