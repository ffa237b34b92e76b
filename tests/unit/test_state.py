"""GL state: initial values from the GL 1.5 tables, derived ones worked by hand or in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language import ROWS, VECTORS

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.state import canonical_state, state_vector
from gpgpu_legacy.languages.arb.parser import assemble

SQRT_HALF = float(np.sqrt(0.5))


def value(binding: str, **state: object) -> tuple[float, ...]:
    named = {name.replace("__", "."): each for name, each in state.items()}
    return state_vector(binding, canonical_state(named))


@pytest.mark.parametrize(
    ("binding", "initial"),
    [  # GL 1.5, tables 6.9 to 6.17; matrices are the identity
        ("state.material.front.ambient", (0.2, 0.2, 0.2, 1)),
        ("state.material.back.diffuse", (0.8, 0.8, 0.8, 1)),
        ("state.material.front.specular", (0, 0, 0, 1)),
        ("state.material.front.emission", (0, 0, 0, 1)),
        ("state.material.back.shininess", (0, 0, 0, 1)),
        ("state.light[0].ambient", (0, 0, 0, 1)),
        ("state.light[0].diffuse", (1, 1, 1, 1)),
        ("state.light[0].specular", (1, 1, 1, 1)),
        ("state.light[1].diffuse", (0, 0, 0, 1)),
        ("state.light[7].specular", (0, 0, 0, 1)),
        ("state.light[3].position", (0, 0, 1, 0)),
        ("state.light[3].attenuation", (1, 0, 0, 0)),
        ("state.light[3].spot.direction", (0, 0, -1, -1)),  # a cutoff of 180 degrees
        ("state.light[3].half", (0, 0, 1, 1)),
        ("state.lightmodel.ambient", (0.2, 0.2, 0.2, 1)),
        ("state.lightmodel.front.scenecolor", (0.04, 0.04, 0.04, 1)),
        ("state.lightprod[0].front.diffuse", (0.8, 0.8, 0.8, 1)),
        ("state.lightprod[1].back.diffuse", (0, 0, 0, 1)),
        ("state.texenv[5].color", (0, 0, 0, 0)),
        ("state.fog.color", (0, 0, 0, 0)),
        ("state.fog.params", (1, 0, 1, 1)),
        ("state.depth.range", (0, 1, 1, 1)),
        ("state.matrix.mvp.row[1]", (0, 1, 0, 0)),
        ("state.matrix.program[7].invtrans.row[3]", (0, 0, 0, 1)),
    ],
)
def test_initial_values(binding: str, initial: tuple[float, ...]) -> None:
    assert value(binding) == pytest.approx(initial, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "given_value", "binding", "expected"),
    [
        ("material.ambient", (1, 2, 3, 4), "state.material.front.ambient", (1, 2, 3, 4)),
        ("state.material.back.ambient", (1, 2), "state.material.back.ambient", (1, 2, 0, 1)),
        ("material.shininess", 32, "state.material.front.shininess", (32, 0, 0, 1)),
        ("texenv.color", [0.5] * 4, "state.texenv[0].color", (0.5, 0.5, 0.5, 0.5)),
        ("matrix.texture.row[2]", (1, 2, 3, 4), "state.matrix.texture[0].row[2]", (1, 2, 3, 4)),
        ("matrix.modelview", np.arange(16).reshape(4, 4), "state.matrix.modelview[0].row[1]",
         (4, 5, 6, 7)),
    ],
)  # fmt: skip
def test_names_are_completed(
    name: str, given_value: object, binding: str, expected: tuple[float, ...]
) -> None:
    assert state_vector(binding, canonical_state({name: given_value})) == expected


@pytest.mark.parametrize(
    ("name", "given_value", "problem"),
    [
        ("material.ambiance", 1, "has no ambiance"),
        ("light.diffuse", 1, "needs an index"),
        ("light[x].diffuse", 1, "is not a state binding"),
        ("fog", 1, "is incomplete"),
        ("fog.color.x", 1, "without a swizzle"),
        ("matrix.mvp.row[4]", (1, 2, 3, 4), "at most 3"),
        ("matrix.mvp", (1, 2, 3, 4), "4 rows of 4"),
        ("fog.color", (1, 2, 3, 4, 5), "1 to 4 numbers"),
        ("fog.color", "red", "1 to 4 numbers"),
        ("", 1, "is not a state binding"),
    ],
)
def test_what_is_no_state_is_refused(name: str, given_value: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("[", r"\[")):
        canonical_state({name: given_value})


# What derives (3.11.3.2) -------------------------------------------------------------------------


def test_the_half_angle_lies_between_the_light_and_the_eye() -> None:
    light = canonical_state({"light[2].position": (5, 0, 0, 0)})
    half = state_vector("state.light[2].half", light)
    assert half == pytest.approx((SQRT_HALF, 0, SQRT_HALF, 1))


def test_products_and_the_scene_colour() -> None:
    state = canonical_state(
        {
            "light[1].diffuse": (0.5, 1, 2, 0.25),
            "material.diffuse": (0.5, 0.5, 0.25, 0.75),
            "material.ambient": (0.5, 0.25, 1, 0),
            "material.emission": (1, 2, 3, 4),
            "lightmodel.ambient": (2, 4, 0.5, 9),
        }
    )
    product = state_vector("state.lightprod[1].front.diffuse", state)
    assert product == (0.25, 0.5, 0.5, 0.75)
    scene = state_vector("state.lightmodel.front.scenecolor", state)
    assert scene == (2, 3, 3.5, 0.75)
    # The back has its own material, which is untouched: 2·0.2 and so on.
    back = state_vector("state.lightmodel.back.scenecolor", state)
    assert back == pytest.approx((0.4, 0.8, 0.1, 1), rel=1e-6)


_ENTRIES = st.lists(st.integers(-8, 8), min_size=16, max_size=16)


@given(_ENTRIES, _ENTRIES)
def test_matrices_are_modified_and_multiplied(p: list[int], m: list[int]) -> None:
    projection, modelview = (np.array(e, np.float64).reshape(4, 4) + 40 * np.eye(4) for e in (p, m))
    state = canonical_state({"matrix.projection": projection, "matrix.modelview": modelview})

    def matrix(name: str) -> list[tuple[float, ...]]:
        return [state_vector(f"state.matrix.{name}.row[{row}]", state) for row in range(4)]

    inverse = np.linalg.inv(projection)
    for name, expected in {
        "projection": projection,
        "projection.transpose": projection.T,
        "projection.inverse": inverse,
        "projection.invtrans": inverse.T,
        "mvp": projection @ modelview,
        "mvp.inverse": np.linalg.inv(projection @ modelview),
    }.items():
        np.testing.assert_allclose(matrix(name), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("binding", [*VECTORS, *ROWS])
def test_every_binding_of_the_grammar_has_a_value(binding: str) -> None:
    [declaration] = assemble(f"!!ARBfp1.0 PARAM p = {binding}; END").parameters
    vector = state_vector(declaration.parameters[0].binding, {})
    assert len(vector) == 4
    assert all(isinstance(component, float) for component in vector)
