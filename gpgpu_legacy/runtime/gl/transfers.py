"""Matrices to texels and back on a GPU, so that the host need not rearrange elements.

A matrix is transferred in its own layout, and a compute shader moves its elements, as bits, from a
buffer of matrices to their places in a buffer of texels. A software renderer does that more slowly
than NumPy, and formats of 8 or 16 bits are rounded by the host in any case: those transfers are the
host's (runtime/gl/prepared.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Matrix, Transfer
from gpgpu_legacy.runtime.gl.core import GlBuffer, GlContext
from gpgpu_legacy.runtime.gl.egl import memory_at
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.limits import limit
from gpgpu_legacy.runtime.gl.shader import (
    SIDE,
    Dispatch,
    UniformTable,
    computing_shader,
    texel_dispatch,
)
from gpgpu_legacy.runtime.gl.sharing import GlName
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.transfers import has_matrix_layout
from gpgpu_legacy.runtime.workers import Started

# Staging -----------------------------------------------------------------------------------------
#
# Arrays of the host to buffers of OpenGL and back.
#
# A driver copies an array, on one thread, to memory that the device can reach, and sends it when
# the copy is complete. `MappedStaging` does so on all processors, piece by piece: some memory
# stays mapped (GL_ARB_buffer_storage), threads copy pieces to its slots, and the device fetches
# each as soon as it is whole, while the next ones are copied. On the way back the device fills the
# slots and threads empty them. `DriverStaging` leaves all that to the driver: for software
# renderers, which copy in the host's memory, and for drivers without mapped memory.


Bytes = NDArray[np.uint8]

SLOTS, SLOT_BYTES = 12, 4 << 20
"""The mapped memory of a context. Mapping costs a quarter of a millisecond per megabyte, once."""

LEAST_PIECE_BYTES = 1 << 20
"""A smaller piece is copied faster than a thread starts."""

PIECES = 2
"""The least number of pieces of a transfer, unless they would be too small: one piece is copied
while another is fetched.
"""

COPYING = 8
"""The pieces that threads copy at the same time; memory is no faster with more."""

TOGETHER_BYTES = 16 << 20
"""For a smaller array this thread copies every other piece, since other threads start slowly."""

_WAIT_NS = 10**9
_PAGE_BYTES = 4096


class DriverStaging:
    """Leaves arrays to the driver. The context must be current for every method."""

    def __init__(self, context: GlContext) -> None:
        """context: that of the buffers."""
        self._context = context

    def send(self, values: F32, target: GlBuffer) -> None:
        """Fill the beginning of a buffer with a contiguous array, which may change afterwards."""
        target.write(values)

    def fetch(self, values: F32, source: GlBuffer) -> None:
        """Fill a contiguous array from the beginning of a buffer."""
        self._context.barrier()
        source.read_into(values, values.nbytes)


class _Slot:
    """A part of the mapped memory.

    memory: as the host sees it. offset: of its first byte. fence: after the device's last use.
    copying: the host's last use.
    """

    def __init__(self, memory: Bytes, offset: int) -> None:
        self.memory, self.offset = memory, offset
        self.fence: int | None = None
        self.copying: Started | None = None

    def end_copying(self) -> None:
        copying, self.copying = self.copying, None
        if copying is not None:
            copying.finish()


class MappedStaging(DriverStaging):
    """Memory that host and device both see."""

    def __init__(self, context: GlContext, buffer: int, memory: Bytes) -> None:
        """buffer: OpenGL's number of it. memory: where it is mapped, (slots, bytes)."""
        super().__init__(context)
        self._gl, self._buffer = context.gl, buffer
        self._slots = [_Slot(row, n * memory.shape[1]) for n, row in enumerate(memory)]
        self._slot_bytes = memory.shape[1]
        self._next = 0

    @classmethod
    def mapped(cls, context: GlContext, slots: int, slot_bytes: int) -> MappedStaging | None:
        """Allocate and map the slots, at least two; None if the driver cannot."""
        gl = context.gl
        if "GL_ARB_buffer_storage" not in context.handle.extensions:
            return None
        name, size = GlName.generated(gl, "Buffers"), slots * slot_bytes
        access = GL.MAP_READ | GL.MAP_WRITE | GL.MAP_PERSISTENT | GL.MAP_COHERENT
        gl.glBindBuffer(GL.COPY_READ_BUFFER, name.number)
        gl.glBufferStorage(GL.COPY_READ_BUFFER, size, None, access | GL.CLIENT_STORAGE)
        address = gl.glMapBufferRange(GL.COPY_READ_BUFFER, 0, size, access)
        gl.glBindBuffer(GL.COPY_READ_BUFFER, 0)
        if not address:
            name.release()
            while gl.glGetError() != GL.NO_ERROR:
                pass
            return None
        memory = memory_at(address, size)
        return cls(context, name.number, memory.reshape(slots, slot_bytes))

    def send(self, values: F32, target: GlBuffer) -> None:
        """See DriverStaging."""
        source = values.reshape(-1).view(np.uint8)
        copied: deque[tuple[int, _Slot, slice]] = deque()  # begun on other threads, by number
        ahead = min(COPYING, len(self._slots) - 1)
        for number, piece in enumerate(self._pieces(len(source))):
            if copied and number - copied[0][0] == ahead:
                self._hand_over(*copied.popleft()[1:], target)
            slot = self._free_slot()
            part, here = source[piece], _is_copied_here(number, len(source))
            slot.copying = _copying(slot.memory[: len(part)], part, here=here)
            if slot.copying is None:
                self._hand_over(slot, piece, target)
            else:
                copied.append((number, slot, piece))
        for _, slot, piece in copied:
            self._hand_over(slot, piece, target)

    def _hand_over(self, slot: _Slot, piece: slice, target: GlBuffer) -> None:
        """Let the device fetch what was copied to a slot."""
        slot.end_copying()
        size = piece.stop - piece.start
        self._copy(self._buffer, slot.offset, target.glo, piece.start, size)
        self._mark(slot)

    def fetch(self, values: F32, source: GlBuffer) -> None:
        """See DriverStaging."""
        target = values.reshape(-1).view(np.uint8)
        self._context.barrier()
        filled: deque[tuple[_Slot, slice, bool]] = deque()
        ahead = max(1, len(self._slots) - COPYING)
        for number, piece in enumerate(self._pieces(len(target))):
            if len(filled) == ahead:
                self._take(target, *filled.popleft())
            slot = self._free_slot()
            size = piece.stop - piece.start
            self._copy(source.glo, piece.start, self._buffer, slot.offset, size)
            self._mark(slot)
            filled.append((slot, piece, _is_copied_here(number, len(target))))
        while filled:
            self._take(target, *filled.popleft())
        for slot in self._slots:
            slot.end_copying()

    def _take(self, target: Bytes, slot: _Slot, piece: slice, here: bool) -> None:
        """Copy what the device has put into a slot. here: on this thread."""
        self._await(slot)
        part = target[piece]
        slot.copying = _copying(part, slot.memory[: len(part)], here=here)

    def _pieces(self, size: int) -> Iterator[slice]:
        most = min(self._slot_bytes, max(LEAST_PIECE_BYTES, -(-size // PIECES)))
        for first in range(0, size, most):
            yield slice(first, min(first + most, size))

    def _free_slot(self) -> _Slot:
        """The slot that was used longest ago, once neither the host nor the device needs it."""
        slot = self._slots[self._next]
        self._next = (self._next + 1) % len(self._slots)
        slot.end_copying()
        self._await(slot)
        return slot

    def _copy(self, source: int, first: int, target: int, into: int, size: int) -> None:
        gl = self._gl
        gl.glBindBuffer(GL.COPY_READ_BUFFER, source)
        gl.glBindBuffer(GL.COPY_WRITE_BUFFER, target)
        gl.glCopyBufferSubData(GL.COPY_READ_BUFFER, GL.COPY_WRITE_BUFFER, first, into, size)

    def _mark(self, slot: _Slot) -> None:
        """Let the device begin, and note when it is done with a slot."""
        slot.fence = self._gl.glFenceSync(GL.SYNC_GPU_COMMANDS_COMPLETE, 0)
        if slot.fence is None:
            self._context.require_answers()
        self._gl.glFlush()

    def _await(self, slot: _Slot) -> None:
        """Wait until the device is done with a slot."""
        if slot.fence is None:
            return
        gl, fence = self._gl, slot.fence
        slot.fence = None
        status = GL.TIMEOUT_EXPIRED
        while status == GL.TIMEOUT_EXPIRED:
            status = gl.glClientWaitSync(fence, GL.SYNC_FLUSH_COMMANDS, _WAIT_NS)
        gl.glDeleteSync(fence)
        if status == GL.WAIT_FAILED:
            self._context.require_answers()


@lru_cache(maxsize=1)
def mapped_staging(context: GlContext) -> DriverStaging:
    """A context's mapped staging, made when it is first needed, or else the driver's."""
    return MappedStaging.mapped(context, SLOTS, SLOT_BYTES) or DriverStaging(context)


def _is_copied_here(number: int, size: int) -> bool:
    """Whether this thread copies the piece of that number. size: of the whole array."""
    return size <= TOGETHER_BYTES and number % 2 == 1


def _copying(target: Bytes, source: Bytes, *, here: bool) -> Started | None:
    """Copy a piece on this thread if it is small or `here`; else let another one begin."""
    if not here and len(source) >= LEAST_PIECE_BYTES:
        return Started(np.copyto, target, source)
    np.copyto(target, source)
    return None


def touched(values: F32) -> list[Started]:
    """Begin to touch the pages of a new array, on other threads.

    The system finds a page of memory when it is first written. The caller finishes all of them
    before the array is filled.
    """
    pages = values.reshape(-1).view(np.uint8)[::_PAGE_BYTES]
    step = max(LEAST_PIECE_BYTES // _PAGE_BYTES, -(-len(pages) // (4 * COPYING)))
    return [
        Started(np.copyto, pages[first : first + step], np.uint8(0))
        for first in range(0, len(pages), step)
    ]


# Transfers ---------------------------------------------------------------------------------------


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

# One invocation a texel of an input's rectangle. What holds no element of the region is padding.
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
    """Spots are the textures themselves, so nothing remains to be moved."""


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
        """spot: of a transfer that is taken.

        store: moves an input's texels from its spot to their texture. load: an output's to its
        spot.
        """
        self._context, self._store, self._load = context, store, load
        self._matrices = {m.name: m for m in (*plan.operands, *plan.results)}
        self.inputs, self.outputs = frozenset(inputs), frozenset(outputs)
        taken = self.inputs | self.outputs
        self._spots = {transfer: spot(transfer) for transfer in taken}
        self._staging = mapped_staging(context)
        sizes = [_bytes_of(self._matrices[transfer.matrix]) for transfer in taken]
        self._matrix = context.buffer(max(sizes, default=_FLOAT_BYTES))
        self._in_matrix: str | None = None
        self._uniforms = UniformTable()
        self._expected: dict[str, tuple[F32, list[Started]]] = {}
        self._packs = {
            input_: self._record(_PACK, input_, (input_.rect.width, input_.rect.height))
            for input_ in inputs
            if not self._is_whole(input_)
        }
        self._results = {
            name: [output for output in outputs if output.matrix == name]
            for name in dict.fromkeys(output.matrix for output in outputs)
        }
        self._unpacks: dict[str, list[Dispatch]] = {}
        for name, parts in self._results.items():
            size = (self._matrices[name].columns, self._matrices[name].rows)
            if not self._is_whole(parts[-1]):
                self._unpacks[name] = [
                    self._record(_UNPACK, output, size, first=number == 0)
                    for number, output in enumerate(parts)
                ]

    def release(self) -> None:
        """Release what was allocated."""
        self._matrix.release()

    def _is_whole(self, transfer: Transfer) -> bool:
        return self._spots[transfer].is_whole(transfer, self._matrices[transfer.matrix])

    def _record(
        self, text: str, transfer: Transfer, size: tuple[int, int], *, first: bool = False
    ) -> Dispatch:
        """size: of the invocations, across and up."""
        spot, matrix = self._spots[transfer], self._matrices[transfer.matrix]
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
        """Move an operand to where an input that is taken has it."""
        if input_ not in self._packs:
            self._staging.send(values, self._spots[input_].buffer)
        else:
            if self._in_matrix != input_.matrix:
                self._staging.send(values, self._matrix)
                self._in_matrix = input_.matrix
            self._packs[input_](0)
        self._store(input_)

    def expect_results(self) -> None:
        """Begin to allocate the results of this run on threads of the host, without waiting."""
        for name in self._results:
            matrix = self._matrices[name]
            values = np.empty((matrix.rows, matrix.columns), np.float32)
            self._expected[name] = (values, touched(values))

    def results(self) -> dict[str, F32]:
        """The results of the outputs that are taken, by name; zero if no output covers them."""
        self.begin()
        return {name: self._result(name, outputs) for name, outputs in self._results.items()}

    def _result(self, name: str, outputs: Sequence[Transfer]) -> F32:
        values, touching = self._expected.pop(name)
        for touch in touching:
            touch.finish()
        if name in self._unpacks:
            for output, unpack in zip(outputs, self._unpacks[name], strict=True):
                self._load(output)
                unpack(0)
            source = self._matrix
        else:
            self._load(outputs[-1])
            source = self._spots[outputs[-1]].buffer
        self._staging.fetch(values, source)
        return values


def movable(
    plan: Plan, context: GlContext, is_bits: Callable[[Transfer], bool], *, only_in: bool = False
) -> tuple[list[Transfer], list[Transfer]]:
    """The inputs and the outputs that the device can take.

    is_bits: whether a transfer's texels are float32. only_in: that matters for inputs alone.
    """
    most = limit(context.info, "GL_MAX_SHADER_STORAGE_BLOCK_SIZE")
    groups = min(limit(context.info, "GL_MAX_COMPUTE_WORK_GROUP_COUNT", axis) for axis in range(2))
    matrices = {m.name: m for m in (*plan.operands, *plan.results)}

    def fits(transfer: Transfer) -> bool:
        matrix, rect = matrices[transfer.matrix], transfer.rect
        longest = max(matrix.rows, matrix.columns, rect.width, rect.height)
        texel_bytes = _FLOAT_BYTES * len(transfer.packing.offsets) * rect.area
        return longest <= groups * SIDE and max(_bytes_of(matrix), texel_bytes) <= most

    inputs = [i for i in plan.inputs if is_bits(i) and fits(i)]
    outputs = [o for o in plan.outputs if (only_in or is_bits(o)) and fits(o)]
    by_host = {output.matrix for output in plan.outputs if output not in outputs}
    return inputs, [output for output in outputs if output.matrix not in by_host]


def _bytes_of(matrix: Matrix) -> int:
    return _FLOAT_BYTES * matrix.rows * matrix.columns
