"""Branches, loops and condition codes on the driver's own assembler, where it has NVIDIA's options.

What one computed is recorded, and numpy is held to that everywhere else.

PROGRAMS sets how many random programs are drawn: 1000 on a GPU take a minute.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import numpy as np
import pytest
import random_programs
from departures import BRANCH_DEPARTURES, Departure, driver_of
from drawing import corners, draw, draw_all, on
from random_programs import MOST_JOINED, SIZE, random_batch

from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.isa.opcodes import NV_OPTIONS, OPCODES
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.plan import Texcoords
from gpgpu_legacy.plan.textures import RGBA32F
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.machine import Machine

PROGRAMS = int(os.environ.get("PROGRAMS", "64"))
ROUNDS_NOTHING = [
    OPCODES[name]
    for name in "ABS ADD CMP FLR FRC MAX MIN MOV SGE SLT SUB SWZ SEQ SFL SGT SLE SNE STR".split()  # noqa: SIM905
]
"""Whose results no machine rounds, of multiples of a quarter."""
RECORDED = Path(__file__).parents[1] / "golden" / "branches"
"""What a driver computed; on one that has the options, --update-golden records it again."""


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
    name: str,
    number: int,
    driver: Executor,
    monkeypatch: pytest.MonkeyPatch,
    update_golden: bool,
) -> None:
    case = random_case(f"{name} branches {number}", monkeypatch)
    found, wanted = case.drawn(driver), case.drawn(find_executor("numpy"))
    assert same(found, wanted), f"{case.text}\n{found}\n{wanted}"
    file = RECORDED / f"{number}.json"
    if update_golden and file.exists():
        record = {**asdict(case), "drawn_by": driver.device(), "colors": found}
        file.write_text(json.dumps(record) + "\n")


@pytest.mark.parametrize("file", sorted(RECORDED.iterdir()), ids=lambda file: file.stem)
def test_numpy_computes_what_the_driver_was_recorded_to(file: Path) -> None:
    record = json.loads(file.read_text())
    case = Case(record["text"], record["texels"], record["local"])
    assert same(record["colors"], case.drawn(find_executor("numpy")))


Numbers = list[float]


@dataclass(frozen=True)
class Case:
    """A program, the texels that it reads by texcoord[0] in raster order, its local parameters."""

    text: str
    texels: list[Numbers]
    local: list[Numbers]

    def drawn(self, executor: Executor) -> list[Numbers]:
        """The components of each colour, in raster order."""
        width, height = SIZE
        program = assemble(self.text)
        centres = corners((0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), width, height)
        drawn = draw_all(
            program,
            SIZE,
            textures={0: np.array(self.texels, np.float32).reshape(height, width, 4)},
            texcoords=[Texcoords(0, centres)],
            local={n: (x, y, z, w) for n, (x, y, z, w) in enumerate(self.local)},
            targets=(RGBA32F,) * program.color_outputs,
            executor=executor,
            machine=Machine(),
        )
        return [color.ravel().tolist() for color in drawn]


def same(found: list[Numbers], expected: list[Numbers]) -> bool:
    """Whether all colours are equal where they are known: a sum of many trips may overflow."""
    known = np.isfinite(expected)
    return np.array_equal(np.array(found)[known], np.array(expected)[known])


def random_case(seed: str, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Random programs in which nothing is rounded, without what drivers are known to depart in.

    Whatever they read besides their own texel is a local parameter, literals as well. Coordinates
    are rounded: hardware interpolates 0.5 as 0.49999997.
    """
    exact = {
        "number": lambda random: random.randint(-16, 16) / 4,
        "STATE": {},
        "ATTRIBUTES": {},
        "_BEYOND": (0.0,),
        "_EXACT": [row for row in ROUNDS_NOTHING if not row.option],
        "_NV": [row for row in ROUNDS_NOTHING if row.option],
    }
    for what, value in exact.items():
        monkeypatch.setattr(random_programs, what, value)
    batch = random_batch(seed, branches=True)
    batch = batch.of(*(part for part in batch.parts if not part.inexact))
    numbers = Random(seed)
    local: list[Numbers] = [[0.5, batch.given["local"][0][1], -1.0, 2.0]]
    places = {"program.local[0]": 0}

    def parameter(found: re.Match[str]) -> str:
        if found[0] not in places:
            places[found[0]] = len(local)
            given = found[1] and [float(number) for number in found[1].split(",")]
            local.append(_filled(given or [numbers.randint(-16, 16) / 4 for _ in range(4)]))
        return f"program.local[{places[found[0]]}]"

    text = re.sub(r"KIL .*\n", "", batch.text)
    text = re.sub(r"BRK \((..)(?:\.(.).*)?\)", lambda m: f"BRK ({m[1]}.{m[2] or 'x'})", text)
    text = re.sub(r"_SAT( \S+ \()", r"\1", text)
    others = r"program\.(?:local|env)\[\d\]|fragment\.texcoord\[[12]\]"
    text = re.sub(rf"(?<!REP )\{{(.*?)\}}|{others}", parameter, text)
    text = text.replace("fragment.texcoord[0]", "at")
    rounded = "MAD at, fragment.texcoord[0], 4, 0.5;\nFLR at, at;\nMUL at, at, 0.25;\n"
    text = text.replace("TEX own", f"TEMP at;\n{rounded}TEX own", 1)
    texels: list[Numbers] = batch.given["textures"][0].texels.reshape(-1, 4).tolist()
    return Case(text, texels, local)


def _filled(numbers: Numbers) -> Numbers:
    """A literal, of one number for all components, or completed from (0, 0, 0, 1)."""
    return numbers * 4 if len(numbers) == 1 else [*numbers, *(0.0, 0.0, 0.0, 1.0)[len(numbers) :]]
