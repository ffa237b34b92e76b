"""A trace's accesses through one or two levels of cache, one after another, exactly.

Rows that say the same again. A go through a row that fills no line, in any level, leaves the same
lines resident as before; hits and misses depend on nothing else, so a further go has the same
outcome. It also leaves the same state: with LRU the order after a go is that of the row's last
uses, which a further go makes again; FIFO and random replacement change nothing on a hit; dirty
lines stay dirty. So a row is carried out until a go fills nothing, and the remaining ones of its
`times` have the outcome of that go; so have rows after it that equal it. While goes fill lines,
each is carried out.

Turns that say the same again. Let d be by how many bytes each region's addresses in turn i + p are
those of turn i moved (from `Step.shifts`), and let the map that moves each region's lines by its d
send whole lines to whole lines and sets to sets: each d is a multiple of the line, and where
regions share a cache all d are the same modulo its sets × line. If then the state after turn i + p
is the state after turn i so moved (lines in order, dirty bits), and turn i + p + 1 is turn i + 1 so
moved, and so on, then every lookup of these has the outcome of the one p turns before, and leaves
the state of p turns before, moved: the map is one to one on the lines (each stays in its region,
which is checked) and commutes with lookup, order of use, order of arrival and eviction. So whole
periods of p turns are multiplied and the state is moved as often. A line of a region that no turn
of the period touches is not moved; it lies in its own set, so that the states differ where sets
are moved. With random replacement no turn is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.caches import Memory, Policy
from gpgpu_legacy.cache.sets import (
    HIT,
    LRU,
    Level,
    inlined,
    look,
    native,
    new_level,
    read_ordered,
    set_of,
    write_ordered,
)
from gpgpu_legacy.cache.trace import Chunk, Region, Step, Sweep, Trace
from gpgpu_legacy.errors import InputError

OnMisses = Callable[[Sweep, Chunk, NDArray[np.uint8]], None]
"""Gets a pass, a chunk of it, and of each access whether it hit level 1, uint8 [rows, slots]: 1 or
0 (0 too where there is none). Of a row with `times` it is the first go."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of a region's accesses; hits are those in level 1.

    bytes_requested: of all its accesses, element_bytes each. bytes_from_memory: of lines filled
    from memory for its accesses. bytes_to_memory: written through, or its lines written back.
    """

    name: str
    reads: int
    read_hits: int
    writes: int
    write_hits: int
    bytes_requested: int
    bytes_from_memory: int
    bytes_to_memory: int


@dataclass(frozen=True, slots=True)
class LevelTally:
    """Lookups of one level: accesses in level 1; what went on to it in level 2.

    To level 2 go the lines that level 1 fills, what is written through it, and with allocation the
    dirty lines that it evicts.
    """

    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of a trace found. Counts are of what ran or was proven to repeat, nothing else.

    turns: iterations of steps, of which `turns_repeated` were proven to repeat others and
    multiplied, and `turns_left_out` were not run to their end because the time was over; passes and
    accesses left out likewise.
    """

    regions: tuple[Tally, ...]
    levels: tuple[LevelTally, ...]
    turns: int
    turns_simulated: int
    turns_repeated: int
    turns_left_out: int
    passes_left_out: int
    accesses_left_out: int

    @property
    def exact(self) -> bool:
        """Whether nothing was left out."""
        return not self.turns_left_out

    @property
    def accesses(self) -> int:
        return sum(each.reads + each.writes for each in self.regions)

    @property
    def hits(self) -> int:
        return sum(each.read_hits + each.write_hits for each in self.regions)

    @property
    def misses(self) -> int:
        return self.accesses - self.hits

    @property
    def hit_ratio(self) -> float:
        """Hits over accesses; 0 where there are none."""
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def bytes_requested(self) -> int:
        return sum(each.bytes_requested for each in self.regions)

    @property
    def bytes_from_memory(self) -> int:
        return sum(each.bytes_from_memory for each in self.regions)

    @property
    def bytes_to_memory(self) -> int:
        return sum(each.bytes_to_memory for each in self.regions)


def simulate(
    trace: Trace,
    memory: Memory,
    *,
    every_pass: bool = False,
    budget_s: float | None = None,
    progress: Callable[[float], None] | None = None,
    misses: OnMisses | None = None,
) -> Result:
    """Run a trace through caches that are empty at its start.

    every_pass: carry out turns that are proven to repeat others, too. budget_s: stop between two
    chunks when so many seconds are over; what was left out is in the result. progress: gets the
    fraction that is done, from 0 to 1. misses: gets each chunk's hits; with it every pass is run.
    Raises InputError where a cache's lines are shorter than the trace's.
    """
    shortest = memory.levels[0].line_bytes
    if shortest < trace.line_bytes:
        raise InputError(
            f"a cache line of {shortest} bytes, where the trace has lines of {trace.line_bytes}: "
            "make the cache's longer, or the trace anew with shorter ones"
        )
    deadline = None if budget_s is None else monotonic() + budget_s
    run = _Run(_Machine(trace, memory), deadline, progress, misses)
    run.repeats = not every_pass and misses is None and run.machine.repeatable
    weights = [float(step.count * _accesses(step, 0)) for step in trace.steps]
    for number, step in enumerate(trace.steps):
        whole = sum(weights) or 1.0
        run.done, run.share = sum(weights[:number]) / whole, weights[number] / whole
        run.step(step)
    if progress is not None:
        progress(1.0)
    return run.result(sum(step.count for step in trace.steps))


# Native code -------------------------------------------------------------------------------------

_READ, _KEEP, _THROUGH = 0, 1, 2
"""What an access is to a cache: a read, a write that allocates, or one that goes through."""

_USES, _ABSENT, _MISSES, _USES_2, _MISSES_2, _FILLS, _BACKS = range(7)
"""Columns of the counts, int64 [kinds, 7]: rows × times, of which no access; misses of level 1;
lookups and misses of level 2; lines filled from memory; lines written back to memory."""


@inlined
def _owner(granule: int, starts: NDArray[np.int64]) -> Any:
    """The place of the region in which a line begins, regions in the order of their addresses."""
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= granule:
            low = middle
        else:
            high = middle
    return low


@inlined
def _back(entry: int, level: Level, starts: NDArray[np.int64], owners: NDArray[np.int64]) -> Any:
    """The kind that a line written back is counted under: a write of the region it begins in."""
    return 2 * owners[_owner((entry >> 1) << level.granule_shift, starts)] + 1


@native
def _again(  # noqa: PLR0917
    row: NDArray[np.int64],
    goes: int,
    kinds: NDArray[np.int64],
    through: NDArray[np.int64],
    last: NDArray[np.int64],
    two: bool,
    counts: NDArray[np.int64],
) -> None:
    """Count further goes with the outcome of the last one, which filled nothing.

    Then reads and allocating writes hit level 1; `last` has of the slots that write `through`
    whether they missed level 1 (1) and level 2 (2).
    """
    for slot in through:
        if row[slot] >= 0:
            counts[kinds[slot], _MISSES] += goes * (last[slot] & 1)
            if two:
                counts[kinds[slot], _USES_2] += goes
                counts[kinds[slot], _MISSES_2] += goes * (last[slot] >> 1)


@inlined
def _below(  # noqa: PLR0917
    second: Level,
    policy: int,
    wide: bool,
    granule: int,
    kind: int,
    fill: int,
    dirty: int,
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    owners: NDArray[np.int64],
) -> Any:
    """A lookup in level 2; 1 where it missed."""
    outcome = look(second, 0, granule, fill, dirty, policy, wide)
    counts[kind, _USES_2] += 1
    if outcome == HIT:
        return 0
    counts[kind, _MISSES_2] += 1
    if fill:
        counts[kind, _FILLS] += 1
        if outcome >= 0 and outcome & 1:
            counts[_back(outcome, second, starts, owners), _BACKS] += 1
    return 1


@inlined
def _drive(  # noqa: PLR0912, PLR0915, PLR0917
    lines: NDArray[np.int64],
    times: NDArray[np.int32],
    kinds: NDArray[np.int64],
    acts: NDArray[np.int64],
    copies: NDArray[np.int64],
    through: NDArray[np.int64],
    first: Level,
    second: Level,
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    owners: NDArray[np.int64],
    last: NDArray[np.int64],
    hits: NDArray[np.uint8],
    policy_1: int,
    wide_1: bool,
    two: bool,
    policy_2: int,
    wide_2: bool,
    mapped: bool,
) -> None:
    """Carry out a chunk's rows.

    acts, copies: of each slot, how it accesses and which cache of level 1. through: the slots that
    write through. starts, owners: the first line of each region in the order of addresses, and its
    number. last: room for the slots' outcomes. hits: as OnMisses has it, if mapped. The levels'
    policies and kinds are apart so that they may be constants.
    """
    rows, slots = lines.shape
    shift, sets, mask, entries = first.granule_shift, first.sets, first.mask, first.entries
    quiet = absent = False
    for at in range(rows):
        row = np.uint64(at)
        if quiet and not mapped:
            slot = 0
            while slot < slots and lines[row, slot] == lines[at - 1, slot]:
                slot += 1
            if slot == slots:
                _again(lines[at], times[at], kinds, through, last, two, counts)
                if absent:
                    for slot in range(slots):
                        if lines[row, slot] < 0:
                            counts[kinds[slot], _ABSENT] += times[at]
                continue
        fills = 0
        absent = False
        left = np.int64(times[at])
        while left > 0:
            fills = 0
            for slot in range(slots):
                granule = lines[row, slot]
                if granule < 0:
                    absent = True
                    counts[kinds[slot], _ABSENT] += 1
                    continue
                act = acts[slot]
                if not wide_1 and not (two and act == _THROUGH):
                    line = granule >> shift
                    place = np.uint64(copies[slot] * sets + set_of(line, sets, mask))
                    front = entries[place, 0]
                    if front | 1 == (line << 1) | 1:
                        if act:
                            entries[place, 0] = front | (act & 1)
                            last[slot] = 0
                        continue
                kind, fill = kinds[slot], int(act != _THROUGH)
                outcome = look(first, copies[slot], granule, fill, act & 1, policy_1, wide_1)
                missed = int(outcome != HIT)
                counts[kind, _MISSES] += missed
                fills += missed & fill
                if mapped and missed and left == times[at]:
                    hits[row, slot] = 0
                if not fill:
                    last[slot] = missed
                elif not missed:
                    continue
                if two:
                    below = _below(
                        second, policy_2, wide_2, granule, kind, fill, 0, counts, starts, owners
                    )
                    if not fill:
                        last[slot] += 2 * below
                elif fill:
                    counts[kind, _FILLS] += 1
                if outcome >= 0 and outcome & 1:
                    into = _back(outcome, first, starts, owners)
                    if two:
                        evicted = (outcome >> 1) << first.granule_shift
                        _below(
                            second, policy_2, wide_2, evicted, into, 1, 1, counts, starts, owners
                        )
                    else:
                        counts[into, _BACKS] += 1
            left -= 1
            quiet = fills == 0
            if quiet and left:
                _again(lines[at], left, kinds, through, last, two, counts)
                if absent:
                    for slot in range(slots):
                        if lines[row, slot] < 0:
                            counts[kinds[slot], _ABSENT] += left
                break


@native
def _drive_lru(  # noqa: PLR0917
    lines: NDArray[np.int64],
    times: NDArray[np.int32],
    kinds: NDArray[np.int64],
    acts: NDArray[np.int64],
    copies: NDArray[np.int64],
    through: NDArray[np.int64],
    first: Level,
    second: Level,
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    owners: NDArray[np.int64],
    last: NDArray[np.int64],
    hits: NDArray[np.uint8],
) -> None:
    """One level of narrow sets, LRU, without a map: what most runs are."""
    _drive(
        lines, times, kinds, acts, copies, through, first, second, counts, starts, owners, last,
        hits, LRU, False, False, LRU, False, False,
    )  # fmt: skip


@native
def _drive_any(  # noqa: PLR0917
    lines: NDArray[np.int64],
    times: NDArray[np.int32],
    kinds: NDArray[np.int64],
    acts: NDArray[np.int64],
    copies: NDArray[np.int64],
    through: NDArray[np.int64],
    first: Level,
    second: Level,
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    owners: NDArray[np.int64],
    last: NDArray[np.int64],
    hits: NDArray[np.uint8],
    two: bool,
    mapped: bool,
) -> None:
    """Levels of any kind."""
    _drive(
        lines, times, kinds, acts, copies, through, first, second, counts, starts, owners, last,
        hits, first.policy, first.wide, two, second.policy, second.wide, mapped,
    )  # fmt: skip


# The levels and their state ----------------------------------------------------------------------


_SHORT, _SLOTS = 3, 64
"""Rows shorter than this, each done once, are taken together as rows of about so many slots."""


class _Machine:
    """Caches with what is in them, and the counts so far."""

    def __init__(self, trace: Trace, memory: Memory) -> None:
        """Empty caches; second: level 2, or where there is none, level 1, which stays unused."""
        copies = max(1, len(trace.regions)) if memory.per_texture else 1
        self.trace, self.memory = trace, memory
        self.levels = [
            new_level(
                cache, trace.line_bytes, copies=1 if number else copies, seed=memory.seed + number
            )
            for number, cache in enumerate(memory.levels)
        ]
        order = sorted(range(len(trace.regions)), key=lambda number: trace.regions[number].base)
        bases = [trace.regions[number].base // trace.line_bytes for number in order]
        self.starts = np.array(bases or [0], np.int64)
        self.owners = np.array(order or [0], np.int64)
        self.counts = np.zeros((2 * max(1, len(trace.regions)), 7), np.int64)

    @property
    def repeatable(self) -> bool:
        """Whether moving lines by region is one to one: no line has parts of two regions."""
        longest = self.memory.levels[-1].line_bytes
        regions = [self.trace.regions[number] for number in self.owners if self.trace.regions]
        return (
            all(cache.policy is not Policy.RANDOM for cache in self.memory.levels)
            and all(region.base % longest == 0 for region in regions)
            and all(a.base + a.size_bytes <= b.base for a, b in pairwise(regions))
        )

    def run(self, chunk: Chunk, *, mapped: bool) -> NDArray[np.uint8]:
        """Carry out a chunk; its hits where they are asked for, uint8 [rows, slots]."""
        lines = np.ascontiguousarray(chunk.lines, np.int64)
        times = np.ascontiguousarray(chunk.times, np.int32)
        rows, slots = lines.shape
        hits = (lines >= 0).astype(np.uint8) if mapped else np.zeros((0, slots), np.uint8)
        together = max(1, _SLOTS // max(1, slots)) if slots < _SHORT and np.all(times == 1) else 1
        whole = rows // together * together
        for many, part in ((together, slice(whole)), (1, slice(whole, rows))):
            shape = -1 if slots else 0, many * slots
            self._run(
                lines[part].reshape(shape),
                np.ascontiguousarray(times[part][::many]),
                np.tile(chunk.kinds.astype(np.int64), many),
                hits[part].reshape(shape),
                mapped=mapped,
            )
        return hits

    def _run(
        self,
        lines: NDArray[np.int64],
        times: NDArray[np.int32],
        kinds: NDArray[np.int64],
        hits: NDArray[np.uint8],
        *,
        mapped: bool,
    ) -> None:
        acts = (kinds & 1) * (_KEEP if self.memory.allocate else _THROUGH)
        copies = kinds >> 1 if self.memory.per_texture else np.zeros_like(kinds)
        np.add.at(self.counts[:, _USES], kinds, int(times.sum(dtype=np.int64)))
        first, second = self.levels[0], self.levels[-1]
        two = len(self.levels) == 2
        rest = (
            np.flatnonzero(acts == _THROUGH),
            first,
            second,
            self.counts,
            self.starts,
            self.owners,
            np.zeros(len(kinds), np.int64),
            hits,
        )
        if two or mapped or first.wide or first.policy != LRU:
            _drive_any(lines, times, kinds, acts, copies, *rest, two, mapped)
        else:
            _drive_lru(lines, times, kinds, acts, copies, *rest)

    def accesses(self) -> int:
        """How many there were so far."""
        return int(self.counts[:, _USES].sum() - self.counts[:, _ABSENT].sum())

    def state(self) -> list[NDArray[np.int64]]:
        """Of each level its entries in order, int64 [copies × sets, ways]; a copy."""
        states = []
        for level in self.levels:
            state = level.entries.copy()
            if level.wide:
                read_ordered(level, state)
            states.append(state)
        return states

    def restore(self, states: Sequence[NDArray[np.int64]]) -> None:
        for level, state in zip(self.levels, states, strict=True):
            if level.wide:
                write_ordered(level, state)
            else:
                level.entries[:] = state

    def maps(self, moves: Mapping[int, int]) -> bool:
        """Whether moving regions by so many bytes moves lines to lines, and sets to sets."""
        for number, cache in enumerate(self.memory.levels):
            if any(move % cache.line_bytes for move in moves.values()):
                return False
            turns = {move // cache.line_bytes % cache.sets for move in moves.values()}
            if len(turns) > 1 and (number or not self.memory.per_texture):
                return False
        return True

    def moved(
        self, states: Sequence[NDArray[np.int64]], moves: Mapping[int, int], periods: int = 1
    ) -> list[NDArray[np.int64]] | None:
        """States with each region's lines moved, so many times; None where one leaves its region.

        moves: in bytes, by region; one that is not in it stays.
        """
        found = []
        for number, (cache, state) in enumerate(zip(self.memory.levels, states, strict=True)):
            steps = np.zeros(max(1, len(self.trace.regions)), np.int64)
            for region, move in moves.items():
                steps[region] = move // cache.line_bytes * periods
            after = self._moved_lines(state, steps, cache.line_bytes)
            if after is None:
                return None
            if number or not self.memory.per_texture:
                shared = next((int(steps[region]) for region in moves), 0)
                found.append(np.roll(after, shared % cache.sets, axis=0))
                continue
            parts = after.reshape(len(steps), cache.sets, cache.ways)
            for region, step in enumerate(steps):
                parts[region] = np.roll(parts[region], int(step) % cache.sets, axis=0)
            found.append(parts.reshape(state.shape))
        return found

    def _moved_lines(
        self, state: NDArray[np.int64], steps: NDArray[np.int64], line_bytes: int
    ) -> NDArray[np.int64] | None:
        taken = state >= 0
        lines = state[taken] >> 1
        granules = line_bytes // self.trace.line_bytes
        places = np.searchsorted(self.starts, lines * granules, side="right") - 1
        owners = self.owners[np.maximum(places, 0)]
        after = lines + steps[owners]
        bases = np.array([region.base for region in self.trace.regions], np.int64)
        sizes = np.array([region.size_bytes for region in self.trace.regions], np.int64)
        for each in (lines, after):
            offsets = each * line_bytes - bases[owners]
            if np.any(offsets < 0) or np.any(offsets >= sizes[owners]):
                return None
        moved = state.copy()
        moved[taken] = (after << 1) | (state[taken] & 1)
        return moved

    def still_dirty(self) -> NDArray[np.int64]:
        """How many lines of memory are dirty in any level, by region; int64 [regions].

        A line of level 1 dirties the line of the last level that it is a part of; each of these is
        written back once.
        """
        last = self.levels[-1]
        lines = []
        for level in self.levels:
            entries = level.entries[(level.entries >= 0) & (level.entries & 1 == 1)]
            lines.append((entries >> 1) >> (last.granule_shift - level.granule_shift))
        granules = np.unique(np.concatenate(lines)) << last.granule_shift
        places = np.searchsorted(self.starts, granules, side="right") - 1
        owners = self.owners[np.maximum(places, 0)]
        return np.bincount(owners, minlength=len(self.counts) // 2)

    def tally(self, number: int, region: Region, dirty_lines: int) -> Tally:
        """What became of a region's accesses; dirty_lines: of it, still to be written back."""
        read, write = self.counts[2 * number], self.counts[2 * number + 1]
        reads, writes = (int(each[_USES] - each[_ABSENT]) for each in (read, write))
        line_bytes = self.memory.levels[-1].line_bytes
        written = writes * region.element_bytes
        if self.memory.allocate:
            written = (int(write[_BACKS]) + dirty_lines) * line_bytes
        return Tally(
            region.name,
            reads,
            reads - int(read[_MISSES]),
            writes,
            writes - int(write[_MISSES]),
            (reads + writes) * region.element_bytes,
            int(read[_FILLS] + write[_FILLS]) * line_bytes,
            written,
        )

    def level_tallies(self) -> tuple[LevelTally, ...]:
        uses, absent, misses, uses_2, misses_2 = (int(n) for n in self.counts.sum(axis=0)[:5])
        first = LevelTally(uses - absent - misses, misses)
        second = LevelTally(uses_2 - misses_2, misses_2)
        return (first, second)[: len(self.levels)]


# Running -----------------------------------------------------------------------------------------

_SEARCHES = 16
"""How many pairs of turns are compared for a period, for each turn of a step."""


@dataclass(frozen=True, slots=True, eq=False)
class _Anchor:
    """The state and counts after a turn, to be held against those `period` turns later."""

    turn: int
    period: int
    moves: Mapping[int, int]
    states: list[NDArray[np.int64]]
    counts: NDArray[np.int64]


@dataclass(slots=True)
class _Run:
    """A run as it goes on; done, share: the fraction before this step, and this step's."""

    machine: _Machine
    deadline: float | None
    progress: Callable[[float], None] | None
    misses: OnMisses | None
    repeats: bool = False
    done: float = 0.0
    share: float = 0.0
    over: bool = False
    turns_simulated: int = 0
    turns_repeated: int = 0
    passes_left_out: int = 0
    accesses_left_out: int = 0

    def step(self, step: Step) -> None:
        """Carry out the turns of a step, or prove and multiply them."""
        periods = _Periods(step, self.machine)
        anchor: _Anchor | None = None
        turn = 0
        while turn < step.count:
            self._turn(step, turn)
            if self.repeats and not self.over:
                if anchor is not None and turn == anchor.turn + anchor.period:
                    turn += self._multiplied(anchor, periods)
                    anchor = None
                if anchor is None and (found := periods.after(turn)):
                    period, moves = found
                    counts = self.machine.counts.copy()
                    anchor = _Anchor(turn, period, moves, self.machine.state(), counts)
            turn += 1

    def _turn(self, step: Step, turn: int) -> None:
        sweeps = step.turn(turn)
        whole = sum(sweep.accesses for sweep in sweeps) or 1
        before = 0
        for sweep in sweeps:
            ran = 0
            for count in self._sweep(sweep):
                ran += count
                self._report((turn + (before + ran) / whole) / step.count)
            before += sweep.accesses
            if self.over:
                self.passes_left_out += 1
                self.accesses_left_out += sweep.accesses - ran
        self.turns_simulated += not self.over

    def _sweep(self, sweep: Sweep) -> Iterator[int]:
        """Carry out a pass until the time is over; gives how many accesses each chunk had."""
        if self._time_is_over():
            return
        for chunk in sweep.chunks():
            if self._time_is_over():
                return
            before = self.machine.accesses()
            hits = self.machine.run(chunk, mapped=self.misses is not None)
            if self.misses is not None:
                self.misses(sweep, chunk, hits)
            yield self.machine.accesses() - before

    def _time_is_over(self) -> bool:
        self.over = self.over or (self.deadline is not None and monotonic() >= self.deadline)
        return self.over

    def _report(self, fraction: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, self.done + self.share * fraction))

    def _multiplied(self, anchor: _Anchor, periods: _Periods) -> int:
        """How many turns after the anchor's period were proven to repeat it, and were counted."""
        machine = self.machine
        turn = anchor.turn + anchor.period
        times = periods.repeated(turn, anchor.period, anchor.moves) // anchor.period
        before = machine.moved(anchor.states, anchor.moves)
        states = machine.state()
        if not times or before is None:
            return 0
        if any(not np.array_equal(a, b) for a, b in zip(before, states, strict=True)):
            return 0
        after = machine.moved(states, anchor.moves, times)
        if after is None:
            return 0
        machine.counts += times * (machine.counts - anchor.counts)
        machine.restore(after)
        self.turns_repeated += times * anchor.period
        return times * anchor.period

    def result(self, turns: int) -> Result:
        machine = self.machine
        dirty = machine.still_dirty()
        return Result(
            regions=tuple(
                machine.tally(number, region, int(dirty[number]))
                for number, region in enumerate(machine.trace.regions)
            ),
            levels=machine.level_tallies(),
            turns=turns,
            turns_simulated=self.turns_simulated,
            turns_repeated=self.turns_repeated,
            turns_left_out=turns - self.turns_simulated - self.turns_repeated,
            passes_left_out=self.passes_left_out,
            accesses_left_out=self.accesses_left_out,
        )


class _Periods:
    """Which turns of a step are others moved, as its `shifts` say."""

    def __init__(self, step: Step, machine: _Machine) -> None:
        self.step, self.machine = step, machine
        self.searches_left = _SEARCHES * step.count
        self.known: dict[int, dict[int, int] | None] = {}

    def after(self, turn: int) -> tuple[int, dict[int, int]] | None:
        """The least period that could be multiplied from this turn on, and its moves in bytes."""
        for period in range(1, (self.step.count - 1 - turn) // 2 + 1):
            if self._shifts(turn) is None or self.searches_left <= 0:
                return None
            self.searches_left -= 1
            moves = self._moves(turn, period)
            if moves is not None and self.machine.maps(moves):
                return period, moves
        return None

    def repeated(self, turn: int, period: int, moves: Mapping[int, int]) -> int:
        """How many turns after this one are those a period before them, so moved."""
        after = turn + 1
        while after < self.step.count and self._moves(after - period, period) == moves:
            after += 1
        return after - turn - 1

    def _shifts(self, turn: int) -> dict[int, int] | None:
        if turn not in self.known:
            self.known[turn] = self.step.shifts(turn)
        return self.known[turn]

    def _moves(self, turn: int, period: int) -> dict[int, int] | None:
        """By how many bytes each region is moved from a turn to the one a period later."""
        here, there = self._shifts(turn), self._shifts(turn + period)
        if here is None or there is None:
            return None
        return {number: there.get(number, 0) - here.get(number, 0) for number in here | there}


def _accesses(step: Step, turn: int) -> int:
    """The accesses of a turn, or none where there is no such turn."""
    return sum(sweep.accesses for sweep in step.turn(turn)) if step.count else 0
