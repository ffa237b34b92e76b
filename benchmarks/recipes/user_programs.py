"""Programs as a user brings them: one pass over n×n fragments, in about forty instructions each.

    gpgpu-legacy bench benchmarks/recipes/user_programs.py:arithmetic n=1024
    gpgpu-legacy bench benchmarks/recipes/user_programs.py:scattered n=1024

`arithmetic` lights a bumpy surface whose height comes from waves; nothing is looked up.
`scattered` follows a map from texel to texel: each lookup's coordinates come from the one before.
Its factors are powers of two, so that they are exact, and all executors look up the same texels.
`transcendental` has ten instructions that are not arithmetic. `filtered` looks up between texels;
each lookup is displaced by the numbers that the one before it gave.
"""

from __future__ import annotations

from typing import Annotated

from gpgpu_legacy import Pipeline, Texels

WAVES = 4

_ARITHMETIC = """!!ARBfp1.0
ATTRIB at = fragment.texcoord[0];
PARAM wave[4] = {{ {{ 2.1, 0.7, 0.11, 0.30 }}, {{ -1.3, 2.9, 0.47, 0.20 }},
                   {{ 4.7, -3.1, 0.83, 0.10 }}, {{ 7.9, 5.3, 0.29, 0.05 }} }};
PARAM light = {{ 0.36, 0.48, 0.8, 16 }};
PARAM one = {{ 1, 0.5, 2, 3 }};
PARAM dark = {{ 0.1, 0.2, 0.4, 1 }};
PARAM bright = {{ 0.9, 0.8, 0.6, 1 }};
TEMP slope, phase, w, normal, shine;
MOV slope, 0;
{waves}
MOV normal.xy, -slope;
MOV normal.z, one.x;
DP3 normal.w, normal, normal;
RSQ normal.w, normal.w;
MUL normal.xyz, normal, normal.w;
DP3_SAT shine.x, normal, light;
MAD shine.y, normal.z, one.z, -light.z;
POW shine.w, shine.x, light.w;
LRP w, shine.x, bright, dark;
MAD_SAT w, shine.w, one.y, w;
MUL result.color, w, shine.y;
END
"""

_WAVE = """\
MUL phase.x, at.x, wave[{wave}].x;
MAD phase.x, at.y, wave[{wave}].y, phase.x;
ADD phase.x, phase.x, wave[{wave}].z;
FRC phase.x, phase.x;
MAD phase.x, phase.x, one.z, -one.x;
MUL phase.y, phase.x, wave[{wave}].w;
MAD slope.xy, phase.y, wave[{wave}], slope;"""

LOOKUPS = 8

_SCATTERED = """!!ARBfp1.0
ATTRIB at = fragment.texcoord[0];
PARAM size = program.local[0];
PARAM step = {{ 0.625, 0.75, 64, 256 }};
TEMP here, sum, value;
TEX sum, at, texture[0], RECT;
MOV value, sum;
{lookups}
MUL result.color, sum, 0.125;
END
"""

_LOOKUP = """\
MAD here.xy, value.x, step.zwzw, step;
FRC here.xy, here;
MUL here.xy, here, size;
TEX value, here, texture[0], RECT;
ADD sum.x, sum.x, value.x;"""


def arithmetic(n: Annotated[int, "rows and columns of fragments"] = 1024) -> Pipeline:
    """Arithmetic alone."""
    p = Pipeline("arithmetic")
    picture = p.texture("picture", n, n, format="rgba32f")
    waves = "\n".join(_WAVE.format(wave=wave) for wave in range(WAVES))
    p.draw(_ARITHMETIC.format(waves=waves), into=picture, texcoords={0: Texels()})
    p.output("picture", picture)
    return p


def scattered(
    n: Annotated[int, "rows and columns of fragments, and of the map"] = 1024,
) -> Pipeline:
    """Lookups whose coordinates are computed from what was looked up before."""
    p = Pipeline("scattered")
    where = p.input("map", n, n)
    sums = p.texture("sums", n, n)
    lookups = "\n".join([_LOOKUP] * (LOOKUPS - 1))
    p.draw(
        _SCATTERED.format(lookups=lookups),
        {0: where},
        into=sums,
        texcoords={0: Texels()},
        local={0: (n, n, 0, 0)},
    )
    p.output("sums", sums)
    return p


def transcendental(n: Annotated[int, "rows and columns of fragments"] = 1024) -> Pipeline:
    """Arithmetic with EX2, LG2, POW, SIN and COS, two of each."""
    return _of_texels("transcendental", n, "GL_NEAREST")


def filtered(n: Annotated[int, "rows and columns of fragments"] = 1024) -> Pipeline:
    """Lookups with a linear filter, near the fragment, one after another."""
    return _of_texels("filtered", n, "GL_LINEAR")


def _of_texels(name: str, n: int, how: str) -> Pipeline:
    """One pass of a program file over a texture of four channels."""
    p = Pipeline(name)
    texels = p.input("texels", n, n, packing="image")
    colours = p.texture("colours", n, n, format="rgba32f")
    p.draw(f"{name}.fp", {0: (texels, how)}, into=colours)
    p.output("colours", colours)
    return p
