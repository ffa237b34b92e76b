"""The command `cache`: products through simulated caches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cli.file_options import PICTURE
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    CACHE_HELP,
    LAYOUT_HELP,
    QUICK_SIZE,
    QUICK_SIZE_HELP,
    RASTER_HELP,
    TILE_HELP,
    AccumulateBy,
    Blocks,
    Json,
    Largest,
    MethodName,
    Quiet,
    ShapeOption,
    SimulationBudget,
    TextureFormat,
    app,
    draw,
    options_from,
    plot_option,
    progress_bar,
    shape_of,
    show,
    time_limit,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE

if TYPE_CHECKING:
    from gpgpu_legacy.cache.caches import Memory
    from gpgpu_legacy.measure.budget import Budget
    from gpgpu_legacy.studies.cache_sweep.model import Case, Orders

DEFAULT_CACHE = "8K,4way,64B"


class Writes(Enum):
    """What a write that misses does."""

    NO_ALLOCATE = "no-allocate"
    ALLOCATE = "allocate"


@dataclass(frozen=True)
class CaseOptions:
    """The products to simulate: all combinations of sizes, blocks and tiles."""

    size: Annotated[Several[int], Option("N …", QUICK_SIZE_HELP)] = ()
    shape: ShapeOption = None
    block: Blocks = ()
    tile: Annotated[Several[int], Option("T …", f"{TILE_HELP} (default: the method's own).")] = ()
    accumulate: AccumulateBy = None
    texture_format: TextureFormat = None
    largest_texture: Largest = LARGEST_TEXTURE


@dataclass(frozen=True)
class MemoryOptions:
    """The caches to simulate, each with the same second level and the same writes."""

    cache: Annotated[
        Several[str], Option("SPEC …", f"{CACHE_HELP[:-1]} (default: {DEFAULT_CACHE}).")
    ] = ()
    second_level: Annotated[
        str | None,
        Option("SPEC", "A second level behind it, shared by all textures; spelled as --cache."),
    ] = None
    per_texture: Annotated[bool, Option("Give each texture a first level of its own.")] = False
    writes: Annotated[
        Writes | None, Option("Whether a write that misses fills a line (default: no-allocate).")
    ] = None
    seed: Annotated[int, Option("SEED", "Seed of random replacement.")] = 0

    def memories(self) -> list[Memory]:
        """A memory for each cache."""
        from gpgpu_legacy.cache.caches import Memory, parse_cache

        behind = () if self.second_level is None else (parse_cache(self.second_level),)
        return [
            Memory(
                (parse_cache(text), *behind),
                self.per_texture,
                self.writes is Writes.ALLOCATE,
                self.seed,
            )
            for text in self.cache or (DEFAULT_CACHE,)
        ]


@dataclass(frozen=True)
class AccessOptions:
    """How fragments touch textures: all combinations of orders, layouts and numbers in flight."""

    raster: Annotated[Several[str], Option("ORDER …", f"{RASTER_HELP[:-1]} (default: scan).")] = ()
    quads: Annotated[
        bool, Option("Draw in quads: the 2×2 fragments of a quad make each access in turn.")
    ] = False
    layout: Annotated[
        Several[str], Option("LAYOUT …", f"{LAYOUT_HELP[:-1]} (default: linear).")
    ] = ()

    in_flight: Annotated[
        Several[int],
        Option(
            "N …",
            "Let so many fragments be in flight (with --quads, quads): each makes its first "
            "lookup, then each its second, lastly each its write (default: 1).",
        ),
    ] = ()

    def orders(self) -> Orders:
        """The orders, layouts and numbers in flight to combine."""
        from gpgpu_legacy.studies.cache_sweep.model import Orders

        return Orders(self.raster, self.layout, self.quads, self.in_flight)


@dataclass(frozen=True)
class CacheOutput:
    """What to find out, and how to show it."""

    every_pass: Annotated[bool, Option("Also simulate the iterations that provably repeat.")] = (
        False
    )
    budget: SimulationBudget = None
    curve: Annotated[
        bool, Option("Count the misses of fully associative caches of every size.")
    ] = False
    heat_map: Annotated[
        Path | None,
        Option(PICTURE, "Draw a heat map: where the reads hit, by fragment."),
    ] = None
    heat_map_of: Annotated[
        str | None, Option("TEXTURE", "Draw it by the texels of this texture instead.")
    ] = None
    plot: Annotated[Path | None, plot_option("Plot the sweep, or with --curve the curves.")] = None
    as_json: Json = False
    quiet: Quiet = False

    def check(self, memories: MemoryOptions) -> None:
        """InputError for options that exclude one another."""
        if self.heat_map_of is not None and self.heat_map is None:
            raise InputError("--heat-map-of names a texture; name the picture with --heat-map")
        if not self.curve:
            return
        if (
            self.heat_map is not None
            or self.every_pass
            or memories.second_level
            or memories.per_texture
        ):
            raise InputError(
                "--curve is about caches of every size; leave --heat-map, --every-pass, "
                "--second-level and --per-texture out"
            )
        if memories.writes is Writes.NO_ALLOCATE:
            raise InputError(
                "--curve counts writes that fill lines, since without filling there is no single "
                "curve; leave --writes out or give allocate"
            )


@app.command("cache")
def cache_command(
    method: MethodName,
    products: CaseOptions,
    memories: MemoryOptions,
    accesses: AccessOptions,
    report: CacheOutput,
) -> None:
    """Simulate a product's lookups and writes through a cache: hits, misses, bytes from memory.

    --size, --block, --tile, --cache, --raster, --layout and --in-flight take several values; every
    combination is simulated. Kernels' buffers and shared arrays go through the cache in the same
    way.
    """
    from gpgpu_legacy.studies.cache_sweep.model import product_cases

    if products.shape is not None and products.size:
        raise InputError("give --size or --shape, not both")
    report.check(memories)
    wanted = product_cases(
        find_method(method),
        [shape_of(n, products.shape, QUICK_SIZE) for n in products.size or (None,)],
        [
            options_from(products, block=b, tile=tile)
            for b, tile in product(products.block or (None,), products.tile or (None,))
        ],
        memories.memories(),
        accesses.orders(),
    )
    simulate_cases(wanted, report)


def simulate_cases(wanted: Sequence[Case], report: CacheOutput) -> None:
    """Simulate, and print and draw what was asked for."""
    with time_limit(report.budget) as budget:
        if report.curve:
            _curves(wanted, budget, report)
        elif report.heat_map is not None:
            if len(wanted) > 1 or report.plot is not None:
                raise InputError(
                    "--heat-map draws one run; give each option one value, and leave --plot out"
                )
            _heat_map(wanted[0], budget, report.heat_map, report)
        else:
            _runs(wanted, budget, report)


@contextmanager
def _progress(
    what: str, wanted: Sequence[Case], *, quiet: bool
) -> Iterator[Callable[[Case], Callable[[float], None]]]:
    """A bar with a hundred steps a product; it yields what makes each simulation's callback."""
    with progress_bar(what, 100 * len(wanted), quiet=quiet) as step:

        def of(case: Case) -> Callable[[float], None]:
            reported = 0

            def fraction(done: float) -> None:
                nonlocal reported
                while reported < min(100, int(100 * done)):
                    reported += 1
                    step(str(case))

            return fraction

        yield of


def _runs(wanted: Sequence[Case], budget: Budget, report: CacheOutput) -> None:
    from gpgpu_legacy.studies.cache_sweep import model, plot, record, table

    if report.plot is not None:
        plot.check_sweep(wanted)
    with _progress("simulating", wanted, quiet=report.quiet) as progress:
        sweep = model.run_sweep(wanted, budget, every_pass=report.every_pass, progress=progress)
    show(record.sweep_record(sweep), table.sweep_grids(sweep), report.as_json)
    draw(sweep, plot.draw_sweep, report.plot)


def _curves(wanted: Sequence[Case], budget: Budget, report: CacheOutput) -> None:
    from gpgpu_legacy.studies.cache_sweep import model, plot, record, table

    with _progress("stack distances", wanted, quiet=report.quiet) as progress:
        curves = model.run_curves(wanted, budget, progress=progress)
    show(record.curves_record(curves), table.curve_grids(curves), report.as_json)
    draw(curves.runs, plot.draw_curves, report.plot)


def _heat_map(case: Case, budget: Budget, path: Path, report: CacheOutput) -> None:
    from gpgpu_legacy.studies.cache_sweep import heat_map_plot, model, record, table

    with _progress("simulating", [case], quiet=report.quiet) as progress:
        run, heat = model.mapped_run(
            case, report.heat_map_of, budget=budget, progress=progress(case)
        )
    heat_map_plot.draw_heat_map(heat, table.heat_map_caption(run, heat), path)
    show(record.run_record(run), table.run_grids(run), report.as_json)
    print(f"wrote {path}", file=sys.stderr)
