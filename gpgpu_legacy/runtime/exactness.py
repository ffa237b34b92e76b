"""What a device computes to other bits than the reference, measured by running small plans on it.

Instructions: OpenGL promises the nearest float32 only for sums, differences and products. Results
built from these can be exact on any device; approximations of functions are each driver's own. One
fragment program after another computes random numbers.

Denormal numbers: a GPU may flush them to 0, and so may a CPU: llvmpipe makes the threads that draw
do so (FTZ and DAZ in x86's MXCSR), and a library compiled with -ffast-math the whole process. A
device may flush on one data path and not on another, so each is measured.

No device is known by its name here. All is measured once a process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import cache

import numpy as np

from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode, OperandKind
from gpgpu_legacy.isa.program import AttributeKind, Fog, Vec4
from gpgpu_legacy.plan.framebuffer import ADD, Blend, blend_of
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    ComputePass,
    Corners,
    FragmentPass,
    ParameterValue,
    Plan,
    StateValue,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    FORMATS,
    R32F,
    RGBA32F,
    Extent,
    Format,
    Matrix,
    Packing,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)
from gpgpu_legacy.runtime.prepared import F32, RunResult

# Instructions ------------------------------------------------------------------------------------

Run = Callable[[Plan, Mapping[str, F32]], RunResult]
"""Runs a plan on operands by name."""

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


_BLENDS = "blends "


def _blended(blend: Blend, texel_format: Format) -> str:
    return f"{_BLENDS}{blend.text} into {texel_format.name}"


_COMPUTING = (Form.COMPONENTWISE, Form.SCALAR, Form.VECTOR)

INSTRUCTIONS = frozenset(
    {row.mnemonic for row in OPCODES.values() if row.form in _COMPUTING}
    | {mode.value for mode in Fog}
    | {_blended(ADD, f) for f in FORMATS.values() if f.is_drawn_to}
)
"""The measured operations: computing opcodes, options of fog, and sums by a framebuffer, or its
substitute, in each format; other blends are measured when a plan has them. Lookups are built from
these.
"""


def inexact_among(names: frozenset[str], run: Run, reference: Run) -> frozenset[str]:
    """The instructions among these names to which a device gives other bits than the reference.

    run: the device's, with the code of exact runs. Each is measured once per process. Raises
    ExecutorUnavailableError if the executor cannot run here.
    """
    is_exact = _is_exact(run, reference)
    wanted = {name for name in names if name in INSTRUCTIONS or name.startswith(_BLENDS)}
    new = sorted(wanted - is_exact.keys())
    opcodes = [name for name in new if name in OPCODES]
    groups = [opcodes[n : n + _TOGETHER] for n in range(0, len(opcodes), _TOGETHER)]
    plans = [(group, _opcodes_plan([OPCODES[name] for name in group])) for group in groups]
    for name in sorted(set(new) - set(opcodes)):
        if name.startswith(_BLENDS):
            plans.append(([name], _blends_plan(name)))
        else:
            fog = (f"OPTION {name};", ["MOV result.color, A;"], None)
            plans.append(([name], _reading_plan({"result0": RGBA32F}, fog)))
    operands = _operands()
    for group, plan in plans:
        outputs, expected = (by(plan, operands).outputs for by in (run, reference))
        for name, matrix in zip(group, plan.results, strict=True):
            is_exact[name] = np.array_equal(outputs[matrix.name], expected[matrix.name])
    return frozenset(name for name in wanted if not is_exact[name])


@cache
def _is_exact(run: Run, reference: Run) -> dict[str, bool]:
    """The measurements of a device: whether each requested instruction is exact."""
    return {}


def _operands() -> dict[str, F32]:
    """Operands for which every opcode's result is a number: the first one is positive."""
    random = np.random.default_rng(24)
    numbers = random.uniform(0.25, 4.0, (len(_OPERANDS), 4 * SIDE, SIDE)).astype(np.float32)
    numbers[1:] *= random.choice(np.array([-1.0, 1.0], np.float32), numbers[1:].shape)
    return dict(zip(_OPERANDS, numbers, strict=True))


def instructions_of(plan: Plan) -> frozenset[str]:
    """The opcodes, options of fog and blends that a plan uses."""
    names: set[str] = set()
    for program in plan.programs():
        names |= {instruction.mnemonic for instruction in program.instructions}
        names |= {program.fog.value} if program.fog else set()
    for pass_ in plan.only(FragmentPass):
        if pass_.blend is not None:
            names |= {_blended(pass_.blend, plan.texture(n).format) for n in pass_.targets}
    return frozenset(names)


def _opcodes_plan(rows: Sequence[Opcode]) -> Plan:
    """A program with an instruction of each opcode, each with a target of its own."""
    lines = [f"{row.mnemonic} result.color[{n}], {_sources(row)};" for n, row in enumerate(rows)]
    targets = {f"result{n}": RGBA32F for n in range(len(rows))}
    options = dict.fromkeys(("ARB_draw_buffers", *(row.option for row in rows if row.option)))
    text = "".join(f"OPTION {option};\n" for option in options)
    return _reading_plan(targets, (text, lines, None))


_SUFFIXES = {OperandKind.VECTOR: "", OperandKind.REGISTER: "", OperandKind.SCALAR: ".x"}


def _sources(row: Opcode) -> str:
    """The operands A, B and C as far as the opcode has any, and the components of a SWZ."""
    unused = iter(_OPERANDS)
    return ", ".join(
        f"{next(unused)}{_SUFFIXES[kind]}" if kind in _SUFFIXES else "x, -y, 0, 1"
        for kind in row.shape.value[1:]
    )


def _blends_plan(name: str) -> Plan:
    """Numbers of [0, 1] that are blended with others, and alphas with them."""
    blend, _, texel_format = name.removeprefix(_BLENDS).partition(" into ")
    passes = [
        ("", [f"ABS {operand}, {operand};", f"MUL result.color, {operand}, 0.25;"], how)
        for operand, how in (("B", None), ("C", blend_of(blend)))
    ]
    return _reading_plan({"result0": FORMATS[texel_format]}, *passes)


def _reading_plan(
    targets: Mapping[str, Format], *passes: tuple[str, Sequence[str], Blend | None]
) -> Plan:
    """Passes that read all operands. passes: the option, instructions and blend of each."""
    from gpgpu_legacy.languages.arb.parser import assemble

    loads = [f"TEX {o}, fragment.position, texture[{n}], RECT;" for n, o in enumerate(_OPERANDS)]
    formats = {**dict.fromkeys(_OPERANDS, RGBA32F), **targets}
    drawn = (
        FragmentPass(
            assemble(
                "\n".join(["!!ARBfp1.0", option, "TEMP A, B, C;", *loads, *lines, "END"]),
                name="exactness",
            ),
            tuple(Binding(n, name) for n, name in enumerate(_OPERANDS)),
            tuple(targets),
            Rect(0, 0, SIDE, SIDE),
            blend=blend,
            attributes=(AttributeCorners(AttributeKind.FOGCOORD, _DISTANCES),),
            state=(StateValue("state.fog.params", (0.3, 0.1, 2.3, 0.0)),),
        )
        for option, lines, blend in passes
    )
    return _measuring_plan("exactness", SIDE, formats, _OPERANDS, _HELD, *drawn)


def _measuring_plan(
    name: str,
    side: int,
    formats: Mapping[str, Format],
    operands: Collection[str],
    initial: Vec4,
    *passes: FragmentPass,
) -> Plan:
    """A few small square textures, drawn to by a pass or two.

    formats: of the textures, by name. Each is a matrix too, with its channels one below another:
    an operand, or else a result.
    """

    def matrix(texture: str) -> Matrix:
        return Matrix(texture, formats[texture].channels * side, side)

    def transfer(texture: str) -> tuple[str, Region, str, Rect, Packing]:
        rows = range(0, formats[texture].channels * side, side)
        region, packing = Region(0, 0, rows.stop, side), Packing(tuple((row, 0) for row in rows))
        return texture, region, texture, Rect(0, 0, side, side), packing

    results = [texture for texture in formats if texture not in operands]
    return Plan(
        name,
        tuple(map(matrix, operands)),
        tuple(map(matrix, results)),
        tuple(
            Texture(texture, TextureKind.RECT, Extent(side, side), texel_format, initial)
            for texture, texel_format in formats.items()
        ),
        tuple(Transfer(*transfer(texture)) for texture in operands),
        passes,
        tuple(Transfer(*transfer(texture)) for texture in results),
    )


# Denormal numbers --------------------------------------------------------------------------------

_DENORMAL, _ROOT, _UP = 2.0**-140, 2.0**-70, 2.0**120


class DataPath(Enum):
    """A path of a denormal through a fragment program; the value names it in messages."""

    TEXEL = "operations on texels"
    PARAMETER = "operations on parameters"
    CONSTANT = "operations on constants"
    ATTRIBUTE = "operations on attributes"
    BETWEEN = "results of operations"
    WRITTEN = "colours that are computed"
    COMPARED = "comparisons"
    MOVED = "moves and transfers"
    BLENDED = "blends"


_OPERATIONS_ALONE = frozenset(DataPath) - {DataPath.MOVED, DataPath.BLENDED}

# As the program draws them: two targets of four components, then the one that is blended.
_FIRST = (DataPath.TEXEL, DataPath.PARAMETER, DataPath.CONSTANT, DataPath.ATTRIBUTE)
_SECOND = (DataPath.BETWEEN, DataPath.WRITTEN, DataPath.COMPARED, DataPath.MOVED)
_EXPECTED = (*(_DENORMAL * _UP,) * 5, _DENORMAL, 1.0, _DENORMAL, _DENORMAL)

_OPERATIONS = f"""!!ARBfp1.0
OPTION ARB_draw_buffers;
PARAM denormal = {_DENORMAL!r};
PARAM given = program.local[0];
PARAM root = program.local[1];
PARAM up = program.local[2];
TEMP texel, product, shown;
TEX texel, fragment.position, texture[0], RECT;
MUL shown.x, texel.x, up.x;
MUL shown.y, given.x, up.x;
MUL shown.z, denormal.x, up.x;
MUL shown.w, fragment.texcoord[0].x, up.x;
MOV result.color[0], shown;
MUL product, root.x, root.x;
MUL shown.x, product.x, up.x;
MOV shown.y, product.x;
SLT shown.z, 0, texel.x;
MOV shown.w, texel.x;
MOV result.color[1], shown;
END
"""
_BLENDED = "!!ARBfp1.0 MOV result.color, program.local[0]; END"


def paths_of(plan: Plan) -> frozenset[DataPath]:
    """The data paths that a plan uses; a kernel uses all but blends."""
    paths = {DataPath.MOVED}
    if plan.kinds & {FragmentPass, ComputePass}:
        paths |= set(DataPath) - {DataPath.BLENDED}
    if any(pass_.blend for pass_ in plan.only(FragmentPass)):
        paths.add(DataPath.BLENDED)
    return frozenset(paths)


@cache
def flushed_by(run: Run) -> frozenset[DataPath]:
    """The data paths on which a device flushes denormals; measured once a process.

    run: an executor's. Raises ExecutorUnavailableError if the executor cannot run here.
    """
    operand = np.array([[_DENORMAL]], np.float32)
    operand.view(np.uint32)[:] = _bits(_DENORMAL)  # whatever this thread does to denormals
    outputs = run(_denormals_plan(), {"given": operand}).outputs
    values = np.concatenate([outputs[name].reshape(-1) for name in ("first", "second", "blended")])
    paths, measured = (*_FIRST, *_SECOND, DataPath.BLENDED), values.view(np.uint32).tolist()
    results = zip(paths, measured, map(_bits, _EXPECTED), strict=True)
    return frozenset(path for path, bits, expected in results if bits != expected)


def in_words(flushed: frozenset[DataPath]) -> str:
    """What the device does to denormals: `kept`, `flushed`, or where it flushes them."""
    if not flushed:
        return "kept"
    if flushed >= _OPERATIONS_ALONE:
        return "flushed" if DataPath.BLENDED in flushed else "flushed but in blends"
    return f"flushed in {' and '.join(path.value for path in DataPath if path in flushed)}"


def thread_keeps_denormals() -> bool:
    """Whether the CPU keeps denormals in the calling thread: code on the CPU inherits its mode."""
    product: np.float32 = _HALVED[0] * _UP_32
    return bool(product)


_HALVED = np.frombuffer(np.uint32(2 ** (149 - 140)).tobytes(), np.float32)
_UP_32 = np.float32(_UP)


def _bits(value: float) -> int:
    """A power of two as the bits of a float32, without arithmetic on denormals."""
    return 1 << 9 if value == _DENORMAL else int(np.float32(value).view(np.uint32))


def _denormals_plan() -> Plan:
    """One fragment: the operations, drawn to two textures, and a colour blended to a third."""
    from gpgpu_legacy.languages.arb.parser import assemble

    def everywhere(x: float) -> NumberVec4:
        return (x, 0.0, 0.0, 1.0)

    parameters = tuple(
        ParameterValue(index, everywhere(x)) for index, x in enumerate((_DENORMAL, _ROOT, _UP))
    )
    texel, formats = Rect(0, 0, 1, 1), {"given": R32F, "first": RGBA32F, "second": RGBA32F}
    return _measuring_plan(
        "denormals",
        1,
        formats | {"blended": R32F},
        ("given",),
        (0.0, 0.0, 0.0, 0.0),
        FragmentPass(
            assemble(_OPERATIONS, name="denormals"),
            (Binding(0, "given"),),
            ("first", "second"),
            texel,
            (Texcoords(0, (everywhere(_DENORMAL),) * 4),),
            parameters,
        ),
        FragmentPass(
            assemble(_BLENDED, name="denormals"),
            (),
            ("blended",),
            texel,
            locals=parameters[:1],
            blend=ADD,
        ),
    )
