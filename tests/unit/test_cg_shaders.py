"""The Cg texts beside the hand-written programs: the same bits in no more instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import F32, Image, corners, draw_all

from gpgpu_legacy.files import shader_folder, shader_text
from gpgpu_legacy.isa.program import ParameterSpace, Program
from gpgpu_legacy.languages.cg.compiler import compile_text
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.plan.plan import Texcoords
from gpgpu_legacy.plan.textures import TextureKind

TEMPLATES: dict[str, dict[str, Any]] = {
    "hall_carr_hart_2003/multi": {
        "block": 6, "transpose_a": False, "transpose_b": False, "accumulate": "copy",
    },
    "hall_carr_hart_2003/single": {"block": 6, "accumulate": "copy"},
    "reduction/reduce": {"opcode": "MAX"},
}  # fmt: skip
NAMES = [
    path.relative_to(shader_folder()).with_suffix("").as_posix()
    for path in sorted(shader_folder().rglob("*.cg"))
    if any(path.parent.glob(f"{path.stem}.fp*"))
]


def both(name: str) -> tuple[Program, Program]:
    """The program written by hand, and the compiled one."""
    template = TEMPLATES.get(name)
    hand = load_program(f"{name}.fp.j2", **template) if template else load_program(f"{name}.fp")
    return hand, compile_text(shader_text(f"{name}.cg"), f"{name}.cg")


@pytest.mark.parametrize("name", NAMES)
def test_compiled_programs_have_no_more_instructions(name: str) -> None:
    hand, compiled = both(name)
    assert len(compiled.instructions) <= len(hand.instructions)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_programs_have_the_bits_of_those_by_hand(name: str) -> None:
    hand, compiled = both(name)
    rng, side = np.random.default_rng(7), 8
    assert compiled.texture_units == hand.texture_units

    def numbers(*shape: int) -> F32:
        return (rng.integers(-64, 64, shape) / 16).astype(np.float32)

    places = [
        Texcoords(k, corners((0.0, 0.0, 0.0, 1.0), (1 / 2**k, 0, 0, 0), (0, 1, 0, 0), side, side))
        for k in range(5)
    ]
    given = {
        "textures": {
            unit: Image(numbers(side, side, 4), TextureKind(target.value))
            for unit, target in hand.texture_units.items()
        },
        "texcoords": places,
        "local": {
            p.index: (0.5, 1.0, 0.25, 1.5)
            for declaration in compiled.parameters
            for p in declaration.parameters
            if p.space is ParameterSpace.LOCAL
        },
    }
    by_hand, by_compiler = (draw_all(p, (side, side), **given)[0] for p in (hand, compiled))
    written = slice(0, 1) if "single" in name else slice(0, 4)
    np.testing.assert_array_equal(by_compiler[..., written], by_hand[..., written])
