"""What fragments executed of programs with branches, as the reference machine counts in a run."""

from __future__ import annotations

from collections import Counter

from gpgpu_legacy.isa.execute import BLOCK, Event, Tally
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.present.grid import Entry, Grid
from gpgpu_legacy.serial import Record


class Branching(Record):
    """The instructions and tests that fragments of a program executed, in all of its passes.

    instructions: executed by all fragments. in_quads, in_blocks: the same, if all fragments of a
    quad, or of a block of 32×32, execute what any of them does, as they do on a chip that branches
    for all of them together. tests: of IF and BRK, and how many of them held. divergent_quads,
    divergent_blocks: the percentage of quads, and of blocks, in which a test held for some of the
    fragments that executed it, and not for all.
    """

    program: str
    fragments: int
    instructions: int
    in_quads: int
    in_blocks: int
    tests: int
    taken: int
    divergent_quads: float
    divergent_blocks: float


def branching_of(tally: Tally | None) -> tuple[Branching, ...]:
    """For each program with branches that a run executed; empty if nobody has counted."""
    totals: dict[Program, Counter[Event]] = {}
    fragments: dict[Program, int] = {}
    tests: Counter[Program] = Counter()
    for (program, number, event), count in (tally or {}).items():
        if not program.branches:
            continue
        totals.setdefault(program, Counter())[event] += count
        if event is Event.EXECUTED:
            fragments[program] = fragments.get(program, 0) + (0 if number else count)
            tests[program] += count * (program.instructions[number].mnemonic in ("IF", "BRK"))
    return tuple(
        Branching(
            program=program.name,
            fragments=fragments[program],
            instructions=total[Event.EXECUTED],
            in_quads=total[Event.IN_QUADS],
            in_blocks=total[Event.IN_BLOCKS],
            tests=tests[program],
            taken=total[Event.TAKEN],
            divergent_quads=_percent(total[Event.DIVERGENT_QUADS], total[Event.QUADS]),
            divergent_blocks=_percent(total[Event.DIVERGENT_BLOCKS], total[Event.BLOCKS]),
        )
        for program, total in totals.items()
    )


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def branching_grids(branching: tuple[Branching, ...]) -> list[Grid]:
    """A table of them; none if there are none."""
    blocks = f"{BLOCK}×{BLOCK} blocks"
    numbers = "program", "fragments", "instructions", "each", "in quads", f"in {blocks}"
    heads = (*numbers, "tests", "held", "divergent quads", f"divergent {blocks}")
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            one.program,
            one.fragments,
            one.instructions,
            *(n / max(one.fragments, 1) for n in (one.instructions, one.in_quads, one.in_blocks)),
            one.tests,
            one.taken,
            f"{one.divergent_quads:.1f} %",
            f"{one.divergent_blocks:.1f} %",
        )
        for one in branching
    )
    return [Grid("branching", "What fragments executed", heads, rows)] if rows else []
