"""Three ways to choose a computation for each fragment, by the coherence of the choice.

A fragment takes 256 instructions or one, as a texel says, in diagonal stripes as wide as 1 to 1024
fragments. GPU Gems 2, Chapter 34, has these ways:

1. *Selects* (predication): every fragment computes both and keeps one.
2. *KIL*: a pass for each computation, in which the fragments of the other are discarded. By itself
   KIL spares no instruction. With *early depth*, the first pass writes a depth where it draws, and
   the second skips squares of fragments that all fail the depth test. No plan has a depth buffer,
   so early depth is computed from the counts of the other ways, and not measured.
3. A *branch*: the fragments of a square execute both sides if any two of them differ.

The squares are quads at the least, and blocks of about a thousand fragments (isa/execute.py) at the
most. A chip's time is that of its arithmetic, with each instruction as long as a multiply-add, and
of the clocks that a branch takes. It is a range: from quads and the fewest clocks to blocks and the
most.

- M. Harris, I. Buck: GPU flow-control idioms. GPU Gems 2, Chapter 34, 2005.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.api.command.frame import Kept, answers
from gpgpu_legacy.api.command.words import AnyTime, Chips, Executors
from gpgpu_legacy.chips.profile import Profile, find_profile
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.execute import BLOCK, Event, Tally
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.measure.benchmark import Benchmark, Case
from gpgpu_legacy.measure.timing import busy_notes
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.predict.prediction import Rates
from gpgpu_legacy.present.grid import Entry, Grid, RecordedResult
from gpgpu_legacy.present.plot import (
    COLOURS,
    label_lines,
    new_panels,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
)
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.serial import Line, Positive, Record, Several, Share, Size, Spread, as_record
from gpgpu_legacy.studies.shared.sweep import sweep, workers

STEPS = 128  # of two instructions
STRIPES = tuple(2**n for n in range(11))
WAYS = ("selects", "KIL", "branch")
EARLY = "early depth"
_DRAWN = 2 * STRIPES[-1], STRIPES[-1]  # fragments in a row, and rows


def stripes(way: str, stripe: int, width: int = _DRAWN[0], height: int = _DRAWN[1]) -> PlanBuilder:
    """A plan's builder: fragments of every second stripe take many instructions, the others one.

    way: one of WAYS. stripe: its width. All lengths are in fragments.
    """
    p = PlanBuilder("stripes")

    def values(*_: object) -> Any:
        y, x = np.indices((height, width), np.float32)
        planes = np.zeros((height, width, 4), np.float32)
        planes[..., 0] = (x % 61 + 1) / 64
        planes[..., 1] = (x + y) // stripe % 2
        return planes

    numbers = p.input("numbers", height, width, packing="image", sample=values)
    result = p.texture("result", width, height, format="r32f")
    for part in ("short", "long") if way == "KIL" else (way,):
        program = load_program("branching/sides.fp.j2", way=part, steps=STEPS)
        p.draw(program, {0: numbers}, into=result)
    p.output("result", result)
    return p


_STRIPES = Algorithm("stripes", stripes)


class Executed(Record):
    """Instructions that a fragment executes, on average.

    in_quads, in_blocks: the same, if all fragments of a quad, or of a block, execute what any of
    them does.
    """

    instructions: Positive
    in_quads: Positive
    in_blocks: Positive


class StripedWay(Executed):
    """A way, with stripes of some width.

    predicted: the least and the most seconds by chip, without chips that cannot branch. measured:
    the seconds of the fastest run, by executor.
    """

    way: Line
    stripe: Size
    predicted: dict[Line, Spread]
    measured: dict[Line, Positive]


def counted(stripe: int) -> dict[str, Executed]:
    """The instructions of each way with stripes of this width; those of the branch by a run.

    All rows of blocks are alike, so the run draws only one.
    """
    *others, p = (_STRIPES.builder(way=way, stripe=stripe, height=BLOCK) for way in WAYS)
    [both], kil = (other.plan().programs() for other in others)
    plan = p.plan()
    [branch] = plan.programs()
    tally = reference().run(plan, sample_inputs(plan, p.samples)).tally or Tally()
    names = [instruction.mnemonic for instruction in branch.instructions]
    events = Event.EXECUTED, Event.IN_QUADS, Event.IN_BLOCKS
    area, long_side = tally[branch, 0, Event.EXECUTED], names.index("IF") + 1
    selects, short, long = (count_instructions(one).total for one in (both, *kil))
    counts: dict[str, list[float]] = {
        "selects": [selects] * 3,
        "KIL": [short + long] * 3,
        EARLY: [short + long * tally[branch, long_side, event] / area for event in events],
        "branch": [sum(tally[branch, n, e] for n in range(len(names))) / area for e in events],
    }
    return {
        way: Executed(instructions=average, in_quads=quads, in_blocks=blocks)
        for way, (average, quads, blocks) in counts.items()
    }


class Stripes(RecordedResult, kw_only=True):
    """The ways, over the width of the stripes.

    devices: the device of each executor. busy_share: the share of the processors that other
    processes took meanwhile.
    """

    WHAT = "what `gpgpu-legacy study branching --output` recorded"
    HAS_LONG_LISTS = True

    ways: Several[StripedWay]
    devices: dict[Line, Line]
    busy_share: Share | None

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Instructions and times for three widths of the stripes; whole: for all."""
        ways = [w for w in self.ways if whole or w.stripe in (STRIPES[0], BLOCK, STRIPES[-1])]
        chips = [*dict.fromkeys(name for way in self.ways for name in way.predicted)]
        blocks = f"in {BLOCK}×{BLOCK} blocks"
        heads = ("stripe", "way", "each", "in quads", blocks, *chips, *self.devices)
        rows = tuple(
            (
                *(one.stripe, one.way, one.instructions, one.in_quads, one.in_blocks),
                *(_milliseconds(one.predicted.get(name)) for name in chips),
                *(1e3 * s if (s := one.measured.get(name)) else None for name in self.devices),
            )
            for one in ways
        )
        caption = (
            f"Instructions of a fragment that takes {2 * STEPS} or one, and milliseconds of "
            "{}×{} fragments.".format(*_DRAWN)
        )
        notes = (
            "Each: as a fragment executes them; in quads and in blocks: if all of the square "
            "execute what any of them does.",
            "Chips are predicted, from quads and the fewest clocks of a branch to blocks and the "
            "most, by arithmetic alone. Measured: "
            + "; ".join(f"{name} on {device}" for name, device in self.devices.items())
            + ".",
            f"{EARLY.capitalize()}: KIL, if its second pass spares squares that it would not draw; "
            "computed, since no plan has a depth buffer.",
            *busy_notes(self.busy_share),
        )
        return [Grid("branching", caption, heads, rows, notes)]

    def plot(self, path: Path) -> None:
        """Draw times by the width of the stripes: a panel for each chip and executor."""
        titles = [*dict.fromkeys(n for way in self.ways for n in (*way.predicted, *way.measured))]
        figure, places = new_panels(
            titles, 2, 2.4, x="fragments across a stripe", y="time, of that of selects"
        )
        for axes, title in zip(places, titles, strict=True):
            axes.set_yscale("log")
            times = {
                (one.way, one.stripe): one.predicted.get(title) or (one.measured[title],) * 2
                for one in self.ways
                if title in {*one.predicted, *one.measured}
            }
            for colour, way in zip(COLOURS, (*WAYS, EARLY), strict=False):
                line = {
                    stripe: [s / times["selects", stripe][1] for s in seconds]
                    for (name, stripe), seconds in times.items()
                    if name == way and ("selects", stripe) in times
                }
                if line:
                    least, most = zip(*line.values(), strict=True)
                    axes.fill_between([*line], least, most, color=colour, alpha=0.2, linewidth=0)
                    axes.plot([*line], most, "o-", color=colour, markersize=2.5, label=way)
            set_powers_of_two(axes, STRIPES)
            label_lines(axes)
        set_plain_numbers(places[0])
        save_figure(
            figure,
            path,
            "What a branch costs, by the coherence of its fragments",
            f"Half of the fragments take {2 * STEPS} instructions, the others one, in diagonal "
            "stripes.",
            f"On chips, predicted: the line if blocks of {BLOCK}×{BLOCK} fragments branch "
            "together, the lower edge if quads do. On executors, measured.",
        )


def _milliseconds(seconds: Spread | None) -> Entry:
    """A range of times in milliseconds, as text; one number if its ends read alike."""
    if seconds is None:
        return None
    return "–".join(dict.fromkeys(f"{1e3 * s:.3g}" for s in seconds))


def predicted(chip: Profile, way: str, executed: Executed) -> Spread | None:
    """The least and the most seconds of a way on a chip; None for a branch if it cannot branch.

    Raises InputError for a chip without a rate of arithmetic.
    """
    rates, area = Rates(chip.hardware), _DRAWN[0] * _DRAWN[1]
    rate, clocks = rates.fragment_arithmetic().per_second, chip.hardware.branch_clocks
    if rate is None:
        raise InputError(f"{chip.name} has no rate of arithmetic; choose another chip")
    least, most = (count * area / rate for count in (executed.in_quads, executed.in_blocks))
    if way != "branch":
        return least, most
    branches = rates.branches(area).per_second
    if branches is None or clocks is None:
        return None
    longest = (clocks.up_to or clocks.value) / clocks.value
    return least + area / branches, most + area * longest / branches


# The command --------------------------------------------------------------------------------------


@answers("study branching", plot="Draw times by the width of the stripes.")
def branching_command(
    *,
    report: Kept,
    chip: Chips = (
        "radeon-x800-xt",
        "geforce-6800-ultra",
        "geforce-7900-gtx",
    ),
    executor: Executors = ("auto",),
    budget: AnyTime = None,
) -> Stripes:
    """Compare selects, KIL, early depth and branches, over the coherence of the fragments' choice.

    Fragments choose between two computations, in stripes as wide as 1 to 1024 fragments.
    Instructions are counted, times predicted for chips and measured on executors.
    """
    if recorded := report.read(Stripes):
        return recorded
    chips = [*dict.fromkeys(map(find_profile, chip))]
    cases = [
        Case(_STRIPES.builder(way=way, stripe=stripe), executors=executor)
        for stripe in STRIPES
        for way in WAYS
    ]
    benchmark = Benchmark(cases, peers=(), has_reference=False)
    steps = benchmark.steps + len(STRIPES)
    with workers() as pool, report.work("stripes", steps, budget) as within:
        counts = sweep(
            counted, STRIPES, pool, lambda stripe, _: within.tell(f"stripes of {stripe}")
        )
        bench = benchmark.measure(within)
    seconds = {
        (one.executor, one.parameters["way"], one.parameters["stripe"]): one.spread[0]
        for one in bench.results
    }
    devices = {one.executor: one.device or "?" for one in bench.results}
    ways = (
        as_record(
            StripedWay,
            executed,
            way=way,
            stripe=stripe,
            predicted={c.name: time for c in chips if (time := predicted(c, way, executed))},
            measured={e: seconds[e, way, stripe] for e in devices if (e, way, stripe) in seconds},
        )
        for stripe, by_way in zip(STRIPES, counts, strict=True)
        for way, executed in by_way.items()
    )
    return as_record(Stripes, bench, ways=tuple(ways), devices=devices)
