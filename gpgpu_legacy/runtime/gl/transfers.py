"""Matrices to texels and back on a GPU, so that the host need not rearrange elements.

A matrix is transferred in its own layout, and a compute shader moves its elements, as bits, from a
buffer of matrices to their places in a buffer of texels. A software renderer does that more slowly
than NumPy, and formats of 8 or 16 bits are rounded by the host in any case: those transfers are the
host's (runtime/gl/prepared.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Matrix, Transfer
from gpgpu_legacy.runtime.gl.core import GlBuffer, GlContext
from gpgpu_legacy.runtime.gl.limits import limit
from gpgpu_legacy.runtime.gl.shader import (
    SIDE,
    Dispatch,
    UniformTable,
    computing_shader,
    texel_dispatch,
)
from gpgpu_legacy.runtime.gl.staging import mapped_staging
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.transfers import has_matrix_layout

_FLOAT_BYTES = 4
_MOST_CHANNELS = 4

# `region` is part of a matrix of `shape` rows and columns: its first row and column, then its rows
# and columns. `corner` and `size` are its rectangle's, x first, among rows of `width` texels.
_HEAD = f"""#version 430 core
layout(local_size_x = {SIDE}, local_size_y = {SIDE}) in;
layout(std430, binding = 0) buffer Matrix {{ uint elements[]; }};
layout(std430, binding = 1) buffer Texture {{ uint texels[]; }};
uniform ivec4 region;
uniform ivec2 offsets[4], steps, corner, size, shape;
uniform int channels, transposed, width, first;
"""

# One invocation a texel of an input's rectangle. Channels with no element of the region become 0.
_PACK = f"""{_HEAD}
void main() {{
    ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(texel, size))) return;
    int start = ((corner.y + texel.y) * width + corner.x + texel.x) * channels;
    for (int c = 0; c < channels; c++) {{
        ivec2 element = offsets[c] + steps * texel.yx;
        if (transposed != 0) element = element.yx;
        bool inside = all(greaterThanEqual(element, ivec2(0))) && all(lessThan(element, region.zw));
        int index = (region.x + element.x) * shape.y + region.y + element.y;
        texels[start + c] = inside ? elements[index] : 0u;
    }}
}}
"""

# One invocation an element of an output's matrix. It is taken from the last texel that holds it; if
# none does, the first output of a matrix gives zero, and others leave it.
_UNPACK = f"""{_HEAD}
void main() {{
    ivec2 place = ivec2(gl_GlobalInvocationID.yx);
    if (any(greaterThanEqual(place, shape))) return;
    ivec2 element = place - region.xy;
    bool inside = all(greaterThanEqual(element, ivec2(0))) && all(lessThan(element, region.zw));
    if (transposed != 0) element = element.yx;
    int found = -1;
    for (int c = 0; inside && c < channels; c++) {{
        ivec2 away = element - offsets[c], texel = (away / steps).yx;
        if (all(greaterThanEqual(away, ivec2(0))) && texel.yx * steps == away
            && all(lessThan(texel, size))) {{
            found = ((corner.y + texel.y) * width + corner.x + texel.x) * channels + c;
        }}
    }}
    if (found >= 0) elements[place.x * shape.y + place.y] = texels[found];
    else if (first != 0) elements[place.x * shape.y + place.y] = 0u;
}}
"""


class Spot(NamedTuple):
    """The position of a transfer's texels in a storage buffer, as float32 channels.

    width: of its rows, in texels. x, y: of the rectangle's corner.
    """

    buffer: GlBuffer
    width: int
    x: int = 0
    y: int = 0

    def is_whole(self, transfer: Transfer, matrix: Matrix) -> bool:
        """Whether the buffer has the layout of the matrix."""
        at_the_beginning = (self.x, self.y, self.width) == (0, 0, transfer.rect.width)
        return at_the_beginning and has_matrix_layout(transfer, matrix)


Move = Callable[[Transfer], object]


def _stays(_: Transfer) -> None:
    """Move nothing: the spots are the textures themselves."""


class DeviceTransfers:
    """The inputs and outputs of a plan that the device packs and unpacks.

    The context must be current for every method. The host takes the plan's other inputs and
    outputs. All outputs of a matrix are taken, or none.
    """

    def __init__(
        self,
        context: GlContext,
        plan: Plan,
        inputs: Sequence[Transfer],
        outputs: Sequence[Transfer],
        spot: Callable[[Transfer], Spot],
        *,
        store: Move = _stays,
        load: Move = _stays,
    ) -> None:
        """spot: gives the Spot of a transfer that is taken.

        store: moves an input's texels from its spot to their texture. load: moves an output's
        texels from their texture to its spot.
        """
        self._context, self._store, self._load = context, store, load
        operands, results = _by_name(plan.operands), _by_name(plan.results)
        self.inputs, self.outputs = frozenset(inputs), frozenset(outputs)
        taken = self.inputs | self.outputs
        self._spots = {transfer: spot(transfer) for transfer in taken}
        self._staging = mapped_staging(context)
        moved = [operands[i.matrix] for i in inputs] + [results[o.matrix] for o in outputs]
        sizes = [matrix.size_bytes for matrix in moved]
        self._matrix = context.buffer(max(sizes, default=_FLOAT_BYTES))
        self._in_matrix: str | None = None
        self._uniforms = UniformTable()
        self._packs = {
            input_: self._record(_PACK, input_, matrix, (input_.rect.width, input_.rect.height))
            for input_ in inputs
            if not self._spots[input_].is_whole(input_, matrix := operands[input_.matrix])
        }
        self._results = {
            name: [output for output in outputs if output.matrix == name]
            for name in dict.fromkeys(output.matrix for output in outputs)
        }
        self._unpacks: dict[str, list[Dispatch]] = {}
        for name, parts in self._results.items():
            matrix = results[name]
            size = (matrix.columns, matrix.rows)
            if not self._spots[parts[-1]].is_whole(parts[-1], matrix):
                self._unpacks[name] = [
                    self._record(_UNPACK, output, matrix, size, first=number == 0)
                    for number, output in enumerate(parts)
                ]

    def release(self) -> None:
        """Release what was allocated."""
        self._matrix.release()

    def _record(
        self,
        text: str,
        transfer: Transfer,
        matrix: Matrix,
        size: tuple[int, int],
        *,
        first: bool = False,
    ) -> Dispatch:
        """size: of the invocations, across and up."""
        spot = self._spots[transfer]
        region, rect, packing = transfer.region, transfer.rect, transfer.packing
        missing = [(0, 0)] * (_MOST_CHANNELS - len(packing.offsets))
        rows = {
            "region": [(region.row, region.column, region.rows, region.columns)],
            "offsets": [(*packing.offsets, *missing)],
            "steps": [(packing.row_step, packing.column_step)],
            "corner": [(spot.x, spot.y)],
            "size": [(rect.width, rect.height)],
            "shape": [(matrix.rows, matrix.columns)],
            "channels": [len(packing.offsets)],
            "transposed": [packing.transposed],
            "width": [spot.width],
            "first": [first],
        }
        shader = computing_shader(self._context, "a transfer", text)
        buffers = (self._matrix, spot.buffer)
        return texel_dispatch(self._context, shader, (self._uniforms, rows), buffers, size)

    def begin(self) -> None:
        """Start a run's transfers of one direction."""
        self._uniforms.begin()
        self._in_matrix = None

    def send(self, input_: Transfer, values: F32) -> None:
        """Move an operand to the texels of an input that is taken."""
        if input_ not in self._packs:
            self._staging.send(values, self._spots[input_].buffer)
        else:
            if self._in_matrix != input_.matrix:
                self._staging.send(values, self._matrix)
                self._in_matrix = input_.matrix
            self._packs[input_](0)
        self._store(input_)

    def fetch(self, results: Mapping[str, F32]) -> None:
        """Fill the results of the outputs that are taken; elements that no output covers are 0."""
        self.begin()
        for name, outputs in self._results.items():
            source = self._matrix
            if name in self._unpacks:
                for output, unpack in zip(outputs, self._unpacks[name], strict=True):
                    self._load(output)
                    unpack(0)
            else:
                self._load(outputs[-1])
                source = self._spots[outputs[-1]].buffer
            self._staging.fetch(results[name], source)


def _by_name(matrices: Sequence[Matrix]) -> dict[str, Matrix]:
    return {matrix.name: matrix for matrix in matrices}


def movable(
    plan: Plan, context: GlContext, *, only_in: bool = False
) -> tuple[list[Transfer], list[Transfer]]:
    """The inputs and the outputs that the device can take.

    only_in: whether only inputs need a format that rounds nothing.
    """
    most = limit(context.info, "GL_MAX_SHADER_STORAGE_BLOCK_SIZE")
    groups = min(limit(context.info, "GL_MAX_COMPUTE_WORK_GROUP_COUNT", axis) for axis in range(2))

    def fits(transfer: Transfer, matrix: Matrix) -> bool:
        rect = transfer.rect
        longest = max(matrix.rows, matrix.columns, rect.width, rect.height)
        texel_bytes = _FLOAT_BYTES * len(transfer.packing.offsets) * rect.area
        return longest <= groups * SIDE and max(matrix.size_bytes, texel_bytes) <= most

    def is_bits(transfer: Transfer) -> bool:
        return plan.texture(transfer.texture).format.is_float32

    operands, results = _by_name(plan.operands), _by_name(plan.results)
    inputs = [i for i in plan.inputs if is_bits(i) and fits(i, operands[i.matrix])]
    outputs = [o for o in plan.outputs if (only_in or is_bits(o)) and fits(o, results[o.matrix])]
    by_host = {output.matrix for output in plan.outputs if output not in outputs}
    return inputs, [output for output in outputs if output.matrix not in by_host]
