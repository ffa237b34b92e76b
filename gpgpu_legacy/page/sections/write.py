"""A program of one's own: five tasks, with the assembler's tables and the limits of two cards."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpgpu_legacy.chips.profile import UNLIMITED, find_profile
from gpgpu_legacy.count.resources import Resource
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.files import package_version
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.opcodes import ARBFP
from gpgpu_legacy.isa.program import TextureTarget
from gpgpu_legacy.languages.arb.limits import HEADER
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.syntax import OPERANDS_OF, instruction_tables
from gpgpu_legacy.page.products import LESSON_SCRIPTS
from gpgpu_legacy.page.scenes import decoded_program, scene_of
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.pipeline.builder import PlanBuilder

SIDE = 16
"""Texels across the pictures."""

TEMPORARIES = tuple(f"R{n}" for n in range(8))
UNITS = 2
RECT = TextureTarget.RECT.value
CARDS = ("radeon-9700-pro", "geforce-fx-5900-ultra")
RESOURCES = (
    Resource.INSTRUCTIONS,
    Resource.ALU_INSTRUCTIONS,
    Resource.TEXTURE_INSTRUCTIONS,
    Resource.INDIRECTIONS,
)
_RESULTS = ("result.color", "result.depth")
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_ATTRIBUTES = (
    "position", "texcoord", "texcoord[0]", "fogcoord", "color", "color.primary", "color.secondary"
)  # fmt: skip


def program_text(body: str) -> str:
    """The whole program whose instructions are in the box."""
    return f"{HEADER}\nTEMP {', '.join(TEMPORARIES)};\n{body}\nEND\n"


@frozen
class WritingTask:
    """A program to write.

    asks: in a sentence. inputs: makes the textures that are shown, (channel, row, column) each, of
    whole numbers below 16. scale: the number that stands for 1. solution: has the fewest
    instructions that we know. channels: how many of the result are compared.
    """

    title: str
    asks: str
    inputs: Callable[[], Sequence[F32]]
    solution: str
    scale: int = 8
    channels: int = 1


def _heart() -> list[F32]:
    """A heart, brighter to the right, on a ground that is brighter to the top."""
    y, x = np.mgrid[-1.2 : 1.3 : SIDE * 1j, -1.25 : 1.25 : SIDE * 1j].astype(np.float32)
    inside = (x**2 + y**2 - 1) ** 3 < x**2 * y**3
    return [np.where(inside, np.round(6 + 1.8 * x), np.round(1 + y))[None]]


def _cells() -> list[F32]:
    """Living and dead cells, and the number of living neighbours of each."""
    cells = np.random.default_rng(7).random((SIDE, SIDE)) < 0.4
    steps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    counts = np.sum([np.roll(cells, step, (0, 1)) for step in steps], axis=0)
    return [np.stack([cells, counts]).astype(np.float32)]


def _blocks() -> list[F32]:
    """Two textures of 2×2 matrices."""
    rng = np.random.default_rng(5)
    return [rng.integers(0, 6, (4, SIDE, SIDE)).astype(np.float32) for _ in range(2)]


_LOOK = "TEX R0, fragment.texcoord[0], texture[0], RECT;\n"

TASKS = (
    WritingTask(
        "Threshold",
        "White (1) where texture[0] holds ½ or more, and black (0) elsewhere.",
        _heart,
        f"{_LOOK}SGE result.color, R0, 0.5;",
    ),
    WritingTask(
        "Edges",
        "How much the texel to the right differs from this one, as a number that is not negative. "
        "What lies beyond the edge equals the last texel.",
        _heart,
        f"{_LOOK}ADD R1, fragment.texcoord[0], {{1, 0, 0, 0}};\nTEX R1, R1, texture[0], RECT;\n"
        "SUB R0, R1, R0;\nABS result.color, R0;",
    ),
    WritingTask(
        "Transpose",
        "The matrix in texture[0], transposed: what was at (x, y) stands at (y, x).",
        _heart,
        "TEX result.color, fragment.texcoord[0].yxzw, texture[0], RECT;",
    ),
    WritingTask(
        "A rule of life",
        "x of texture[0] is 1 where a cell lives, and y says how many of its eight neighbours do. "
        "The next generation: 1 with three neighbours, 1 where a cell lives and has two, else 0.",
        _cells,
        f"{_LOOK}DPH R0, R0, {{0.5, 1, 0, -3}};\nABS R0, R0;\nSGE result.color, 0.5, R0;",
        scale=1,
    ),
    WritingTask(
        "A 2×2 product",
        "A texel of each texture is a 2×2 matrix: x and y are its first row, z and w its second. "
        "The product of texture[0] times texture[1].",
        _blocks,
        f"{_LOOK}TEX R1, fragment.texcoord[0], texture[1], RECT;\nMUL R2, R0.xxzz, R1.xyxy;\n"
        "MAD result.color, R0.yyww, R1.zwzw, R2;",
        channels=4,
    ),
)


def make_section() -> PageSection:
    """The box, its tasks and its cards."""
    tasks = [
        {
            "title": task.title,
            "asks": task.asks,
            "inputs": [[_digits(channel) for channel in texture] for texture in task.inputs()],
            "scale": task.scale,
            "solution": task.solution,
            "channels": task.channels,
            "par": len(task.solution.splitlines()),
        }
        for task in TASKS
    ]
    data = {
        "tasks": tasks,
        "cards": list(map(_card, CARDS)),
        "resources": [resource.value for resource in RESOURCES],
        "scene": _scene(),
        "box": tables(),
        "version": package_version(),
    }
    html = rendered("lesson/write.html.j2", tasks=tasks)
    scripts = (*LESSON_SCRIPTS, "player/texels.js", "lesson/program-reader.js", "lesson/write.js")
    return PageSection("write", "11. Write one", html, data, scripts, "11 Write one")


def _digits(channel: F32) -> str:
    return "".join(f"{round(float(value)):x}" for value in channel.ravel())


def tables() -> dict[str, Any]:
    """The tables by which lesson/program-reader.js reads instructions.

    They are `instruction_tables` and: `opcodes`; `operands`, for each kind a pattern of its text
    without blanks; `names` of registers; and `registers`, the same ones as scenes have them.
    """
    attributes = [f"fragment.{name}" for name in _ATTRIBUTES]
    lines = {name: f"MOV {name}, R0;" for name in _RESULTS}
    lines |= {name: f"KIL {name};" for name in (*TEMPORARIES, *attributes)}

    def name(*names: str) -> str:
        return f"(?<name>{'|'.join(map(re.escape, names))})"

    source = (
        name(*TEMPORARIES, *attributes) + rf"|(?<constant>\{{[^,]+(?:,[^,]+){{0,3}}\}}|{_NUMBER})"
    )
    letters = ("[xyzw]", "[rgba]")
    one, four = "|".join(letters), "|".join(f"{one}{{4}}" for one in letters)
    swizzles = ("[xyzw01]", "[rgba01]")
    return {
        **instruction_tables(),
        "opcodes": {
            row.mnemonic: {
                "operands": [kind.value for kind in row.shape],
                "count": len(OPERANDS_OF[row.mnemonic]),
                "cost": row.cost.value,
            }
            for row in ARBFP.values()
        },
        "operands": {
            "maskedDstReg": rf"{name(*_RESULTS, *TEMPORARIES)}(?:\.(?<suffix>x?y?z?w?|r?g?b?a?))?",
            "vectorSrcReg": rf"(?<sign>[+-])?(?:{source})(?:\.(?<suffix>{four}|{one}))?",
            "scalarSrcReg": rf"(?<sign>[+-])?(?:{source})\.(?<suffix>{one})",
            "srcReg": source,
            "extendedSwizzle": "|".join(rf"(?:[+-]?{s},){{3}}[+-]?{s}" for s in swizzles),
            "texImageUnit": rf"texture(?:\[(?<unit>[0-{UNITS - 1}])\])?",
            "texTarget": RECT,
        },
        "names": [*lines],
        "registers": [_register(line) for line in lines.values()],
    }


def _register(line: str) -> Any:
    """The register that an instruction writes, or reads if it writes none, as scenes have it."""
    decoded = decoded_program(assemble(program_text(line)))
    [instruction] = decoded["forms"]
    return decoded["registers"][instruction.get("dst", instruction["srcs"][0]["register"])]


def _card(name: str) -> dict[str, Any]:
    """A card, and the most of each resource: its own limit where known, or its driver's."""
    profile = find_profile(name)
    facts = [
        getattr(profile.native, of) or getattr(profile.advertised, of)
        for of in (resource.name.lower() for resource in RESOURCES)
    ]
    most = [None if fact.value == UNLIMITED else fact.value for fact in facts]
    return {"chip": profile.title.split(" (")[0], "most": most}


def _scene() -> dict[str, Any]:
    """A pass over a square with both textures, whose program the page replaces."""
    p = PlanBuilder("write")
    *textures, target = (
        p.texture(name, SIDE, SIDE, format="rgba32f", initial=0)
        for name in (*(f"texture[{n}]" for n in range(UNITS)), "result")
    )
    looks = [f"TEX R{n}, fragment.texcoord[0], texture[{n}], RECT;" for n in range(UNITS)]
    text = program_text("\n".join([*looks, "ADD result.color, R0, R1;"]))
    p.draw(assemble(text), dict(enumerate(textures)), into=target)
    return scene_of(p.plan())
