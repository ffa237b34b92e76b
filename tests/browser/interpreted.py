"""Plans on what plays them in the page, for tests: it takes and gives what an executor does."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from browser_pages import Modules
from numpy.typing import NDArray

from gpgpu_legacy.page.scenes import scene_of
from gpgpu_legacy.page.shaders import shaders_of
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.serial import plain

F32 = NDArray[np.float32]

INTERPRETED = "new Interpreter(plan, matrices)"
DRAWN = """(async () => {
    const run = (await Gpu.open()).prepare(plan);
    run.load(matrices);
    return run;
})()"""
"""Expressions of what plays a plan: the interpreter, and the GPU."""

_RUN = """(async () => {
    const { scene, operands } = given;
    const numbers = (bits) => new Float32Array(new Uint32Array(bits).buffer);
    const bitsOf = (values) => [...new Uint32Array(values.buffer)];
    const matrices = {};
    for (const [name, matrix] of Object.entries(operands)) {
        matrices[name] = { ...matrix, values: numbers(matrix.bits) };
    }
    const plan = new PlanOf(scene);
    const player = await PLAYER;
    player.seek(plan.passes);
    const results = {};
    for (const [name, { values }] of Object.entries(player.results())) {
        results[name] = bitsOf(values);
    }
    player.release?.();
    return results;
})()"""


def given_in_page(plan: Plan, operands: Mapping[str, F32]) -> dict[str, Any]:
    """A plan's scene and its operands bit for bit, as `_RUN` takes them."""
    matrices = {}
    for name, values in operands.items():
        rows, columns = values.shape
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32).ravel().tolist()
        matrices[name] = {"rows": rows, "columns": columns, "bits": bits}
    return {"scene": scene_of(plan), "operands": matrices}


class Interpreted:
    """What plays plans in a page, in place of an executor."""

    def __init__(self, modules: Modules, player: str = INTERPRETED, *, sized: bool = False) -> None:
        """modules: a page with the scripts of the player. sized: whether shaders know sizes."""
        self._modules, self._code = modules, _RUN.replace("PLAYER", player)
        self._sized = sized

    def why_inexact(self, _plan: Plan, _machine: object) -> str:
        return ""

    def run(self, plan: Plan, operands: Mapping[str, F32], _machine: object = None) -> Any:
        given = given_in_page(plan, operands)
        if self._sized:
            given["scene"]["shaders"] = plain(shaders_of(plan, sized=True))
        found = self._modules.run(self._code, given)
        outputs = {
            matrix.name: np.array(found[matrix.name], np.uint32)
            .view(np.float32)
            .reshape(matrix.rows, matrix.columns)
            for matrix in plan.results
        }
        return SimpleNamespace(outputs=outputs)
