"""Arrays of the host to buffers of OpenGL and back.

A driver copies an array, on one thread, to memory that the device can reach, and sends it when the
copy is complete. `MappedStaging` does so on several threads, piece by piece: some memory stays
mapped (GL_ARB_buffer_storage), threads copy pieces to its slots, and the device fetches each as
soon as it is whole, while the next ones are copied. On the way back the device fills the slots and
threads empty them. `DriverStaging` leaves all that to the driver: for software renderers, which
copy in the host's memory, and for drivers without mapped memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.runtime.gl.core import GlBuffer, GlContext
from gpgpu_legacy.runtime.gl.egl import memory_at
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.sharing import GlName
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.workers import Task, start

Bytes = NDArray[np.uint8]

SLOTS, SLOT_BYTES = 6, 8 << 20
"""The mapped memory of a context. Mapping costs a quarter of a millisecond per megabyte, once."""

PIECES, LEAST_PIECE_BYTES = 4, 2 << 20
"""The least number of pieces of a transfer, unless they would be too small: one piece is copied
while another is fetched. A smaller piece is copied faster than threads wake.
"""

PART_BYTES = 2 << 20
"""What a thread copies at a time: then it waits some 50 µs for Python's global lock."""

_EMPTYING = 2  # slots from which threads copy at the same time; the device fills the others

_WAIT_NS = 10**9


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
        self.copying: Sequence[Task] = ()

    def end_copying(self) -> None:
        copying, self.copying = self.copying, ()
        for task in copying:
            task.finish()


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
        copied: deque[tuple[_Slot, slice]] = deque()  # begun on other threads
        for piece in self._pieces(len(source)):
            if len(copied) == len(self._slots) - 1:
                self._hand_over(*copied.popleft(), target)
            slot, part = self._free_slot(), source[piece]
            slot.copying = _copying(slot.memory[: len(part)], part)
            copied.append((slot, piece))
        for slot, piece in copied:
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
        filled: deque[tuple[_Slot, slice]] = deque()
        ahead = max(1, len(self._slots) - _EMPTYING)
        for piece in self._pieces(len(target)):
            if len(filled) == ahead:
                self._take(target, *filled.popleft())
            slot = self._free_slot()
            size = piece.stop - piece.start
            self._copy(source.glo, piece.start, self._buffer, slot.offset, size)
            self._mark(slot)
            filled.append((slot, piece))
        while filled:
            self._take(target, *filled.popleft())
        for slot in self._slots:
            slot.end_copying()

    def _take(self, target: Bytes, slot: _Slot, piece: slice) -> None:
        """Let threads copy what the device has put into a slot."""
        self._await(slot)
        part = target[piece]
        slot.copying = _copying(part, slot.memory[: len(part)])

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


def _copying(target: Bytes, source: Bytes) -> list[Task]:
    """Let threads copy a piece, at least two; a small one is copied on this thread."""
    tasks, size = [], len(source)
    count = max(2, size // PART_BYTES) if size >= LEAST_PIECE_BYTES else 1
    for number in range(count):
        part = slice(number * size // count, (number + 1) * size // count)
        copy = partial(np.copyto, target[part], source[part])
        if count > 1 and (task := start(copy)):
            tasks.append(task)
        else:
            copy()
    return tasks
