"""Texture environments against the driver's own fixed function, and every other executor."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from departures import LLVMPIPE, driver_of
from environments import differing_bytes, random_scene, wrong_bytes

from gpgpu_legacy.api.pipeline import Pipeline, find
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.runtime.executor import Executor

pytestmark = pytest.mark.gl


@pytest.mark.parametrize(
    ("name", "scenes"), [("gl-arbfp", 30), ("gl-raster", 3), ("gl-compute", 3), ("jit", 3)]
)
def test_random_environments_give_the_bytes_of_opengls_equations(
    name: str, scenes: int, ready: Callable[[str], Executor]
) -> None:
    executor = ready(name)
    for seed in range(scenes):
        scene = random_scene(Random(1000 + seed))
        is_driver = name == "gl-arbfp"
        expected = scene.expected(dot3_scales=is_driver and driver_of(executor).dot3_scales)
        drawn = scene.drawn(name)
        if is_driver and driver_of(executor) is not LLVMPIPE:
            assert wrong_bytes(drawn, expected) == 0, scene.text
        else:
            assert differing_bytes(drawn, expected, expected) == 0, scene.text
        np.testing.assert_allclose(
            scene.drawn(name, "rgba32f"), expected, atol=1e-5, err_msg=scene.text
        )


@pytest.mark.parametrize("texel_format", ["unorm8", "r32f"])
def test_the_product_of_2001_is_the_same_as_the_programs(
    texel_format: str, ready: Callable[[str], Executor]
) -> None:
    """All products of two bytes, sums that saturate, and on floats sums of random matrices."""
    executor = ready("gl-arbfp")
    rng = np.random.default_rng(1)
    levels = (np.arange(256) / 255).astype(np.float32)
    a = np.stack([levels, rng.random(256, np.float32)], 1)
    results = [
        find("larson-mcallister", n=256, l=2, texture_format=texel_format, state=state)
        .run(A=a, B=a.T.copy(), executor=executor)
        .outputs["C"]
        for state, executor in (
            ("program", "numpy"),
            ("texture-environment", "numpy"),
            ("texture-environment", "gl-arbfp"),
        )
    ]
    np.testing.assert_array_equal(results[1], results[0])
    if texel_format == "r32f" or driver_of(executor) is LLVMPIPE:
        np.testing.assert_array_equal(results[2], results[0])
    else:
        drawn, exact = (result.astype(np.float64) for result in (results[2], a @ a.T))
        assert wrong_bytes(drawn, np.minimum(exact, 1), rounded=2) == 0


@pytest.mark.parametrize("name", ["gl-raster", "gl-compute"])
def test_the_arithmetic_of_8_bits_is_numpys(name: str, ready: Callable[[str], Executor]) -> None:
    ready(name)
    for seed in range(4):
        scene = random_scene(Random(7000 + seed))
        drawn, numpys = (
            scene.drawn(each, "rgba32f", "ff8", exact=True, denormals=False)
            for each in (name, "numpy")
        )
        np.testing.assert_array_equal(drawn, numpys, scene.text)


@pytest.mark.parametrize("function", ["MODULATE", "ADD", "SUBTRACT"])
def test_unclamped_colours(function: str, ready: Callable[[str], Executor]) -> None:
    """OpenGL 3.0, 3.9.13: "If fragment color clamping is disabled, the values are not clamped."

    Mesa clamps what a function other than a product or a mix of its arguments gives.
    """
    executor = ready("gl-arbfp")
    unit = f"TEXTURE0 2D COMBINE RGB = {function}(TEXTURE, CONSTANT) COLOR = (1, 1, 1, 1)"
    exact = {"MODULATE": 2.5, "ADD": 3.5, "SUBTRACT": 1.5}[function]
    drawn = {}
    for name in ("numpy", "gl-arbfp"):
        p = Pipeline("unclamped")
        c = p.texture("C", 1, 1, kind="2D")
        a = {0: p.input("A", 1, 1, kind="2D")}
        p.draw(
            f"!!texenv1.3\nCLAMP_FRAGMENT_COLOR FALSE\n{unit}\n",
            a,
            into=c,
            texcoords={0: (0.5, 0.5)},
        )
        p.output("C", c)
        drawn[name] = p.run(A=np.float32([[2.5]]), executor=name).outputs["C"].item()
    clamps = driver_of(executor) is LLVMPIPE and function != "MODULATE"
    assert drawn == {"numpy": exact, "gl-arbfp": 1 if clamps else exact}


def test_a_constant_of_the_pass_is_clamped(ready: Callable[[str], Executor]) -> None:
    """OpenGL 1.3, 3.8.13: "All of these color values, including the results, are clamped"."""
    ready("gl-arbfp")
    for name in ("numpy", "gl-arbfp"):
        p = Pipeline("constant")
        c = p.texture("C", 1, 1, kind="2D")
        a = {0: p.input("A", 1, 1, kind="2D")}
        unit = "TEXTURE0 2D COMBINE RGB = SUBTRACT(CONSTANT, TEXTURE)"
        color = {"texenv[0].color": (3, 0, 0, 0)}
        p.draw(f"!!texenv1.3\n{unit}\n", a, into=c, state=color, texcoords={0: (0.5, 0.5)})
        p.output("C", c)
        assert p.run(A=np.float32([[0.25]]), executor=name).outputs["C"] == 0.75


def test_a_unit_that_the_driver_lacks_is_a_plan_error(
    ready: Callable[[str], Executor], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpgpu_legacy.runtime.gl import compatibility

    ready("gl-arbfp")
    monkeypatch.setattr(compatibility.Context, "integer", lambda *_: 2)
    p = Pipeline("third unit")
    c = p.texture("C", 1, 1)
    a = {2: p.input("A", 1, 1)}
    p.draw("!!texenv1.3\nTEXTURE2 RECT REPLACE\n", a, into=c, texcoords={2: (0.5, 0.5)})
    p.output("C", c)
    with pytest.raises(PlanError, match=r"enables TEXTURE2, and .* has 2 texture environments"):
        p.run(A=np.zeros((1, 1), np.float32), executor="gl-arbfp")
