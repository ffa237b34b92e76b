"""Where a device's bits differ from the reference's, measured by running small plans on it.

Instructions: OpenGL promises the nearest float32 only for sums, differences and products. Results
built from these can be exact on any device; approximations of functions are each driver's own. Each
instruction is measured by a pass or two on random numbers.

Denormal numbers: a GPU may flush them to 0, and so may a CPU: llvmpipe makes the threads that draw
do so (FTZ and DAZ in x86's MXCSR), and a library compiled with -ffast-math the whole process. A
device may flush on one data path and not on another, so each is measured.

Nothing here depends on a device's name. Each measurement is made once a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from itertools import chain

import numpy as np

from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode, OperandKind
from gpgpu_legacy.isa.program import AttributeKind, Fog, Program, Vec4
from gpgpu_legacy.plan.framebuffer import ADD, Blend, blend_of
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    ComputePass,
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

Run = Callable[[Plan, Mapping[str, F32]], RunResult]
"""Runs a plan on operands by name."""


def _measuring_plan(
    side: int,
    formats: Mapping[str, Format],
    passes: Iterable[FragmentPass],
    operands: tuple[str, ...],
    initial: Vec4 = (0.0, 0.0, 0.0, 0.0),
) -> Plan:
    """A plan of a few small square textures that some passes draw to.

    formats: of the textures, by name. Each texture is a matrix too, with its channels one below
    another: an operand, or else a result.
    """

    def rows(name: str) -> int:
        return formats[name].channels * side

    def matrix(name: str) -> Matrix:
        return Matrix(name, rows(name), side)

    def transfer(name: str) -> Transfer:
        packing = Packing(tuple((row, 0) for row in range(0, rows(name), side)))
        square = Rect(0, 0, side, side)
        return Transfer(name, Region(0, 0, rows(name), side), name, square, packing)

    results = [name for name in formats if name not in operands]
    return Plan(
        "exactness",
        tuple(map(matrix, operands)),
        tuple(map(matrix, results)),
        tuple(
            Texture(name, TextureKind.RECT, Extent(side, side), texel_format, initial)
            for name, texel_format in formats.items()
        ),
        tuple(map(transfer, operands)),
        tuple(passes),
        tuple(map(transfer, results)),
    )


def _assembled(text: str) -> Program:
    from gpgpu_legacy.languages.arb.parser import assemble

    return assemble(text, name="exactness")


# Instructions ------------------------------------------------------------------------------------

SIDE = 24
"""Fragments along each side of what is drawn, each with four numbers of each operand."""

_OPERANDS = ("A", "B", "C")
_DISTANCES = AttributeCorners(
    AttributeKind.FOGCOORD,
    ((0.2, 0.0, 0.0, 1.0), (1.1, 0.0, 0.0, 1.0), (2.2, 0.0, 0.0, 1.0), (1.3, 0.0, 0.0, 1.0)),
)
_FOG = StateValue("state.fog.params", (0.3, 0.1, 2.3, 0.0))
_HELD = (0.1, 0.7, 0.3, 1.9)  # what a blend adds to
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
    """Those of the named instructions for which a device's bits differ from the reference's.

    run, reference: run a plan on either; on the device, by the code of exact runs. Each instruction
    is measured once a process. Raises ExecutorUnavailableError if the executor cannot run here.
    """
    is_exact = _is_exact(run, reference)
    wanted = {name for name in names if name in INSTRUCTIONS or name.startswith(_BLENDS)}
    if new := sorted(wanted - is_exact.keys()):
        plan, operands = _instructions_plan(new), _operands()
        outputs, expected = (by(plan, operands).outputs for by in (run, reference))
        is_exact |= {name: np.array_equal(outputs[name], expected[name]) for name in new}
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


def _instructions_plan(names: list[str]) -> Plan:
    """A plan in which each instruction draws to a texture that has its name."""
    formats = dict.fromkeys(_OPERANDS, RGBA32F)
    formats |= {name: FORMATS.get(name.rpartition(" into ")[2], RGBA32F) for name in names}
    passes = chain.from_iterable(map(_passes, names))
    return _measuring_plan(SIDE, formats, passes, _OPERANDS, _HELD)


def _passes(name: str) -> list[FragmentPass]:
    """The passes that measure an instruction.

    For a blend, the first pass draws numbers in [0, 1], alphas too, and the second blends others
    with them.
    """
    if row := OPCODES.get(name):
        return [_drawn(name, f"{name} result.color, {_sources(row)};", row.option)]
    if not name.startswith(_BLENDS):
        return [_drawn(name, "MOV result.color, A;", name)]
    blend = blend_of(name.removeprefix(_BLENDS).partition(" into ")[0])
    text = "ABS {0}, {0}; MUL result.color, {0}, 0.25;"
    return [_drawn(name, text.format("B")), _drawn(name, text.format("C"), blend=blend)]


_SUFFIXES = {OperandKind.VECTOR: "", OperandKind.REGISTER: "", OperandKind.SCALAR: ".x"}


def _sources(row: Opcode) -> str:
    """The operands A, B and C as far as the opcode has any, and the components of a SWZ."""
    unused = iter(_OPERANDS)
    return ", ".join(
        f"{next(unused)}{_SUFFIXES[kind]}" if kind in _SUFFIXES else "x, -y, 0, 1"
        for kind in row.shape[1:]
    )


def _drawn(
    name: str, lines: str, option: str | None = None, blend: Blend | None = None
) -> FragmentPass:
    """A pass that reads all operands and draws to the texture of that name."""
    loads = [f"TEX {o}, fragment.position, texture[{n}], RECT;" for n, o in enumerate(_OPERANDS)]
    options = f"OPTION {option};" if option else ""
    return FragmentPass(
        _assembled("\n".join(["!!ARBfp1.0", options, "TEMP A, B, C;", *loads, lines, "END"])),
        tuple(Binding(n, operand) for n, operand in enumerate(_OPERANDS)),
        (name,),
        Rect(0, 0, SIDE, SIDE),
        blend=blend,
        attributes=(_DISTANCES,),
        state=(_FOG,),
    )


# Denormal numbers --------------------------------------------------------------------------------

_DENORMAL, _ROOT, _UP = 2.0**-140, 2.0**-70, 2.0**120
_GIVEN = np.array([[1 << 149 - 140]], np.uint32).view(np.float32)  # made without arithmetic


class DataPath(Enum):
    """A path of a denormal through a fragment program; the value names it in messages."""

    COMPUTED = "operations"
    MOVED = "moves and transfers"
    BLENDED = "blends"


# The path of each number that is computed: four components of each of two targets, and the one that
# is blended. A number is 0 only if denormals are flushed on its path. Operations take a denormal
# from a texel, a parameter, a constant, an attribute and a result, or compare it.
_PATHS = (*(DataPath.COMPUTED,) * 7, DataPath.MOVED, DataPath.BLENDED)

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
        paths.add(DataPath.COMPUTED)
    if any(pass_.blend for pass_ in plan.only(FragmentPass)):
        paths.add(DataPath.BLENDED)
    return frozenset(paths)


@cache
def flushed_by(run: Run) -> frozenset[DataPath]:
    """The data paths on which a device flushes denormals; measured once a process.

    run: an executor's. Raises ExecutorUnavailableError if the executor cannot run here.
    """
    outputs = run(_denormals_plan(), {"given": _GIVEN}).outputs
    values = np.concatenate([outputs[name].reshape(-1) for name in ("first", "second", "blended")])
    results = zip(_PATHS, values.view(np.uint32), strict=True)  # no arithmetic on denormals
    return frozenset(path for path, bits in results if not bits)


def in_words(flushed: frozenset[DataPath]) -> str:
    """What the device does to denormals: `kept`, `flushed`, or where it flushes them."""
    if not flushed:
        return "kept"
    if flushed >= {DataPath.COMPUTED, DataPath.BLENDED}:
        return "flushed"
    return f"flushed in {' and '.join(path.value for path in DataPath if path in flushed)}"


def thread_keeps_denormals() -> bool:
    """Whether the CPU keeps denormals in the calling thread, whose mode all code in it shares."""
    product: np.float32 = _GIVEN[0, 0] * np.float32(_UP)
    return bool(product)


def _denormals_plan() -> Plan:
    """One fragment: the operations, drawn to two textures, and a colour blended to a third."""
    given, root, up = ((x, 0.0, 0.0, 1.0) for x in (_DENORMAL, _ROOT, _UP))
    parameters = tuple(ParameterValue(n, vector) for n, vector in enumerate((given, root, up)))
    texel, coordinates = Rect(0, 0, 1, 1), (Texcoords(0, (given,) * 4),)
    passes = (
        FragmentPass(
            _assembled(_OPERATIONS),
            (Binding(0, "given"),),
            ("first", "second"),
            texel,
            coordinates,
            parameters,
        ),
        FragmentPass(
            _assembled(_BLENDED), (), ("blended",), texel, locals=parameters[:1], blend=ADD
        ),
    )
    formats = {"given": R32F, "first": RGBA32F, "second": RGBA32F, "blended": R32F}
    return _measuring_plan(1, formats, passes, ("given",))
