"""Random programs that give every executor something to compute, many of them joined into one.

A program is written from the opcode table: every opcode and operand, swizzles, signs, masks,
saturation, all kinds of texture and sampler, parameters, state, attributes, discards. Its numbers
are those that arithmetic goes wrong on: denormals, infinities, NaN, zeros of both signs, fractions,
the largest and the least. Compiling costs most, and most of it a shader and not an instruction; so
programs share a shader, each with registers and a colour of its own (ARB_draw_buffers).

Opcodes that libraries approximate (INEXACT) come last in a program, on operands from the range that
their bounds hold in, so that what follows from an error needs no bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from departures import LLVMPIPE
from drawing import EXACT, F32, Image, corners
from strategies import ATTRIBUTES, DRAW_BUFFERS, STATE

from gpgpu_legacy.isa.ir import Program, Vec4
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode, Operand
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.workgroups import GroupShape
from gpgpu_legacy.plan.plan import AttributeCorners, Blend, Texcoords
from gpgpu_legacy.plan.textures import Filter, Sampler, TextureKind, Wrap
from gpgpu_legacy.runtime.machine import Machine, Tuning

MOST_JOINED = 8
"""What every driver that is still alive can draw to at once."""
UNDEFINED = {"SCS": (2, 3), "XPD": (3,)}
"""The components of an opcode's result that the specification leaves undefined."""
_LEAST = GroupShape(threads=(8, 8), columns=1, rows=1, k_depth=0, unroll=1)
SIZE = (7, 5)
"""Of what is drawn; not a multiple of any vector's length."""

INEXACT = LLVMPIPE.functions
"""How far llvmpipe's results may be from numpy's, relative and absolute, by opcode."""

_EXACT = [row for row in OPCODES.values() if row.mnemonic not in INEXACT]
_RANGES = {"COS": (-16, 16), "SIN": (-16, 16), "SCS": (-16, 16), "EX2": (-16, 16),
           "LG2": (0.001, 1000), "POW": (0.25, 4), "LIT": (0.25, 4)}  # fmt: skip
_TEMPORARIES = ("a", "b", "c", "d")
_ODD = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0**-149, -(2.0**-149), 1e-42, -1e-42, 1e-38, 2.0**-126,
        -(2.0**-126), 2.0**-127, 1.5e-19, 1e38, 3.4028235e38, -3.4028235e38, 2.0**24, 16777217.0,
        0.99999994, 1.0000001, -0.1, 1 / 3, 255.0, 65504.0, 1e-15, 1e15)  # fmt: skip
_BEYOND = (float("inf"), float("-inf"), float("nan"))


def number(random: Random) -> float:
    """A finite number: mostly a quarter, else one that is hard to compute with, or any at all."""
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
    """A number, or none."""
    return random.choice(_BEYOND) if random.randrange(24) == 0 else number(random)


def vector(random: Random) -> Vec4:
    return (value(random), value(random), value(random), value(random))


@dataclass(frozen=True)
class Part:
    """One of the programs: its lines, with temporaries of its own, and the colours that it writes.

    inexact: the opcode that comes last, where it is one of INEXACT.
    """

    number: int
    lines: tuple[str, ...]
    inexact: str = ""

    @property
    def discards(self) -> bool:
        """Whether it may discard fragments, which then none of the others writes."""
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

    @cached_property
    def text(self) -> str:
        names = ", ".join(f"{name}{part.number}" for part in self.parts for name in _TEMPORARIES)
        lines = [f"OPTION {DRAW_BUFFERS};", f"TEMP own, {names};"]
        lines.append("TEX own, fragment.texcoord[0], texture[0], RECT;")
        lines += [line for part in self.parts for line in part.lines]
        return "\n".join(["!!ARBfp1.0", *lines, "END", ""])

    @cached_property
    def program(self) -> Program:
        return assemble(self.text, name=f"random programs {self.seed}")

    @property
    def targets(self) -> int:
        return max(part.number for part in self.parts) + 1

    def of(self, *parts: Part) -> Batch:
        """Some of the programs, on the same textures and numbers."""
        return replace(self, parts=parts)


def random_batch(seed: str, most: int = 8, joined: int = MOST_JOINED) -> Batch:
    """The batch of a seed: always the same. most: instructions of a program."""
    random = Random(seed)
    kinds = [TextureKind.RECT, *(random.choice(_KINDS) for _ in range(2))]
    taste = _Taste(
        tuple(kind.value for kind in kinds),
        kills=random.randrange(4) == 0,
        looks_up=random.randrange(3) == 0,
        approximates=random.randrange(4) == 0,
    )
    parts = tuple(_part(random, n, random.randint(1, most), taste) for n in range(joined))
    tuning = Tuning(group=_LEAST) if random.randrange(6) else None
    return Batch(seed, parts, _given(random, kinds), replace(EXACT, tuning=tuning))


# Programs -------------------------------------------------------------------------------------

_KINDS = [kind for kind in TextureKind if kind is not TextureKind.BUFFER]


@dataclass(frozen=True)
class _Taste:
    """What the programs of a batch have in common, so that some batches are cheap to compile.

    targets: of the texture image units. kills: whether they may discard fragments, which are then
    discarded for all of them. looks_up: whether they have lookups besides the fragment's own texel.
    approximates: whether they end in opcodes of INEXACT, which are not compiled on jit.
    """

    targets: tuple[str, ...]
    kills: bool
    looks_up: bool
    approximates: bool

    @cached_property
    def rows(self) -> list[Opcode]:
        out = {Form.KILL} | (set() if self.looks_up else {Form.SAMPLE})
        return [row for row in _EXACT if row.form not in out]


def _part(random: Random, number_: int, count: int, taste: _Taste) -> Part:
    writer = _Writer(random, number_, taste.targets)
    lines = []
    for name in _TEMPORARIES:
        swizzle = "".join(random.choice("xyzw") for _ in range(4))
        start = random.choice((f"own.{swizzle}", f"-own.{swizzle}", writer.register()))
        lines.append(f"MOV {name}{number_}, {start};")
    for _ in range(count):
        kills = taste.kills and random.randrange(20) == 0
        row = OPCODES["KIL"] if kills else random.choice(taste.rows)
        lines.append(writer.instruction(row, random.choice(_TEMPORARIES) + str(number_)))
    color = f"result.color[{number_}]"
    if not random.randrange(3):
        lines.append(f"MOV {color}, {random.choice(_TEMPORARIES)}{number_};")
        return Part(number_, tuple(lines))
    if taste.approximates:
        row = OPCODES[random.choice(list(INEXACT))]
        low, high = _RANGES[row.mnemonic]
        for name in _TEMPORARIES:
            lines += [f"MAX {name}{number_}, {name}{number_}, {low};",
                      f"MIN {name}{number_}, {name}{number_}, {high};"]  # fmt: skip
        lines.append(writer.instruction(row, color, only_temporaries=True))
        return Part(number_, tuple(lines), row.mnemonic)
    lines.append(writer.instruction(random.choice(taste.rows), color))
    return Part(number_, tuple(lines))


@dataclass(frozen=True)
class _Writer:
    """Writes the instructions of one program."""

    random: Random
    number: int
    targets: tuple[str, ...]

    def instruction(self, row: Opcode, dst: str, *, only_temporaries: bool = False) -> str:
        saturate = "_SAT" * (row.saturable and self.random.randrange(5) == 0)
        operands = []
        for kind in row.shape.value:
            match kind:
                case Operand.DESTINATION:
                    operands.append(dst + self.mask(UNDEFINED.get(row.mnemonic, ())))
                case Operand.VECTOR | Operand.SCALAR:
                    sign = self.random.choice(("", "", "-"))
                    sign = "" if only_temporaries and row.mnemonic in _RANGES else sign
                    count = 1 if kind is Operand.SCALAR else self.random.choice((0, 1, 4, 4))
                    operands.append(sign + self.source(only_temporaries) + self.swizzle(count))
                case Operand.REGISTER:
                    operands.append(self.source(only_temporaries))
                case Operand.EXTENDED_SWIZZLE:
                    letters = ("x", "y", "z", "w", "0", "1")
                    chosen = (self.random.choice(letters) for _ in range(4))
                    operands.append(", ".join(self.random.choice(("", "-")) + c for c in chosen))
                case Operand.TEXTURE_UNIT:
                    unit = self.random.randrange(3)
                    operands.append(f"texture[{unit}], {self.targets[unit]}")
        return f"{row.mnemonic}{saturate} {', '.join(operands)};"

    def mask(self, undefined: tuple[int, ...]) -> str:
        """A write mask, or none; without components that the specification leaves undefined."""
        defined = "".join(c for n, c in enumerate("xyzw") if n not in undefined)
        chosen = "".join(c for c in defined if self.random.random() < 0.7) or defined
        return f".{chosen}" if undefined or self.random.randrange(2) else ""

    def swizzle(self, count: int) -> str:
        letters = self.random.choice(("xyzw", "rgba"))
        chosen = "".join(self.random.choice(letters) for _ in range(count))
        return f".{chosen}" if chosen else ""

    def source(self, only_temporaries: bool) -> str:
        if only_temporaries or self.random.randrange(5) < 3:
            return self.random.choice(_TEMPORARIES) + str(self.number)
        return self.register()

    def register(self) -> str:
        """Whatever is given to a program from outside, or stands in it."""
        random = self.random
        kind = random.randrange(5)
        if kind == 0:
            return f"program.{random.choice(('local', 'env'))}[{random.randrange(4)}]"
        if kind == 1:
            return random.choice((*STATE, *ATTRIBUTES, "fragment.position"))
        if kind == 2:
            return f"fragment.texcoord[{random.randrange(3)}]"
        numbers = [repr(number(random)) for _ in range(random.randint(1, 4))]
        return "{" + ", ".join(numbers) + "}"


# What they read -------------------------------------------------------------------------------


def _given(random: Random, kinds: list[TextureKind]) -> dict[str, Any]:
    width, height = SIZE
    own = corners((0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), width, height)
    own_texel = Image(_texels(random, (height, width, 4)))
    return {
        "textures": {0: own_texel} | {n: _image(random, kinds[n]) for n in (1, 2)},
        "texcoords": [Texcoords(0, own), *(Texcoords(n, _corners(random)) for n in (1, 2))],
        "attributes": [AttributeCorners(kind, _corners(random)) for kind in ATTRIBUTES.values()],
        "state": {binding: vector(random) for binding in STATE},
        "local": {n: vector(random) for n in range(4)},
        "env": {n: vector(random) for n in range(3)},  # program.env[3] has GL's initial value
        "initial": (0.5, -2.0, 1e-41, 0.25),
        "blend": Blend.ADD if random.randrange(6) == 0 else Blend.NONE,
    }  # fmt: skip


def _texels(random: Random, shape: tuple[int, int, int]) -> F32:
    values = [value(random) for _ in range(shape[0] * shape[1] * shape[2])]
    return np.array(values, np.float32).reshape(shape)


def _image(random: Random, kind: TextureKind) -> Image:
    """A small texture of a kind, with any sampler that it may have."""
    a, b, channels = random.randint(1, 4), random.randint(1, 4), random.choice((1, 4))
    width, height, depth = {
        TextureKind.RECT: (a, b, 1), TextureKind.T1D: (a, 1, 1), TextureKind.T2D: (a, b, 1),
        TextureKind.T3D: (a, b, 5 - a), TextureKind.CUBE: (a, a, 6),
    }[kind]  # fmt: skip
    wraps = [wrap for wrap in Wrap if kind is not TextureKind.RECT or wrap is not Wrap.REPEAT]
    s, t, r = (random.choice(wraps) for _ in range(3))
    sampler = Sampler(random.choice(list(Filter)), s, t, r)
    return Image(_texels(random, (height * depth, width, channels)), kind, depth, sampler)


def _corners(random: Random) -> tuple[Vec4, Vec4, Vec4, Vec4]:
    """A value that is level, that lies in a plane, or that is bent."""
    width, height = SIZE
    kind = random.randrange(3)
    if kind == 0:
        level = (number(random), number(random), number(random), number(random))
        return (level,) * 4

    def quarters() -> Vec4:
        x, y, z, w = (random.randint(-16, 16) / 4 for _ in range(4))
        return (x, y, z, w)

    if kind == 1:
        return corners(quarters(), quarters(), quarters(), width, height)
    return (quarters(), quarters(), quarters(), quarters())
