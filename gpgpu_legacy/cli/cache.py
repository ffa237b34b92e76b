"""Commands about caches: a product through a cache, and the table that the paper does not have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cli.shared import (
    CACHE_HELP,
    LAYOUT_HELP,
    RASTER_HELP,
    AccumulateBy,
    Json,
    Largest,
    Lists,
    MethodName,
    Quiet,
    ShapeOption,
    TextureFormat,
    app,
    console,
    print_json,
    progress_bar,
    shape_of,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE

if TYPE_CHECKING:
    from gpgpu_legacy.cache.caches import Memory
    from gpgpu_legacy.studies.cache_sweep.model import Ask

DEFAULT_SIZE = 256  # answers within seconds
DEFAULT_CACHE = "8K,4way,64B"
TABLE_BUDGET_S = 600.0


class Writes(Enum):
    """What a write that misses does."""

    NO_ALLOCATE = "no-allocate"
    ALLOCATE = "allocate"


@app.command("cache", cls=Lists)
def cache_command(
    method: MethodName,
    size: Annotated[
        list[int] | None,
        typer.Option(metavar="N …", help=f"For n×n matrices (default: {DEFAULT_SIZE})."),
    ] = None,
    shape: ShapeOption = None,
    block: Annotated[
        list[int] | None, typer.Option(metavar="B …", help="The paper's b: steps in one pass.")
    ] = None,
    accumulate: AccumulateBy = None,
    texture_format: TextureFormat = None,
    largest_texture: Largest = LARGEST_TEXTURE,
    cache: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC …", help=f"{CACHE_HELP} Default: {DEFAULT_CACHE}."),
    ] = None,
    second_level: Annotated[
        str | None, typer.Option(metavar="SPEC", help="A larger cache behind it, for all textures.")
    ] = None,
    per_texture: Annotated[
        bool, typer.Option("--per-texture", help="Each texture has such a cache of its own.")
    ] = False,
    raster: Annotated[
        list[str] | None,
        typer.Option(metavar="ORDER …", help=f"{RASTER_HELP} Default: scan."),
    ] = None,
    quads: Annotated[
        bool, typer.Option("--quads", help="The fragments of 2×2 quads take each access in turn.")
    ] = False,
    layout: Annotated[
        list[str] | None,
        typer.Option(metavar="LAYOUT …", help=f"{LAYOUT_HELP} Default: linear."),
    ] = None,
    writes: Annotated[
        Writes | None,
        typer.Option(help="Whether a write that misses fetches its line (default: no-allocate)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of random replacement.")] = 0,
    every_pass: Annotated[
        bool, typer.Option("--every-pass", help="Simulate passes that repeat others, too.")
    ] = False,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="What all of it may take.")
    ] = None,
    curve: Annotated[
        bool, typer.Option("--curve", help="Misses of fully associative caches of every size.")
    ] = False,
    hit_map: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw where the reads hit, by fragment.")
    ] = None,
    hit_map_of: Annotated[
        str | None, typer.Option(metavar="TEXTURE", help="By the texel of a texture instead.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the sweep, or with --curve the curves.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a product's lookups and writes through a cache: hits, misses, bytes from memory.

    --size, --block, --cache, --raster and --layout take several values: all combinations are run.
    Kernels' buffers and shared arrays go through the cache likewise.
    """
    from gpgpu_legacy.studies.cache_sweep.model import asks

    _check_pictures(hit_map, plot)
    _check_budget(budget)
    if hit_map_of is not None and hit_map is None:
        raise InputError("--hit-map-of says of what; give --hit-map, the picture to draw")
    if shape is not None and size:
        raise InputError("give --size or --shape, not both")
    wanted = asks(
        find_method(method),
        [shape_of(n, shape, DEFAULT_SIZE) for n in size or (None,)],
        [
            Options(
                block=b,
                accumulate=accumulate,
                texture_format=texture_format,
                largest_texture=largest_texture,
            )
            for b in block or (None,)
        ],
        _memories(
            cache or (DEFAULT_CACHE,), second_level, writes, per_texture=per_texture, seed=seed
        ),
        rasters=raster or (),
        layouts=layout or (),
        quads=quads,
    )
    if curve:
        if hit_map is not None or every_pass or second_level or per_texture:
            raise InputError(
                "--curve is of caches of every size; leave --hit-map, --every-pass, --second-level "
                "and --per-texture out"
            )
        if writes is Writes.NO_ALLOCATE:
            raise InputError(
                "--curve counts writes that fill lines, for of others there is no one curve; leave "
                "--writes out or give allocate"
            )
        _curves(wanted, budget, plot, as_json=as_json, quiet=quiet)
    elif hit_map is not None:
        if len(wanted) > 1 or plot is not None:
            raise InputError("--hit-map draws one run; give one value of each option and no --plot")
        _hit_map(wanted[0], budget, hit_map, hit_map_of, as_json=as_json, quiet=quiet)
    else:
        _runs(wanted, budget, plot, every_pass=every_pass, as_json=as_json, quiet=quiet)


def _check_pictures(*paths: Path | None) -> None:
    from gpgpu_legacy.files import check_folder

    for path in paths:
        if path is not None:
            check_folder(path)
            if path.suffix.lower() != ".png":
                raise InputError(f"{path} should end in .png")


def _check_budget(budget: float | None) -> None:
    if budget is not None and not budget >= 0.0:
        raise InputError(f"the budget is {budget}; give a number of seconds, 0 or more")


def _memories(
    caches: Sequence[str],
    second: str | None,
    writes: Writes | None,
    *,
    per_texture: bool,
    seed: int,
) -> list[Memory]:
    from gpgpu_legacy.cache.caches import Memory, parse_cache

    behind = () if second is None else (parse_cache(second),)
    allocate = writes is Writes.ALLOCATE
    return [Memory((parse_cache(text), *behind), per_texture, allocate, seed) for text in caches]


@contextmanager
def _progress(
    what: str, asked: Sequence[Ask], *, quiet: bool
) -> Iterator[Callable[[Ask], Callable[[float], None] | None]]:
    """A bar with a hundred steps a product; what it yields gives what its simulation calls."""
    with progress_bar(what, 100 * len(asked), quiet=quiet) as step:
        if step is None:
            yield lambda _: None
            return
        bar = step

        def of(ask: Ask) -> Callable[[float], None]:
            told = 0

            def fraction(done: float) -> None:
                nonlocal told
                while told < min(100, int(100 * done)):
                    told += 1
                    bar(str(ask))

            return fraction

        yield of


def _runs(
    wanted: Sequence[Ask], budget: float | None, plot: Path | None, *, every_pass: bool,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.cache_sweep import table as report
    from gpgpu_legacy.studies.cache_sweep.model import NotRun, Run, run_all

    if plot is not None:
        from gpgpu_legacy.studies.cache_sweep.plot import check_sweep

        check_sweep(wanted)
    with _progress("simulating", wanted, quiet=quiet) as progress:
        found = list(run_all(wanted, every_pass=every_pass, budget_s=budget, progress=progress))
    runs = [each for each in found if isinstance(each, Run)]
    not_run = [each for each in found if isinstance(each, NotRun)]
    single = len(wanted) == 1 and runs
    if as_json:
        print_json(report.run_as_json(runs[0]) if single else report.sweep_as_json(runs, not_run))
    else:
        grids = report.run_grids(runs[0]) if single else report.sweep_grids(runs, not_run)
        print_text(grids, console())
    if plot is not None:
        from gpgpu_legacy.studies.cache_sweep.plot import draw_sweep

        draw_sweep(wanted, runs, plot)
        print(f"wrote {plot}", file=sys.stderr)


def _curves(
    wanted: Sequence[Ask], budget: float | None, plot: Path | None, *, as_json: bool, quiet: bool
) -> None:
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.cache_sweep import table as report
    from gpgpu_legacy.studies.cache_sweep.model import Curve, NotRun, all_curves

    with _progress("stack distances", wanted, quiet=quiet) as progress:
        found = list(all_curves(wanted, budget_s=budget, progress=progress))
    curves = [each for each in found if isinstance(each, Curve)]
    not_run = [each for each in found if isinstance(each, NotRun)]
    if as_json and len(wanted) == 1 and curves:
        print_json(report.curve_as_json(curves[0]))
    elif as_json:
        print_json(report.curves_as_json(curves, not_run))
    else:
        print_text(report.curve_grids(curves, not_run), console())
    if plot is not None:
        from gpgpu_legacy.studies.cache_sweep.plot import draw_curves

        draw_curves(curves, plot)
        print(f"wrote {plot}", file=sys.stderr)


def _hit_map(
    ask: Ask, budget: float | None, path: Path, texture: str | None, *, as_json: bool, quiet: bool
) -> None:
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.cache_sweep import table as report
    from gpgpu_legacy.studies.cache_sweep.model import mapped_run
    from gpgpu_legacy.studies.cache_sweep.plot import draw_hit_map

    with _progress("simulating", [ask], quiet=quiet) as progress:
        run, found = mapped_run(ask, texture, budget_s=budget, progress=progress(ask))
    draw_hit_map(found, report.hit_map_caption(run, found), path)
    if as_json:
        print_json(report.run_as_json(run))
    else:
        print_text(report.run_grids(run), console())
    print(f"wrote {path}", file=sys.stderr)


@app.command("cache-table", cls=Lists)
def cache_table_command(
    size: Annotated[
        int | None, typer.Option(help="n, for n×n matrices (default: 1024, the paper's).")
    ] = None,
    block: Annotated[
        list[int] | None, typer.Option(metavar="B …", help="The paper's b (default: 1 to 128).")
    ] = None,
    accumulate: Annotated[
        Accumulate | None,
        typer.Option(help="Of the blocked methods (default: ping-pong, Table 1's bytes)."),
    ] = None,
    cache: Annotated[list[str] | None, typer.Option(metavar="SPEC …", help=CACHE_HELP)] = None,
    raster: Annotated[list[str] | None, typer.Option(metavar="ORDER …", help=RASTER_HELP)] = None,
    layout: Annotated[list[str] | None, typer.Option(metavar="LAYOUT …", help=LAYOUT_HELP)] = None,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="What all of it may take.")
    ] = TABLE_BUDGET_S,
    workers: Annotated[
        int | None, typer.Option(help="Simulations at a time (default: one a core).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the results as a .json file.")
    ] = None,
    recorded: Annotated[
        Path | None, typer.Option("--from", metavar="JSON", help="Show a recorded table; run none.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="Take the rows of a recorded table, and run the rest."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw bytes from memory over b.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make the table that Hall, Carr & Hart 2003 does not have: its methods through caches.

    The verdict on "greater cache coherence" (Section 6) is worked out from the rows. What the
    budget does not reach is listed; with the defaults, all of it is minutes to hours of simulation.
    """
    from gpgpu_legacy.files import check_folder, write_text
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.cache_table import table as report
    from gpgpu_legacy.studies.cache_table.verdict import verdict

    _check_pictures(plot)
    _check_budget(budget)
    if output is not None:
        check_folder(output)
        if output.suffix.lower() != ".json":
            raise InputError(f"{output} should end in .json")
    if recorded is not None:
        if size is not None or block or accumulate or cache or raster or layout or resume:
            raise InputError("--from shows a recorded table; leave what to simulate out")
        table = report.read_cache_table(recorded)
    else:
        from gpgpu_legacy.studies.cache_table import model as bench

        where = bench.settings(
            cache or bench.CACHES, raster or bench.RASTERS, layout or bench.LAYOUTS
        )
        blocks = block or bench.BLOCKS
        known = None if resume is None else report.read_cache_table(resume)
        total = len(bench.cases(blocks, where))
        with progress_bar("simulating", total, quiet=quiet) as step:
            table = bench.make_table(
                bench.SIZE if size is None else size,
                blocks,
                where,
                accumulate or bench.ACCUMULATE,
                budget,
                known=known,
                workers=workers,
                progress=step,
            )
    data = report.cache_table_as_json(table)
    if output is not None:
        write_text(output, report.recorded_text(data))
    if as_json:
        print_json(data)
    else:
        print_text(report.cache_table_grids(table), console())
        for sentence in verdict(table):
            print(f"• {sentence}")
    if plot is not None:
        from gpgpu_legacy.studies.cache_table.plot import draw_cache_table

        draw_cache_table(table, plot)
        print(f"wrote {plot}", file=sys.stderr)
