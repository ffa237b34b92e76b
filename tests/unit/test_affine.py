from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from drawing import fragment_texcoords, parameters, program, texture
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import PARAMETERS, SMALL_NUMBER, TEXCOORD_SETS, planes, program_texts, vec4

from gpgpu_legacy.interp import machine as reference
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.isa.opcodes import ARBFP, Form
from gpgpu_legacy.isa.program import Program, Vec4
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.analysis.affine import (
    Linear,
    TexelForm,
    Unknown,
    chosen_texels,
    lookup_coordinates,
    nearest_texels,
)
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import Binding, FragmentPass, ParameterValue
from gpgpu_legacy.plan.textures import RGBA32F, Rect, constant_rect

RECT = Rect(0, 0, 4, 3)


def a_pass(text: Program, rect: Rect = RECT, **more: object) -> FragmentPass:
    given_fields: dict[str, object] = {"texcoords": (fragment_texcoords(0, 4, 3),), **more}
    return FragmentPass(text, (Binding(0, "T"),), ("target",), rect, **given_fields)  # type: ignore[arg-type]


def linear(constant: float, x: float = 0, y: float = 0, iteration: float = 0) -> Linear:
    return Linear(*(Fraction(v) for v in (constant, x, y, iteration)))


def coordinates(*lines: str, **more: object) -> tuple[object, object]:
    """The coordinates of the last lookup, at R0 after the lines have run."""
    text = program(*lines, "TEX result.color, R0, texture[0], RECT;")
    return lookup_coordinates(a_pass(text, **more))[-1]  # type: ignore[arg-type]


# Forms -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("iterations", "known"), [(2, True), (100, False)])
def test_a_form_is_known_where_float32_holds_it_in_every_iteration(
    iterations: int, known: bool
) -> None:
    """Half a texel on from 2²⁰·iteration: from the 8th on, 2²³ leaves no room for halves."""
    text = program("MOV R0, program.local[0];", "TEX result.color, R0, texture[0], RECT;")
    far = (ParameterValue(0, (Affine(0.5, 2.0**20), 0.5, 0.0, 0.0)),)
    [(s, t)] = lookup_coordinates(a_pass(text, locals=far), iterations)
    assert isinstance(s, Linear) == known
    assert t == linear(0.5)


def test_a_projected_coordinate_is_divided_where_the_divisor_is_known() -> None:
    text = program(
        "TXP R1, fragment.texcoord[0], texture[0], RECT;",  # its w is 1
        "SWZ R0, fragment.texcoord[0], x, y, 0, 1;",
        "MUL R0.w, R0, 2;",
        "TXP R1, R0, texture[0], RECT;",
        "TXP R1, fragment.texcoord[0].xyyx, texture[0], RECT;",
        "TXP R1, fragment.texcoord[0].xyzz, texture[0], RECT;",  # by 0
        "TXB R1, fragment.texcoord[0].yxzw, texture[0], RECT;",
    )
    one, two, by_itself, by_zero, biased = lookup_coordinates(a_pass(text))
    assert one == (linear(0, x=1), linear(0, y=1))
    assert two == (linear(0, x=0.5), linear(0, y=0.5))
    assert all(isinstance(value, Unknown) for value in (*by_itself, *by_zero))
    assert biased == (linear(0, y=1), linear(0, x=1))


@st.composite
def moving(draw: st.DrawFn) -> Affine:
    return Affine(draw(SMALL_NUMBER), draw(SMALL_NUMBER))


COMPUTING = sorted(name for name, row in ARBFP.items() if row.form not in (Form.SAMPLE, Form.KILL))


@st.composite
def probed(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> tuple[str, FragmentPass]:
    """A random program, and a pass that runs it."""
    text = draw(program_texts(numbers=numbers, most=6, among=COMPUTING))
    rect = Rect(draw(st.integers(0, 3)), draw(st.integers(0, 3)), 3, 2)
    sets = draw(st.lists(st.integers(0, TEXCOORD_SETS - 1), unique=True))
    given_numbers = st.one_of(numbers, moving())
    vectors = st.dictionaries(st.integers(0, PARAMETERS - 1), vec4(given_numbers))  # type: ignore[arg-type]
    return text, FragmentPass(
        assemble(text),
        (Binding(0, "T"),),
        ("target",),
        rect,
        tuple(draw(planes(n, rect, numbers)) for n in sets),
        parameters(draw(vectors)),
        parameters(draw(vectors)),
    )


def forms_and_values(
    text: str, given_pass: FragmentPass, *, rounds: bool
) -> Iterator[tuple[Linear, np.ndarray, int]]:
    """With a lookup at each register of a program: the forms of its coordinates, what the NumPy
    machine puts in the register, and the iteration."""
    for name in given_pass.program.temporaries:
        lines = text.removesuffix("END\n") + f"TEX result.color, {name}, texture[0], RECT;\nEND\n"
        probe = replace(given_pass, program=assemble(lines))
        [forms] = lookup_coordinates(probe, iterations=4, rounds=rounds)
        shown = text.removesuffix("END\n") + f"MOV result.color, {name};\nEND\n"
        for iteration in (0, 3):
            run = at_iteration(replace(given_pass, program=assemble(shown)), iteration)
            assert isinstance(run, FragmentPass)
            found = texels_of(run)
            for component, form in enumerate(forms):
                if isinstance(form, Linear):
                    yield form, found[..., component], iteration


@given(probed(SMALL_NUMBER))
@settings(max_examples=25)
def test_a_known_form_is_what_the_machine_computes(made: tuple[str, FragmentPass]) -> None:
    """Exactly, at each fragment of some iterations."""
    for form, found, iteration in forms_and_values(*made, rounds=False):
        assert not form.error
        assert_form(form, found, constant_rect(made[1].rect), iteration)


TENTH = st.integers(-70, 70).map(lambda i: float(np.float32(i / 10)))


@given(probed(TENTH))
@settings(max_examples=20)
def test_a_rounded_form_is_as_near_as_its_error_says(made: tuple[str, FragmentPass]) -> None:
    for form, found, iteration in forms_and_values(*made, rounds=True):
        assert_form(form, found, constant_rect(made[1].rect), iteration)
        assert form.error <= Fraction(1, 1000) * (1 + form.largest)  # else that says little


def texels_of(each: FragmentPass) -> np.ndarray:
    target = Storage(texture("target", 8, 8, RGBA32F))
    reference.run_fragment_pass(each, {"target": target, "T": Storage(texture("T", 1, 1, RGBA32F))})
    return np.stack(target.planes, axis=-1)


def assert_form(form: Linear, found: np.ndarray, rect: Rect, iteration: int) -> None:
    for y in range(rect.height):
        for x in range(rect.width):
            exact = (
                form.constant
                + form.x * (Fraction(2 * x + 1) / 2)
                + form.y * (Fraction(2 * y + 1) / 2)
                + form.iteration * iteration
            )
            value = float(found[rect.y + y, rect.x + x])
            assert abs(Fraction(value) - exact) <= form.error, "of known forms without one: exactly"


# Texel centres -----------------------------------------------------------------------------------


@given(st.tuples(*[st.integers(-12, 12).map(lambda i: i / 4)] * 4))
def test_centred_means_half_after_the_point_in_every_fragment(numbers: Vec4) -> None:
    form = linear(*numbers)
    points = [(x, y, i) for x in range(5) for y in range(5) for i in range(5)]
    values = [
        numbers[0] + numbers[1] * (x + 0.5) + numbers[2] * (y + 0.5) + numbers[3] * i
        for x, y, i in points
    ]
    texels = chosen_texels(form)
    assert (texels is not None) == all(v % 1 == 0.5 for v in values)
    if texels is not None:
        assert [v - 0.5 for v in values] == [
            texels.constant + texels.x * x + texels.y * y + texels.iteration * i
            for x, y, i in points
        ]


@pytest.mark.parametrize("size", [3, 29, 100, 640, 1023, 4095])
def test_texels_by_coordinates_that_are_rounded(size: int) -> None:
    """(x + 1) / size, in float32, by way of the reciprocal; and texels of its floor."""
    text = program(
        "ADD R0, fragment.texcoord[0], 1;", "MUL R0, R0, program.local[0];",
        "TEX result.color, R0, texture[0], 2D;",
    )  # fmt: skip
    rect, scale = Rect(0, 0, size, 3), 1 / size
    each = a_pass(
        text, rect, locals=parameters({0: (scale, 1 / 3, 0.0, 0.0)}),
        texcoords=(fragment_texcoords(0, size, 3),),
    )  # fmt: skip
    [(s, t)] = lookup_coordinates(each, rounds=True)
    assert nearest_texels(s, size) == TexelForm(1, x=1)
    assert nearest_texels(t, 3) == TexelForm(1, y=1)
    x = np.arange(size, dtype=np.float32) + np.float32(1.5)
    np.testing.assert_array_equal(
        np.floor(x * np.float32(scale) * np.float32(size)), np.arange(size) + 1
    )
    [(s, _)] = lookup_coordinates(each)
    assert isinstance(s, Unknown)
