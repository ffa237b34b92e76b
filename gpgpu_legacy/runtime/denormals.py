"""Whether a device keeps denormal numbers, measured by running a small plan on it.

A GPU may flush denormals to 0, and so may a CPU: llvmpipe makes the threads that draw do so (FTZ
and DAZ in x86's MXCSR), and a library compiled with -ffast-math the whole process. A device may
flush on one data path and not on another, so each is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gpgpu_legacy.plan.formats import R32F, RGBA32F
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    ComputePass,
    FragmentPass,
    ParameterValue,
    Plan,
    Texcoords,
)
from gpgpu_legacy.plan.textures import Rect
from gpgpu_legacy.runtime.measuring_plan import measuring_plan
from gpgpu_legacy.runtime.prepared import F32, Result

if TYPE_CHECKING:
    from gpgpu_legacy.plan.numbers import NumberVec4

Run = Callable[[Plan, Mapping[str, F32]], Result]
"""Runs a plan on operands by name."""

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
    for _, pass_ in plan.weighted_passes():
        if isinstance(pass_, FragmentPass | ComputePass):
            paths |= frozenset(DataPath) - {DataPath.BLENDED}
        if isinstance(pass_, FragmentPass) and pass_.blend is Blend.ADD:
            paths.add(DataPath.BLENDED)
    return frozenset(paths)


@cache
def flushed_by(run: Run) -> frozenset[DataPath]:
    """The data paths on which a device flushes denormals; measured once a process.

    run: an executor's. Raises ExecutorUnavailableError where the executor cannot run here.
    """
    operand = np.array([[_DENORMAL]], np.float32)
    operand.view(np.uint32)[:] = _bits(_DENORMAL)  # whatever this thread does to denormals
    outputs = run(_plan(), {"given": operand}).outputs
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


def _plan() -> Plan:
    """One fragment: the operations, drawn to two textures, and a colour blended to a third."""
    from gpgpu_legacy.languages.arb.parser import assemble

    def everywhere(x: float) -> NumberVec4:
        return (x, 0.0, 0.0, 1.0)

    parameters = tuple(
        ParameterValue(index, everywhere(x)) for index, x in enumerate((_DENORMAL, _ROOT, _UP))
    )
    texel, formats = Rect(0, 0, 1, 1), {"given": R32F, "first": RGBA32F, "second": RGBA32F}
    return measuring_plan(
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
            blend=Blend.ADD,
        ),
    )
