"""Every lowering against the reference machine: methods, whole scenes, and random plans.

jit and gl-compute run fused passes at once, tile by tile; observed, they run one pass after
another. With `exact`, both give the reference machine's bits. Where the driver is not llvmpipe,
which keeps the order of operations and contracts nothing, gl-compute is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from departures import driver_of
from drawing import (
    EXACT,
    F32,
    as_exact_as_it_can,
    assert_same_bits,
    carry_out_all,
    draw_all,
    fragment_texcoords,
    on,
    program,
)
from framebuffers import BLENDS
from hypothesis import assume, given, settings
from lookups import LOOKUPS, lookups_drawn
from plans import NAMES, Made, plans
from products import random_operands
from strategies import SMALL_NUMBER, TILES, Scene, draw_scene, whole_scenes
from varying import dispatch_plans

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import ARITHMETICS
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.framebuffer import Blend
from gpgpu_legacy.plan.plan import Corners, FragmentPass, Plan, Texcoords
from gpgpu_legacy.plan.textures import Filter, TextureKind, Wrap
from gpgpu_legacy.runtime import jit as jit_module
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.machine import Machine, Tuning

JIT, NUMPY = find_executor("jit"), find_executor("numpy")

pytestmark = pytest.mark.filterwarnings("error")


# Scenes ------------------------------------------------------------------------------------------


def drawn(scene: Scene, executor: Executor, blend: Blend | None) -> list[F32]:
    return draw_scene(scene, initial=(0.5, -2.0, 1.0, 0.25), blend=blend, executor=executor)


@settings(max_examples=20)
@given(whole_scenes())
def test_whole_scenes_to_the_last_bit(scene: Scene) -> None:
    for blend in BLENDS:
        expected = drawn(scene, NUMPY, blend)
        for found, wanted in zip(drawn(scene, JIT, blend), expected, strict=True):
            assert_same_bits(found, wanted)


SMOOTH = ("ABS", "ADD", "COS", "DP3", "DP4", "DPH", "DST", "EX2", "LRP", "MAD", "MAX", "MIN",
          "MOV", "MUL", "SCS", "SIN", "SUB", "SWZ")  # fmt: skip


@settings(max_examples=15)
@given(whole_scenes(SMALL_NUMBER, SMALL_NUMBER, among=SMOOTH, most=3))
def test_contracted_scenes_are_near(scene: Scene) -> None:
    """No opcode of these has a jump; what may cancel does so among numbers of a known size."""
    expected = draw_scene(scene, executor=NUMPY)
    assume(all((np.abs(each) < 100).all() for each in expected))
    found = draw_scene(scene, executor=JIT, machine=Machine())
    for mine, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("line", ["EX2 R0, R0.x;", "LG2 R0, R0.x;", "SIN R0, R0.x;",
                                  "COS R0, R0.x;", "SCS R0.xy, R0.x;", "LIT R0, R0;",
                                  "POW R0, R0.x, R0.y;"])  # fmt: skip
def test_what_libraries_round_differently_is_the_reference_s_where_exact(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[FragmentPass] = []
    original = jit_module._run_on_reference

    def noted(passes: tuple[FragmentPass, ...], *more: object) -> None:
        asked.extend(passes)
        original(passes, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(jit_module, "_run_on_reference", noted)
    text = program("ABS R0, fragment.texcoord[0];", line, "MOV result.color, R0;")
    more = {"texcoords": [fragment_texcoords(0, 19, 3)]}
    [exact] = draw_all(text, (19, 3), executor=JIT, machine=EXACT, **more)  # type: ignore[arg-type]
    assert len(asked) == 1
    [default] = draw_all(text, (19, 3), executor=JIT, machine=Machine(), **more)  # type: ignore[arg-type]
    assert len(asked) == 1
    [expected] = draw_all(text, (19, 3), executor=NUMPY, **more)  # type: ignore[arg-type]
    assert_same_bits(exact, expected)
    np.testing.assert_allclose(default, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("kind", "how", "wrap"), LOOKUPS)
def test_lookups_are_native_code(
    kind: TextureKind, how: Filter, wrap: Wrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every target, filter and wrap; contraction or not, a filter's sum is the reference's."""
    drawn = lookups_drawn(kind, how, wrap)
    expected = draw_all(**drawn, executor=NUMPY)
    monkeypatch.setattr(jit_module, "_run_on_reference", lambda *_: pytest.fail("not native"))
    for machine in (replace(EXACT, tuning=Tuning(tile=(1, 1))), Machine()):
        for found, wanted in zip(
            draw_all(**drawn, executor=JIT, machine=machine), expected, strict=True
        ):
            assert_same_bits(found, wanted)


# Plans -------------------------------------------------------------------------------------------


def observed(
    made: Made, executor: Executor, machine: Machine = EXACT
) -> list[tuple[int, object, list[F32]]]:
    """What an exact run's observer is told, with all textures after each pass."""
    seen: list[tuple[int, object, list[F32]]] = []
    executor.run(
        made.plan,
        made.operands,
        machine,
        lambda n, each, read: seen.append((n, each, [read(name).copy() for name in NAMES])),
    )
    return seen


def assert_same_run(executor: Executor, made: Made, tuning: Tuning | None = None) -> None:
    """All at once as the plan written out, and pass by pass."""
    machine = replace(EXACT, tuning=tuning)
    expected = carry_out_all(expand(made.plan), made.given, NUMPY)
    found = carry_out_all(made.plan, made.given, executor, machine)
    for mine, wanted in zip(found, expected, strict=True):
        assert_same_bits(mine, wanted)
    for mine, wanted in zip(observed(made, executor, machine), observed(made, NUMPY), strict=True):
        assert mine[:2] == wanted[:2]
        for texels, others in zip(mine[2], wanted[2], strict=True):
            assert_same_bits(texels, others)


@settings(max_examples=14)
@given(plans(), TILES)
def test_any_plan_on_jit(made: Made, tuning: Tuning | None) -> None:
    assert_same_run(JIT, made, tuning)


@settings(max_examples=6)
@given(plans(tame=True), TILES)
def test_plans_that_chain_on_jit(made: Made, tuning: Tuning | None) -> None:
    assert_same_run(JIT, made, tuning)


@on("gl-arbfp", "gl-compute", "gl-raster")
def test_a_plan_is_its_expansion_on_a_gpu(name: str, ready: Callable[[str], Executor]) -> None:
    """And the reference machine's, unless a driver's programs differ; the sign of 0 is left open.

    A driver's own lookups have weights of its own, too. A run of a prepared plan finds nothing of
    the runs before.
    """
    executor = ready(name)
    exact = executor.capabilities.exact or driver_of(executor).keeps_order

    @settings(max_examples=4)
    @given(plans(tame=True, plain=not executor.capabilities.exact))
    def run(made: Made) -> None:
        whole = expand(made.plan)
        assume(any(isinstance(each, FragmentPass) for each in whole.steps))
        operands = made.operands
        others = {name: values[::-1].copy() for name, values in operands.items()}
        by, machine = NUMPY if exact else executor, as_exact_as_it_can(executor, whole)
        wanted = [by.run(whole, each, machine).outputs for each in (operands, others)]
        with executor.prepare(made.plan, machine) as prepared:
            for n in (0, 1, 0):
                for observer in (None, lambda *_: None):
                    found = prepared.run((operands, others)[n], observer).outputs
                    for output, values in wanted[n].items():
                        np.testing.assert_array_equal(found[output], values)

    run()


@on("numpy", "jit", "gl-compute")
def test_dispatches_are_their_expansion(name: str, ready: Callable[[str], Executor]) -> None:
    """Uniforms and work groups that vary; all sums are of quarters, and exact."""
    executor = ready(name)

    @settings(max_examples=6)
    @given(dispatch_plans())
    def run(plan: Plan) -> None:
        found = executor.run(plan, {}).outputs["C"]
        assert_same_bits(found, NUMPY.run(expand(plan), {}, EXACT).outputs["C"])

    run()


# Constants ---------------------------------------------------------------------------------------

HIDDEN = {
    "a constant": "MUL result.color, R0, {0, -0.0, 2, 1};",
    "a swizzle": "SWZ R1, R0, 0, -1, -0, 1;  MUL result.color, R0, R1;",
    "a saturated constant": "MOV_SAT R1, {-3, 0, 5, 1};  MUL result.color, R0, R1;",
    "a comparison with itself": "SLT R1, R0, R0;  MUL result.color, R0, R1;",
    "a factor of 1": "LRP result.color, fragment.fogcoord.w, R0.x, R0;",
    "a channel that is missing": "TEX R1, 0.5, texture[1], RECT;  MUL result.color, R0, R1;",
    "constants alone": "SUB R1, {2, 1, 0.5, 3}, {2, 1, 0.5, 3};  MUL result.color, R0, R1;",
    "a depth": "FLR R1, fragment.position.z;  MUL result.color, R0, R1;",
    "a fragment's w": "FRC R1, fragment.position.w;  MUL result.color, R0, R1;",
    "a saturated depth": "FLR_SAT R1, -fragment.position.z;  DP3 result.color, R0, R1;",
    "a fraction of 1": "FLR R1, -fragment.position.z;  FRC R1, R1;  MUL result.color, R0, R1;",
    "a cross product's rest": "XPD R1, R0, R0;  MUL result.color, R0, R1.w;",
    "a register that is not written": "MUL result.color, R0, R1;",
    "a component that is not written": "MOV R1.x, R0;  MUL result.color, R0, R1;",
    "a sum with 0": "MOV R1, {1, 0, 0, 0};  ADD R1, -R1.w, R1;  RCP result.color, R1.y;",
}


# Where the fragment's texel is looked up: the second leaves the plane, and has other shaders.
LEVEL: Corners = ((0.5, 0.5, 0.0, 1.0),) * 4
BENT: Corners = ((0.25, 0.25, 0.0, 1.0), (0.75, 0.5, 0.0, 1.0), (0.5, 0.5, 0.0, 1.0), (0.5,) * 4)


@pytest.mark.parametrize("number", range(len(HIDDEN)), ids=HIDDEN)
@on("gl-raster", "gl-compute")
def test_an_exact_shader_folds_no_constant(
    name: str, number: int, ready: Callable[[str], Executor]
) -> None:
    """An infinity times 0 is NaN; Mesa takes it for 0 where it knows the 0."""
    executor = ready(name)
    odd = np.array([np.inf, -np.inf, np.nan, -2.5], np.float32)
    scene: dict[str, Any] = {
        "textures": {0: odd.reshape(1, 1, 4), 1: np.full((1, 1, 1), 0.5, np.float32)},
        "texcoords": [Texcoords(0, (LEVEL, BENT)[number % 2])],
    }
    line = list(HIDDEN.values())[number]
    text = program("TEX R0, fragment.texcoord[0], texture[0], RECT;", line)
    expected = draw_all(text, (1, 1), **scene)[0]
    found = draw_all(text, (1, 1), executor=executor, **scene)[0]
    assert_same_bits(found, expected)


CHOICES = {
    "of sources with signs": (
        "MOV R1, R0.yxxz;", "MOV R2, -R0.yxyx;", "MAX R3.xyz, -R2.wzxy, -R1.ywww;",
        "SUB R2.xyw, R3.zwxw, R2.w;", "ADD result.color, {2}.wwwx, -R2;",
    ),
    "of two": ("MAX R1, R0, -R0.yzwx;", "MIN R2, R0.zwxy, R0;", "ADD result.color, R1, R2;"),
    "of one of three": ("CMP R1, -R0.yzwx, R0, -R0.yzwx;", "ADD result.color, R1, R1.yzwx;"),
    "a fraction": ("FRC R1, -R0;", "MAX result.color, R1, R1.yzwx;"),
    "of 1 and 0": ("SGE R1, -R0, R0.yzwx;", "SLT R2, R0, R1;", "SUB result.color, R1, R2;"),
}  # fmt: skip


@pytest.mark.parametrize("lines", CHOICES.values(), ids=CHOICES)
@on("gl-raster", "gl-compute", "jit")
def test_an_exact_choice_takes_nan_as_the_machine_does(
    name: str, lines: Sequence[str], ready: Callable[[str], Executor]
) -> None:
    """Mesa makes a max of a choice, and the max of NaN is the other number."""
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5], np.float32)
    texels = np.stack(np.meshgrid(odd, odd, odd, odd, indexing="ij"), -1).reshape(36, 36, 4)
    scene: dict[str, Any] = {
        "textures": {0: np.ascontiguousarray(texels)},
        "texcoords": [fragment_texcoords(0, 36, 36)],
    }
    text = program(
        "TEX R0, fragment.texcoord[0], texture[0], RECT;", *lines,
        temporaries="TEMP R0, R1, R2, R3;",
    )  # fmt: skip
    expected = draw_all(text, (36, 36), **scene)[0]
    found = draw_all(text, (36, 36), executor=ready(name), **scene)[0]
    assert_same_bits(found, expected)


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ARITHMETICS if name != "fp32"])
def test_another_arithmetic_is_refused_in_a_line(name: str) -> None:
    plan = find_product("larson-mcallister").plan(m=3, l=2, n=4)
    with pytest.raises(PlanError, match=f"jit computes in fp32, not in {name}") as raised:
        JIT.run(plan, random_operands(plan), Machine(arithmetic=ARITHMETICS[name]))
    assert "\n" not in str(raised.value)
