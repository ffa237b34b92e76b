"""Plans on what plays them in the page, for tests: it takes and gives what an executor does."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from browser_pages import Modules
from numpy.typing import NDArray

from gpgpu_legacy.page.scenes import scene_of, shaders_of
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

_ASKED = """(async () => {
    const { scene, operands } = given;
    const numbers = (bits) => new Float32Array(new Uint32Array(bits).buffer);
    const matrices = {};
    for (const [name, matrix] of Object.entries(operands)) {
        matrices[name] = { ...matrix, values: numbers(matrix.bits) };
    }
    const plan = new PlanOf(scene);
    const player = await PLAYER;
    const answer = ASKED;
    player.release?.();
    return answer;
})()"""
_RESULTS = """(() => {
    const bitsOf = (values) => [...new Uint32Array(values.buffer)];
    player.seek(plan.passes);
    return Object.fromEntries(
        Object.entries(player.results()).map(([name, { values }]) => [name, bitsOf(values)]),
    );
})()"""


def given_in_page(plan: Plan, operands: Mapping[str, F32]) -> dict[str, Any]:
    """A plan's scene and its operands bit for bit, as `_ASKED` takes them."""
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
        self._modules, self._code = modules, _ASKED.replace("PLAYER", player)
        self._sized = sized

    def why_inexact(self, _plan: Plan, _machine: object) -> str:
        return ""

    def ask(self, plan: Plan, operands: Mapping[str, F32], code: str, **more: Any) -> Any:
        """The value of an expression of `player`, `plan`, `matrices` and `given` with `more`."""
        given = given_in_page(plan, operands) | more
        if self._sized:
            given["scene"]["shaders"] = plain(shaders_of(plan, sized=True))
        return self._modules.run(self._code.replace("ASKED", code), given)

    def run(self, plan: Plan, operands: Mapping[str, F32], _machine: object = None) -> Any:
        found = self.ask(plan, operands, _RESULTS)
        outputs = {
            matrix.name: np.array(found[matrix.name], np.uint32)
            .view(np.float32)
            .reshape(matrix.rows, matrix.columns)
            for matrix in plan.results
        }
        return SimpleNamespace(outputs=outputs)
