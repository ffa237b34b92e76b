"""State vectors, initial and derived, against what the GL driver gives its own programs.

The driver is told the base state alone, and derives the rest itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from departures import driver_of
from drawing import draw
from language import ROWS, VECTORS

from gpgpu_legacy.api.programs import run_program
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.state import canonical_state, parse_vector, state_vector
from gpgpu_legacy.languages.arb.limits import AssemblerLimits
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl.compatibility import context
from gpgpu_legacy.runtime.gl.headers import GL

pytestmark = pytest.mark.gl

GIVEN: Mapping[str, object] = {
    "light[0].position": (1, 2, 3, 0),
    "light[7].position": (1, -2, 3, 1),
    "light[7].diffuse": (0.3, 0.6, 0.1, 1),
    "light[7].attenuation": (1, 0.5, 0.25, 8),
    "material.diffuse": (0.1, 0.9, 0.7, 0.5),
    "material.back.ambient": (0.3, 0.2, 0.9, 0.1),
    "material.emission": (0.1, 0.2, 0.3, 0.4),
    "material.shininess": 20,
    "lightmodel.ambient": (0.5, 0.25, 0.3, 1),
    "texenv[0].color": (0.1, 0.2, 0.3, 0.4),
    "texenv[7].color": (0.4, 0.3, 0.2, 0.1),
    "fog.params": (0.5, 2, 7),
    "fog.color": (0.5, 0.25, 0.125, 1),
    "depth.range": (0.25, 0.75),
    "matrix.modelview": [[2, 1, 0, 3], [0, 1, -1, 2], [1, 0, 4, 1], [0, 0, 0, 1]],
    "matrix.projection": [[1, 0, 0.5, 0], [0, 2, 0, 0], [0, 0, -1.5, -2], [0, 0, -1, 0]],
    "matrix.texture[7]": [[3, 0, 0, 1], [0, 2, 0, 0], [1, 0, 1, 0], [0, 0, 0, 2]],
    "matrix.program[7]": np.arange(16).reshape(4, 4) + 7 * np.eye(4),
}

DEPARTURES = {
    "state.light[0].spot.direction": "Mesa's cosine of a cutoff beyond 90 degrees is 0, not -1",
    "state.light[7].spot.direction": "Mesa's cosine of a cutoff beyond 90 degrees is 0, not -1",
    "state.light[0].half": "Mesa's is 0 until a position is set",
    "state.light[7].half": "Mesa's is 0 until a position is set",
}


@pytest.fixture(scope="module")
def driver(ready: Callable[[str], Executor]) -> Executor:
    return ready("gl-arbfp")


@pytest.fixture(scope="module")
def units(driver: Executor) -> int:
    """How many texture environments the driver has."""
    shared = context()
    with shared.current():
        return shared.integer(GL.MAX_TEXTURE_UNITS)


def is_there(binding: str, units: int) -> bool:
    names, indices = parse_vector(binding)
    return names[0] != "texenv" or indices[0] < units


def test_the_driver_gives_programs_the_same_state(driver: Executor, units: int) -> None:
    """With values, and then without: none is left of those of the pass before."""
    values = {b: v for b, v in canonical_state(GIVEN).items() if is_there(b, units)}
    differing = []
    for binding in (*VECTORS, *ROWS[::3]):
        program = assemble(f"!!ARBfp1.0 PARAM p = {binding}; MOV result.color, p; END")
        [name] = program.state_bindings
        if not is_there(name, units):
            continue
        for state in (values, {}):
            found = run_program(program, 1, 1, state=state, executor="gl-arbfp")[0, 0]
            rtol = driver_of(driver).normalised if name.endswith("half") else 2e-6
            if not np.allclose(found, state_vector(name, state), rtol=rtol, atol=1e-6):
                differing.append(binding)
    assert set(differing) <= set(DEPARTURES)


def test_texture_environments_that_a_driver_lacks_are_refused(driver: Executor, units: int) -> None:
    """GL_MAX_TEXTURE_UNITS is that of the fixed function, and has nothing to do with lookups."""
    beyond = f"state.texenv[{units}].color"
    limits = AssemblerLimits(texture_units=units + 1)
    program = assemble(f"!!ARBfp1.0 MOV result.color, {beyond}; END", limits=limits)
    with pytest.raises(PlanError, match=rf"reads .*{units}.*, and .* has {units} texture") as told:
        draw(program, executor=driver)
    assert "\n" not in str(told.value)
