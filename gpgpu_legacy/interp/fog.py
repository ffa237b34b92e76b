"""Fog over the colours that the reference machine computes."""

from __future__ import annotations

import numpy as np

from gpgpu_legacy.isa.arithmetic import F32, Arithmetic
from gpgpu_legacy.isa.fog import fog_factor, fog_mixed
from gpgpu_legacy.isa.ir import Fog, Vec4

Planes = list[F32]


def saturated(values: F32) -> F32:
    """Values clamped to [0, 1], as by _SAT. NaN, which the spec leaves open, is 0 here."""
    return np.fmin(np.fmax(values, np.float32(0.0)), np.float32(1.0))


def fogged(
    mode: Fog,
    color: Planes,
    coordinate: F32,
    state: tuple[Vec4, Vec4],
    arithmetic: Arithmetic,
    *,
    clamped: bool,
) -> Planes:
    """f·color + (1 - f)·(fog colour) in r, g and b, with f clamped to [0, 1]; alpha is unchanged.

    color: four planes that broadcast to the band, float32. coordinate: the fog coordinate, a plane.
    state: the values of state.fog.color and state.fog.params. clamped: whether the target is
    fixed-point, which clamps the fog colour to [0, 1]. The fragment's colour is always clamped,
    because fog is applied to "the program's final clamped color" (3.11.4.5.1).
    """
    wide = arithmetic.wide
    values, params = ([np.full((1, 1), v, np.float32) for v in vector] for vector in state)
    color = [saturated(v) for v in color]
    if clamped:
        values = [saturated(v) for v in values]
    exact = fog_factor(mode, wide(coordinate), [wide(p) for p in params])
    factor = wide(saturated(arithmetic.round(exact)))
    mixed = [
        arithmetic.round(fog_mixed(factor, wide(c), wide(v)))
        for c, v in zip(color[:3], values[:3], strict=True)
    ]
    return [*mixed, color[3]]
