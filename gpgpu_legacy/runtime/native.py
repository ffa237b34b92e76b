"""Fused passes as native code, which all cores run.

Equal Contents (lower/fused/content.py) share code. It stays in memory as long as a prepared plan
uses it; the code that was used last is kept for the next plan, too.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache, partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.interp.numeric import Storage, Stored, stored_dtype
from gpgpu_legacy.isa.expressions import Given
from gpgpu_legacy.lower.emit import llvm_schedule as layout
from gpgpu_legacy.lower.emit.llvm_basics import (
    COUNT,
    DEPTH,
    HEADER_WORDS,
    ORIGIN,
    ROW_LENGTH,
    SIZES,
    TABLE,
    TEXTURE_WORDS,
    WIDTH,
    word_count,
)
from gpgpu_legacy.lower.emit.llvm_fused import Code, emit_fused_passes
from gpgpu_legacy.lower.emit.llvm_schedule import schedule_text
from gpgpu_legacy.lower.forks import held_across_forks
from gpgpu_legacy.lower.fused.content import ROOM, Arguments, Content, UnsupportedError
from gpgpu_legacy.lower.machine_code import COMPILING, TargetProcessor, Words, this_processor
from gpgpu_legacy.lower.values import given_values
from gpgpu_legacy.plan.textures import Texture, TextureKind
from gpgpu_legacy.runtime.workers import Task, start

MOST_CODES = 64
"""The number of unused pieces of code that are kept in memory."""

_LINE_BYTES = 64  # of a cache; no vector is longer
_PAGE_BYTES = 4096
_STAGGER_BYTES = 11 * _LINE_BYTES


def roomy(
    texture: Texture, interleaved: Collection[str] = (), column: int = 0, number: int = 0
) -> Storage:
    """A texture's storage with room at the end of every row, so that tiles may cross the end.

    interleaved: the names of textures whose channels are to lie side by side. column: the first
    that fragments are drawn to, which begins a cache line. number: of the texture's first plane
    among the plan's.
    """
    dtype, channels = stored_dtype(texture.format), texture.format.channels
    rows, width = texture.extent.rows, texture.extent.width
    if texture.kind is TextureKind.BUFFER:
        return Storage(texture)  # kernels do not cross the end
    if texture.name in interleaved:
        # An odd number of cache lines: rows whose distance is a power of 2 would push one another
        # out of the cache.
        length = _row_length(width) + _LINE_BYTES // texture.format.texel_bytes
        texels = aligned(rows, length * channels, dtype).reshape(rows, length, channels)
        return Storage(texture, [texels[:, :width, channel] for channel in range(channels)])
    first = -column % (_LINE_BYTES // np.dtype(dtype).itemsize)
    length = _row_length(first + width)
    wide: list[Stored] = [
        aligned(rows, length, dtype, number + channel) for channel in range(channels)
    ]
    return Storage(texture, [plane[:, first : first + width] for plane in wide])


def roomy_bytes(texture: Texture) -> int:
    """Bytes of a texture's storage from `roomy`, at most."""
    extent = texture.extent
    if texture.kind is TextureKind.BUFFER:
        return texture.size_bytes
    length = _row_length(extent.width + _LINE_BYTES)
    return extent.rows * length * texture.format.texel_bytes + texture.format.channels * _PAGE_BYTES


def _row_length(width: int) -> int:
    """Texels of a row in memory, with room at its end."""
    return -(-width // ROOM) * ROOM + ROOM


def aligned(rows: int, length: int, dtype: type[np.generic], number: int = 0) -> NDArray[Any]:
    """Zeros, (rows, length). The first row begins a cache line; if rows have whole lines, all do.

    number: of the array among several, which begin at different places in a page. Processors
    mistake a load for one of a pending store if the last 12 bits of both addresses are the same.
    """
    itemsize = np.dtype(dtype).itemsize
    memory = np.empty(rows * length + (_PAGE_BYTES + _LINE_BYTES) // itemsize, dtype)
    memory[...] = 0  # np.zeros would leave page faults to the first write, which is timed
    place = number * _STAGGER_BYTES % _PAGE_BYTES
    start = (-memory.ctypes.data % _LINE_BYTES + place) // itemsize
    return memory[start : start + rows * length].reshape(rows, length)


# Compiling -----------------------------------------------------------------------------------


class NativeCode(NamedTuple):
    """A Content's code, and LLVM's engine, which owns the machine code."""

    code: Code
    engine: Any


@lru_cache(maxsize=MOST_CODES)
def _code(
    content: Content, processor: TargetProcessor, *, exact: bool, tile: tuple[int, int] | None
) -> NativeCode | str:
    """The code, or why there can be none."""
    try:
        emitted = emit_fused_passes(content, processor.unit, exact=exact, tile=tile)
        ordered = emitted.tile.rows * emitted.tile.vectors > 1
        return NativeCode(emitted, processor.load(emitted.text, ordered=ordered))
    except UnsupportedError as error:
        return str(error)


def native_code(
    content: Content, *, exact: bool, tile: tuple[int, int] | None = None
) -> NativeCode:
    """A Content's code for this processor; any number of threads may ask.

    tile: as for emit_fused_passes. Raises UnsupportedError (lower/fused/content.py).
    """
    with COMPILING:
        code = _code(content, this_processor(), exact=exact, tile=tile)
    if isinstance(code, str):
        raise UnsupportedError(code)
    return code


class ScheduleCode:
    """The native loop over the passes of a Repeat (lower/emit/llvm_schedule.py).

    work: a function of the addresses of a header and of the words of a thread's passes. lead,
    serve: functions of the address of a door. copy: the address of a NativePass's code.
    """

    def __init__(self) -> None:
        """Compile it, or read it from disk."""
        with COMPILING:
            self._engine = engine = this_processor().load(schedule_text())
        one, two = (ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count) for count in (1, 2))
        self.work = two(engine.get_function_address("work"))
        self.copy = engine.get_function_address("copy")
        self.lead, self.serve = (one(engine.get_function_address(n)) for n in ("lead", "serve"))


schedule_code = cache(ScheduleCode)
"""The loop for this processor."""


def vector_lanes() -> int:
    """Floats in a vector of this processor."""
    return this_processor().unit.lanes


def pause_address() -> int:
    """The address of the system call that lets other threads run."""
    if sys.platform == "win32":
        call = ctypes.windll.kernel32.SwitchToThread
    else:
        call = ctypes.CDLL(None).sched_yield
    address = ctypes.cast(call, ctypes.c_void_p).value
    assert address is not None
    return address


# Arguments -----------------------------------------------------------------------------------


def words_of(
    arguments: Arguments, textures: Mapping[str, Storage], table: NDArray[np.float32]
) -> Words:
    """The argument array (lower/emit/llvm_basics.py), with the words common to all pieces."""
    surfaces, bases = len(arguments.textures), len(arguments.bases)
    words = np.zeros(word_count(surfaces, bases), np.int64)
    words[TABLE], words[COUNT], words[WIDTH] = table.ctypes.data, table.shape[1], arguments.width
    words[DEPTH] = arguments.count
    for number, name in enumerate(arguments.textures):
        of_texture = words[HEADER_WORDS + number * TEXTURE_WORDS :][:TEXTURE_WORDS]
        planes, extent = textures[name].planes, arguments.extents[number]
        of_texture[: len(planes)] = [texels.ctypes.data for texels in planes]
        of_texture[ROW_LENGTH] = planes[0].strides[0] // planes[0].strides[1]
        of_texture[SIZES:ORIGIN] = extent.width, extent.height, extent.depth
        of_texture[ORIGIN:] = arguments.origins[number]
    words[HEADER_WORDS + surfaces * TEXTURE_WORDS :] = np.array(arguments.bases).reshape(-1)
    return words


def table_of(columns: Sequence[Given], arguments: Arguments) -> NDArray[np.float32]:
    """The numbers that the code reads: (columns, iterations) float32."""
    count = arguments.count
    table = np.zeros((max(1, len(columns)), count), np.float32)

    # Kept for all components.
    vectors = cache(lambda draw, source: given_values(source, arguments.passes[draw], count))
    with np.errstate(over="ignore"):
        for number, given in enumerate(columns):
            table[number] = vectors(given.draw, given.source)[:, given.components[0]]
    return table


# Workers -----------------------------------------------------------------------------------------


_LOCK = held_across_forks(Lock())


class _Crew:
    """Workers that help with native schedules. After one, they wait a while for the next."""

    def __init__(self) -> None:
        self.words = np.zeros(layout.DOOR_WORDS, np.int64)
        self.words[layout.DOOR_PAUSE_AT] = pause_address()
        self.busy = Lock()
        self._there: list[Task] = []

    def lead(self, loop: ScheduleCode, header: Words, members: Words) -> None:
        """Run a schedule with as many threads as it has words for."""
        door = self.words
        serve = partial(loop.serve, door.ctypes.data)
        self._there = [task for task in self._there if not task.has_ended()]
        while len(self._there) < len(members) - 1 and (task := start(serve)):
            self._there.append(task)
        door[layout.JOB], door[layout.FIRST_MEMBERS] = header.ctypes.data, members.ctypes.data
        door[layout.STRIDE], door[layout.HELPERS] = members.strides[0], len(members) - 1
        loop.lead(door.ctypes.data)


@lru_cache(maxsize=1)
def _crew_of(_: int) -> _Crew:
    """The crew of the process of that number."""
    return _Crew()


def run_job(loop: ScheduleCode, header: Words, members: Words) -> None:
    """Run a native schedule (lower/emit/llvm_schedule.py) on as many threads as it has words for.

    members: the words of passes, by thread. While another thread's schedule has the workers, this
    thread runs its own alone.
    """
    with _LOCK:
        crew = _crew_of(os.getpid())
    if len(members) > 1 and crew.busy.acquire(blocking=False):
        try:
            crew.lead(loop, header, members)
        finally:
            crew.busy.release()
    else:
        loop.work(header.ctypes.data, members.ctypes.data)
