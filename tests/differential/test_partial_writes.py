"""What a pass does not write keeps its texels, on every executor and in every format."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from drawing import EACH_EXECUTOR
from framebuffers import TARGETS

from gpgpu_legacy import Pipeline
from gpgpu_legacy.plan.plan import FragmentPass
from gpgpu_legacy.plan.textures import FORMATS
from gpgpu_legacy.runtime.executor import find_executor

HELD, DRAWN, NOTHING = (0.25, 0.5, 0.75, 1.0), (1.0, 0.0, 0.5, 0.25), (0.0,) * 4
WIDTH, HEIGHT = 6, 5
ROW, COLUMN, CHANNEL = np.broadcast_arrays(*np.ogrid[:HEIGHT, :WIDTH, :4])

_DRAW = "MOV result.color, {1, 0, 0.5, 0.25};"
_KILL = f"TEMP a; SUB a, fragment.position, 3; KIL a.x; {_DRAW}"
_ALPHA = f"{_DRAW} MUL result.color.a, fragment.position.x, 0.125;"
_RG, _RGB = CHANNEL < 2, CHANNEL < 3
_INSIDE = (COLUMN >= 1) & (COLUMN < 4) & (ROW >= 2) & (ROW < 4)
WAYS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "r": (_DRAW, {"mask": "r"}, CHANNEL == 0),
    "ga": (_DRAW, {"mask": "ga"}, CHANNEL % 2 == 1),
    "rga": (_DRAW, {"mask": "rga"}, CHANNEL != 2),
    "KIL": (_KILL, {"mask": "rg"}, _RG & (COLUMN >= 3)),
    "alpha test": (_ALPHA, {"mask": "rgb", "alpha_test": "less,0.4"}, _RGB & (COLUMN < 3)),
    "scissor": (_DRAW, {"mask": "rg", "scissor": (1, 2, 3, 2)}, _RG & _INSIDE),
    "rectangle": (_DRAW, {"mask": "rgb", "rect": (1, 2, 3, 2)}, _RGB & _INSIDE),
}  # fmt: skip
EVERYWHERE = ("r", "ga")
"""The ways that every format takes part in; the others' code is the same in all."""


def _drawn(format_: str, way: str, begins: str, iterations: int, executor: str) -> Any:
    """A texture after a pass that writes a part of it. begins: what is in it before."""
    text, keywords, _ = WAYS[way]
    p = Pipeline("partly written")
    initial = HELD if begins == "initial" else None
    target = p.texture("t", WIDTH, HEIGHT, format=format_, initial=initial)
    if begins == "cleared":
        p.clear(target, HELD)
    with p.repeat(iterations):
        p.draw(f"!!ARBfp1.0\n{text}\nEND\n", {}, into=target, **keywords)
    p.output("T", target)
    return p.run(executor=executor).outputs["T"].reshape(HEIGHT, WIDTH, -1)


@EACH_EXECUTOR
@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_written_stays(name: str, way: str) -> None:
    if FragmentPass not in find_executor(name).capabilities.passes:
        pytest.skip(f"{name} draws nothing")
    _, keywords, written = WAYS[way]
    formats = TARGETS if way in EVERYWHERE else ("rg8", "rgba16f", "rgba32f")
    for format_, begins, iterations in product(formats, ("initial", "cleared", "nothing"), (1, 3)):
        if not {*keywords["mask"]} & {*"rgba"[: FORMATS[format_].channels]}:
            continue
        found = _drawn(format_, way, begins, iterations, name)
        held = NOTHING if begins == "nothing" else HELD
        wanted = np.where(written, DRAWN, held)[..., : found.shape[2]]
        told = f"{format_}, begins with {begins}, {iterations} iterations"
        np.testing.assert_allclose(found, wanted, atol=1 / 255, err_msg=told)
