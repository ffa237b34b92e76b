"""Plans on WebGL2 in the page against the reference machine; and what keeps them from the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from browser_pages import EACH_RENDERER, SOFTWARE, Modules
from drawing import EXACT, assert_same_bits, carry_out_all
from hypothesis import HealthCheck, given, settings
from interpreted import DRAWN, Interpreted, given_in_page
from plans import Made, plans
from products import F32, METHODS_AND_WAYS, plan_of, random_operands, whole_operands

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.page.scenes import PLAYER
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import find_executor

NUMPY = find_executor("numpy")
IN_ONE_PAGE = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
SHAPES = ((5, 7, 3), (33, 20, 18))

TAKEN = """(async () => {
    const scene = structuredClone(given.scene);
    const matrices = {};
    for (const [name, matrix] of Object.entries(given.operands)) {
        const values = new Float32Array(new Uint32Array(matrix.bits).buffer);
        matrices[name] = { ...matrix, values };
    }
    const told = (player) => {
        const [{ texture }] = player.plan.outputs;
        player.texture(texture);
        const bits = [...new Uint32Array(player.results().C.values.buffer)];
        return { on: player.on, bits, differs: player.differs };
    };
    CODE
})()"""
"""Code on a scene and its matrices; `told` says what a player shows."""


@pytest.fixture
def page(modules: Callable[..., Modules]) -> Modules:
    return modules(*PLAYER)


def product(way: Accumulate = Accumulate.PING_PONG, **more: Any) -> Plan:
    multi = find_product("hall-carr-hart-multi")
    return multi.plan(m=6, l=15, n=7, block=2, accumulate=way, **more)


def told(page: Modules, plan: Plan, code: str) -> Any:
    """What code says of a plan, with random matrices; and the bits of their product."""
    operands = random_operands(plan)
    found = page.run(TAKEN.replace("CODE", code), given_in_page(plan, operands))
    return found, np.float32(NUMPY.run(plan, operands, EXACT).outputs["C"])


def assert_right(shown: Any, expected: F32) -> None:
    bits = np.array(shown["bits"], np.uint32).view(np.float32).reshape(expected.shape)
    assert_same_bits(bits, expected)


# Plans --------------------------------------------------------------------------------------------


SIZED = {False: "any-size", True: "sized"}
PRODUCTS = [
    pytest.param(renderer, *case.values, sized, id=f"{renderer}-{case.id}-{SIZED[sized]}")
    for n, case in enumerate(METHODS_AND_WAYS)
    for renderer, sized in zip(SOFTWARE, (n % 2 == 0, n % 2 == 1), strict=True)
]
"""Each method in each way on each renderer; in each way its shaders know sizes on one of them."""


@pytest.mark.parametrize(("renderer", "method", "way", "sized"), PRODUCTS)
def test_products(page: Modules, method: Algorithm, way: Accumulate | None, sized: bool) -> None:
    drawn = Interpreted(page, DRAWN, sized=sized)
    for shape in SHAPES:
        plan = plan_of(method, shape, way, block=3)
        operands = whole_operands(plan) if shape == SHAPES[0] else random_operands(plan)
        expected = NUMPY.run(plan, operands, EXACT).outputs["C"]
        assert_same_bits(drawn.run(plan, operands).outputs["C"], expected)


@pytest.mark.parametrize(("renderer", "sized"), tuple(zip(SOFTWARE, SIZED, strict=True)))
def test_random_plans(page: Modules, sized: bool) -> None:
    drawn = Interpreted(page, DRAWN, sized=sized)

    @IN_ONE_PAGE
    @given(plans(tame=True))
    def check(made: Made) -> None:
        expected = carry_out_all(made.plan, made.given, NUMPY)
        found = carry_out_all(made.plan, made.given, drawn)
        for mine, theirs in zip(found, expected, strict=True):
            assert_same_bits(mine, theirs)

    check()


# The player ---------------------------------------------------------------------------------------

EVERY_STATE = """
    const player = await Player.open(scene, matrices);
    const { passes, textures } = player.plan;
    const order = [...Array(passes + 1).keys(), ...Array(passes + 1).keys().toArray().reverse()];
    const found = order.map((k) => {
        player.seek(k);
        for (const { name } of textures) player.texture(name);
        return player.differs;
    });
    return { ...told(player), found, order };
"""


@EACH_RENDERER
@pytest.mark.parametrize("way", Accumulate)
def test_every_state_is_the_interpreters(page: Modules, renderer: str, way: Accumulate) -> None:
    plan = product(way)
    found, _ = told(page, plan, EVERY_STATE)
    assert found["on"].startswith("your GPU (") and renderer in found["on"].lower()
    assert len(found["order"]) > 4
    numbers = sum(t.extent.width * t.extent.rows * t.format.channels for t in plan.textures)
    nothing = {"count": 0, "of": numbers, "largest": 0}
    assert all(differs == nothing for differs in found["found"])


def test_what_differs_is_counted(page: Modules) -> None:
    code = """
        const player = await Player.open(scene, matrices);
        player.seek(player.plan.passes);
        const texture = player.run.texture.bind(player.run);
        player.run.texture = (name) => {
            const read = texture(name);
            read.data = read.data.map((value, n) => (n % 4 === 1 ? value + 0.5 : value));
            return read;
        };
        return told(player);
    """
    plan = product()
    found, _ = told(page, plan, code)
    texels = plan.outputs[0].rect.area
    assert found["differs"]["count"] == texels
    assert found["differs"]["of"] == 4 * texels
    assert found["differs"]["largest"] == pytest.approx(0.5, rel=1e-5)


def test_it_begins_again_with_other_matrices(page: Modules) -> None:
    code = """
        const player = await Player.open(scene, matrices);
        player.seek(player.plan.passes);
        const values = matrices.A.values.map((value) => 2 * value);
        player.setMatrices({ ...matrices, A: { ...matrices.A, values } });
        player.seek(player.plan.passes);
        return told(player);
    """
    found, expected = told(page, product(), code)
    assert_right(found, 2 * expected)


# What keeps a plan from the GPU -------------------------------------------------------------------

FALLS = """
    const player = await Player.open(scene, matrices);
    player.seek(player.plan.passes);
    return told(player);
"""
STUBBED = """
    const getExtension = WebGL2RenderingContext.prototype.getExtension;
    WebGL2RenderingContext.prototype.getExtension = function (name) {
        return name === "LACKING" ? null : getExtension.call(this, name);
    };
"""


def assert_fell(found: Any, expected: F32, reason: str) -> None:
    assert found["on"].startswith("the interpreter in this page, since ")
    assert reason in found["on"] and found["on"].count(".") == 0
    assert_right(found, expected)
    assert found["differs"] == {"count": 0, "of": 0, "largest": 0}


@EACH_RENDERER
def test_a_context_that_is_lost(page: Modules) -> None:
    """In the middle: it goes on at the same pass, and the next player has a GPU again."""
    code = """
        const player = await Player.open(scene, matrices);
        player.seek(2);
        const before = player.on;
        player.run.gl.getExtension("WEBGL_lose_context").loseContext();
        player.seek(3);
        const at = player.interpreter.at;
        player.seek(player.plan.passes);
        const again = await Player.open(scene, matrices);
        again.seek(again.plan.passes);
        return { ...told(player), before, at, again: told(again) };
    """
    found, expected = told(page, product(), code)
    assert found["before"].startswith("your GPU") and found["at"] == 3
    assert_fell(found, expected, "the browser took the GPU away from the page")
    assert found["again"]["on"].startswith("your GPU")
    assert_right(found["again"], expected)


def test_a_context_that_is_lost_while_it_reads(page: Modules) -> None:
    code = """
        const player = await Player.open(scene, matrices);
        player.seek(player.plan.passes);
        player.run.gl.getExtension("WEBGL_lose_context").loseContext();
        return told(player);
    """
    found, expected = told(page, product(), code)
    assert_fell(found, expected, "the browser took the GPU away from the page")


@EACH_RENDERER
def test_a_shader_that_the_driver_refuses(page: Modules) -> None:
    code = f"scene.shaders.texts[0].fragment = 'void main() {{ wrong; }}';{FALLS}"
    found, expected = told(page, product(), code)
    assert_fell(found, expected, "the GPU's driver refuses a shader (ERROR: ")


def test_no_webgl2(page: Modules) -> None:
    code = f"HTMLCanvasElement.prototype.getContext = () => null;{FALLS}"
    found, expected = told(page, product(), code)
    assert_fell(found, expected, "this browser gives the page no WebGL2")


def test_no_targets_of_floats(page: Modules) -> None:
    code = STUBBED.replace("LACKING", "EXT_color_buffer_float") + FALLS
    found, expected = told(page, product(), code)
    assert_fell(found, expected, "this GPU draws to no textures of floats")


def test_what_goes_wrong_otherwise_is_not_hidden(page: Modules) -> None:
    with pytest.raises(Exception, match="needs the matrix A"):
        told(page, product(), "delete matrices.A; return told(await Player.open(scene, matrices));")


# Time ---------------------------------------------------------------------------------------------


def test_whole_runs_are_timed_and_can_be_stopped(page: Modules) -> None:
    code = """
        const run = (await Gpu.open()).prepare(new PlanOf(scene));
        run.load(matrices);
        let left = 2;
        const times = [await run.time(3), await run.time(5, () => left-- > 0), left];
        const none = await run.time(3, () => false);
        const { values } = run.results().C;
        return { times, none, bits: [...new Uint32Array(values.buffer)] };
    """
    found, expected = told(page, product(), code)
    *times, left = found["times"]
    assert all(0 < time < 60_000 for time in times)
    assert left == -1 and found["none"] is None
    assert_right(found, expected)
