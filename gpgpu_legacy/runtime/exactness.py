"""Which instructions a device computes to other bits than the reference, measured by running them.

OpenGL promises the nearest float32 of sums, differences and products alone. What is built of these
can be exact on any device; approximations of functions are each driver's own. No device is known by
its name here: one fragment program after another computes random numbers, once a process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from gpgpu_legacy.isa.ir import AttributeKind, Fog
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode, OperandKind
from gpgpu_legacy.plan.formats import FORMATS, RGBA32F, Format
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    Blend,
    Corners,
    FragmentPass,
    Plan,
    StateValue,
)
from gpgpu_legacy.plan.textures import Rect
from gpgpu_legacy.runtime.measuring_plan import measuring_plan
from gpgpu_legacy.runtime.prepared import F32

Outputs = Callable[[Plan, Mapping[str, F32]], Mapping[str, F32]]
"""Runs a plan on operands by name, and gives its outputs by name."""

SIDE = 24
"""Fragments along each side of what is drawn, each with four numbers of each operand."""

_OPERANDS = ("A", "B", "C")
_DISTANCES: Corners = (
    (0.2, 0.0, 0.0, 1.0),
    (1.1, 0.0, 0.0, 1.0),
    (2.2, 0.0, 0.0, 1.0),
    (1.3, 0.0, 0.0, 1.0),
)
_HELD = (0.1, 0.7, 0.3, 1.9)  # what a blend adds to
_TOGETHER = 4  # instructions of a program: targets and textures are at most 8 storage buffers


def _blend_into(texel_format: Format) -> str:
    return f"blends into {texel_format.name}"


_BLENDS = {_blend_into(texel_format): texel_format for texel_format in FORMATS.values()}

INSTRUCTIONS = frozenset(
    {row.mnemonic for row in OPCODES.values() if row.form not in (Form.SAMPLE, Form.KILL)}
    | {mode.value for mode in Fog}
    | _BLENDS.keys()
)
"""What is measured: the opcodes that compute, the options of fog, and blends into each format, by
a framebuffer or by what stands in for one. Lookups are made of these."""


def inexact_among(names: frozenset[str], run: Outputs, reference: Outputs) -> frozenset[str]:
    """The instructions of these names of which a device gives other bits than the reference.

    run: the device's, with the code of exact runs. Each is measured once a process.
    Raises ExecutorUnavailableError where the executor cannot run here.
    """
    is_exact, wanted = _is_exact(run, reference), names & INSTRUCTIONS
    new = sorted(wanted - is_exact.keys())
    opcodes = [name for name in new if name in OPCODES]
    groups = [opcodes[n : n + _TOGETHER] for n in range(0, len(opcodes), _TOGETHER)]
    plans = [(group, _opcodes_plan([OPCODES[name] for name in group])) for group in groups]
    for name in sorted(set(new) - set(opcodes)):
        option = "" if name in _BLENDS else f"OPTION {name};"
        plans.append(([name], _plan(option, ["MOV result.color, A;"], 1, _BLENDS.get(name))))
    operands = _operands()
    for group, plan in plans:
        found, expected = run(plan, operands), reference(plan, operands)
        for name, matrix in zip(group, plan.results, strict=True):
            is_exact[name] = np.array_equal(found[matrix.name], expected[matrix.name])
    return frozenset(name for name in wanted if not is_exact[name])


@cache
def _is_exact(run: Outputs, reference: Outputs) -> dict[str, bool]:
    """What is known of a device: whether each instruction that was asked for is exact."""
    return {}


def _operands() -> dict[str, F32]:
    """Numbers of which every opcode gives numbers: the first operand's are positive."""
    random = np.random.default_rng(24)
    numbers = random.uniform(0.25, 4.0, (len(_OPERANDS), 4 * SIDE, SIDE)).astype(np.float32)
    numbers[1:] *= random.choice(np.array([-1.0, 1.0], np.float32), numbers[1:].shape)
    return dict(zip(_OPERANDS, numbers, strict=True))


def instructions_of(plan: Plan) -> frozenset[str]:
    """The opcodes, options of fog and blends that a plan uses."""
    found: set[str] = set()
    for program in plan.programs():
        found |= {instruction.mnemonic for instruction in program.instructions}
        found |= {program.fog.value} if program.fog else set()
    for _, pass_ in plan.weighted_passes():
        if isinstance(pass_, FragmentPass) and pass_.blend is Blend.ADD:
            found |= {_blend_into(plan.texture(name).format) for name in pass_.targets}
    return frozenset(found)


def _opcodes_plan(rows: Sequence[Opcode]) -> Plan:
    """A program with an instruction of each opcode, each with a target of its own."""
    lines = [f"{row.mnemonic} result.color[{n}], {_sources(row)};" for n, row in enumerate(rows)]
    return _plan("OPTION ARB_draw_buffers;", lines, len(rows))


_SUFFIXES = {OperandKind.VECTOR: "", OperandKind.REGISTER: "", OperandKind.SCALAR: ".x"}


def _sources(row: Opcode) -> str:
    """The operands A, B and C as far as the opcode has any, and the components of a SWZ."""
    unused = iter(_OPERANDS)
    return ", ".join(
        f"{next(unused)}{_SUFFIXES[kind]}" if kind in _SUFFIXES else "x, -y, 0, 1"
        for kind in row.shape.value[1:]
    )


def _plan(option: str, lines: Sequence[str], count: int, blended: Format | None = None) -> Plan:
    """One pass that reads all operands and draws to so many targets.

    blended: the format of the targets, where what is drawn is added to what they hold.
    """
    from gpgpu_legacy.languages.arb.parser import assemble

    targets = [f"result{n}" for n in range(count)]
    loads = [f"TEX {o}, fragment.position, texture[{n}], RECT;" for n, o in enumerate(_OPERANDS)]
    text = "\n".join(["!!ARBfp1.0", option, "TEMP A, B, C;", *loads, *lines, "END"])
    pass_ = FragmentPass(
        assemble(text, name="exactness"),
        tuple(Binding(n, name) for n, name in enumerate(_OPERANDS)),
        tuple(targets),
        Rect(0, 0, SIDE, SIDE),
        blend=Blend.ADD if blended else Blend.NONE,
        attributes=(AttributeCorners(AttributeKind.FOGCOORD, _DISTANCES),),
        state=(StateValue("state.fog.params", (0.3, 0.1, 2.3, 0.0)),),
    )
    formats = dict.fromkeys(_OPERANDS, RGBA32F) | dict.fromkeys(targets, blended or RGBA32F)
    return measuring_plan("exactness", SIDE, formats, _OPERANDS, _HELD, pass_)
