"""Random programs made comparable with a driver, and many of them drawn as one.

Compiling costs a driver far more than drawing a few fragments does, and most of it is paid a
program and not an instruction. So programs are joined: each keeps registers of its own, under new
names, and writes a colour of its own (ARB_draw_buffers).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from random_programs import MOST_JOINED, UNDEFINED

from gpgpu_legacy.isa.arithmetic import Arithmetic
from gpgpu_legacy.isa.opcodes import ARBFP, SWIZZLE_OP
from gpgpu_legacy.isa.program import (
    IDENTITY,
    DestinationRegister,
    Dst,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Selector,
    SourceRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.runtime.machine import Machine

DRAW_BUFFERS = "ARB_draw_buffers"

_Register = TypeVar("_Register", bound=SourceRegister | DestinationRegister)


def joined(programs: Sequence[Program]) -> Program:
    """One program that does what all of these do: number n writes result.color[n] alone.

    They read the same units, attributes and parameters, discard nothing, and have no options.
    """
    assert len(programs) <= MOST_JOINED
    assert not any(program.kills or program.options for program in programs)
    parts = [_recoloured(renamed(program, f"p{n}_"), n) for n, program in enumerate(programs)]
    return Program(
        instructions=tuple(i for part in parts for i in part.instructions),
        temporaries=tuple(name for part in parts for name in part.temporaries),
        parameters=tuple(each for part in parts for each in part.parameters),
        name=f"{len(programs)} programs",
        options=(DRAW_BUFFERS,),
    )


def renamed(program: Program, prefix: str = "n_") -> Program:
    """The program with other names: Mesa takes RECT and CUBE for keywords wherever they stand."""

    def register(each: _Register) -> _Register:
        if isinstance(each, Temporary) or (isinstance(each, Parameter) and each.name):
            return replace(each, name=prefix + each.name)
        return each

    return replace(
        program,
        instructions=tuple(
            replace(
                i,
                dst=i.dst and replace(i.dst, register=register(i.dst.register)),
                srcs=tuple(replace(src, register=register(src.register)) for src in i.srcs),
            )
            for i in program.instructions
        ),
        temporaries=tuple(prefix + name for name in program.temporaries),
        parameters=tuple(
            replace(each, name=prefix + each.name, parameters=tuple(map(register, each.parameters)))
            for each in program.parameters
        ),
    )


def _recoloured(program: Program, number: int) -> Program:
    """The program with result.color[number] for result.color."""
    color = ResultRegister(ResultKind.COLOR, number)
    return replace(
        program,
        instructions=tuple(
            replace(i, dst=replace(i.dst, register=color))
            if i.dst is not None and i.dst.register == ResultRegister(ResultKind.COLOR)
            else i
            for i in program.instructions
        ),
    )


def batched(programs: Sequence[Program]) -> Iterator[Sequence[Program]]:
    """As many at a time as can be joined."""
    for start in range(0, len(programs), MOST_JOINED):
        yield programs[start : start + MOST_JOINED]


# What the specification leaves undefined, and where Mesa departs from it -----------------------

_GUARD = Temporary("guard")
_ONE = Parameter(ParameterSpace.CONSTANT, value=(1.0,) * 4)


def defined(program: Program) -> Program:
    """The program without what is undefined in it, or what test_departures_of_mesa is about.

    No instruction writes a component that is UNDEFINED. SWZ takes no constants. The base of a power
    becomes 1 or 2, by whether it is below 1: Mesa gives powers of 0 other values, and is exact for
    powers of 2 alone.
    """
    return replace(
        program,
        instructions=tuple(i for each in program.instructions for i in _defined(each)),
        temporaries=(*program.temporaries, _GUARD.name),
    )


def _defined(instruction: Instruction) -> Iterator[Instruction]:
    dst = instruction.dst
    undefined = UNDEFINED.get(instruction.mnemonic)
    if undefined is not None:
        assert dst is not None
        mask = tuple(dst.mask[c] and c not in undefined for c in range(4))
        if any(mask):
            yield replace(instruction, dst=replace(dst, mask=mask))
        return
    if ARBFP[instruction.mnemonic].shape is SWIZZLE_OP:
        (operand,) = instruction.srcs
        yield Instruction("MOV", Dst(_GUARD), (Src(operand.register),))
        yield replace(instruction, srcs=(replace(operand, register=_GUARD),))
        return
    base = BASES.get(instruction.mnemonic)
    if base is None:
        yield instruction
        return
    operand, *others = instruction.srcs
    mask = Dst(_GUARD, base)
    yield Instruction("MOV", Dst(_GUARD), (operand,))
    yield Instruction("SGE", mask, (Src(_GUARD), Src(_ONE)))
    yield Instruction("ADD", mask, (Src(_GUARD), Src(_ONE)))
    yield replace(instruction, srcs=(Src(_GUARD, _FIRST if others else IDENTITY), *others))


_FIRST = (Selector.X,) * 4
BASES = {"LIT": (False, True, False, False), "POW": (True, True, True, True)}
"""The components of an opcode's first operand of which it takes a power."""


def written(program: Program) -> dict[int, list[int]]:
    """The components of each result.color[n] that the program writes, by n."""
    found: dict[int, set[int]] = {}
    for instruction in program.instructions:
        dst = instruction.dst
        if dst is None or isinstance(dst.register, Temporary):
            continue
        if dst.register.kind is ResultKind.COLOR:
            found.setdefault(dst.register.index, set()).update(dst.components)
    return {index: sorted(components) for index, components in found.items()}


class Watch:
    """Whether a run's operations were exact in float32, in whatever order their sums are taken.

    That is so where every result is a multiple of 2^-11 below 2^11: two such have an exact sum, and
    their product is either exact or no such number. It serves as the format of an arithmetic.
    """

    def __init__(self) -> None:
        self.exact = True
        self.machine = Machine(arithmetic=Arithmetic("watched", "", 32, self))  # type: ignore[arg-type]

    def round(self, wide: NDArray[np.float64], _: Any) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            fits = (np.abs(wide) < 2.0**11) & (np.rint(wide * 2.0**11) == wide * 2.0**11)
        self.exact &= bool(fits.all())
        return wide
