"""Plans that a page plays: their scenes, their operands, and how their textures are shown."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.figure import figure
from gpgpu_legacy.api.figures.figure import Figure
from gpgpu_legacy.api.run import as_it_ran
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.page.scenes import PLAYER, scene_of
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import operands_of
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Texture
from gpgpu_legacy.present.colours import FAR, NOT_FINITE, ColourScale, ScaleKind
from gpgpu_legacy.present.grid import plain
from gpgpu_legacy.runtime.observed import places

PLAYED = (
    *PLAYER,
    "sections/numbers.js",
    "sections/element-grid.js",
    "sections/fragment-trace.js",
    "sections/played-product.js",
    "player/transport.js",
    "player/texels.js",
    "player/played-plan.js",
)
"""The scripts that play a plan, each after those that it calls."""

MOST_NUMBERS = 2**19
"""Numbers in the inputs of a page, which holds them as text: with more, it would exceed 3 MB."""

MOST_WORK = 2**26
"""Instructions over all fragments of a plan that the page's interpreter can handle."""


def played_plan(
    p: PlanBuilder, inputs: Mapping[str, ArrayLike] | None = None, seed: int = 0
) -> dict[str, Any]:
    """The page's data to play a plan: `scene`, `operands`, `views` and `stops`, as JSON.

    inputs, seed: as for `run`. The page gets each operand's float32 as base64, each texture's
    colour scale, the same as in `figure`, and the numbers of the passes after which iterations of
    several passes end. Raises InputError for a plan with kernels, for one that
    is too large, and for wrong operands.
    """
    p = as_it_ran(p, inputs, seed)
    plan = p.plan()
    _check(plan)
    given = operands_of(p, plan, inputs, seed)
    shown = figure(p, given)
    panels = (*shown.inputs, *shown.panels)
    scales = {one.panel.texture.name: one.scale for one in shown.shown(panels)}
    stops = {place.first: place.number for place, _ in places(plan) if place.is_mixed}
    return {
        "scene": scene_of(plan),
        "stops": [*stops.values()],
        "operands": {name: _operand(values) for name, values in given.items()},
        "views": {t.name: _view(shown, t, scales.get(t.name)) for t in plan.textures},
    }


def _check(plan: Plan) -> None:
    if plan.dispatches:
        raise InputError(
            f"{plan.name} dispatches kernels, which browsers do not run; a page plays plans of "
            "fragment programs, copies and clears"
        )
    numbers = sum(matrix.rows * matrix.columns for matrix in plan.operands)
    counts = count_plan(plan)
    work = counts.arithmetic + counts.lookup
    for what, count, most in (
        ("numbers in its inputs", numbers, MOST_NUMBERS),
        ("instructions in all its fragments", work, MOST_WORK),
    ):
        if count > most:
            raise InputError(
                f"{plan.name} has {plain(count)} {what}, and a page plays plans of at most "
                f"{plain(most)}; make it smaller, as in n=64"
            )


def _operand(values: F32) -> str:
    return b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode("ascii")


def _view(shown: Figure, texture: Texture, scale: ColourScale | None) -> dict[str, Any]:
    """How a texture is shown: see player/texels.js. scale: None if no pass reads or writes it."""
    colours = scale or ColourScale(ScaleKind.ONE_SIGN, 0.0, 1.0)
    return {
        "anchors": colours.anchors,
        "low": colours.low,
        "high": colours.high,
        "far": colours.far,
        "far_colour": FAR,
        "not_finite": NOT_FINITE,
        "channels": (0,) if scale is None else shown.channels(texture),
    }
