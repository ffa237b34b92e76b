"""The resource limits of a fragment program (section 3.11.3.6)."""

from __future__ import annotations

from gpgpu_legacy.isa.opcodes import OPCODES, CostClass
from gpgpu_legacy.isa.program import Fog, Parameter, Program
from gpgpu_legacy.languages.arb.limits import AssemblerLimits
from gpgpu_legacy.languages.diagnostics import FaultError

_FOG_INSTRUCTIONS = {Fog.EXP: 3, Fog.EXP2: 4, Fog.LINEAR: 2}
_LIMITS, _FOG = "3.11.3.6", "3.11.4.5.1"


def check_limits(program: Program, limits: AssemblerLimits, end: int) -> list[FaultError]:
    """The faults of a program that exceeds limits, including the resources of its fog option.

    end: the length of the text in characters, where these faults are reported.
    """
    fog = program.fog
    of_fog = _FOG_INSTRUCTIONS[fog] if fog else 0
    one = 1 if fog else 0
    lookups = sum(
        OPCODES[i.mnemonic].cost is not CostClass.ARITHMETIC for i in program.instructions
    )
    total = len(program.instructions)
    attributes = {d.attribute for d in program.attributes} | {*program.attributes_read}
    bound = [p for declaration in program.parameters for p in declaration.parameters]
    read = [s.register for i in program.instructions for s in i.srcs]
    bound += [register for register in read if isinstance(register, Parameter)]
    parameters = {(p.space, p.index, p.binding, p.value) for p in bound}
    used = (
        ("instructions", total, limits.instructions, of_fog),
        ("ALU instructions", total - lookups, limits.alu_instructions, of_fog),
        ("texture instructions", lookups, limits.texture_instructions, 0),
        ("temporaries", len(program.temporaries), limits.temporaries, one),
        ("attributes", len(attributes), limits.attributes, one),
        ("parameters", len(parameters), limits.parameters, 2 * one),
    )
    return [
        FaultError(
            f"the program uses {count} {what}",
            f"at most {most - taken} are allowed" + (f" with {fog.value}" if fog else ""),
            _FOG if taken else _LIMITS,
            end,
            whole=True,
        )
        for what, count, most, taken in used
        if count > most - taken
    ]
