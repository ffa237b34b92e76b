"""LRU stack distances: the misses of every fully associative LRU cache from one pass over a trace.

The distance of an access is the number of different lines accessed since the last access to its
line, including that line (Mattson et al., IBM Systems Journal 9, 1970). The access hits in caches
of that many lines or more. Writes count as accesses like reads, so the misses are those of
`simulate` with allocation.

Writes that do not allocate, the simulator's default, have no stack distances: such a write is a use
of its line only in the caches that still hold it. Each cache still holds all lines of a smaller
one, but lines leave it in another order, so that no number of lines since an access is its
distance.

Each line has a bit at the time of its last access; a distance is the number of bits from its line's
time to now, counted by words and by blocks of words. When times run out, they are renumbered in the
same order. Repetitions of a row cost almost nothing: after the first one its lines are the most
recent, in the order of their last accesses, and stay so. Every further repetition therefore has the
distances of the second; if all its lines differ, each distance is the number of lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.cache.batches import Flight, Part, first_batch, new_flight, next_batch, part_of
from gpgpu_legacy.cache.trace import AccessTrace, Chunk
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.numba_code import inlined, native
from gpgpu_legacy.memory import require_memory

_WORD, _BLOCK = 6, 12
"""The bits of a time that index a word, and a block of words."""


_BYTES_A_LINE = 21
"""Bytes for each line: an entry of the histogram, its last time, and two times with their bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """The number of accesses at each distance.

    histogram: int64 [most lines + 1], by distance in the trace's lines, of `line_bytes`; entry 0 is
    0. cold: first accesses to a line, which miss in every cache.
    """

    histogram: NDArray[np.int64]
    cold: int
    line_bytes: int

    @property
    def accesses(self) -> int:
        return int(self.histogram.sum()) + self.cold

    def misses(self, lines: ArrayLike) -> NDArray[np.int64]:
        """The misses of fully associative LRU caches with these numbers of lines."""
        hits = np.cumsum(self.histogram)
        return self.accesses - hits[np.minimum(lines, len(hits) - 1)]

    def curve(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sizes in lines, 1 and each at which the misses fall, with the misses from there on."""
        sizes = np.union1d([1], np.flatnonzero(self.histogram)).astype(np.int64)
        return sizes, self.misses(sizes)


def stack_distances(
    trace: AccessTrace, progress: Callable[[float], object] = lambda _: None
) -> Distances:
    """The distances of a trace's accesses, exactly, in one pass over it.

    progress: called with the fraction done, after each chunk and each iteration.
    It takes _BYTES_A_LINE bytes of memory for each line of the address space. Raises InputError for
    an access outside all regions.
    """
    stack = _Stack(trace)
    total = sum(step.count for step in trace.steps) or 1
    done = 0
    for step in trace.steps:
        for iteration in range(step.count):
            whole = step.accesses(iteration)
            slots = 0  # including slots without an access, so `whole` may come early
            for pass_ in step.passes(iteration):
                for chunk in pass_.chunks():
                    stack.run(chunk)
                    slots += len(chunk.kinds) * int(chunk.times.sum())
                    if slots < whole:
                        progress((done + slots / whole) / total)
            done += 1
            progress(done / total)
    return Distances(stack.tally.histogram, int(stack.tally.cold[0]), trace.line_bytes)


class _Times(NamedTuple):
    """Lines by the times of their last accesses.

    last: int32, the time of each line's last access, -1 before the first; at: int32, the line of
    each time; words: uint64, a bit for each time that is some line's last; blocks: int32, the
    number of these bits in each block.
    """

    last: NDArray[np.int32]
    at: NDArray[np.int32]
    words: NDArray[np.uint64]
    blocks: NDArray[np.int32]


class _Tally(NamedTuple):
    """The histogram and the cold accesses so far, and the next time; the latter two int64 [1]."""

    histogram: NDArray[np.int64]
    cold: NDArray[np.int64]
    now: NDArray[np.int64]


class _Stack:
    """The times and the tally of a trace."""

    def __init__(self, trace: AccessTrace) -> None:
        self.base = min((region.base for region in trace.regions), default=0) // trace.line_bytes
        self.lines = -(-trace.end // trace.line_bytes) - self.base
        require_memory(
            _BYTES_A_LINE * self.lines,
            f"the stack of all lines of {trace.name}",
            "simulate a smaller plan, or longer lines",
        )
        self.tally = _Tally(
            np.zeros(self.lines + 1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
        )
        self.times = _new_times(np.full(self.lines, -1, np.int32), 2 * self.lines)

    def run(self, chunk: Chunk) -> None:
        lines = np.ascontiguousarray(chunk.lines, np.int64)
        repetitions = np.ascontiguousarray(chunk.times, np.int32)
        needed = self.lines + 3 * lines.shape[1]  # enough times for two repetitions of a row
        if needed > len(self.times.at):
            self._grow(needed)
        flight = new_flight(repetitions, lines.shape[1], chunk.in_flight, chunk.lanes)
        if not _measure(lines, repetitions, flight, self.base, self.times, self.tally):
            raise InputError("the trace has an access that is in none of its regions")

    def _grow(self, times: int) -> None:
        """Add times; those in use stay."""
        before = self.times.at
        self.times = _new_times(self.times.last, times)
        self.times.at[: len(before)] = before
        self.tally.now[0] = _renumbered(self.times, self.tally.now[0])


def _new_times(last: NDArray[np.int32], times: int) -> _Times:
    """Room for this many times, none in use."""
    blocks = (times >> _BLOCK) + 1
    return _Times(
        last,
        np.full(blocks << _BLOCK, -1, np.int32),
        np.zeros(blocks << (_BLOCK - _WORD), np.uint64),
        np.zeros(blocks, np.int32),
    )


@inlined
def _bits(word: int) -> Any:
    """The number of set bits (Warren, Hacker's Delight, 5-1)."""
    twos = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    low = twos & np.uint64(0x3333333333333333)
    fours = low + ((twos >> np.uint64(2)) & np.uint64(0x3333333333333333))
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((eights * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def _flip(time: int, words: NDArray[np.uint64], blocks: NDArray[np.int32], by: int) -> None:
    """Set the bit of a time (by = 1), or clear it (-1)."""
    words[time >> _WORD] ^= np.uint64(1) << np.uint64(time & 63)
    blocks[time >> _BLOCK] += by


@inlined
def _since(time: int, now: int, words: NDArray[np.uint64], blocks: NDArray[np.int32]) -> Any:
    """The number of set bits from a time to the last one before now."""
    first, last = time >> _WORD, (now - 1) >> _WORD
    bits = _bits(words[first] >> np.uint64(time & 63))
    word = first + 1
    in_block = (1 << (_BLOCK - _WORD)) - 1
    while word <= last and word & in_block:
        bits += _bits(words[word])
        word += 1
    if word > last:
        return bits
    # Bits after now are not set, so that the last block is whole.
    for block in range(word >> (_BLOCK - _WORD), (last >> (_BLOCK - _WORD)) + 1):
        bits += blocks[block]
    return bits


@native
def _renumbered(times: _Times, now: int) -> Any:
    """Renumber the lines' times from 0, in their order; returns the next time."""
    last, at, words, blocks = times
    words[:] = 0
    blocks[:] = 0
    time = 0
    for old in range(now):
        line = at[old]
        if last[line] == old:
            last[line] = time
            at[time] = line
            _flip(time, words, blocks, 1)
            time += 1
    return time


@inlined
def _repeat_row(  # noqa: PLR0917
    row: NDArray[np.int64],
    between: tuple[np.uint64, np.uint64],
    weight: int,
    start: int,
    base: int,
    times: _Times,
    tally: _Tally,
) -> Any:
    """Execute one repetition of a row's slots, and count it `weight` times.

    start: the first time of this repetition. Returns the next time, or -1 if a line is in no
    region; the number of accesses; and the number that are the repetition's first to their line.
    """
    last, at, words, blocks = times
    histogram, cold = tally.histogram, tally.cold
    now = start
    there = different = 0
    for slot in range(*between):
        if row[slot] < 0:
            continue
        line = row[slot] - base
        if not 0 <= line < len(last):
            return -1, 0, 0
        there += 1
        before = int(last[line])
        different += before < start
        if before < 0:
            cold[0] += weight
        elif before >= start and before == now - 1:
            histogram[1] += weight
            continue
        else:
            histogram[_since(before, now, words, blocks)] += weight
            _flip(before, words, blocks, -1)
        _flip(now, words, blocks, 1)
        last[line] = now
        at[now] = line
        now += 1
    return now, there, different


@inlined
def _measure_part(
    lines: NDArray[np.int64], part: Part, base: int, times: _Times, tally: _Tally
) -> bool:
    """Count the distances of a part of a chunk; False if a line is in no region."""
    (first, end, _, _), slot_1, slot_end, weights = part
    slots = slot_end - slot_1
    now = tally.now[0]
    there = different = 0
    for row in range(first, end):
        slot = slot_1
        while row > first and slot < slot_end and lines[row, slot] == lines[row - 1, slot]:
            slot += np.uint64(1)
        further = int(weights[row - first])
        for repetition in range(2):
            if repetition == 0 and row > first and slot == slot_end:
                continue  # it repeats the row before
            if repetition == 1 and different == there:
                tally.histogram[there] += there * further
                continue
            if now + slots > len(times.at):
                now = _renumbered(times, now)
            weight = further if repetition else 1
            if weight == 0:
                continue
            now, there, different = _repeat_row(
                lines[row], (slot_1, slot_end), weight, now, base, times, tally
            )
            if now < 0:
                return False
            further -= weight
    tally.now[0] = now
    return True


@native
def _measure(  # noqa: PLR0917
    lines: NDArray[np.int64],
    repetitions: NDArray[np.int32],
    flight: Flight,
    base: int,
    times: _Times,
    tally: _Tally,
) -> bool:
    """Count the distances of a chunk's accesses; False if a line is in no region."""
    batch = first_batch(repetitions, flight)
    while batch.first < batch.end:
        for slot in range(0, lines.shape[1], flight.lanes):
            part = part_of(batch, slot, flight)
            if not _measure_part(lines, part, base, times, tally):
                return False
        batch = next_batch(batch, repetitions, flight)
    return True
