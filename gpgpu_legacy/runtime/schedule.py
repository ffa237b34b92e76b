"""Passes run by native threads, without Python in between: one by one, or in temporal tiles.

A row of passes is a Repeat of one iteration.

Passes that read their neighbours at bounded offsets (lower/analysis/neighbourhood.py) need not
end before the next one begins. A band of rows runs several passes, each on `lag` rows fewer at
either end. The gap between two bands, a joint, grows by the same amount from pass to pass, and runs
when both have ended. Within either, a pass follows the one before it at a distance of a few rows
and columns, while its results are in the core's caches. So every fragment is computed once, by the
same code and from the same numbers as pass by pass, in the plan's own textures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.lower.analysis.neighbourhood import Neighbourhood
from gpgpu_legacy.lower.emit import llvm_schedule as layout
from gpgpu_legacy.lower.fused.content import ROOM, Arguments
from gpgpu_legacy.runtime.devices import cache_bytes, thread_count
from gpgpu_legacy.runtime.native import (
    NativeCode,
    pause_address,
    schedule_code,
    table_of,
    words_of,
)
from gpgpu_legacy.runtime.workers import share_out

MOST_PASSES = 32
"""The most passes of a stage: memory stops being the limit long before."""

_LEAST_WORK = 1 << 16  # instructions of fragments in an item; waiting for less costs more
_BANDS = 4  # for each thread, so that others can take the work of one that is late
_LEAST_CHUNK, _LEAST_SPAN = 4, 8 * ROOM  # rows and columns that a call is worth while for
_WORK_OF_A_CALL = 1 << 32  # the same, for each thread; between calls, Python sees signals
_LINE = 8  # words

ENDLESS = 1 << 40
"""More rows, or columns, than there are."""


@frozen
class Member:
    """A pass of the Repeat's body, or fused passes: its code, which stages nothing, its arguments.

    together: the iterations that it runs at a time.
    """

    code: NativeCode
    arguments: Arguments
    together: int = 1

    @property
    def work(self) -> int:
        """Instructions of fragments."""
        arguments = self.arguments
        return self.code.instructions * arguments.width * arguments.height * self.together


@frozen
class Stage:
    """The division of a rectangle into work.

    passes: of a stage. bands: rows at which each begins, and at which the last one ends. wraps:
    whether the first band follows the last one. lag, slant: rows and columns between one pass and
    the next. chunk, span: rows and columns that a pass takes at a time.
    """

    passes: int
    bands: tuple[int, ...]
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

    texel_bytes: of a texel of all textures that it reads and writes. work: instructions of a
    fragment in a pass. threads: that may work. lanes: of a vector; passes begin where one does.
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
        bands = max(1, min(threads * _BANDS, rows // least))
        return Stage(1, _evenly(rows, bands), wraps, lag)
    most = rows // max(least, 2 * lag * passes)
    easily = rows // max(least, 3 * lag * passes)  # joints have at most two rows of three
    bands = max(1, min(threads, most), min(threads * _BANDS, easily))
    inner = _evenly(rows, bands)[1:-1]
    if lag and not wraps and bands > 1:
        # The first and the last band lose rows at one end alone, so they begin with fewer of them.
        fewer = lag * passes // 2
        inner = tuple(row - fewer for row in _evenly(rows + 2 * fewer, bands)[1:-1])
    return Stage(passes, (0, *inner, rows), wraps, lag, slant, chunk, span)


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


def items_of(stage: Stage) -> NDArray[np.int64]:
    """The items of a stage (lower/emit/llvm_schedule.py): its bands, then its joints."""
    bands, joints, lag = len(stage.bands) - 1, stage.joints, stage.lag
    items = np.zeros((bands + joints, layout.ITEM_WORDS), np.int64)
    shrinks = lag if joints else 0
    for band, words in enumerate(items[:bands]):
        first, last = band == 0 and not stage.wraps, band == bands - 1 and not stage.wraps
        words[layout.LOW], words[layout.HIGH] = stage.bands[band : band + 2]
        words[layout.LOW_STEP] = 0 if first else shrinks
        words[layout.HIGH_STEP] = 0 if last else -shrinks
        words[layout.COUNTER] = band
        start, ring = (bands, joints) if joints else (0, bands)
        last_awaited = band + (not joints) + (not last)
        _await(words, start, ring, range(band - (not first), last_awaited), after=False)
    for joint, words in enumerate(items[bands:]):
        words[layout.LOW] = words[layout.HIGH] = stage.bands[joint + 1]
        words[layout.LOW_STEP], words[layout.HIGH_STEP] = -lag, lag
        words[layout.COUNTER] = bands + joint
        _await(words, 0, bands, range(joint, joint + 2), after=True)
    return items


def _await(words: NDArray[np.int64], start: int, ring: int, numbers: range, *, after: bool) -> None:
    """Let an item wait for the items with these numbers, in a ring that begins with `start`."""
    words[layout.START], words[layout.RING] = start, ring
    words[layout.FROM], words[layout.AWAITED] = numbers.start % ring, min(len(numbers), ring)
    words[layout.BASE], words[layout.EACH] = after, 1


def _plain_items(members: Sequence[Member], bands: Sequence[int]) -> NDArray[np.int64]:
    """The items of stages with one pass each; every pass waits for all before it, by one counter.

    bands: of each pass.
    """
    ends = np.cumsum(bands)
    items = np.zeros((ends[-1], layout.ITEM_WORDS), np.int64)
    for number, (member, end, count) in enumerate(zip(members, ends, bands, strict=True)):
        words, rows = items[end - count : end], _evenly(member.arguments.height, count)
        words[:, layout.LOW], words[:, layout.HIGH] = rows[:-1], rows[1:]
        words[:, layout.STAGE], words[:, layout.BASE] = number, end - count
    items[:, [layout.RING, layout.AWAITED]], items[:, layout.EACH] = 1, len(items)
    return items


# Running -------------------------------------------------------------------------------------


class RepeatRun:
    """A Repeat ready to run: its items, and for each thread the arguments of its passes."""

    def __init__(
        self,
        members: Sequence[Member],
        textures: Mapping[str, Storage],
        around: Neighbourhood | None = None,
        count: int = 1,
    ) -> None:
        """textures: from `roomy`. around: the facts about lookups of neighbours. count: iterations
        of the Repeat.
        """
        self._codes = [member.code for member in members]  # which own their machine code
        self._tables = [table_of(m.code.table, m.arguments) for m in members]
        threads = thread_count()
        if around is None:
            bands = [_band_count(member, threads) for member in members]
            self.stage, self._kinds = Stage(1, (0,) * (max(bands) + 1)), len(members)
            self.items = _plain_items(members, bands)
        else:
            lanes = max(member.code.tile.lanes for member in members)
            instructions = max(1, *(member.code.instructions for member in members))
            texel_bytes = _texel_bytes(members, textures)
            self.stage, self._kinds = stage_of(around, texel_bytes, instructions, threads, lanes), 1
            self.items = items_of(self.stage)
        self._threads = min(threads, len(self.stage.bands) - 1)
        self._header = np.zeros(layout.HEADER_WORDS, np.int64)
        self._ended = np.zeros((len(self.items), layout.ENDED_WORDS), np.int64)
        self._words, self._members = self._words_of(members, textures)
        self._fill_header(around, count)
        work = self._kinds * self.stage.passes * sum(m.work for m in members) // len(members)
        of_an_item = max(1, work // len(self.items))
        self._at_once = max(1, self._threads * _WORK_OF_A_CALL // of_an_item)
        self._loop = schedule_code()

    def run(self, first: int, last: int) -> None:
        """Run a range of iterations; all of them if several passes are a stage."""
        header, (start, end) = self._header, map(self._items_before, (first, last))
        self._ended[...] = 0
        self._ended[0, 0] = start  # what the first of these iterations waits for, if it is not 0
        for item in range(start, end, self._at_once):
            header[layout.NEXT] = item
            header[layout.LIMIT] = min(item + self._at_once, end)
            share_out(self._work_on, self._threads)

    def _items_before(self, iteration: int) -> int:
        of_a_round = self._kinds * self.stage.passes
        return -(-iteration * len(self._codes) // of_a_round) * len(self.items)

    def _work_on(self, worker: int, _: int) -> None:
        members = self._members[worker]
        self._loop.work(self._header.ctypes.data, members.ctypes.data)

    def _words_of(
        self, members: Sequence[Member], textures: Mapping[str, Storage]
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """For each member its words, a row per thread; and for each thread its MEMBER_WORDS."""
        arrays, numbers = [], np.zeros((self._threads, len(members), layout.MEMBER_WORDS), np.int64)
        for number, (member, table) in enumerate(zip(members, self._tables, strict=True)):
            words = words_of(member.arguments, textures, table)
            length = -(-len(words) // _LINE) * _LINE + _LINE
            array = np.zeros((self._threads, length), np.int64)
            array[:, : len(words)] = words
            numbers[:, number, layout.CODE] = member.code.address
            numbers[:, number, layout.COLUMNS] = member.arguments.width
            numbers[:, number, layout.TOGETHER] = member.together
            start, step = array.ctypes.data, array.strides[0]
            numbers[:, number, layout.WORDS] = start + step * np.arange(self._threads)
            arrays.append(array)
        return arrays, numbers

    def _fill_header(self, around: Neighbourhood | None, count: int) -> None:
        header, stage = self._header, self.stage
        header[layout.ITEMS], header[layout.KINDS] = len(self.items), self._kinds
        header[layout.DEPTH], header[layout.PASSES] = stage.passes, count * len(self._codes)
        header[layout.MEMBERS], header[layout.LAG] = len(self._codes), stage.lag
        header[layout.SLANT] = stage.slant
        header[layout.CHUNK], header[layout.SPAN] = stage.chunk, stage.span
        header[layout.WIDTH] = self._members[..., layout.COLUMNS].max()
        header[layout.HEIGHT] = around.height if around and stage.wraps else ENDLESS
        header[layout.ITEMS_AT] = self.items.ctypes.data
        header[layout.ENDED_AT] = self._ended.ctypes.data
        header[layout.PAUSE_AT] = pause_address()


def _band_count(member: Member, threads: int) -> int:
    """The bands of a pass that waits for all before it: as many for each thread, or none."""
    most = min(threads * _BANDS, member.arguments.height, member.work // _LEAST_WORK)
    return max(1, most // threads * threads or most)


def _texel_bytes(members: Iterable[Member], textures: Mapping[str, Storage]) -> int:
    """Bytes of a texel of all textures that passes read or write."""
    names = {name for member in members for name in member.arguments.textures}
    return sum(plane.itemsize for name in names for plane in textures[name].planes)
