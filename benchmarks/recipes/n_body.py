"""Bodies that attract one another: all pairs, sums in log2 n passes, steps in time.

gpgpu-legacy run benchmarks/recipes/n_body.py n=128
"""

from __future__ import annotations

from typing import Annotated

from gpgpu_legacy import Pipeline, Texels

_PAIR = """!!ARBfp1.0
# What the body of this row gives the one of this column; a body's a is its mass.
TEMP one, other, way, r;
TEX one, fragment.texcoord[0], texture[0], RECT;
TEX other, fragment.texcoord[1], texture[0], RECT;
SUB way, other, one;
MOV way.w, 0;
DP3 r.x, way, way;
ADD r.x, r.x, 0.01;
RSQ r.y, r.x;
MUL r.z, r.y, r.y;
MUL r.z, r.z, r.y;
MUL r.z, r.z, other.w;
MUL result.color, way, r.z;
END
"""

_SUM = """!!ARBfp1.0
TEMP low, high;
TEX low, fragment.texcoord[0], texture[0], RECT;
TEX high, fragment.texcoord[1], texture[0], RECT;
ADD result.color, low, high;
END
"""

_STEP = """!!ARBfp1.0
TEMP here, change;
TEX here, fragment.texcoord[0], texture[0], RECT;
TEX change, fragment.texcoord[0], texture[1], RECT;
MAD result.color, change, program.local[0].x, here;
END
"""


def n_body(
    n: Annotated[int, "bodies; a power of two"] = 128,
    steps: Annotated[int, "steps in time"] = 10,
) -> Pipeline:
    """The places of bodies after some steps."""
    p = Pipeline("n-body")
    places, speeds = (p.input(name, 1, n, packing="image") for name in ("places", "speeds"))
    next_places, next_speeds = (
        p.texture(f"next {name}", n, 1, format="rgba32f") for name in ("places", "speeds")
    )
    pulls, sums = (p.texture(name, n, n, format="rgba32f") for name in ("pulls", "sums"))
    across = ((0.0, 0.5), (float(n), 0.5), (float(n), 0.5), (0.0, 0.5))
    upward = ((0.0, 0.5), (0.0, 0.5), (float(n), 0.5), (float(n), 0.5))
    with p.repeat(steps):
        p.draw(_PAIR, {0: places}, into=pulls, texcoords={0: across, 1: upward})
        rows = n
        while rows > 1:
            rows //= 2
            p.draw(
                _SUM, {0: pulls}, into=sums, rect=(0, 0, n, rows),
                texcoords={0: Texels(), 1: Texels(y=rows)},
            )  # fmt: skip
            p.swap(pulls, sums)
        for now, then, change, factor in (
            (speeds, next_speeds, pulls, 1e-3),
            (places, next_places, speeds, 1e-2),
        ):
            p.draw(_STEP, {0: now, 1: change}, into=then, local={0: (factor, 0, 0, 0)})
            p.swap(now, then)
    p.output("places", places, packing="image")
    return p
