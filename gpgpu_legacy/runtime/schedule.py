"""Passes run by native threads, without Python in between: one by one, or in temporal tiles.

Passes that run once, in a row, are a Repeat of one iteration.

Passes that read their neighbours at bounded offsets (lower/analysis/neighbourhood.py) need not
end before the next one begins. A band of rows runs several passes, each on `lag` rows fewer at
either end than the pass before. So a gap between two bands, a joint, grows from pass to pass; it
runs when both bands have ended. In bands and joints, each pass follows the one before at a distance
of a few rows and columns, while the texels in between are in the core's caches. Every fragment is
computed once, by the same code and from the same numbers as pass by pass, in the plan's own
textures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.lower.analysis.neighbourhood import Neighbourhood
from gpgpu_legacy.lower.emit import llvm_schedule as layout
from gpgpu_legacy.lower.emit.llvm_basics import DEPTH, PANEL, STAGED
from gpgpu_legacy.lower.fused.content import ROOM, Arguments
from gpgpu_legacy.lower.machine_code import Words
from gpgpu_legacy.plan.plan import read_by, written_by
from gpgpu_legacy.runtime.devices import cache_bytes, thread_count
from gpgpu_legacy.runtime.native import (
    NativeCode,
    aligned,
    pause_address,
    run_job,
    schedule_code,
    table_of,
    vector_lanes,
    words_of,
)
from gpgpu_legacy.runtime.workers import Task, start

MOST_PASSES = 32
"""The most passes of a stage; memory stops being the limit with far fewer."""

_LEAST_WORK = 1 << 16  # instructions of fragments in an item; waiting for less costs more
_LEAST_STAGED = 1 << 19  # the same if texels are staged, which each item then reads anew
BANDS, _PIECES = 4, 8  # for each thread, so that others can take the work of one that is late
_PIECE_ROWS, _PIECE_COLUMNS = 128, 256  # of items with staged texels; what they use fits a cache
_PANEL_BYTES = 256 << 10  # of the iterations that a tile runs at a time; these fit a cache, too
_STAGED_BYTES = 32 << 20  # of all panels: no more than is surely there (memory.py)
_LEAST_CHUNK, _LEAST_SPAN = 4, 8 * ROOM  # the fewest rows and columns that are worth a call
_WORK_OF_A_CALL = 1 << 32  # instructions, for each thread; between calls, Python handles signals
_LINE = 8  # words

ENDLESS = 1 << 40
"""More rows, or columns, than there are."""

_ROW_BYTES, _COPIED_ROWS = 1 << 15, 8  # of arrays that are copied: of a row, and in an item


@frozen
class NativePass:
    """A pass of the Repeat's body, or a part of one: a native function and what it is handed.

    code: the address of the function. words: its arguments, with room for those of a piece. pieces:
    (n, 4), for each the first column and the one past the last, and its rows likewise. work: its
    instructions over all fragments and `together` iterations. owners: what keeps alive the function
    and all that words point to. together: the iterations that it runs at a time. rounds: how many
    times it does so; 0 if no texels are staged.
    """

    code: int
    words: Words
    pieces: Words
    work: int
    owners: tuple[object, ...]
    together: int = 1
    rounds: int = 0


class Staging:
    """Memory for staged texels, shared by all code of a plan."""

    def __init__(self) -> None:
        self.floats: NDArray[np.float32] = np.empty(0, np.float32)


def native_passes(
    native: NativeCode,
    arguments: Arguments,
    textures: Mapping[str, Storage],
    staging: Staging,
    together: int,
) -> list[NativePass]:
    """Fused passes as native ones; if they stage texels, the staging comes before them.

    textures: from `roomy`. staging: the plan's. together: how many iterations may run at a time.
    """
    code, engine = native
    run, stage = map(engine.get_function_address, ("run_piece", "stage_piece"))
    table = table_of(code.table, arguments)
    words, owners = words_of(arguments, textures, table), (engine, table)
    width, height, tile = arguments.width, arguments.height, code.tile
    work, threads = code.instructions * width * height, thread_count()
    if not code.staged:
        most = min(threads * BANDS, work * together // _LEAST_WORK)
        rows = cut(height, most // threads * threads or most, tile.rows)
        pieces = rectangles([(0, width)], rows)
        return [NativePass(run, words, pieces, work * together, owners, together)]
    iteration, panels = code.staged * tile.width, cut(width, width, tile.width)
    wanted, most = together, _STAGED_BYTES // (4 * iteration * len(panels))
    together = min(wanted, max(1, most))
    words[DEPTH] = max(1, _PANEL_BYTES // (4 * iteration))
    words[PANEL] = together * iteration
    floats = len(panels) * together * iteration
    if floats > staging.floats.size:
        staging.floats = aligned(1, floats, np.float32)
    rounds = -(-wanted // together)
    columns = cut(width, -(-width // _PIECE_COLUMNS), tile.width)
    most = min(threads * _PIECES, work * together // _LEAST_STAGED) // len(columns)
    rows = cut(height, max(-(-height // _PIECE_ROWS), most), tile.rows)
    work *= together
    panels = cut(width, threads * BANDS if len(rows) > 1 else 1, tile.width)
    return [
        NativePass(stage, words, rectangles(panels, [(0, 1)]), 0, owners, together, rounds),
        NativePass(run, words, rectangles(columns, rows), work, owners, together, rounds),
    ]


_Piece = tuple[int, int]
"""A range of rows or columns: the first, and one past the last."""


def cut(length: int, most: int, multiple: int) -> list[_Piece]:
    """At most `most` pieces of a length, multiples of `multiple` except the last."""
    piece = -(-length // (max(1, most) * multiple)) * multiple
    return [(start, min(start + piece, length)) for start in range(0, length, piece)]


def rectangles(columns: Sequence[_Piece], rows: Sequence[_Piece]) -> Words:
    """All pieces of columns in all pieces of rows, (n, 4): see NativePass."""
    return np.array([(*column, *row) for row in rows for column in columns])


@frozen
class Stage:
    """The division of a rectangle into work.

    passes: how many a stage has. bands: the first row of each, and the one past the last band.
    width: of the rectangle. wraps: whether the first band follows the last one. lag, slant: rows
    and columns between one pass and the next. chunk, span: rows and columns that a pass takes at a
    time.
    """

    passes: int
    bands: tuple[int, ...]
    width: int = 0
    wraps: bool = False
    lag: int = 0
    slant: int = 0
    chunk: int = ENDLESS
    span: int = ENDLESS

    @property
    def joints(self) -> int:
        """The number of joints between bands, if stages have several passes."""
        bands = len(self.bands) - 1
        return 0 if self.passes == 1 or not self.lag else bands - (not self.wraps)


def stage_of(
    around: Neighbourhood, texel_bytes: int, work: int, threads: int, lanes: int = 1
) -> Stage:
    """The shape of the stages of a Repeat.

    texel_bytes: of one texel of each texture that it reads or writes, together. work: instructions
    of a fragment in a pass. threads: how many may work. lanes: of a vector; each pass begins at
    the beginning of one.
    """
    rows, (across, wraps) = around.height, around.wraps
    lag = max(max(reach.down, reach.up) for reach in around.reaches)
    slant = max(max(reach.left, reach.right) for reach in around.reaches)
    slant = -(-slant // lanes) * lanes
    passes = min(MOST_PASSES, around.count * len(around.passes))
    chunk, span = _block_of(around.width, lag, passes * slant, passes, texel_bytes)
    span = ENDLESS if across else span
    if lag:
        columns = min(around.width, span + passes * slant)
        in_cache = cache_bytes(2) // 2 // (texel_bytes * columns) - chunk - 2 * lag
        passes = max(1, min(passes, in_cache // lag, rows // (2 * lag * threads)))
    least = max(1, lag, -(-_LEAST_WORK // (work * around.width * passes)))
    if passes == 1:
        bands = max(1, min(threads * BANDS, rows // least))
        return Stage(1, _evenly(rows, bands), around.width, wraps, lag)
    most = rows // max(least, 2 * lag * passes)
    easily = rows // max(least, 3 * lag * passes)  # joints then have at most two rows of three
    bands = max(1, min(threads, most), min(threads * BANDS, easily))
    inner = _evenly(rows, bands)[1:-1]
    if lag and not wraps and bands > 1:
        # The first and the last band lose rows at one end alone, so they begin with fewer of them.
        fewer = lag * passes // 2
        inner = tuple(row - fewer for row in _evenly(rows + 2 * fewer, bands)[1:-1])
    return Stage(passes, (0, *inner, rows), around.width, wraps, lag, slant, chunk, span)


def _block_of(width: int, lag: int, slanted: int, passes: int, texel_bytes: int) -> tuple[int, int]:
    """Rows and columns that a pass takes at a time.

    Short rows are grouped so that a core's smallest cache holds a pass's texels; long ones are cut
    so that the next cache holds the texels between all passes of a stage.
    """
    chunk = cache_bytes(1) * 3 // 4 // texel_bytes // width - 2 * lag
    chunk = max(_LEAST_CHUNK, chunk)
    columns = cache_bytes(2) // 2 // texel_bytes // ((passes + 2) * lag + chunk)
    if columns >= width:
        return chunk, ENDLESS
    return chunk, max(_LEAST_SPAN, (columns - slanted) // ROOM * ROOM)


def _evenly(rows: int, bands: int) -> tuple[int, ...]:
    return tuple(rows * band // bands for band in range(bands + 1))


# Items ---------------------------------------------------------------------------------------


def items_of(stage: Stage) -> Words:
    """The items of a stage (lower/emit/llvm_schedule.py): its bands, then its joints."""
    bands, joints, lag = len(stage.bands) - 1, stage.joints, stage.lag
    shrinks, items = lag if joints else 0, list[Sequence[int]]()
    start, ring = (bands, joints) if joints else (0, bands)
    for band, (low, high) in enumerate(pairwise(stage.bands)):
        first, last = band == 0 and not stage.wraps, band == bands - 1 and not stage.wraps
        steps = 0 if first else shrinks, 0 if last else -shrinks
        awaited = range(band - (not first), band + (not joints) + (not last))
        waits = start, ring, awaited.start % ring, min(len(awaited), ring), 0, 1
        items.append((low, steps[0], high, steps[1], 0, stage.width, 0, band, *waits))
    for joint, row in enumerate(stage.bands[1 : joints + 1]):
        waits = 0, bands, joint, min(2, bands), 1, 1
        items.append((row, -lag, row, lag, 0, stage.width, 0, bands + joint, *waits))
    return np.array(items, np.int64)


def _plain_items(members: Sequence[NativePass]) -> Words:
    """The items of stages of one pass each. A pass waits for all before it, by one counter."""
    counts = [len(member.pieces) for member in members]
    items = np.zeros((sum(counts), layout.ITEM_WORDS), np.int64)
    places = [layout.LEFT, layout.RIGHT, layout.LOW, layout.HIGH]
    items[:, places] = np.concatenate([member.pieces for member in members])
    items[:, layout.STAGE] = np.repeat(np.arange(len(members)), counts)
    items[:, layout.BASE] = np.repeat(np.cumsum([0, *counts[:-1]]), counts)
    items[:, [layout.RING, layout.AWAITED]], items[:, layout.EACH] = 1, len(items)
    return items


# Running -------------------------------------------------------------------------------------


class RepeatRun:
    """A Repeat ready to run: its items, and for each thread the arguments of its passes."""

    def __init__(
        self,
        members: Sequence[NativePass],
        stage: Stage | None = None,
        count: int = 1,
        staging: Staging = Staging(),  # noqa: B008 - it holds nothing
    ) -> None:
        """stage: the shape of stages; None if each pass is one. count: iterations of the Repeat."""
        self._owners, self._staging, self._loop = members, staging, schedule_code()
        self.stage = stage
        shape, kinds = stage or Stage(1, ()), 1 if stage else len(members)
        self.items = items_of(stage) if stage else _plain_items(members)
        most = len(stage.bands) - 1 if stage else max(len(member.pieces) for member in members)
        self._threads = min(thread_count(), most)
        self._of_a_round = kinds * shape.passes * max(member.together for member in members)
        self._header = np.zeros(layout.HEADER_WORDS, np.int64)
        self._ended = np.zeros((len(self.items), layout.ENDED_WORDS), np.int64)
        self.words, self._members = self._words_of(members)
        filled = zip(self.words, members, strict=True)
        self._staged = [words for words, member in filled if member.rounds]
        passes = -(-count // members[0].together) * len(members)
        self._header[layout.ITEMS :] = (
            len(self.items), kinds, shape.passes, passes, len(members),
            shape.lag, shape.chunk, shape.bands[-1] if shape.wraps else ENDLESS,
            shape.slant, shape.span, self.items.ctypes.data, self._ended.ctypes.data,
            pause_address(),
        )  # fmt: skip
        work = kinds * shape.passes * sum(m.work for m in members) // len(members)
        of_an_item = max(1, work // len(self.items))
        self._at_once = max(1, self._threads * _WORK_OF_A_CALL // of_an_item)

    def run(self, first: int = 0, last: int = 1) -> None:
        """Run iterations from `first` to `last`, without the last.

        If a stage has several passes, they must be all iterations.
        """
        header, (start, end) = self._header, map(self._items_before, (first, last))
        for words in self._staged:
            words[:, STAGED] = self._staging.floats.ctypes.data
        self._ended[...] = 0
        self._ended[0, 0] = start  # what the first of these iterations waits for, if it is not 0
        for item in range(start, end, self._at_once):
            header[layout.NEXT] = item
            header[layout.LIMIT] = min(item + self._at_once, end)
            run_job(self._loop, header, self._members)

    def _items_before(self, iteration: int) -> int:
        return -(-iteration * len(self.words) // self._of_a_round) * len(self.items)

    def _words_of(self, members: Sequence[NativePass]) -> tuple[list[Words], Words]:
        """For each member its words, a row per thread; and for each thread its MEMBER_WORDS."""
        arrays, numbers = [], np.zeros((self._threads, len(members), layout.MEMBER_WORDS), np.int64)
        for number, member in enumerate(members):
            length = -(-len(member.words) // _LINE) * _LINE + _LINE
            array = np.zeros((self._threads, length), np.int64)
            array[:, : len(member.words)] = member.words
            numbers[:, number, layout.CODE] = member.code
            numbers[:, number, layout.TOGETHER] = member.together
            start, step = array.ctypes.data, array.strides[0]
            numbers[:, number, layout.WORDS] = start + step * np.arange(self._threads)
            arrays.append(array)
        return arrays, numbers


def shape_of(
    around: Neighbourhood, members: Sequence[NativePass], textures: Mapping[str, Storage]
) -> Stage:
    """The shape of the stages of a Repeat with these passes."""
    names = {n for pass_ in around.passes for n in (*read_by(pass_), *written_by(pass_))}
    texel_bytes = sum(plane.itemsize for name in names for plane in textures[name].planes)
    work = max(1, *(member.work // (around.width * around.height) for member in members))
    return stage_of(around, texel_bytes, work, thread_count(), vector_lanes())


class PieceCopies:
    """Copies of pieces of an array, in their order. Each waits until it may begin.

    A piece is a pass of the loop, and some of its rows an item. A counter behind those of the
    pieces tells how many of them may begin. copied: the bytes of each piece.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        """sizes: of the pieces, in bytes; what is behind their last whole row is not copied."""
        self._loop, count = schedule_code(), len(sizes)
        self._task: Task | None = None
        rows = np.array(sizes) // _ROW_BYTES
        self.copied = [int(number) * _ROW_BYTES for number in rows]
        self._parts = -(-rows // _COPIED_ROWS)
        number = np.repeat(np.arange(count), self._parts)
        firsts = (np.cumsum(self._parts) - self._parts)[number]
        low = (np.arange(len(number)) - firsts) * _COPIED_ROWS
        self._items = items = np.zeros((len(number), layout.ITEM_WORDS), np.int64)
        items[:, layout.LOW] = low
        items[:, layout.HIGH] = np.minimum(low + _COPIED_ROWS, rows[number])
        items[:, layout.STAGE] = items[:, layout.COUNTER] = number
        items[:, [layout.RIGHT, layout.RING, layout.AWAITED]] = 1
        items[:, layout.START], items[:, layout.BASE] = count, number + 1
        self._ended = np.zeros((count + 1, layout.ENDED_WORDS), np.int64)
        # The thread that waits for the pieces copies none.
        threads = max(1, min(thread_count() - 1, len(items)))
        length = -(-layout.COPY_WORDS // _LINE) * _LINE + _LINE
        self._words = np.zeros((threads, count, length), np.int64)
        same = _ROW_BYTES, _ROW_BYTES, 4, 4, _ROW_BYTES // 4, 1
        self._words[..., layout.MATRIX_ROW : layout.COPY_WORDS] = same
        self._members = np.zeros((threads, count, layout.MEMBER_WORDS), np.int64)
        self._members[..., layout.CODE], self._members[..., layout.TOGETHER] = self._loop.copy, 1
        numbers = np.arange(threads * count).reshape(threads, count)
        self._members[..., layout.WORDS] = self._words.ctypes.data + numbers * 8 * length
        self._header = np.zeros(layout.HEADER_WORDS, np.int64)
        self._header[layout.LIMIT :] = (
            len(items), len(items), 1, 1, count, count, 0, ENDLESS, ENDLESS, 0, ENDLESS,
            items.ctypes.data, self._ended.ctypes.data, pause_address(),
        )  # fmt: skip

    def start(self, pieces: Sequence[tuple[NDArray[np.uint8], NDArray[np.uint8]]]) -> Task | None:
        """Let workers wait for the first piece; None if there are none.

        pieces: target and source of each.
        """
        if self._task is not None:
            self._task.finish()  # an interrupt may have left it
        self._words[..., layout.MATRIX : layout.MATRIX_ROW] = [
            (target.ctypes.data, source.ctypes.data) for target, source in pieces
        ]
        self._ended[...] = self._header[layout.NEXT] = 0
        self._task = start(self._run)
        return self._task

    def _run(self) -> None:
        run_job(self._loop, self._header, self._members)

    def allow(self, count: int) -> None:
        """Let the first `count` pieces be copied."""
        self._ended[-1, 0] = count

    def has_ended(self, number: int) -> bool:
        """Whether a piece has been copied."""
        return bool(self._ended[number, 0] == self._parts[number])
