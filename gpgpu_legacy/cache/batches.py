"""Rows in flight, in native code: the batches of a chunk, whose rows advance slot by slot.

A batch is split into parts: its rows, and the slots of one access. Simulators execute a part as if
it were a chunk, row by row, and the parts one after another. With one row in flight the whole chunk
is one part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.lower.numba_code import inlined

I32 = NDArray[np.int32]


class Flight(NamedTuple):
    """The division of a chunk's rows into parts.

    in_flight: repetitions of rows in a batch. lanes: slots of a part. weights: int32, room for the
    repetitions of each row of a batch.
    """

    in_flight: int
    lanes: int
    weights: I32


class Batch(NamedTuple):
    """The rows from `first` up to `end`.

    begun: the repetitions of row `first` that came before. left: those of row `end` - 1 that come
    after.
    """

    first: int
    end: int
    begun: int
    left: int


class Part(NamedTuple):
    """The slots from `slot` up to `slot_end` of a batch, with the number of repetitions a row."""

    batch: Batch
    slot: np.uint64  # unsigned: no check for an index from the end
    slot_end: np.uint64
    weights: I32


def new_flight(times: I32, slots: int, in_flight: int, lanes: int) -> Flight:
    """The parts of a chunk with these repetitions of rows, and that many slots."""
    if in_flight == 1:
        return Flight(1, max(1, slots), times)
    return Flight(in_flight, lanes, np.empty(min(in_flight, len(times)), np.int32))


@inlined
def first_batch(times: I32, flight: Flight) -> Any:
    """The first batch of a chunk: with one row in flight, all of it."""
    if flight.in_flight == 1:
        return Batch(0, times.size, 0, 0)
    return next_batch(Batch(0, 0, 0, 0), times, flight)


@inlined
def next_batch(before: Batch, times: I32, flight: Flight) -> Any:
    """The batch after another one, with its weights filled in; it has no rows after the last."""
    first = before.end - (before.left > 0)
    free, left, end = flight.in_flight, before.left, first
    begun = int(times[first]) - left if left > 0 else 0
    while free > 0 and end < times.size:
        repetitions = left if left > 0 else int(times[end])
        taken = min(repetitions, free)
        flight.weights[end - first] = taken
        left = repetitions - taken
        free -= taken
        end += 1
    return Batch(first, end, begun, left)


@inlined
def part_of(batch: Batch, slot: int, flight: Flight) -> Any:
    """The part of a batch that begins with a slot."""
    return Part(batch, np.uint64(slot), np.uint64(slot + flight.lanes), flight.weights)


@inlined
def equal_batches(batch: Batch, flight: Flight) -> Any:
    """The repetitions after a batch of one row, in whole batches of that row."""
    if batch.end - batch.first > 1:
        return 0
    return batch.left // flight.in_flight * flight.in_flight


@inlined
def after_equal(batch: Batch, repetitions: int) -> Any:
    """The last of equal batches with that many repetitions of the row."""
    return Batch(batch.first, batch.end, batch.begun + repetitions, batch.left - repetitions)
