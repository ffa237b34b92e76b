"""Random programs that give every executor something to compute, many of them joined into one.

A program is written from the opcode table: every opcode and operand, swizzles, signs, masks,
saturation, all kinds of texture and sampler, parameters, state, attributes, discards. Its numbers
are hard for arithmetic: denormals, infinities, NaN, zeros of both signs, fractions, the largest and
the least. Compiling takes most of the time, and a shader more than its instructions. So programs
share a shader, each with registers and a colour of its own (ARB_draw_buffers). Some have branches,
loops and condition codes (NV_fragment_program2).

Opcodes that libraries approximate (INEXACT) come last in a program, with operands in the range in
which their bounds hold. So no bound is needed for the consequences of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from random import Random
from typing import Any

import numpy as np
from departures import LLVMPIPE
from drawing import EXACT, F32, Image, corners
from strategies import (
    ATTRIBUTES,
    DRAW_BUFFERS,
    STATE,
    Writer,
    random_corners,
    random_image,
)

from gpgpu_legacy.isa.opcodes import ARBFP, OPCODES, Form, Opcode
from gpgpu_legacy.isa.program import Program, Vec4
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import AttributeCorners, Texcoords
from gpgpu_legacy.plan.textures import TextureKind
from gpgpu_legacy.runtime.machine import Machine, Tuning

MOST_JOINED = 8
"""The number of targets to which every driver of today can draw at once."""
UNDEFINED = {"SCS": (2, 3), "XPD": (3,), "RFL": (3,), "NRM": (3,)}
"""The components of an opcode's result that the specification leaves undefined."""
_LEAST = GroupShape(threads=(8, 8), columns=1, rows=1, k_depth=0, unroll=1)
SIZE = (7, 5)
"""The size of the drawn rectangle; no multiple of a vector's length."""

INEXACT = LLVMPIPE.functions
"""How far llvmpipe's results may be from numpy's, relative and absolute, by opcode."""

_EXACT = [row for row in ARBFP.values() if row.mnemonic not in INEXACT]
_NV = [row for row in OPCODES.values() if row.option and row.form is not Form.FLOW]
_RANGES = {"COS": (-16, 16), "SIN": (-16, 16), "SCS": (-16, 16), "EX2": (-16, 16),
           "LG2": (0.001, 1000), "POW": (0.25, 4), "LIT": (0.25, 4)}  # fmt: skip
_TEMPORARIES = ("a", "b", "c", "d")
_ODD = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0**-149, -(2.0**-149), 1e-42, -1e-42, 1e-38, 2.0**-126,
        -(2.0**-126), 2.0**-127, 1.5e-19, 1e38, 3.4028235e38, -3.4028235e38, 2.0**24, 16777217.0,
        0.99999994, 1.0000001, -0.1, 1 / 3, 255.0, 65504.0, 1e-15, 1e15)  # fmt: skip
_BEYOND = (float("inf"), float("-inf"), float("nan"))


def number(random: Random) -> float:
    """A finite number: mostly a quarter, else one that is hard for arithmetic, or any at all."""
    kind = random.randrange(8)
    if kind < 4:
        return random.randint(-16, 16) / 4
    if kind < 6:
        return random.choice(_ODD)
    if kind == 6:
        return random.uniform(-2, 2)
    bits = np.uint32(random.getrandbits(32)).view(np.float32)
    return float(bits) if np.isfinite(bits) else 1.0


def value(random: Random) -> float:
    """A finite number, or now and then an infinity or NaN."""
    return random.choice(_BEYOND) if random.randrange(24) == 0 else number(random)


def vector(random: Random) -> Vec4:
    return (value(random), value(random), value(random), value(random))


@dataclass(frozen=True)
class Part:
    """One program of a batch: its lines, with temporaries of its own. number: of its colour.

    inexact: the opcode that comes last, if it is one of INEXACT.
    """

    number: int
    lines: tuple[str, ...]
    inexact: str = ""

    @property
    def discards(self) -> bool:
        """Whether it may discard fragments; a discarded fragment is missing for all parts."""
        return any(line.startswith("KIL") for line in self.lines)


@dataclass(frozen=True)
class Batch:
    """Programs that are drawn as one, and what they read: the keyword arguments of draw_all.

    machine: exact. Mostly it has the shape of compute shaders that drivers compile in the least
    time, one fragment an invocation; else the shape is the executor's own choice.
    """

    seed: str
    parts: tuple[Part, ...]
    given: Mapping[str, Any] = field(repr=False)
    machine: Machine
    branches: bool = False

    @cached_property
    def text(self) -> str:
        names = ", ".join(f"{name}{part.number}" for part in self.parts for name in _TEMPORARIES)
        nvidia = ["OPTION NV_fragment_program2;"] if self.branches else []
        lines = [f"OPTION {DRAW_BUFFERS};", *nvidia, f"TEMP own, {names};"]
        lines.append("TEX own, fragment.texcoord[0], texture[0], RECT;")
        lines += [line for part in self.parts for line in part.lines]
        return "\n".join(["!!ARBfp1.0", *lines, "END", ""])

    @cached_property
    def program(self) -> Program:
        return assemble(self.text, name=f"random programs {self.seed}")

    @property
    def is_approximate(self) -> bool:
        """Whether some program ends in an opcode of INEXACT, so that GL runs none exactly."""
        return any(part.inexact for part in self.parts)

    @property
    def targets(self) -> int:
        return max(part.number for part in self.parts) + 1

    def of(self, *parts: Part) -> Batch:
        """A batch of some of its programs, with the same textures and numbers."""
        return replace(self, parts=parts)


def random_batch(
    seed: str, most: int = 8, joined: int = MOST_JOINED, *, branches: bool = False
) -> Batch:
    """The batch of a seed, always the same. most: the instructions of a program."""
    random = Random(seed)
    kinds = [TextureKind.RECT, *(random.choice(_KINDS) for _ in range(2))]
    taste = _Taste(
        tuple(kind.value for kind in kinds),
        kills=random.randrange(4) == 0,
        looks_up=random.randrange(3) == 0,
        approximates=random.randrange(4) == 0,
        branches=branches,
    )
    parts = tuple(_part(random, n, random.randint(1, most), taste) for n in range(joined))
    tuning = Tuning(group=_LEAST) if random.randrange(6) else None
    given = _given(random, kinds)
    return Batch(seed, parts, given, replace(EXACT, tuning=tuning), taste.branches)


# Programs -------------------------------------------------------------------------------------

_KINDS = [kind for kind in TextureKind if kind is not TextureKind.BUFFER]


@dataclass(frozen=True)
class _Taste:
    """The things that the programs of a batch share, so that some batches are cheap to compile.

    targets: of the texture image units. kills: whether they may discard fragments, for all of them.
    looks_up: whether they have lookups besides the fragment's own texel. approximates: whether they
    end in opcodes of INEXACT, which are not compiled on jit.
    """

    targets: tuple[str, ...]
    kills: bool
    looks_up: bool
    approximates: bool
    branches: bool

    @cached_property
    def rows(self) -> list[Opcode]:
        out = {Form.KILL} | (set() if self.looks_up else {Form.SAMPLE})
        of_nvidia = [*_NV, *_NV] if self.branches else []
        return [row for row in [*_EXACT, *of_nvidia] if row.form not in out]


def _part(random: Random, number_: int, count: int, taste: _Taste) -> Part:
    names = [f"{name}{number_}" for name in _TEMPORARIES]
    given = (*STATE, *ATTRIBUTES)
    writer = Writer(random, partial(number, random), names, taste.targets, given)
    lines = []
    for name in names:
        swizzle = "".join(random.choice("xyzw") for _ in range(4))
        start = random.choice((f"own.{swizzle}", f"-own.{swizzle}", writer.register()))
        lines.append(f"MOV {name}, {start};")

    def line() -> str:
        kills = taste.kills and random.randrange(20) == 0
        row = ARBFP["KIL"] if kills else random.choice(taste.rows)
        made = writer.instruction(row, random.choice(names), UNDEFINED.get(row.mnemonic, ()))
        return _tested(random, made) if taste.branches and not kills else made

    if taste.branches:
        lines += [
            f"MOVC {random.choice(names)}, {random.choice(names)};",
            *_block(random, line, 2 * count),
        ]
    else:
        lines += [line() for _ in range(count)]
    color = f"result.color[{number_}]"
    if not random.randrange(3):
        lines.append(f"MOV {color}, {random.choice(names)};")
        return Part(number_, tuple(lines))
    if taste.approximates:
        row = ARBFP[random.choice(list(INEXACT))]
        low, high = _RANGES[row.mnemonic]
        for name in names:
            lines += [f"MAX {name}, {name}, {low};", f"MIN {name}, {name}, {high};"]
        undefined = UNDEFINED.get(row.mnemonic, ())
        lines.append(writer.instruction(row, color, undefined, only_temporaries=True))
        return Part(number_, tuple(lines), row.mnemonic)
    row = random.choice(taste.rows)
    lines.append(writer.instruction(row, color, UNDEFINED.get(row.mnemonic, ())))
    return Part(number_, tuple(lines))


def _tested(random: Random, line: str) -> str:
    """A line that sets the condition code, or is masked by it, or neither."""
    head, rest = line.split(" ", 1)
    if random.randrange(3) == 0:
        head = head.removesuffix("_SAT") + "C" + "_SAT" * head.endswith("_SAT")
    if random.randrange(5) == 0:
        rest = rest.replace(",", f" ({_test(random)}),", 1)
    return f"{head} {rest}"


def _test(random: Random) -> str:
    relation = random.choice(("EQ", "GE", "GT", "LE", "LT", "NE", "TR", "FL"))
    swizzle = "".join(random.choice("xyzw") for _ in range(random.choice((0, 1, 1, 4))))
    return relation + f".{swizzle}" * bool(swizzle)


def _block(random: Random, line: Callable[[], str], count: int, loops: int = 0) -> list[str]:
    """Some lines, with nested branches and loops among them."""
    lines = list[str]()
    while count > 0:
        inner = random.randint(1, max(1, count // 2))
        kind = random.randrange(6)
        count -= 1
        if kind == 0:
            lines += [f"IF {_test(random)};", *_block(random, line, inner, loops)]
            if random.randrange(2):
                lines += ["ELSE;", *_block(random, line, inner, loops)]
            lines.append("ENDIF;")
        elif kind == 1 and loops < 3:
            trips = random.choice((f"{{{random.randint(0, 5)}}}", "program.local[0].y"))
            body = _block(random, line, inner, loops + 1)
            lines += [f"REP {trips};", *body, "ENDREP;"]
        elif kind == 2 and loops:
            lines.append(f"BRK ({_test(random)});")
        else:
            lines.append(line())
            continue
        count -= inner
    return lines


# What they read -------------------------------------------------------------------------------


def _given(random: Random, kinds: list[TextureKind]) -> dict[str, Any]:
    width, height = SIZE
    trips = float(random.randint(-1, 4))
    own = corners((0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), width, height)
    own_texel = Image(_texels(random, (height, width, 4)))
    interpolated = partial(random_corners, random, SIZE, partial(number, random))
    return {
        "textures": {0: own_texel} | {
            n: random_image(random, kinds[n], partial(_texels, random), detailed=True)
            for n in (1, 2)
        },
        "texcoords": [Texcoords(0, own), *(Texcoords(n, interpolated()) for n in (1, 2))],
        "attributes": [AttributeCorners(kind, interpolated()) for kind in ATTRIBUTES.values()],
        "state": {binding: vector(random) for binding in STATE},
        "local": {0: (0.5, trips, 1e-41, 2.0)} | {n: vector(random) for n in range(1, 4)},
        "env": {n: vector(random) for n in range(3)},  # program.env[3] has GL's initial value
        "initial": (0.5, -2.0, 1e-41, 0.25),
        "blend": ADD if random.randrange(6) == 0 else None,
    }  # fmt: skip


def _texels(random: Random, shape: tuple[int, int, int]) -> F32:
    values = [value(random) for _ in range(shape[0] * shape[1] * shape[2])]
    return np.array(values, np.float32).reshape(shape)
