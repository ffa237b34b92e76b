"""Arrays of the host to buffers of OpenGL and back.

A driver copies an array, on one thread, to memory that the device can reach, and sends it when the
copy is complete. `MappedStaging` does so piece by piece: some memory stays mapped
(GL_ARB_buffer_storage), native threads copy pieces to its slots, and the device fetches each as
soon as it is whole, while the next ones are copied. On the way back the device fills the slots and
threads empty them. `DriverStaging` leaves all that to the driver: for software renderers, which
copy in the host's memory, and for drivers without mapped memory.

Threads that ran Python would wait for its lock, some 40 µs each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import cycle
from time import sleep
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.runtime.gl.core import GlBuffer, GlContext
from gpgpu_legacy.runtime.gl.egl import memory_at
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.sharing import GlName
from gpgpu_legacy.runtime.prepared import F32
from gpgpu_legacy.runtime.workers import Task, start

if TYPE_CHECKING:
    from gpgpu_legacy.runtime.schedule import PieceCopies

Bytes = NDArray[np.uint8]

SLOTS, SLOT_BYTES = 6, 8 << 20
"""The mapped memory of a context. Mapping costs a quarter of a millisecond per megabyte, once."""

PIECES, LEAST_PIECE_BYTES = 4, 1 << 20
"""The least number of pieces of a transfer, unless they would be too small: one piece is copied
while another is fetched.
"""

LEAST_SHARED_BYTES = 2 << 20
"""A smaller array is copied faster than threads wake."""

_PATIENCE = 1000  # checks, of 1 to 2 µs each, before this thread does without workers
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
    """

    def __init__(self, memory: Bytes, offset: int) -> None:
        self.memory, self.offset = memory, offset
        self.fence: int | None = None


class _Piece(NamedTuple):
    """A part of an array, and its slot."""

    part: slice
    slot: _Slot

    @property
    def memory(self) -> Bytes:
        """That of the slot."""
        return self.slot.memory[: self.part.stop - self.part.start]

    def in_slots(self, buffer: int) -> tuple[int, int]:
        """The buffer of all slots, and where the piece begins in it."""
        return buffer, self.slot.offset


class _Copies:
    """Copies of pieces in their order, by native threads or by this one."""

    def __init__(
        self, pieces: Sequence[tuple[Bytes, Bytes]], native: PieceCopies | None = None
    ) -> None:
        """pieces: target and source of each. native: how threads copy those of such sizes."""
        self._pieces, self.begun = pieces, 0
        self._task = native.start(pieces) if native else None
        self._native = native if self._task else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Return when no thread copies any more."""
        if self._native:
            self._native.allow(len(self._pieces))
        if self._task:
            self._wait(self._task.has_ended)

    def begin(self) -> None:
        """Let the next piece be copied; this thread copies what threads leave."""
        target, source = self._pieces[self.begun]
        first = self._native.copied[self.begun] if self._native else 0
        np.copyto(target[first:], source[first:])
        self.begun += 1
        if self._native:
            self._native.allow(self.begun)

    def end(self, number: int) -> None:
        """Return when a piece that has begun is copied."""
        if self._native:
            self._wait(partial(self._native.has_ended, number))

    def _wait(self, has_ended: Callable[[], bool]) -> None:
        checks = 0
        while not has_ended() and self._native:
            sleep(0)
            checks += 1
            if self._task and self._task.has_ended():
                self._task.finish()  # which raises its error
            if checks == _PATIENCE and self._task and self._task.cancel():
                self._native = None  # all workers are busy
                for pair in self._pieces[: self.begun]:
                    np.copyto(*pair)


class MappedStaging(DriverStaging):
    """Memory that host and device both see."""

    def __init__(self, context: GlContext, buffer: int, memory: Bytes) -> None:
        """buffer: OpenGL's number of it. memory: where it is mapped, (slots, bytes)."""
        super().__init__(context)
        self._gl, self._buffer = context.gl, buffer
        self._slots = [_Slot(row, n * memory.shape[1]) for n, row in enumerate(memory)]
        self._slot_bytes = memory.shape[1]
        self._slots_in_turn, self._ahead = cycle(self._slots), len(self._slots) // 2
        self._loading: Task | None = None

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
        pieces = self._pieces(len(source))
        with self._copies([(piece.memory, source[piece.part]) for piece in pieces]) as copies:
            for number, piece in enumerate(pieces):
                for next_ in pieces[copies.begun : number + self._ahead]:
                    self._await(next_.slot)
                    copies.begin()
                copies.end(number)
                self._copy(piece, piece.in_slots(self._buffer), (target.glo, piece.part.start))

    def fetch(self, values: F32, source: GlBuffer) -> None:
        """See DriverStaging."""
        target = values.reshape(-1).view(np.uint8)
        pieces, filled = self._pieces(len(target)), 0
        self._context.barrier()
        with self._copies([(target[piece.part], piece.memory) for piece in pieces]) as copies:
            for number, piece in enumerate(pieces):
                for next_ in pieces[filled : number + self._ahead]:
                    if filled >= len(self._slots):
                        copies.end(filled - len(self._slots))
                    self._await(next_.slot)
                    at = source.glo, next_.part.start
                    self._copy(next_, at, next_.in_slots(self._buffer))
                    filled += 1
                self._await(piece.slot)
                copies.begin()

    def _pieces(self, size: int) -> list[_Piece]:
        """The pieces of an array, each with the slot that was used longest ago."""
        most = min(self._slot_bytes, max(LEAST_PIECE_BYTES, -(-size // PIECES)))
        parts = [slice(first, min(first + most, size)) for first in range(0, size, most)]
        return list(map(_Piece, parts, self._slots_in_turn))

    def _copies(self, pieces: Sequence[tuple[Bytes, Bytes]]) -> _Copies:
        """The copies of pieces: those of a large array by threads, once their code is there."""
        sizes = tuple(len(source) for _, source in pieces)
        native = None
        if sum(sizes) >= LEAST_SHARED_BYTES:
            self._loading = self._loading or start(partial(_native_copies, (0,)))
            if self._loading and self._loading.has_ended():
                native = _native_copies(sizes)
        return _Copies(pieces, native)

    def _copy(self, piece: _Piece, source: tuple[int, int], target: tuple[int, int]) -> None:
        """Let the device copy a piece. source, target: buffers, and where the piece begins."""
        gl, size = self._gl, piece.part.stop - piece.part.start
        gl.glBindBuffer(GL.COPY_READ_BUFFER, source[0])
        gl.glBindBuffer(GL.COPY_WRITE_BUFFER, target[0])
        gl.glCopyBufferSubData(
            GL.COPY_READ_BUFFER, GL.COPY_WRITE_BUFFER, source[1], target[1], size
        )
        piece.slot.fence = gl.glFenceSync(GL.SYNC_GPU_COMMANDS_COMPLETE, 0)
        if piece.slot.fence is None:
            self._context.require_answers()
        gl.glFlush()

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


@lru_cache(maxsize=8)
def _native_copies(sizes: tuple[int, ...]) -> PieceCopies:
    from gpgpu_legacy.runtime.schedule import PieceCopies  # which imports a compiler

    return PieceCopies(sizes)
