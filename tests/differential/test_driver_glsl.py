"""Random GLSL shaders: as the evaluator beside their text has them, and as drivers draw them."""

from __future__ import annotations

import warnings
from random import Random

import numpy as np
import pytest
from glsl_driver import drawn
from glsl_shaders import F32, Writer

from gpgpu_legacy import run_program
from gpgpu_legacy.languages.glsl.fragments import compile_text
from gpgpu_legacy.languages.language import CompilerOptions

WIDTH, HEIGHT = 6, 4
SHADERS = range(100)


def shader(seed: int) -> tuple[str, F32, dict[str, list[float]]]:
    """A shader, its colours at the pixels of a rectangle, and the values of its uniforms."""
    rng = np.random.default_rng(seed)
    y, x = np.divmod(np.arange(WIDTH * HEIGHT, dtype=np.float32), np.float32(WIDTH))
    half = np.float32(0.5)
    given = {"place": ("vec4", np.stack([x + half, y + half, 0 * x, 0 * x + 1]))}
    for kind, width in (("float", 1), ("vec2", 2), ("vec3", 3), ("vec4", 4)):
        numbers = (rng.integers(-16, 16, width) / np.float32(4)).astype(np.float32)
        given[f"u{width}"] = kind, np.repeat(numbers[:, None], x.size, 1)
    text, colours = Writer(Random(seed), given).shader()
    uniforms = {name: numbers[:, 0].tolist() for name, (_, numbers) in given.items()}
    return text, colours.T.reshape(HEIGHT, WIDTH, 4), uniforms


def differing(seed: int, profile: str) -> str:
    """The shader of a seed if the package departs from the evaluator, with where."""
    text, colours, given = shader(seed)
    uniforms = {n: v for n, v in given.items() if f"{n};" in text and n in text.split("main")[1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        uniforms.pop("place", None)
        program = compile_text(text, f"{seed}.frag", CompilerOptions(profile=profile))
        result = run_program(program, WIDTH, HEIGHT, uniforms=uniforms, executor="numpy")
    same = (result == colours) | (np.isnan(result) & np.isnan(colours))
    return (
        "" if same.all() else f"{text}\n{np.argwhere(~same)[:3]}\n{result[~same]}\n{colours[~same]}"
    )


@pytest.mark.parametrize("profile", ["arbfp1", "fp40"])
def test_random_shaders_have_the_evaluators_bits(profile: str) -> None:
    assert [d for seed in SHADERS if (d := differing(seed, profile))] == []


@pytest.mark.gl
def test_random_shaders_agree_with_the_driver() -> None:
    for seed in SHADERS:
        text, *_ = shader(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both = drawn(text, seed=seed)
        apart = both.apart()
        assert (apart > 1e-5).sum() <= 0.02 * apart.size, text


DERIVATIVES = """
varying vec2 at;
uniform sampler2D image;
void main()
{
    vec2 waves = vec2(sin(9.0 * at.x), cos(7.0 * at.y));
    vec3 row = texture2D(image, vec2(at.x, 0.5)).rgb;
    vec2 turned = at.x > 0.5 ? waves : waves.yx;
    gl_FragColor = vec4(dFdx(waves.x * 3.0), dFdy(waves.y), fwidth(row.r - row.g), dFdx(turned.y));
}
"""


@pytest.mark.gl
def test_derivatives_agree_with_the_driver() -> None:
    """Of what varies along one axis, so that the rows of a quad, and its columns, are alike."""
    both = drawn(DERIVATIVES)
    assert np.abs(both.theirs).max() > 0.05
    assert both.apart().max() < 1e-5
