"""Operands and results on the host: matrices to texels and back.

Arrays of texels are allocated once for a prepared plan, and filled by each run. Results are new
arrays; their memory may have been that of earlier results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations
from sys import getrefcount

import numpy as np

from gpgpu_legacy.interp.numeric import Stored, decode, encode, pack, stored_dtype, unpack, views_of
from gpgpu_legacy.isa.program import Vec4
from gpgpu_legacy.plan.plan import (
    ClearPass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Until,
    passes_of,
    read_by,
    written_by,
)
from gpgpu_legacy.plan.textures import (
    Extent,
    Format,
    Matrix,
    Packing,
    Rect,
    Region,
    Transfer,
)
from gpgpu_legacy.runtime.prepared import F32

_FLOAT_BYTES = 4


def results_bytes(plan: Plan) -> int:
    """Bytes of the matrices that a plan computes."""
    return sum(matrix.size_bytes for matrix in plan.results)


def packing_bytes(plan: Plan) -> int:
    """Bytes of the texels that the host_input of each input and HostOutput of each output pack.

    Texels of a format that rounds take memory twice: as float32, and in the format.
    """
    total = 0
    matrices = (*plan.results, *plan.operands)
    for transfer in (*plan.inputs, *plan.outputs):
        texel_format = plan.texture(transfer.texture).format
        if _is_matrix(plan, transfer, matrices):
            continue
        held = 0 if texel_format.is_float32 else texel_format.texel_bytes
        texel_bytes = _FLOAT_BYTES * texel_format.channels + held
        total += transfer.rect.area * texel_bytes
    return total


def host_input(plan: Plan, input_: Transfer) -> Callable[[F32], Stored]:
    """A function from the matrix of an input to the texels of its rectangle.

    They are (height, width, channels) as the texture stores them, and valid until the next call.
    """
    texel_format = plan.texture(input_.texture).format
    shape = (input_.rect.height, input_.rect.width, texel_format.channels)
    if _is_matrix(plan, input_, plan.operands):
        return lambda matrix: matrix.reshape(shape)
    texels = np.zeros(shape, np.float32)  # outside of the region they stay 0

    def packed(matrix: F32) -> Stored:
        pack(matrix, texels, input_.region, input_.packing)
        return encode(texels, texel_format)

    return packed


class HostOutput:
    """An output, unpacked on the host."""

    def __init__(self, plan: Plan, output: Transfer) -> None:
        """output: of the plan."""
        self.output = output
        self.format: Format = plan.texture(output.texture).format
        self._shape = (output.rect.height, output.rect.width, self.format.channels)
        self._stored: Stored | None = None
        if not _is_matrix(plan, output, plan.results):
            self._stored = np.empty(self._shape, stored_dtype(self.format))

    def destination(self, results: Mapping[str, F32]) -> Stored:
        """The array for the texels of the rectangle, as the texture stores them.

        (height, width, channels), contiguous: a kept array, or the result itself.
        """
        if self._stored is None:
            return results[self.output.matrix].reshape(self._shape)
        return self._stored

    def put(self, results: Mapping[str, F32]) -> None:
        """Unpack the texels in the destination into the result."""
        if self._stored is not None:
            texels = decode(self._stored, self.format)
            unpack(texels, results[self.output.matrix], self.output.region, self.output.packing)


def _is_matrix(plan: Plan, transfer: Transfer, matrices: Sequence[Matrix]) -> bool:
    """Whether a transfer's texels lie in memory as its matrix does, which is one of `matrices`."""
    matrix = next(matrix for matrix in matrices if matrix.name == transfer.matrix)
    texel_format = plan.texture(transfer.texture).format
    is_full = texel_format.channels == len(transfer.packing.offsets)
    return texel_format.is_float32 and is_full and has_matrix_layout(transfer, matrix)


_MOST_SPARE = 2  # results of a name: a caller may hold one until the next one is there
_MOST_SPARE_BYTES = 256 << 20  # of a result that is kept
_UNHELD = 2  # references: the list's, and the one that getrefcount has


def new_results(plan: Plan, filled: Collection[str] = ()) -> Callable[[], dict[str, F32]]:
    """A function that gives new arrays for the matrices that a plan computes, by name.

    Their memory is new, or nobody holds it any more. Numbers that no output writes are 0. filled:
    the names of matrices that the caller fills completely, whatever their outputs.
    """
    held = {matrix.name: list[F32]() for matrix in plan.results}
    others = [matrix for matrix in plan.results if matrix.name not in filled]
    covered = {m.name: np.zeros((m.rows, m.columns), np.bool_) for m in others}
    for out in plan.outputs:
        if out.matrix in covered:
            for view in views_of(covered[out.matrix], out.region, out.rect, out.packing):
                view[...] = True
    with_gaps = {name for name, seen in covered.items() if not seen.all()}

    def new(matrix: Matrix) -> F32:
        # A caller gets a view of the memory. It, and each view of it, holds a reference to that.
        spare = held[matrix.name]
        free = [number for number in range(len(spare)) if getrefcount(spare[number]) == _UNHELD]
        shape = (matrix.rows, matrix.columns)
        memory = spare.pop(free[0]) if free else np.empty(shape, np.float32)
        if memory.nbytes <= _MOST_SPARE_BYTES:
            held[matrix.name] = [*spare, memory][-_MOST_SPARE:]
        if matrix.name in with_gaps:
            memory[...] = 0
        return memory[...]

    return lambda: {matrix.name: new(matrix) for matrix in plan.results}


def has_matrix_layout(transfer: Transfer, matrix: Matrix) -> bool:
    """Whether the texels of a transfer have the layout of the matrix."""
    packing, rect = transfer.packing, transfer.rect
    channels = len(packing.offsets)
    return (
        packing == Packing(tuple((0, channel) for channel in range(channels)), column_step=channels)
        and transfer.region == Region(0, 0, matrix.rows, matrix.columns)
        and (rect.width * channels, rect.height) == (matrix.columns, matrix.rows)
    )


def cleared_first(plan: Plan) -> dict[str, Vec4]:
    """The textures that every run clears first, with their values.

    They are those with an initial value, and the undefined ones, which become 0.
    """
    undefined = undefined_textures(plan)
    return {
        texture.name: texture.initial or (0.0, 0.0, 0.0, 0.0)
        for texture in plan.textures
        if texture.initial is not None or texture.name in undefined
    }


def undefined_textures(plan: Plan) -> set[str]:
    """The textures whose texels a run may read before it writes them.

    They have no initial value, and neither the inputs nor the first pass that uses them fills them.
    Every run clears them first, so that it does not depend on earlier runs.
    """
    seen = {texture.name for texture in plan.textures if texture.initial is not None}
    for texture in plan.textures:
        rects = [input_.rect for input_ in plan.inputs if input_.texture == texture.name]
        if rects and _cover(rects, texture.extent):
            seen.add(texture.name)
    undefined = set[str]()
    for is_certain, pass_ in _first_runs(plan):
        for name in (*read_by(pass_), *written_by(pass_)):
            if name not in seen:
                seen.add(name)
                extent = plan.texture(name).extent
                if not (is_certain and name in written_by(pass_) and _fills(pass_, extent)):
                    undefined.add(name)
    return undefined | {o.texture for o in plan.outputs if o.texture not in seen}


def _first_runs(plan: Plan) -> Iterator[tuple[bool, Pass]]:
    """Whether each pass certainly runs, and the pass, in the order in which they first run."""
    for step in plan.steps:
        for pass_ in () if isinstance(step, Repeat) and not step.count else passes_of(step):
            yield not isinstance(step, Until), pass_


def _fills(pass_: Pass, extent: Extent) -> bool:
    """Whether a pass writes every texel of its targets, and reads none of them."""
    match pass_:
        case ClearPass():
            return True
        case CopyPass(target_rect=Rect() as rect):
            return _cover([rect], extent)
        case FragmentPass(rect=Rect() as rect):
            return not pass_.keeps and _cover([rect], extent)
    return False


def _cover(rects: list[Rect], extent: Extent) -> bool:
    """Whether disjoint rectangles cover a texture."""
    total = sum(rect.area for rect in rects)
    is_apart = not any(a.part_in(b).area for a, b in combinations(rects, 2))
    return total == extent.width * extent.rows and is_apart
