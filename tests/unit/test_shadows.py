"""ARB_fragment_program_shadow: comparisons by hand, on every executor and the driver's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from drawing import EACH_EXECUTOR, Image, draw

from gpgpu_legacy import Pipeline, run_program
from gpgpu_legacy.errors import AssemblyError, PlanError
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.textures import FORMATS, Compare, Filter, Sampler, TextureKind
from gpgpu_legacy.runtime.executor import Executor

Ready = Callable[[str], Executor]
DEPTHS = np.array([[0.25, 0.75]], np.float32)


def shadow(target: str, place: str) -> str:
    return (
        "!!ARBfp1.0 OPTION ARB_fragment_program_shadow; "
        f"TEX result.color, {{{place}}}, texture[0], {target}; END"
    )


@EACH_EXECUTOR
@pytest.mark.parametrize(
    ("words", "place", "result"),
    [
        ("", "0.1, 0.5, 0.2", 1), ("", "0.1, 0.5, 0.25", 1), ("", "0.1, 0.5, 0.3", 0),
        ("GL_GEQUAL", "0.9, 0.5, 0.75", 1), ("less", "0.9, 0.5, 0.75", 0),
        ("greater", "0.9, 0.5, 9", 1), ("equal", "0.1, 0.5, 0.25", 1),
        ("notequal", "0.1, 0.5, 0.25", 0), ("always", "0.1, 0.5, 1", 1),
        ("never", "0.1, 0.5, 0", 0), ("greater border=-3 clamp-to-border", "-1, 0.5, -2", 1),
        ("linear", "0.375, 0.5, 0.5", 0.25), ("linear gequal", "0.375, 0.5, 0.5", 0.75),
        ("linear-mipmap-nearest", "0.375, 0.5, 0.5", 0.25),
        ("nearest-mipmap-nearest min-lod=1", "0.1, 0.5, 0.4", 1),  # of their mean, 0.5
    ],
)  # fmt: skip
def test_comparisons(ready: Ready, name: str, words: str, place: str, result: float) -> None:
    executor = ready(name).name
    for target, depths in (("SHADOW2D", DEPTHS), ("SHADOW1D", DEPTHS[0])):
        texture = (target.removeprefix("SHADOW"), depths, words)
        drawn = run_program(shadow(target, place), 1, 1, {0: texture}, executor=executor)
        assert drawn[0, 0].tolist() == [result, result, result, 1]


def test_rectangles_have_texels_for_coordinates() -> None:
    text = shadow("SHADOWRECT", "1.5, 0.5, 0.5")
    assert run_program(text, 1, 1, {0: ("RECT", DEPTHS)})[0, 0, 0] == 1


def test_a_depth_is_grey_elsewhere() -> None:
    image = Image(DEPTHS[..., None], TextureKind.T2D, format=FORMATS["depth16"])
    text = assemble("!!ARBfp1.0 TEX result.color, {0.1, 0.5}, texture[0], 2D; END", name="grey")
    grey = 16384 / 65535  # the nearest of 16 bits to 0.25
    assert draw(text, (1, 1), textures={0: image})[0, 0].tolist() == [np.float32(grey)] * 3 + [1]


@pytest.mark.parametrize(
    ("target", "sampler", "texel_format"),
    [
        ("2D", Sampler(compare=Compare.LESS), "depth32f"),
        ("SHADOW2D", Sampler(Filter.LINEAR), "depth32f"),
        ("SHADOW2D", Sampler(compare=Compare.LESS), "r32f"),
    ],
)
def test_what_does_not_compare(target: str, sampler: Sampler, texel_format: str) -> None:
    image = Image(DEPTHS[..., None], TextureKind.T2D, sampler=sampler, format=FORMATS[texel_format])
    with pytest.raises(PlanError, match="shadow targets need a depth format"):
        draw(assemble(shadow(target, "0, 0"), name="s"), (1, 1), textures={0: image})


def test_depths_have_no_layers() -> None:
    """GL 1.5, 3.8.1: DEPTH_COMPONENT is for "TEXTURE_1D, TEXTURE_2D" and their proxies."""
    with pytest.raises(PlanError, match="1D, 2D and RECT textures alone"):
        Pipeline("deep").texture("T", 2, 2, depth=2, kind="3D", format="depth16")


def test_a_shadow_needs_its_option() -> None:
    text = "!!ARBfp1.0 TEX result.color, fragment.position, texture[0], SHADOW2D; END"
    with pytest.raises(AssemblyError, match="SHADOW2D needs OPTION ARB_fragment_program_shadow"):
        assemble(text, name="shadow")
