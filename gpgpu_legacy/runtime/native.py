"""Fused passes as native code: compiled by LLVM for this processor, kept on disk, run on all cores.

Equal Contents (lower/content.py) share code. It stays in memory as long as a prepared plan uses it;
the code that was used last is kept for the next plan, too.
"""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from threading import RLock
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy import kept
from gpgpu_legacy.interp.numeric import Storage, Stored, stored_dtype
from gpgpu_legacy.isa.ir import Attribute, Parameter
from gpgpu_legacy.lower.content import ROOM, Arguments, Content, UnsupportedError
from gpgpu_legacy.lower.emit.llvm_fused import Code, Processor, emit_fused_passes
from gpgpu_legacy.lower.emit.llvm_memory import Scalar
from gpgpu_legacy.lower.emit.llvm_schedule import schedule_text
from gpgpu_legacy.lower.emit.llvm_words import (
    BASE_WORDS,
    COUNT,
    FIRST,
    HEADER_WORDS,
    LAST,
    ORIGIN,
    ROW_LENGTH,
    SIZES,
    STAGED,
    TABLE,
    TEXTURE_WORDS,
    WIDTH,
    X_FIRST,
    X_LAST,
    Y_FIRST,
    Y_LAST,
)
from gpgpu_legacy.lower.forks import held_across_forks
from gpgpu_legacy.lower.values import parameter_values, plane_values
from gpgpu_legacy.memory import COMPILER_ADDRESSES, require_addresses
from gpgpu_legacy.plan.textures import Texture, TextureKind
from gpgpu_legacy.runtime.devices import thread_count
from gpgpu_legacy.runtime.workers import share_out

MOST_CODES = 64
"""How many pieces of code are kept in memory that no prepared plan uses."""

_LINE_BYTES = 64  # of a cache; no vector is longer
_STAGED_BYTES = 384 << 10  # of a column of tiles: they stay in a core's second-level cache
_PIECES = 4  # for each thread, so that others can take the work of one that is late
_LEAST_WORK = 1 << 17  # instructions of fragments in a piece; waking a thread for less costs more


def roomy(texture: Texture, interleaved: Collection[str] = ()) -> Storage:
    """A texture's storage with room at the end of every row, so that tiles may cross the end.

    interleaved: the names of textures whose channels are to lie side by side.
    """
    dtype, channels = stored_dtype(texture.format), texture.format.channels
    rows, width = texture.extent.rows, texture.extent.width
    if texture.kind is TextureKind.BUFFER:
        return Storage(texture)  # kernels cross no end
    if texture.name in interleaved:  # no tile crosses the end of a texture that is only gathered
        texels: Stored = np.zeros((rows, width, channels), dtype)
        return Storage(texture, [texels[..., channel] for channel in range(channels)])
    length = -(-width // ROOM) * ROOM + ROOM
    wide: list[Stored] = [_aligned(rows, length, dtype) for _ in range(channels)]
    return Storage(texture, [plane[:, :width] for plane in wide])


def roomy_bytes(texture: Texture) -> int:
    """Bytes of a roomy storage."""
    extent = texture.extent
    if texture.kind is TextureKind.BUFFER:
        return texture.size_bytes
    length = -(-extent.width // ROOM) * ROOM + ROOM
    return extent.rows * length * texture.format.texel_bytes


def _aligned(rows: int, length: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Zeros, (rows, length), of which every row begins a cache line if the first one does."""
    line = _LINE_BYTES // np.dtype(dtype).itemsize
    memory = np.empty(rows * length + line, dtype)
    memory[...] = 0  # np.zeros would leave page faults to the first write, which is timed
    start = -memory.ctypes.data % _LINE_BYTES // memory.itemsize
    return memory[start : start + rows * length].reshape(rows, length)


# Compiling -----------------------------------------------------------------------------------


class NativeCode:
    """A Content's machine code; this object owns it.

    tile, table, staged: see Code. stage, run: its functions, to be called with the address of their
    arguments. address: of `run`.
    """

    def __init__(self, code: Code, engine: Any) -> None:
        """engine: LLVM's, with the code in it."""
        self.tile, self.table, self.staged = code.tile, code.table, code.staged
        self.instructions = code.instructions
        self._engine = engine
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        self.address = engine.get_function_address("run")
        self.stage, self.run = (
            function(engine.get_function_address(name)) for name in ("stage", "run")
        )


@dataclass(frozen=True, slots=True)
class _Key:
    """All that code depends on, for one processor."""

    content: Content
    exact: bool
    tile: tuple[int, int] | None


class _Host:
    """The processor as LLVM knows it, and the code that was compiled last for it."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        self.cpu, self.features = llvm.get_host_cpu_name(), features.flatten()
        wide = bool(features.get("avx512f"))
        lanes = 16 if wide else 8 if features.get("avx") else 4
        is_x86 = bool(features.get("sse2"))
        halves = bool(features.get("f16c")) or not is_x86
        fuses = bool(features.get("fma")) or not is_x86
        self.processor = Processor(lanes, 16 if is_x86 and not wide else 32, halves, fuses)
        self._codes: OrderedDict[_Key, NativeCode | str] = OrderedDict()  # or why there is none

    def code(self, key: _Key) -> NativeCode:
        """The code for a key; raises UnsupportedError if there can be none."""
        code = self._codes.get(key)
        if code is None:
            require_addresses(COMPILER_ADDRESSES, "LLVM")
            try:
                emitted = emit_fused_passes(
                    key.content, self.processor, exact=key.exact, tile=key.tile
                )
                code = NativeCode(emitted, self._load(emitted.text))
            except UnsupportedError as error:
                code = str(error)
            self._codes[key] = code
            while len(self._codes) > MOST_CODES:
                self._codes.popitem(last=False)
        self._codes.move_to_end(key)
        if isinstance(code, str):
            raise UnsupportedError(code)
        return code

    def schedule(self) -> ScheduleCode:
        """The native loop over the passes of a Repeat."""
        require_addresses(COMPILER_ADDRESSES, "LLVM")
        return ScheduleCode(self._load(schedule_text()))

    def _load(self, text: str) -> Any:
        """An engine with a module's code, which is read from disk, or compiled and stored there."""
        triple, opt = llvm.get_default_triple(), 3
        key = f"llvm {llvmlite.__version__} {triple} {self.cpu} {self.features} {opt}\n{text}"
        target = llvm.Target.from_triple(triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=opt
        )
        machine_code = kept.read(key)
        if machine_code is None:
            # A context of its own, because constants and types stay in theirs for ever.
            module = llvm.parse_assembly(text, context=llvm.create_context())
            machine_code = target.emit_object(module)
            kept.keep(key, machine_code)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
        engine.finalize_object()
        return engine


# Held while code is compiled.
_LOCK = held_across_forks(RLock())


def native_code(
    content: Content, *, exact: bool, tile: tuple[int, int] | None = None
) -> NativeCode:
    """A Content's code for this processor; any number of threads may ask.

    tile: as for emit_fused_passes. Raises UnsupportedError (lower/content.py).
    """
    with _LOCK:
        return _host().code(_Key(content, exact, tile))


class ScheduleCode:
    """The native loop over the passes of a Repeat (lower/emit/llvm_schedule.py).

    work: to be called with the addresses of its words, by any number of threads.
    """

    def __init__(self, engine: Any) -> None:
        """engine: LLVM's, with the code in it."""
        self._engine = engine
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self.work = function(engine.get_function_address("work"))


@cache
def schedule_code() -> ScheduleCode:
    """The loop for this processor."""
    with _LOCK:
        return _host().schedule()


def pause_address() -> int:
    """The address of the system call that lets other threads run."""
    if sys.platform == "win32":
        call = ctypes.windll.kernel32.SwitchToThread
    else:
        call = ctypes.CDLL(None).sched_yield
    address = ctypes.cast(call, ctypes.c_void_p).value
    assert address is not None
    return address


@cache
def _host() -> _Host:
    """To be called under the lock."""
    return _Host()


# Running -------------------------------------------------------------------------------------

_Piece = tuple[int, int]
"""A range of rows or columns: the first, and one past the last."""


class Staging:
    """Memory for staging, a part for each thread; shared by all code of a plan."""

    def __init__(self) -> None:
        self._floats: NDArray[np.float32] = np.empty((thread_count(), 0), np.float32)

    def require(self, floats: int) -> None:
        """Provide this many floats for each thread."""
        if floats > self._floats.shape[1]:
            length = -(-floats // ROOM) * ROOM
            self._floats = _aligned(thread_count(), length, np.float32)

    def release(self) -> None:
        """Release the memory."""
        self._floats = np.empty((thread_count(), 0), np.float32)

    def address(self, worker: int) -> int:
        """The address of a thread's part."""
        start: int = self._floats.ctypes.data + worker * self._floats.strides[0]
        return start


class FusedRun:
    """Fused passes ready to run: code, table, and the arguments of each piece."""

    def __init__(
        self,
        code: NativeCode,
        arguments: Arguments,
        textures: Mapping[str, Storage],
        staging: Staging,
        together: int,
    ) -> None:
        """textures: from `roomy`. together: how many iterations run in one call."""
        self.code, self._staging = code, staging
        self.table = table_of(code.table, arguments)
        pieces = _pieces_of(code, arguments, together)
        self.words = np.tile(words_of(arguments, textures, self.table), (len(pieces), 1))
        for words, (columns, rows) in zip(self.words, pieces, strict=True):
            words[X_FIRST], words[X_LAST] = columns
            words[Y_FIRST], words[Y_LAST] = rows
        start, step = self.words.ctypes.data, self.words.strides[0]
        self._addresses = [start + piece * step for piece in range(len(pieces))]
        self._together = together
        if code.staged:
            iteration = code.staged * code.tile.width
            self._together = min(together, max(1, _STAGED_BYTES // (4 * iteration)))
            staging.require(self._together * iteration)

    def run(self, first: int, last: int) -> None:
        """Run a range of iterations on all fragments."""
        self.words[:, FIRST], self.words[:, LAST] = first, last
        if not self.code.staged:
            share_out(self._run_piece, len(self._addresses))
            return
        share_out(
            lambda worker, piece: self._run_staged(worker, piece, first, last),
            len(self._addresses),
        )

    def _run_piece(self, _: int, piece: int) -> None:
        self.code.run(self._addresses[piece])

    def _run_staged(self, worker: int, piece: int, first: int, last: int) -> None:
        """Run as many iterations at a time as the staging memory has room for."""
        words, address = self.words[piece], self._addresses[piece]
        words[STAGED] = self._staging.address(worker)
        for start in range(first, last, self._together):
            words[FIRST], words[LAST] = start, min(start + self._together, last)
            self.code.stage(address)
            self.code.run(address)


def _pieces_of(
    code: NativeCode, arguments: Arguments, together: int
) -> list[tuple[_Piece, _Piece]]:
    """The pieces of a rectangle, columns and rows: enough to keep all threads busy."""
    width, height, tile = arguments.width, arguments.height, code.tile
    work = width * height * together * code.instructions
    most = min(thread_count() * _PIECES, max(1, work // _LEAST_WORK))
    if not code.staged:
        return [((0, width), rows) for rows in _pieces(height, most, tile.rows)]
    columns = _pieces(width, width, tile.width)
    rows = _pieces(height, max(1, most // len(columns)), tile.rows)
    return [(column, part) for column in columns for part in rows]


def _pieces(length: int, most: int, multiple: int) -> list[_Piece]:
    """At most `most` pieces of a length, multiples of `multiple` except the last."""
    piece = -(-length // (most * multiple)) * multiple
    return [(start, min(start + piece, length)) for start in range(0, length, piece)]


def words_of(
    arguments: Arguments, textures: Mapping[str, Storage], table: NDArray[np.float32]
) -> NDArray[np.int64]:
    """The argument array (lower/emit/llvm_words.py), but for what differs from piece to piece."""
    surfaces, bases = len(arguments.textures), len(arguments.bases)
    words = np.zeros(HEADER_WORDS + surfaces * TEXTURE_WORDS + bases * BASE_WORDS, np.int64)
    words[TABLE], words[COUNT], words[WIDTH] = table.ctypes.data, table.shape[1], arguments.width
    for number, name in enumerate(arguments.textures):
        of_texture = words[HEADER_WORDS + number * TEXTURE_WORDS :][:TEXTURE_WORDS]
        planes, extent = textures[name].planes, arguments.extents[number]
        of_texture[: len(planes)] = [texels.ctypes.data for texels in planes]
        of_texture[ROW_LENGTH] = planes[0].strides[0] // planes[0].strides[1]
        of_texture[SIZES:ORIGIN] = extent.width, extent.height, extent.depth
        of_texture[ORIGIN:] = arguments.origins[number]
    words[HEADER_WORDS + surfaces * TEXTURE_WORDS :] = np.array(arguments.bases).reshape(-1)
    return words


def table_of(columns: Sequence[Scalar], arguments: Arguments) -> NDArray[np.float32]:
    """The numbers that the code reads: (columns, iterations) float32."""
    count = arguments.count
    table = np.zeros((max(1, len(columns)), count), np.float32)
    values: dict[tuple[int, Parameter | Attribute], NDArray[np.float64]] = {}
    with np.errstate(over="ignore"):
        for number, scalar in enumerate(columns):
            source = scalar.source
            numbers = values.get((scalar.draw, source))
            if numbers is None:  # (count, coefficients, 4), computed once for all components
                pass_ = arguments.passes[scalar.draw]
                numbers = values[scalar.draw, source] = (
                    parameter_values(pass_, source, count)[:, None]
                    if isinstance(source, Parameter)
                    else plane_values(pass_, source, count)
                )
            table[number] = numbers[:, scalar.coefficient, scalar.component]
    return table
