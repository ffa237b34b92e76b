"""What languages define otherwise, at the numbers where they differ."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpgpu_legacy import run_program
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.registry import program_of
from gpgpu_legacy.languages.shading.library import MATHEMATICS

NAN, BIG = math.nan, float(np.finfo(np.float32).max)
# Each expression of x = -4, n = NaN and z = 0 by Cg, Direct3D 9 and GLSL.
VALUES = {
    "pow(x, 0.5)": (NAN, 2, NAN),
    "log2(x)": (NAN, 2, NAN),
    "log2(z)": (-math.inf, -BIG, -math.inf),
    "rsqrt(x)": (0.5, 0.5, 0.5),
    "rsqrt(z)": (math.inf, BIG, math.inf),
    "normalize(z.xxx).x": (NAN, 0, NAN),
    "min(n, 1.0)": (NAN, 1, NAN),
    "min(1.0, n)": (1, NAN, 1),
    "max(n, 1.0)": (1, 1, NAN),
    "max(1.0, n)": (NAN, NAN, 1),
    "clamp(n, 1.0, 2.0)": (1, 1, NAN),
    "clamp(1.0, 3.0, 2.0)": (3, 2, 2),
}


@pytest.mark.filterwarnings("ignore")  # of what the specification leaves undefined
@pytest.mark.parametrize("expression", VALUES)
@pytest.mark.parametrize(("column", "name"), list(enumerate(MATHEMATICS)))
def test_a_column_has_its_values(expression: str, column: int, name: str) -> None:
    given = "void main(uniform float x, uniform float z, out float4 c : COLOR)"
    text = f"{given} {{ float n = z / z; c = {expression}; }}"
    program = program_of(text, "f.cg", mathematics=name)
    (value,) = run_program(program, 1, 1, uniforms={"x": -4.0, "z": 0.0})[0, :, 0].tolist()
    assert np.array_equal(value, VALUES[expression][column], equal_nan=True)


def test_a_text_follows_its_own_language() -> None:
    text = "float4 main(float x : TEXCOORD0) : COLOR { return pow(x, 0.3); }"
    by_name = {name: program_of(text, "f.cg", mathematics=name) for name in MATHEMATICS}
    assert program_of(text, "f.cg") == by_name["cg"] != by_name["direct3d9"]
    assert program_of(text, "f.hlsl") == by_name["direct3d9"]
    shader = "varying float x; void main() { gl_FragColor = vec4(max(x, 0.5)); }"
    in_glsl = {name: program_of(shader, "f.frag", mathematics=name) for name in MATHEMATICS}
    assert program_of(shader, "f.frag") == in_glsl["glsl"] != in_glsl["cg"]
    with pytest.raises(InputError, match="there is no mathematics gls; did you mean glsl"):
        program_of(shader, "f.frag", mathematics="gls")
