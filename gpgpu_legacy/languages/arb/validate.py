"""The resource limits of a fragment program (section 3.11.3.6)."""

from __future__ import annotations

from gpgpu_legacy.isa.opcodes import OPCODES, CostClass
from gpgpu_legacy.isa.program import Fog, Parameter, Program, Vec4
from gpgpu_legacy.languages.arb.limits import AssemblerLimits
from gpgpu_legacy.languages.diagnostics import FaultError

_FOG_INSTRUCTIONS = {Fog.EXP: 3, Fog.EXP2: 4, Fog.LINEAR: 2}
_FOG_PARAMETERS = 2
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
    used = (
        ("instructions", total, limits.instructions, of_fog),
        ("ALU instructions", total - lookups, limits.alu_instructions, of_fog),
        ("texture instructions", lookups, limits.texture_instructions, 0),
        ("temporaries", len(program.temporaries), limits.temporaries, one),
        ("attributes", attributes_bound(program), limits.attributes, one),
        ("parameters", parameters_bound(program), limits.parameters, one * _FOG_PARAMETERS),
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


def attributes_bound(program: Program) -> int:
    """The number of distinct attributes that are bound, by ATTRIB or in an operand."""
    return len({d.attribute for d in program.attributes} | set(program.attributes_read))


def parameters_bound(program: Program) -> int:
    """The number of distinct parameters that are bound, by PARAM or in an operand."""
    bound = [p for declaration in program.parameters for p in declaration.parameters]
    bound += [
        s.register
        for i in program.instructions
        for s in i.srcs
        if isinstance(s.register, Parameter)
    ]
    return len({_identity(parameter) for parameter in bound})


def _identity(parameter: Parameter) -> tuple[str, int, str, Vec4]:
    return (parameter.space.value, parameter.index, parameter.binding, parameter.value)
