"""Random GLSL shaders, as the driver's own compiler draws them."""

from __future__ import annotations

import warnings
from random import Random

import numpy as np
import pytest
from glsl_driver import drawn
from glsl_shaders import Writer

SHADERS = range(100)
GIVEN = {"place": "vec4", "u1": "float", "u2": "vec2", "u3": "vec3", "u4": "vec4"}


@pytest.mark.gl
def test_random_shaders_agree_with_the_driver() -> None:
    for seed in SHADERS:
        text = Writer(Random(seed), GIVEN).shader()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            apart = drawn(text, seed=seed).apart()
        assert (apart > 1e-5).sum() <= 0.02 * np.isfinite(apart).sum(), text


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


LOOKUPS = """#version 130
in vec2 at;
uniform sampler2D image;
out vec4 c[3];
void main()
{
    vec4 far = vec4(at * 2.0, 0.3, 2.0);
    c[0] = vec4(texture2D(image, at, 1.0).r, texture2DProj(image, far.xyw).g,
                texture2DProj(image, far).b, texture2DProj(image, far.xyw, -1.0).a);
    c[1] = vec4(textureLod(image, at, 0.0).r, textureProjLod(image, far, 1.0).g,
                textureOffset(image, at, ivec2(2, 1)).b, textureProjOffset(image, far, ivec2(1)).r);
    c[2] = texelFetch(image, ivec2(at * vec2(15.0, 11.0)), 0) + texture(image, at.yx, 0.5);
}
"""


@pytest.mark.gl
def test_each_form_of_a_lookup_agrees_with_the_driver() -> None:
    both = drawn(LOOKUPS)
    assert both.apart().max() < 1e-3  # GPUs weigh texels in steps of 1 / 256


@pytest.mark.gl
def test_derivatives_agree_with_the_driver() -> None:
    """Of what varies along one axis, so that the rows of a quad, and its columns, are alike."""
    both = drawn(DERIVATIVES)
    assert np.abs(both.theirs).max() > 0.05
    assert both.apart().max() < 1e-5
