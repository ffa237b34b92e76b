"""Bandwidth or lookups: what limits Hall, Carr & Hart's programs, by cache and cost of a lookup.

The time of a pass is that of its slowest unit (predict/model.py). Of the units, only memory depends
on the cache and the fragments in flight, and only the texture units on the clocks of a lookup. So
one number describes a place on the map: the clocks at which lookups take as long as memory. With
fewer clocks memory is the limit; with more, lookups are, or else arithmetic.

The map has two edges: without a cache, memory serves every lookup, as the paper's Table 1 counts; a
perfect cache takes each texel from memory once per pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from itertools import chain, product
from pathlib import Path
from typing import Annotated

from gpgpu_legacy.api.command.frame import Kept, answers
from gpgpu_legacy.api.command.words import (
    BLOCK,
    LAYOUT,
    PAPER_BLOCK,
    PAPER_SIZE,
    RASTER,
    SIZE,
    Caches,
    Chips,
    Dask,
    ManyInFlight,
)
from gpgpu_legacy.chips.profile import Profile, find_profile
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.papers.published.papers import find_paper
from gpgpu_legacy.present.grid import Entry, Grid, RecordedResult
from gpgpu_legacy.present.plot import (
    COLOURS,
    GREY,
    check_count,
    label_lines,
    new_panels,
    save_figure,
    set_plain_numbers,
)
from gpgpu_legacy.serial import (
    Line,
    Meta,
    Several,
    Size,
    as_record,
    provenance,
    with_fields,
)
from gpgpu_legacy.studies.shared.behind_cache import (
    CLOCKS,
    NO_CACHE,
    PERFECT,
    Served,
    memory_bytes,
    unit_seconds,
    with_clocks,
)
from gpgpu_legacy.studies.shared.cache_rows import BLOCKED, FLIGHTS, Setting, settings
from gpgpu_legacy.studies.shared.sweep import sweep, workers


class MethodPlace(Setting):
    """A method on a chip, in a setting. seconds: of each unit, with lookups of one clock."""

    chip: Line
    method: Line
    seconds: dict[str, Annotated[float, Meta(ge=1e-15, le=1e9)]]

    def limit(self, clocks: float) -> str:
        """The slowest unit, if a lookup takes this many clocks."""
        times = self.seconds | {"lookups": clocks * self.seconds["lookups"]}
        return max(times, key=times.__getitem__)

    def clocks(self, unit: str) -> float:
        """The clocks of a lookup at which lookups take as long as this unit."""
        return self.seconds[unit] / self.seconds["lookups"]


MOST_PANELS = 12
_BAND = "#e9edf5"

Panel = dict[str, list[MethodPlace]]
"""The places of a chip and method: for each cache, one for each number in flight."""


@frozen
class PaperClaim:
    """A claim of the paper by its id, and its place on the map.

    limits: the claim holds where one of these units is the limit. cache, clocks: the place.
    methods: those of which the claim speaks.
    """

    id: str
    limits: tuple[str, ...]
    cache: str
    clocks: int
    methods: tuple[str, ...] = BLOCKED


CLAIMS = (
    # Table 1 counts every lookup as a transfer.
    PaperClaim("section-5.1-internal-bottleneck", ("memory",), NO_CACHE, 1),
    # All latencies are hidden, and "computation is the limiting factor".
    PaperClaim("section-5.2-linear", ("arithmetic",), PERFECT, 1),
    # "No performance penalty" for 4-wide data, which the chips that followed looked up in 4 clocks.
    PaperClaim("section-5.2-4-wide", ("memory", "arithmetic"), PERFECT, 4, BLOCKED[1:]),
)


class Crossover(RecordedResult, kw_only=True):
    """The map, for n×n matrices and b steps a pass."""

    WHAT = "a map that `gpgpu-legacy study crossover --output` recorded"
    HAS_LONG_LISTS = True

    size: Size
    block: Size
    places: Several[MethodPlace]

    def __post_init__(self) -> None:
        """Raise ValueError if the places do not make a map."""
        panels = self.panels().values()
        units = {"memory", "lookups", "arithmetic"}
        if (
            len({len(row) for panel in panels for row in panel.values()}) != 1
            or not all({NO_CACHE, PERFECT} <= panel.keys() for panel in panels)
            or not all(units <= place.seconds.keys() for place in self.places)
        ):
            raise ValueError("its places are no map of chips, methods and caches")

    @property
    def where(self) -> str:
        """The sizes and the order of accesses, in words."""
        order = f"raster order {self.places[0].raster}, texture layout {self.places[0].layout}"
        return f"at n = {self.size} and b = {self.block}, {order}"

    def panels(self) -> dict[tuple[str, str], Panel]:
        """The places by chip and method."""
        panels: dict[tuple[str, str], Panel] = {}
        for place in self.places:
            panel = panels.setdefault((place.chip, place.method), {})
            panel.setdefault(place.cache, []).append(place)
        return panels

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The paper's claims on the map; whole: the map, too."""
        panels, paper = self.panels(), find_paper("hall-carr-hart-2003")
        flights = dict.fromkeys(f"{place.in_flight} in flight" for place in self.places)
        rows: list[tuple[Entry, ...]] = []
        for (number, claim), (at, panel) in product(enumerate(CLAIMS, 1), panels.items()):
            if at[1] in claim.methods:
                limit = panel[claim.cache][0].limit(claim.clocks)
                within = chain(*(panel[c] for c in panel if c not in {NO_CACHE, PERFECT}))
                held = [place.limit(n) in claim.limits for place in within for n in CLOCKS]
                here = (limit, limit in claim.limits, f"{sum(held)} of {len(held)}")
                rows.append((number, claim.cache, claim.clocks, *at, *here))
        claims = [paper.claim(claim.id) for claim in CLAIMS]
        return [
            Grid(
                "crossover",
                f"The clocks of a lookup with which lookups take as long as memory, {self.where}.",
                ("chip", "method", "cache", *flights, "arithmetic"),
                tuple(
                    (*at, cache, *(p.clocks("memory") for p in row), row[0].clocks("arithmetic"))
                    for at, panel in panels.items()
                    for cache, row in panel.items()
                ),
                (
                    "With fewer clocks memory is the limit, with more lookups are, unless "
                    "arithmetic is slower than both: it takes as long as lookups of the clocks in "
                    "the last column.",
                ),
            ),
            Grid(
                "claims",
                f"The paper's claims on the map, {self.where}.",
                ("", "cache", "clocks", "chip", "method", "limit", "holds", "on the map"),
                tuple(rows),
                (
                    *(f"{n}: “{claim.quote}” ({claim.where})" for n, claim in enumerate(claims, 1)),
                    "On the map: at how many of its places with a cache the claim holds, each with "
                    f"lookups of {CLOCKS[0]} to {CLOCKS[-1]} clocks.",
                ),
            ),
        ][not whole :]

    def plot(self, path: Path) -> None:
        """Draw the map: a panel for each chip and method."""
        panels = self.panels()
        check_count(len(panels), MOST_PANELS, "chips and methods")
        columns = len({method for _, method in panels})
        figure, places = new_panels(
            [*map("\n".join, panels)], columns, 2.5, x="texture cache", y="clocks of a lookup"
        )
        for axes, panel in zip(places, panels.values(), strict=True):
            axes.set_yscale("log")
            axes.axhspan(CLOCKS[0], CLOCKS[-1], color=_BAND, linewidth=0)
            arithmetic = panel[NO_CACHE][0].clocks("arithmetic")
            axes.axhline(arithmetic, color=GREY, linewidth=1.0, linestyle="--")
            caches = [cache.split(",")[0] for cache in panel]
            for column, colour in zip(zip(*panel.values(), strict=True), COLOURS[1:], strict=False):
                axes.plot(
                    caches, [place.clocks("memory") for place in column], "o-", color=colour,
                    linewidth=1.4, markersize=2.5, label=str(column[0].in_flight),
                )  # fmt: skip
            label_lines(axes)
        set_plain_numbers(places[0])
        save_figure(
            figure,
            path,
            "Bandwidth or lookups?",
            "On a line, memory takes as long as the lookups, with that many fragments in flight. "
            "Below it memory is the limit, above it lookups are; below the dashed line arithmetic "
            f"is slower than lookups. Blue: {CLOCKS[0]} to {CLOCKS[-1]} clocks.",
            f"Here {self.where}.",
        )


def crossover(
    chips: Sequence[Profile],
    parameters: tuple[int, int],
    settings: Iterable[Setting],
    pool: Executor | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Crossover:
    """The map of these chips and settings, and its edges. parameters: n and b.

    Raises InputError for a chip that lacks a rate, and for products that cannot be simulated.
    """
    size, block = parameters
    given = {"n": size, "block": block, "accumulate": "ping-pong"}
    where = [*settings]
    none, perfect = (
        [with_fields(one, cache=edge) for one in where] for edge in (NO_CACHE, PERFECT)
    )
    cases = [
        as_record(Served, setting, method=method, parameters=given)
        for method in BLOCKED
        for setting in dict.fromkeys((*none, *where, *perfect))
    ]
    plans = {case.method: case.product.plan() for case in cases}
    known = [with_clocks(chip, 1) for chip in chips]
    for chip, plan in product(known, plans.values()):
        unit_seconds(plan, chip, None)
    served = sweep(memory_bytes, cases, pool, lambda case, _: progress(str(case)))
    places = tuple(
        as_record(
            MethodPlace, case, chip=chip.name, seconds=unit_seconds(plans[case.method], chip, total)
        )
        for chip in known
        for case, total in zip(cases, served, strict=True)
    )
    return Crossover(**provenance(), size=size, block=block, places=places)


# The command --------------------------------------------------------------------------------------


@answers("study crossover", plot="Draw the map.")
def crossover_command(
    *,
    chip: Chips = (
        "radeon-9700-pro",
        "geforce-fx-5800-ultra",
        "geforce-6800-ultra",
    ),
    size: Annotated[int, SIZE] = PAPER_SIZE,
    block: Annotated[int, BLOCK] = PAPER_BLOCK,
    cache: Caches = tuple(f"{k}K,4way,64B" for k in (2, 4, 8, 16, 32)),
    raster: Annotated[str, RASTER] = "tiled:8x8",
    layout: Annotated[str, LAYOUT] = "8x8",
    in_flight: ManyInFlight = FLIGHTS,
    dask: Dask = "",
    report: Kept,
) -> Crossover:
    """Map where memory limits Hall, Carr & Hart's programs, and where lookups or arithmetic do.

    The map is over the clocks of a lookup, the size of the texture cache, which is simulated, and
    the fragments in flight; the paper's claims are points on it.
    """
    if recorded := report.read(Crossover):
        return recorded
    where = settings(cache, [raster], [layout], in_flight)
    chips = [*dict.fromkeys(map(find_profile, chip))]
    steps = 2 * (len(where) + 2 * len(set(in_flight)))
    with workers(dask) as pool, report.progress("simulating", steps) as step:
        return crossover(chips, (size, block), where, pool, step)
