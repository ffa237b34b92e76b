"""What results are made of, component by component, from the definitions of the opcodes."""

from __future__ import annotations

import pytest
from drawing import program

from gpgpu_legacy.isa.dependences import Parts, parts_read
from gpgpu_legacy.isa.ir import Instruction


def instruction(line: str) -> Instruction:
    return program(line, temporaries="TEMP a, b, c;").instructions[0]


def shown(parts: Parts) -> str:
    """As in `a.x`."""
    return " ".join(sorted(f"{name}.{'xyzw'[c]}" for name, c in parts))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("MAD a.xw, a, b.wzyx, c.y;", {"x": "a.x b.w c.y", "w": "a.w b.x c.y"}),
        ("SWZ a, b, -y, 0, 1, x;", {"x": "b.y", "y": "", "z": "", "w": "b.x"}),
        ("MUL_SAT a.x, fragment.color, b;", {"x": "b.x"}),
        ("RSQ a.yz, b.w;", {"y": "b.w", "z": "b.w"}),
        ("DP3 a.x, b, c;", {"x": "b.x b.y b.z c.x c.y c.z"}),
        ("DPH a.x, b, c;", {"x": "b.x b.y b.z c.w c.x c.y c.z"}),
        ("DST a, b, c;", {"x": "", "y": "b.y c.y", "z": "b.z", "w": "c.w"}),
        ("LIT a, b;", {"x": "", "y": "b.x", "z": "b.w b.x b.y", "w": ""}),
        ("SCS a.xy, b.z;", {"x": "b.z", "y": "b.z"}),
        ("XPD a.z, b, c;", {"z": "b.x b.y c.x c.y"}),
        ("CMP a.x, a, b, c;", {"x": "a.x b.x c.x"}),
        ("KIL b.xyzz;", dict.fromkeys("xyzw", "b.x b.y b.z")),
        ("TEX a.xw, b, texture[0], 1D;", {"x": "b.x", "w": "b.x"}),
        ("TEX a.x, b.wzyx, texture[0], RECT;", {"x": "b.w b.z"}),
        ("TXP a.x, b, texture[0], CUBE;", {"x": "b.w b.x b.y b.z"}),
        ("TXB a.x, b, texture[0], 2D;", {"x": "b.w b.x b.y"}),
    ],
)
def test_what_each_component_is_made_of(line: str, expected: dict[str, str]) -> None:
    parts = parts_read(instruction(line))
    assert {"xyzw"[c]: shown(read) for c, read in parts.items()} == expected
