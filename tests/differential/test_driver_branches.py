"""Branches, loops and condition codes on the driver's own assembler, where it has NVIDIA's options.

PROGRAMS sets how many random programs are drawn: 1000 on a GPU take a minute.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import numpy as np
import pytest
import random_programs
from departures import BRANCH_DEPARTURES, Departure, driver_of
from drawing import ZERO, draw, draw_all, on
from random_programs import MOST_JOINED, SIZE, random_batch

from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.isa.opcodes import NV_OPTIONS, OPCODES
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.textures import RGBA32F
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.machine import Machine

PROGRAMS = int(os.environ.get("PROGRAMS", "64"))
ROUNDS_NOTHING = [
    OPCODES[name]
    for name in "ABS ADD CMP FLR FRC MAX MIN MOV SGE SLT SUB SWZ SEQ SFL SGT SLE SNE STR".split()  # noqa: SIM905
]
"""Whose results no machine rounds, of multiples of a quarter."""


@pytest.fixture
def driver(ready: Callable[[str], Executor]) -> Executor:
    executor = ready("gl-arbfp")
    for option in NV_OPTIONS:
        text = f"!!ARBfp1.0\nOPTION {option};\nMOV result.color, 1;\nEND"
        try:
            draw_all(assemble(text), executor=executor, machine=Machine())
        except GpgpuLegacyError as refused:
            pytest.skip(f"the driver has no {option}: {refused}")
    return executor


@pytest.mark.parametrize("departure", BRANCH_DEPARTURES, ids=lambda departure: departure.name)
@on("gl-arbfp")
def test_departures_of_branches(name: str, departure: Departure, driver: Executor) -> None:
    lookup = "TEX A, fragment.texcoord[0], texture[0], RECT;"
    lines = (f"OPTION {NV_OPTIONS[-1]};", "TEMP A, R;", lookup, *departure.lines)
    program = assemble("\n".join(("!!ARBfp1.0", *lines, "END")))
    textures = {0: np.array([[departure.operand]], np.float32)}
    assert draw(program, (1, 1), textures=textures)[0, 0, 0] == departure.specified
    by_driver = draw(program, (1, 1), textures=textures, executor=driver)[0, 0, 0]
    assert by_driver in departure.known(driver_of(driver))


@on("gl-arbfp")
@pytest.mark.parametrize("number", range(-(-PROGRAMS // MOST_JOINED)))
def test_the_driver_branches_as_numpy_does(
    name: str, number: int, driver: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = {
        "number": lambda random: random.randint(-16, 16) / 4,
        "random_corners": lambda random, *_: ((random.randint(-8, 8) / 4,) * 4,) * 4,
        "STATE": {},
        "ATTRIBUTES": {},
        "_BEYOND": (0.0,),
        "_EXACT": [row for row in ROUNDS_NOTHING if not row.option],
        "_NV": [row for row in ROUNDS_NOTHING if row.option],
    }
    for what, value in exact.items():
        monkeypatch.setattr(random_programs, what, value)
    batch = random_batch(f"{name} branches {number}", branches=True)
    if batch.is_approximate:
        batch = batch.of(*(part for part in batch.parts if not part.inexact))
    given = {**batch.given, "blend": None, "initial": ZERO, "targets": (RGBA32F,) * batch.targets}
    trips = batch.given["local"][0][1]
    text, literals = _comparable(batch.text)
    program = assemble(text)
    given["local"] = {**batch.given["local"], 0: (0.5, trips, -1.0, 2.0), **literals}
    found, wanted = (
        draw_all(program, SIZE, executor=executor, machine=Machine(), **given)
        for executor in (driver, find_executor("numpy"))
    )
    for part in batch.parts:
        mine, expected = found[part.number], wanted[part.number]
        known = np.isfinite(expected)  # sums of a few hundred trips may overflow
        assert np.array_equal(mine[known], expected[known]), batch.of(part).text


def _comparable(text: str) -> tuple[str, dict[int, Vec4]]:
    """A program without what drivers are known to depart in, and its literals as local parameters.

    Texture coordinates are rounded: hardware interpolates 0.5 as 0.49999997.
    """
    literals = dict[str, int]()

    def parameter(found: re.Match[str]) -> str:
        return f"program.local[{literals.setdefault(found[1], 4 + len(literals))}]"

    text = re.sub(r"KIL .*\n", "", text)
    text = re.sub(r"BRK \((..)(?:\.(.).*)?\)", lambda m: f"BRK ({m[1]}.{m[2] or 'x'})", text)
    text = re.sub(r"_SAT( \S+ \()", r"\1", text)
    text = re.sub(r"(?<!REP )\{(.*?)\}", parameter, text)
    text = re.sub(r"fragment\.texcoord\[(\d)\]", r"at\1", text)
    rounded = "".join(
        f"MAD at{n}, fragment.texcoord[{n}], 4, 0.5;\nFLR at{n}, at{n};\nMUL at{n}, at{n}, 0.25;\n"
        for n in range(3)
    )
    return text.replace("TEX own", f"TEMP at0, at1, at2;\n{rounded}TEX own", 1), {
        number: _vector(literal) for literal, number in literals.items()
    }


def _vector(literal: str) -> Vec4:
    """A literal, of one number for all components, or completed from (0, 0, 0, 1)."""
    numbers = [float(number) for number in literal.split(",")]
    filled = numbers * 4 if len(numbers) == 1 else [*numbers, *(0.0, 0.0, 0.0, 1.0)[len(numbers) :]]
    return (filled[0], filled[1], filled[2], filled[3])
