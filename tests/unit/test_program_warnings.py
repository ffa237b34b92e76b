"""Warnings about programs: which mistakes are found, and what is no mistake."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.analysis.program_warnings import program_warnings

UNITS = (0,)


def warnings(
    *lines: str,
    local: Collection[int] = (),
    env: Collection[int] = (),
    bound: Collection[int] = (),
    pixels: Collection[int] = (0,),
) -> tuple[str, ...]:
    text = "\n".join(["!!ARBfp1.0", "TEMP R0, R1;", *lines, "END", ""])
    program = assemble(text, name="a.fp")
    return program_warnings(
        program, local_set=local, env_set=env, units_bound=bound, pixel_sets=pixels
    )


READS = "MUL result.color, program.local[2], program.env[1];"


def test_a_parameter_that_is_read_and_never_set_is_named() -> None:
    assert warnings(READS, env=(1,)) == ("program.local[2] is never set, and a.fp reads 0 there",)
    assert warnings(READS, local=(2,)) == ("program.env[1] is never set, and a.fp reads 0 there",)
    assert warnings(READS, local=(2,), env=(1,)) == ()


def test_several_elements_are_one_warning() -> None:
    lines = (
        "MOV R0, program.local[4];",
        "MAD result.color, R0, program.local[0], program.local[1];",
    )
    assert warnings(*lines) == (
        "program.local[0], [1] and [4] are never set, and a.fp reads 0 there",
    )


def test_a_parameter_that_is_set_and_never_read_is_named() -> None:
    assert warnings(READS, local=(0, 2, 5), env=(1,)) == (
        "program.local[0] and [5] are set, but a.fp never reads them",
    )


def test_a_texture_that_is_never_looked_up_is_named() -> None:
    look = "TEX result.color, fragment.texcoord[0], texture[0], RECT;"
    assert warnings(look, bound=(0, 3)) == ("texture[3] is bound, but a.fp never looks it up",)
    assert warnings(look, bound=UNITS) == ()


def look(target: str, coordinate: str = "R0") -> str:
    return f"TEX result.color, {coordinate}, texture[0], {target};"


SCALE = "{ 0.25, 0.125, 0, 1 }"
UNSCALED = [
    (look("2D", "fragment.texcoord[0]"),),
    (look("1D", "fragment.position"),),
    (look("3D", "fragment.texcoord[0]"),),
    (look("2D", "fragment.position.yxzw"),),
    ("TXP result.color, fragment.texcoord[0], texture[0], 2D;",),
    ("TXB result.color, fragment.texcoord[0], texture[0], 2D;",),
    ("MOV R0, fragment.position;", look("2D")),
    ("ADD R0, fragment.texcoord[0], { -1, 0, 0, 0 };", look("2D")),
    ("SUB R0, fragment.texcoord[0], program.local[0];", look("2D")),
    ("MUL R0, fragment.texcoord[0], 2.0;", look("2D")),
    ("MOV R0, 0.5;", "MOV R0.y, fragment.position.x;", look("2D")),
    ("MAD R0, program.local[0], 3.0, fragment.position;", look("2D")),
    ("SWZ R0, fragment.texcoord[0], -y, 0, 0, 1;", look("2D")),
]
"""Pixel coordinates that go into a normalised texture as they are, or moved by a few pixels."""

NO_MISTAKE = [
    (look("RECT", "fragment.texcoord[0]"),),
    (look("RECT", "fragment.position"),),
    (look("2D", "fragment.texcoord[1]"),),
    ("MUL R0, fragment.texcoord[0], program.local[0];", look("2D")),
    ("MUL R0, program.local[0], fragment.position;", look("2D")),
    ("MAD R0, fragment.position, program.local[0], program.local[1];", look("2D")),
    ("ADD R1, fragment.position, 0.5;", "MUL R0, R1, program.local[0];", look("2D")),
    (f"MUL R0, fragment.texcoord[0], {SCALE};", look("2D")),
    ("RCP R1.x, program.local[0].x;", "MUL R0, fragment.position, R1.x;", look("2D")),
    ("MUL R0, fragment.position, state.fog.params.y;", look("2D")),
    ("DP4 R0.x, fragment.position, program.local[0];", "MOV R0.y, 0.5;", look("2D")),
    ("MOV R0, fragment.position;", "MOV R0.w, program.local[0].x;",
     "TXP result.color, R0, texture[0], 2D;"),
    ("MOV_SAT R0, fragment.position;", look("2D")),
    ("FRC R0, fragment.position;", look("2D")),
    ("MOV R0, 0.5;", "MOV R0.z, fragment.position.x;", look("2D")),
    ("MOV R0, 0.5;", "MOV R0.y, fragment.position.x;", look("1D")),
    ("SUB R0, fragment.position, { 32, 32, 0, 0 };", look("CUBE")),
    ("TEX R0, fragment.position, texture[0], RECT;", "TEX R0, R0, texture[1], 2D;",
     "MOV result.color, R0;"),
]  # fmt: skip
"""Coordinates that are scaled, are no pixels, or need no scale."""


@pytest.mark.parametrize("lines", UNSCALED, ids=" ".join)
def test_pixel_coordinates_in_a_normalised_texture_are_found(lines: tuple[str, ...]) -> None:
    found = warnings(*lines, local=(0,) if "local" in "".join(lines) else (), bound=UNITS)
    assert len(found) == 1
    line = 2 + len(lines)  # after the header and TEMP; the lookup is the last
    assert found[0].startswith(f"a.fp:{line}:1: T") and "at pixel coordinates" in found[0]
    assert "\n" not in found[0]


@pytest.mark.parametrize("lines", NO_MISTAKE, ids=" ".join)
def test_coordinates_that_are_no_mistake_are_left_alone(lines: tuple[str, ...]) -> None:
    assert not [text for text in warnings(*lines, pixels=(0,)) if "pixel" in text]


def test_a_set_that_is_given_holds_no_pixel_coordinates() -> None:
    assert warnings(look("2D", "fragment.texcoord[0]"), bound=UNITS, pixels=()) == ()


def test_each_lookup_is_warned_about() -> None:
    found = warnings(
        "TEX R0, fragment.position, texture[0], 2D;",
        "TEX R1, fragment.position, texture[1], RECT;",
        "TEX R0, fragment.texcoord[3], texture[2], 1D;",
        "MOV result.color, R0;",
        bound=(0, 1, 2),
        pixels=(3,),
    )
    assert [text.partition(": ")[0] for text in found] == ["a.fp:3:1", "a.fp:5:1"]
