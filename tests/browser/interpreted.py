"""Plans on the interpreter of the page, for tests: it takes and gives what an executor does."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from browser_pages import Modules
from numpy.typing import NDArray

from gpgpu_legacy.page.scenes import scene_of
from gpgpu_legacy.plan.plan import Plan

F32 = NDArray[np.float32]

_RUN = """(() => {
    const { scene, operands } = given;
    const numbers = (bits) => new Float32Array(new Uint32Array(bits).buffer);
    const bitsOf = (values) => [...new Uint32Array(values.buffer)];
    const matrices = {};
    for (const [name, matrix] of Object.entries(operands)) {
        matrices[name] = { ...matrix, values: numbers(matrix.bits) };
    }
    const interpreter = new Interpreter(new PlanOf(scene), matrices);
    interpreter.seek(interpreter.plan.passes);
    const results = {};
    for (const [name, { values }] of Object.entries(interpreter.results())) {
        results[name] = bitsOf(values);
    }
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
    """The interpreter in a page, in place of an executor."""

    def __init__(self, modules: Modules) -> None:
        """modules: a page with the scripts of INTERPRETER."""
        self._modules = modules

    def why_inexact(self, _plan: Plan, _machine: object) -> str:
        return ""

    def run(self, plan: Plan, operands: Mapping[str, F32], _machine: object = None) -> Any:
        found = self._modules.run(_RUN, given_in_page(plan, operands))
        outputs = {
            matrix.name: np.array(found[matrix.name], np.uint32)
            .view(np.float32)
            .reshape(matrix.rows, matrix.columns)
            for matrix in plan.results
        }
        return SimpleNamespace(outputs=outputs)
