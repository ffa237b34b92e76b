"""Lookups of every texture target, filter and wrap, at coordinates of every kind."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import numpy as np
from drawing import F32, Image, fragment_texcoords
from strategies import random_image

from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import Texcoords
from gpgpu_legacy.plan.textures import (
    REPEATING,
    RGBA32F,
    Filter,
    Rect,
    Sampler,
    TextureKind,
    Wrap,
)

WIDTH, HEIGHT = 32, 16
SIZE = (WIDTH, HEIGHT)

NAN, INF = float("nan"), float("inf")
BORDER = (0.25, -2.0, 3.0, 0.5)

SHAPES_OF = {
    TextureKind.RECT: (5, 6, 1),  # height, width, depth
    TextureKind.T1D: (1, 7, 1),
    TextureKind.T2D: (4, 6, 1),
    TextureKind.T3D: (4, 5, 3),
    TextureKind.CUBE: (4, 4, 6),
}

LOOKUPS = [
    (kind, how, wrap)
    for kind in SHAPES_OF
    for how in (Filter.NEAREST, Filter.LINEAR)
    for wrap in Wrap
    if kind is not TextureKind.RECT or wrap not in REPEATING
]


def coordinates_for(kind: TextureKind) -> F32:
    """Coordinates on and beside edges and far outside, infinities and NaN."""
    rng = np.random.default_rng(8)
    values = (rng.integers(-40, 41, (HEIGHT, WIDTH, 4)) / 16).astype(np.float32)
    values[3:6] = rng.normal(0, 1, (3, WIDTH, 4))
    odd = [0.0, 1.0, -0.0, NAN, INF, -INF, 1e-9, -1e-9, 1e30, -1e30]
    for component in range(4):
        values[component % 3, 10 * (component // 3) : 10 * (component // 3) + 10, component] = odd
    return values * np.float32(4 if kind is TextureKind.RECT else 1)


def lookups_drawn(kind: TextureKind, how: Filter, wrap: Wrap) -> dict[str, Any]:
    """The arguments of draw_all for every lookup, on four channels and on one, SIZE large."""
    height, width, depth = SHAPES_OF[kind]
    rng = np.random.default_rng(9)
    images: dict[int, F32 | Image] = {0: coordinates_for(kind)}
    for unit, channels in ((1, 4), (2, 1)):
        texels = rng.normal(0, 3, (height * depth, width, channels)).astype(np.float32)
        images[unit] = Image(texels, kind, depth, Sampler(how, wrap, wrap, wrap, BORDER))
    lines = (
        "!!ARBfp1.0",
        "OPTION ARB_draw_buffers;",
        "TEMP R0;",
        "TEX R0, fragment.texcoord[0], texture[0], RECT;",
        f"TEX result.color[0], R0, texture[1], {kind.value};",
        f"TXP result.color[1], R0, texture[1], {kind.value};",
        f"TXB result.color[2], R0.yzxw, texture[1], {kind.value};",
        f"TEX result.color[3], R0, texture[2], {kind.value};",
        "END",
    )
    return {
        "text": assemble("\n".join([*lines, ""])),
        "size": SIZE,
        "textures": images,
        "texcoords": [fragment_texcoords(0, WIDTH, HEIGHT)],
        "targets": [RGBA32F] * 4,
    }


def detailed_drawn(seed: int) -> dict[str, Any]:
    """The arguments of draw_all for lookups with levels of detail, biases and borders.

    Their coordinates lie in one plane or in two, or depend on such a lookup.
    """
    random = Random(seed)
    kind = random.choice([*SHAPES_OF])
    image = random_image(
        random, kind, partial(_numbers, np.random.default_rng(seed)), detailed=True
    )
    size = (random.randint(1, 9), random.randint(1, 9))
    x, y = (random.randrange(side) for side in size)
    rect = Rect(x, y, random.randint(1, size[0] - x), random.randint(1, size[1] - y))
    scale = 8.0 if kind is TextureKind.RECT else 1.0
    values = [[random.uniform(-3, 3) * scale for _ in range(4)] for _ in range(4)]
    if random.randrange(2):
        values[2] = [b + d - a for a, b, d in zip(values[0], values[1], values[3], strict=True)]
    target = kind.value
    lines = (
        "!!ARBfp1.0",
        "OPTION ARB_draw_buffers;",
        "TEMP a, b;",
        f"TEX a, fragment.texcoord[0], texture[0], {target};",
        "MOV result.color[0], a;",
        f"TXB result.color[1], fragment.texcoord[0], texture[0], {target};",
        f"TXP b, fragment.texcoord[0], texture[0], {target};",
        "MAD b, b, {0.1, 0.2, 0.3, 0.4}, fragment.texcoord[0].yxzw;",
        f"TXB b, b, texture[0], {target};",
        "KIL a;" if random.randrange(4) == 0 else "MOV a, a;",
        "MOV result.color[2], b;",
        "END",
    )
    return {
        "text": assemble("\n".join([*lines, ""]), name=f"detailed {seed}"),
        "size": size,
        "rect": rect,
        "textures": {0: image},
        "texcoords": [Texcoords(0, tuple(map(tuple, values)))],  # type: ignore[arg-type]
        "targets": [RGBA32F] * 3,
        "blend": random.choice((None, ADD)),
    }


def _numbers(rng: np.random.Generator, shape: tuple[int, int, int]) -> F32:
    return rng.normal(0, 3, shape).astype(np.float32)
