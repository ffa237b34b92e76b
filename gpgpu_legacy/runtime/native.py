"""Loops as native code: compiled by LLVM for this processor, kept on disk, run on all cores."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.isa.ir import Parameter
from gpgpu_legacy.lower.chains import Loop
from gpgpu_legacy.lower.content import ROOM, Arguments, native_content
from gpgpu_legacy.lower.native import (
    COUNT,
    FIRST,
    HEADER_WORDS,
    LAST,
    ORIGIN,
    PLACE_WORDS,
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
    Code,
    Processor,
    Scalar,
    emit_loop,
)
from gpgpu_legacy.lower.values import parameter_values, plane_values
from gpgpu_legacy.plan.plan import Texture, TextureKind
from gpgpu_legacy.runtime.devices import thread_count

_STAGED_BYTES = 384 << 10  # of one strip: they stay in a core's second-level cache
_PIECES = 4  # a thread, so that a thread that is late leaves work to the others
_DIGEST_BYTES = sha256().digest_size


def roomy(texture: Texture, interleaved: Collection[str] = ()) -> Storage:
    """A texture's storage with room at the end of every row, so that tiles may run over it.

    interleaved: the names of textures whose channels are to lie side by side.
    """
    storage = Storage(texture)
    if texture.name in interleaved:
        texels = np.ascontiguousarray(np.stack(storage.planes, axis=-1))
        storage.planes[:] = [texels[..., channel] for channel in range(len(storage.planes))]
        return storage  # no tile runs over what is only gathered
    if texture.kind is TextureKind.BUFFER:
        return storage  # kernels run over no end
    for number, texels in enumerate(storage.planes):
        rows, width = texels.shape
        room = np.empty((rows, -(-width // ROOM) * ROOM + ROOM), texels.dtype)
        room[...] = 0  # np.zeros would leave finding the memory to who first writes, and is timed
        room[:, :width] = texels
        storage.planes[number] = room[:, :width]
    return storage


# Compiling -----------------------------------------------------------------------------------


class Compiled:
    """A Loop's code, ready to be called, and the numbers that it reads."""

    def __init__(self, arguments: Arguments, code: Code, stage: Any, run: Any) -> None:
        """stage, run: the functions of the code's module."""
        self.arguments, self.code, self.stage, self.run = arguments, code, stage, run

    @cached_property
    def table(self) -> NDArray[np.float32]:
        """What the code's table holds, for all iterations."""
        return _table(self.code.table, self.arguments)


_Functions = tuple[Any, Any]
"""`stage` and `run` of a module, to be called with the address of its arguments."""


class _Host:
    """The processor as LLVM knows it, and the code made for it, which lives as long as this."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        self.cpu, self.features = llvm.get_host_cpu_name(), features.flatten()
        wide = bool(features.get("avx512f"))
        lanes = 16 if wide else 8 if features.get("avx") else 4
        is_x86 = bool(features.get("sse2"))
        halves = bool(features.get("f16c")) or not is_x86
        self.processor = Processor(lanes, 16 if is_x86 and not wide else 32, halves)
        self._loaded: dict[str, _Functions] = {}
        self._engines: list[Any] = []
        self._lock = Lock()

    def functions(self, text: str) -> _Functions:
        """The functions `stage` and `run` of a module, compiled once a process."""
        version = f"{llvmlite.__version__} {self.cpu} {self.features}"
        name = sha256(f"{version}\n{text}".encode()).hexdigest()[:32]
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._load(name, text)
            return self._loaded[name]

    def _load(self, name: str, text: str) -> _Functions:
        target = llvm.Target.from_default_triple().create_target_machine(
            cpu=self.cpu, features=self.features, opt=3
        )
        machine_code = _kept(name)
        if machine_code is None:
            machine_code = target.emit_object(llvm.parse_assembly(text))
            _keep(name, machine_code)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
        engine.finalize_object()
        self._engines.append(engine)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        stage, run = (function(engine.get_function_address(n)) for n in ("stage", "run"))
        return stage, run


@cache
def _host() -> _Host:
    return _Host()


def _file(name: str) -> Path:
    """Raises RuntimeError where the user has no home."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return folder / "gpgpu-legacy" / f"{name}.o"


def _kept(name: str) -> bytes | None:
    """Code that an earlier process wrote; none where its digest in front of it is not its own.

    LLVM ends the process at an object file that is damaged, so it gets none.
    """
    try:
        kept = _file(name).read_bytes()
    except (OSError, RuntimeError):
        return None
    digest, machine_code = kept[:_DIGEST_BYTES], kept[_DIGEST_BYTES:]
    return machine_code if digest == sha256(machine_code).digest() else None


def _keep(name: str, machine_code: bytes) -> None:
    """Write code to the user's cache folder, for later processes, where there is one."""
    try:
        path = _file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(sha256(machine_code).digest() + machine_code)
        Path(file.name).replace(path)
    except (OSError, RuntimeError):
        return


def compile_loop(
    loop: Loop,
    textures: Mapping[str, Texture],
    exact: bool,
    tile: tuple[int, int] | None = None,
    interleaved: Collection[str] = (),
) -> Compiled:
    """The Loop's native code; tile, interleaved: as for emit_loop and native_content.

    Raises UnsupportedError (lower/content.py).
    """
    host = _host()
    content, arguments = native_content(loop, textures, interleaved)
    code = _emitted(content, host.processor, exact=exact, tile=tile)
    return Compiled(arguments, code, *host.functions(code.text))


_emitted = lru_cache(maxsize=256)(emit_loop)


# Running -------------------------------------------------------------------------------------

_Piece = tuple[int, int]
"""A stretch of rows, columns or iterations: the first, and the one after the last."""


def run_loop(
    ready: Compiled,
    textures: Mapping[str, Storage],
    iterations: _Piece,
    pool: ThreadPoolExecutor,
) -> None:
    """Carry out a stretch of a Loop's iterations on all of its fragments.

    textures: made by `roomy`.
    """
    loop, tile = ready.arguments, ready.code.tile
    words, everywhere = _words(ready, textures), (0, loop.width)
    pieces = thread_count() * _PIECES
    if ready.code.staged:
        strips = _pieces(loop.width, loop.width, tile.width)
        rows = _pieces(loop.height, max(1, pieces // len(strips)), tile.rows)
        work = [(strip, each) for strip in strips for each in rows]
    else:
        work = [(everywhere, rows) for rows in _pieces(loop.height, pieces, tile.rows)]

    def one(piece: tuple[_Piece, _Piece]) -> None:
        _run_piece(ready, words.copy(), piece, iterations)

    if len(work) == 1:
        one(work[0])
        return
    for _ in pool.map(one, work):
        pass


def _run_piece(
    ready: Compiled, words: NDArray[np.int64], piece: tuple[_Piece, _Piece], iterations: _Piece
) -> None:
    """All iterations on a rectangle: as many at a time as there is room for what is staged."""
    (words[X_FIRST], words[X_LAST]), (words[Y_FIRST], words[Y_LAST]) = piece
    first, last = iterations
    if not ready.code.staged:
        words[FIRST], words[LAST] = first, last
        ready.run(words.ctypes.data)
        return
    each = ready.code.staged * ready.code.tile.width
    together = min(last - first, max(1, _STAGED_BYTES // (4 * each)))
    staged = np.empty(together * each, np.float32)
    words[STAGED] = staged.ctypes.data
    for start in range(first, last, together):
        words[FIRST], words[LAST] = start, min(start + together, last)
        ready.stage(words.ctypes.data)
        ready.run(words.ctypes.data)


def _pieces(length: int, most: int, multiple: int) -> list[_Piece]:
    """A length cut into at most so many pieces, each a multiple of `multiple` but the last."""
    piece = -(-length // (most * multiple)) * multiple
    return [(start, min(start + piece, length)) for start in range(0, length, piece)]


def _words(ready: Compiled, textures: Mapping[str, Storage]) -> NDArray[np.int64]:
    """The argument array (lower/native.py), but for what differs from piece to piece."""
    arguments, table = ready.arguments, ready.table
    surfaces, places = len(arguments.textures), len(arguments.bases)
    words = np.zeros(HEADER_WORDS + surfaces * TEXTURE_WORDS + places * PLACE_WORDS, np.int64)
    words[TABLE], words[COUNT], words[WIDTH] = table.ctypes.data, arguments.count, arguments.width
    for number, name in enumerate(arguments.textures):
        mine = words[HEADER_WORDS + number * TEXTURE_WORDS :][:TEXTURE_WORDS]
        planes, extent = textures[name].planes, arguments.extents[number]
        mine[: len(planes)] = [texels.ctypes.data for texels in planes]
        mine[ROW_LENGTH] = planes[0].strides[0] // planes[0].strides[1]
        mine[SIZES:ORIGIN] = extent.width, extent.height, extent.depth
        mine[ORIGIN:] = arguments.origins[number]
    words[HEADER_WORDS + surfaces * TEXTURE_WORDS :] = np.array(arguments.bases).reshape(-1)
    return words


def _table(columns: Sequence[Scalar], arguments: Arguments) -> NDArray[np.float32]:
    """The numbers that the code reads: (columns, iterations) float32."""
    count = arguments.count
    table = np.zeros((max(1, len(columns)), count), np.float32)
    for number, scalar in enumerate(columns):
        pass_, source = arguments.passes[scalar.draw], scalar.source
        with np.errstate(over="ignore"):
            table[number] = (
                parameter_values(pass_, source, count)[:, scalar.component]
                if isinstance(source, Parameter)
                else plane_values(pass_, source, count)[:, scalar.coefficient, scalar.component]
            )
    return table
