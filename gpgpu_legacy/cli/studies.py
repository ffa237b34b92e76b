"""The studies: questions beyond the verbs, each with a table, and most with a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.algorithms.matmul.govindaraju_tiled import DEFAULT_BLOCK
from gpgpu_legacy.command.frame import Kept, Report, answers
from gpgpu_legacy.command.options import FILM, Argument, Several, arithmetic_names, chip_names
from gpgpu_legacy.command.words import (
    ARITHMETICS,
    BLOCK,
    BUDGET_S,
    CACHE,
    CHIP,
    EXECUTORS,
    IN_FLIGHT,
    LAYOUT,
    PAPER_BLOCK,
    PAPER_SIZE,
    QUICK_SIZE,
    RASTER,
    SIZE,
    AccessOptions,
    AnyTime,
    Dask,
    ExecutorName,
    Jobs,
    RunJob,
    Seconds,
    Seed,
    Size,
    split,
    warn_if_busy,
)
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.studies import cache_defaults as defaults

if TYPE_CHECKING:
    from gpgpu_legacy.predict.mispredictions import Mispredictions
    from gpgpu_legacy.studies.anomaly import Anomaly
    from gpgpu_legacy.studies.branching import Stripes
    from gpgpu_legacy.studies.cache_table import CacheTable
    from gpgpu_legacy.studies.crossover import Crossover
    from gpgpu_legacy.studies.figure_2 import PassByPass
    from gpgpu_legacy.studies.infer_cache import InferredCache
    from gpgpu_legacy.studies.lineage import Lineage, Lineages
    from gpgpu_legacy.studies.multichannel import Multichannel
    from gpgpu_legacy.studies.packing import PackingTable
    from gpgpu_legacy.studies.precision import Precision
    from gpgpu_legacy.studies.roofline import Roofline
    from gpgpu_legacy.studies.tiles import TileTable

# Methods on machines -----------------------------------------------------------------------------


@frozen
class LineageOptions:
    """The methods that `lineage` runs."""

    seed: Seed = 0
    executor: ExecutorName = "auto"
    budget: AnyTime = None
    beside: Annotated[
        Several[Path],
        "JSON",
        "Show several recorded results side by side; run nothing.",
    ] = ()


@answers("study lineage", plot="Draw GFLOPS by method.")
def lineage_command(size: Size, what: LineageOptions, report: Kept) -> Lineage | Lineages:
    """Run every method on this machine, in the order of history.

    All methods run in turn, round by round, together with the libraries that are their ceilings.
    """
    from gpgpu_legacy.serial import as_record, read_recorded
    from gpgpu_legacy.studies.lineage import Lineage, Lineages, benchmark_of

    if recorded := report.read(Lineage):
        return recorded
    if what.beside:
        return Lineages(lineages=tuple(read_recorded(path, Lineage) for path in what.beside))
    benchmark = benchmark_of(size.n, what.seed, what.executor)
    with report.work("lineage", benchmark.steps, what.budget) as (budget, _):
        return as_record(Lineage, benchmark.measure(budget, report.save))


@frozen
class RoofOptions:
    """The chips whose roofs are shown, and how this machine is measured."""

    chip: Annotated[
        Several[str],
        "NAME",
        "See `gpgpu-legacy chips`; `this` is this machine, measured (default: h100-sxm5).",
        chip_names,
    ] = ()
    recorded: Annotated[
        Several[Path],
        "--from",
        "JSON",
        "Add the times that `study lineage` or `bench` recorded.",
    ] = ()
    executor: Annotated[Several[str], EXECUTORS] = ()
    budget: Seconds = BUDGET_S


@answers("study roofline", plot="Draw the roofline.")
def roofline_command(size: Size, roof: RoofOptions, report: Report) -> Roofline:
    """Show every method under the roofs of chips, with published and measured times.

    With `--chip this`, all methods are measured on this machine's executors, and so are the rates
    of those that `gpgpu-legacy calibrate` has not kept. A point above its roof cannot be right: the
    table names it, and the exit code is 1.
    """
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.measure.calibration import calibratable
    from gpgpu_legacy.predict.model import THIS
    from gpgpu_legacy.studies import roofline as model

    names = list(dict.fromkeys(roof.chip or ["h100-sxm5"]))
    is_here = any(name.strip().lower() == THIS for name in names)
    if roof.executor and not is_here:
        raise InputError("--executor applies to this machine; give --chip this, too")
    chips = [find_profile(name) for name in names if name.strip().lower() != THIS]
    reached = [product for path in roof.recorded for product in model.recorded(path)]
    if is_here:
        executors = calibratable(roof.executor)
        steps = model.count_steps(executors)
        with report.work("measuring", steps, roof.budget) as (budget, step):
            profiles, bench = model.measure_here(executors, size.n, budget, step)
        warn_if_busy(bench.busy_share)
        chips += profiles
        reached += model.measured(bench, "measured here")
    return model.roofline(chips, size.n, reached)


@answers("study packing", plot="Draw slots by packing.")
def packing_command(
    report: Report,
    chip: Annotated[
        Several[str],
        "NAME",
        "Chips or APIs; see `gpgpu-legacy chips` (default: R300, ps_2_0 and NV30).",
        chip_names,
    ] = (),
    size: Annotated[int, SIZE] = PAPER_SIZE,
) -> PackingTable:
    """Find the packing of matrices that takes the fewest instructions on chips of 2003.

    Real programs are built from what the search finds, counted, checked against the chip's limits,
    and timed as `predict` does.
    """
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.studies import packing
    from gpgpu_legacy.studies.packing_search import PACKINGS

    chips = [find_profile(name) for name in dict.fromkeys(chip or packing.CHIPS)]
    with report.progress("searching", len(chips) * len(PACKINGS)) as step:
        return packing.packing_table(chips, as_positive("size", size), step)


@answers("study branching", plot="Draw times by the width of the stripes.")
def branching_command(
    report: Kept,
    chip: Annotated[Several[str], CHIP] = (
        "radeon-x800-xt",
        "geforce-6800-ultra",
        "geforce-7900-gtx",
    ),
    executor: Annotated[Several[str], EXECUTORS] = ("auto",),
    budget: AnyTime = None,
) -> Stripes:
    """Compare selects, KIL, early depth and branches, over the coherence of the fragments' choice.

    Fragments choose between two computations, in stripes as wide as 1 to 1024 fragments.
    Instructions are counted, times predicted for chips and measured on executors.
    """
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.studies import branching
    from gpgpu_legacy.studies.sweep import workers

    if recorded := report.read(branching.Stripes):
        return recorded
    chips = [*dict.fromkeys(map(find_profile, chip))]
    steps = branching.benchmark_of(executor).steps + len(branching.STRIPES)
    with workers() as pool, report.work("stripes", steps, budget) as (within, step):
        return branching.study(chips, executor, pool, within, step)


@answers("study mispredictions")
def mispredictions_command() -> Mispredictions:
    """Compare predicted with published and measured times, with the reason for each difference.

    The exit code is 1 if a prediction differs from the recorded one.
    """
    from gpgpu_legacy.predict.mispredictions import compare_all

    return compare_all()


# Caches ------------------------------------------------------------------------------------------


@frozen
class TableOptions:
    """The combinations to simulate, and the budget."""

    size: Annotated[int, SIZE] = defaults.SIZE
    block: Annotated[Several[int], BLOCK] = defaults.BLOCKS
    cache: Annotated[Several[str], CACHE] = defaults.CACHES
    raster: Annotated[Several[str], RASTER] = defaults.RASTERS
    layout: Annotated[Several[str], LAYOUT] = defaults.LAYOUTS
    in_flight: Annotated[Several[int], IN_FLIGHT] = defaults.IN_FLIGHT
    budget: Annotated[float, "SECONDS", "Stop after this time; it may take hours."] = 600.0
    dask: Dask = ""


@answers("study cache-table", plot="Plot the share of A and B from memory over b.")
def cache_table_command(table: TableOptions, report: Kept) -> CacheTable:
    """Make the table that Hall, Carr & Hart 2003 does not have: its methods through caches.

    The verdict on "greater cache coherence" (Section 6) follows from the rows. Cases that do not
    fit the budget are listed; the defaults take minutes to hours to simulate. A table that is
    stopped goes on where it ended.
    """
    from gpgpu_legacy.studies import cache_sweep as model
    from gpgpu_legacy.studies.cache_table import CacheTable
    from gpgpu_legacy.studies.sweep import workers

    if recorded := report.read(CacheTable):
        return recorded
    settings = model.settings(table.cache, table.raster, table.layout, table.in_flight)
    products = model.Products(table.size, table.block)
    cases = len(products.cases(settings))
    with (
        workers(table.dask) as pool,
        report.work("simulating", cases, table.budget) as (budget, step),
    ):
        return model.make_table(
            products, settings, budget, pool=pool, progress=step, save=report.save
        )


@frozen
class MapOptions:
    """The chips, the product and the caches of a map."""

    chip: Annotated[Several[str], CHIP] = (
        "radeon-9700-pro", "geforce-fx-5800-ultra", "geforce-6800-ultra"
    )  # fmt: skip
    size: Annotated[int, SIZE] = PAPER_SIZE
    block: Annotated[int, BLOCK] = PAPER_BLOCK
    cache: Annotated[Several[str], CACHE] = tuple(f"{k}K,4way,64B" for k in (2, 4, 8, 16, 32))
    raster: Annotated[str, RASTER] = "tiled:8x8"
    layout: Annotated[str, LAYOUT] = "8x8"
    in_flight: Annotated[Several[int], IN_FLIGHT] = defaults.IN_FLIGHT
    dask: Dask = ""


@answers("study crossover", plot="Draw the map.")
def crossover_command(options: MapOptions, report: Kept) -> Crossover:
    """Map where memory limits Hall, Carr & Hart's programs, and where lookups or arithmetic do.

    The map is over the clocks of a lookup, the size of the texture cache, which is simulated, and
    the fragments in flight; the paper's claims are points on it.
    """
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.studies.cache_sweep import settings
    from gpgpu_legacy.studies.crossover import Crossover, crossover
    from gpgpu_legacy.studies.sweep import workers

    if recorded := report.read(Crossover):
        return recorded
    where = settings(options.cache, [options.raster], [options.layout], options.in_flight)
    chips = [*dict.fromkeys(map(find_profile, options.chip))]
    steps = 2 * (len(where) + 2 * len(options.in_flight))
    with workers(options.dask) as pool, report.progress("simulating", steps) as step:
        return crossover(chips, (options.size, options.block), where, pool, step)


@frozen
class InferenceOptions:
    """The caches to weigh, and the rates to weigh them by."""

    cache: Annotated[Several[str], CACHE] = tuple(
        f"{size}K,4way,{line}B" for size in (2, 4, 8, 16, 32) for line in (32, 64, 128)
    )
    layout: Annotated[Several[str], LAYOUT] = ("linear", "4x4", "8x8")
    in_flight: Annotated[Several[int], IN_FLIGHT] = (1, 16, 256)
    noise: Annotated[float, "SIGMA", "Standard deviation of the logarithm of a rate."] = 0.1
    data: Annotated[
        Path | None, "TOML", "Rates in a file like papers/published/curves/product_rates.toml."
    ] = None
    dask: Dask = ""


@answers("study infer-cache", plot="Draw the probabilities by property.")
def infer_cache_command(options: InferenceOptions, report: Kept) -> InferredCache:
    """Infer which texture caches fit the rates of products that texts of 2003 to 2006 print.

    Every size, line, layout and number in flight is simulated and weighed by its likelihood; each
    text is held out in turn. A curve over b would tell more than the texts do: it says how much.
    """
    from gpgpu_legacy.studies.cache_sweep import settings
    from gpgpu_legacy.studies.infer_cache import (
        InferredCache,
        infer,
        products_of,
        read_curves,
    )
    from gpgpu_legacy.studies.sweep import workers

    if recorded := report.read(InferredCache):
        return recorded
    where = settings(options.cache, ["tiled:8x8"], options.layout, options.in_flight)
    curves = read_curves(options.data)
    cases = {repr(case) for curve in curves for case in products_of(curve, where)}
    with workers(options.dask) as pool, report.progress("simulating", len(cases)) as step:
        return infer(curves, where, options.noise, pool, step)


@frozen
class TileOptions(AccessOptions):
    """The product, the tiles and caches to simulate, and the order of accesses."""

    size: Annotated[int, SIZE] = QUICK_SIZE
    block: Annotated[int, BLOCK] = DEFAULT_BLOCK
    tile: Annotated[
        Several[int],
        "T",
        "Draw tiles of T×T texels one after another, each through all of its passes.",
    ] = (8, 16, 32, 64, 128)
    cache: Annotated[Several[str], CACHE] = ("8K,fully,64B", "8K,4way,64B")
    budget: AnyTime = None


@answers("study tiles")
def tiles_command(options: TileOptions, report: Report) -> TileTable:
    """Show the memory traffic of a product in tiles: formulas beside exact simulation.

    The product is that of govindaraju-tiled. Each texel of A and of B is read once for each tile
    along a side, as long as the cache holds a tile's part of B.
    """
    from gpgpu_legacy.cache.caches import parse_cache
    from gpgpu_legacy.studies.tiles import Cases, tile_table

    caches = tuple(map(parse_cache, options.cache))
    cases = Cases(options.size, options.block, options.tile, caches, options.access())
    steps = len(options.tile) * len(caches)
    with report.work("simulating", steps, options.budget) as (budget, step):
        return tile_table(cases, budget, progress=step)


# Numbers -----------------------------------------------------------------------------------------


@frozen
class HostOptions:
    """The cases to simulate, all combinations of machine, paging and policy."""

    machine: Annotated[
        Several[str],
        "NAME",
        "One or several of core2-3mb, core2-6mb (default: all); the first is shown in full.",
    ] = ()
    paging: Annotated[
        Several[str],
        "PAGING",
        "How pages are mapped to frames: coloured, random, miscoloured:F with F the "
        "fraction of miscoloured pages, or as OS X does: xnu, xnu@N with N the first page of "
        "512, xnu:F with F pages for others per page (default: coloured miscoloured:0.01 random "
        "xnu); the first is shown in full.",
    ] = ()
    policy: Annotated[
        Several[str],
        "POLICY",
        "How level 2 replaces lines: lru, plru, random-plru, fifo, random (default: lru; for the "
        "first machine plru and random-plru, too, with xnu).",
    ] = ()
    seed: Seed = 0


@answers("study anomaly", plot="Plot times and misses by size.")
def anomaly_command(
    *,
    words: Annotated[
        Several[str],
        Argument("[n=N,…]", "Sizes (default: all with published times, 768, 1280, 2048)."),
    ] = (),
    hosts: HostOptions,
    report: Report,
) -> Anomaly:
    """Explain why the host of Dobravec & Bulić is slow at n = 1024 and 1536, if level 2 has 3 MB.

    The host's loop is simulated with the caches, the DTLB and the pages of its processor. First
    come the sizes at which the simulation has outliers beside those that were published: for that
    nothing is fitted to a time, but the outliers chose the size of level 2. Then miss penalties are
    fitted to the published times at n = 1024 and its neighbours; they predict the times at all
    other sizes, which are shown beside the published ones.
    """
    from gpgpu_legacy.algorithms.registry import find_product
    from gpgpu_legacy.papers.host_misses import METHOD, make_cases
    from gpgpu_legacy.studies import anomaly as model

    whats, given = split(words)
    if whats or given.keys() - {"n"}:
        raise InputError("the host's product has only a size; write n=512,1024")
    cases = make_cases(hosts.machine, hosts.paging, hosts.policy, hosts.seed)
    method, texts = find_product(METHOD), given["n"].split(",") if given else ()
    sizes = model.sizes_for([method.settings({"n": text.strip()})["n"] for text in texts])
    with report.progress("simulating", len(sizes)) as step:
        return model.anomaly(cases, sizes, progress=step)


@answers("study precision", plot="Draw error and bound against n.")
def precision_command(
    jobs: Jobs,
    report: Report,
    arithmetic: Annotated[
        Several[str],
        "NAME",
        f"One or several of {ARITHMETICS} (default: all).",
        arithmetic_names,
    ] = (),
    seed: Seed = 0,
) -> Precision:
    """Measure the error of each fragment method by arithmetic and size, and give its bound.

    Every operation is rounded to the arithmetic, on the reference executor; the product is compared
    with one in float64. Fixed-point formats are measured twice: with matrices in [0, 1), and with
    matrices scaled so that the sums fit. WHAT: methods, by default all that draw; n=16,64,256 and
    all texture formats unless other sizes or formats are given.
    """
    from gpgpu_legacy.algorithms.registry import find_product
    from gpgpu_legacy.studies import precision as model

    whats, given = split(jobs.words)
    methods = [find_product(name) for name in whats or model.methods()]
    swept = (
        f"{name}={values}"
        for name, values in model.SWEPT.items()
        if name not in given and any(name in method.parameters for method in methods)
    )
    pipelines = Jobs((*jobs.words, *swept)).pipelines(*model.methods())
    cases = model.cases(pipelines, arithmetic)
    with report.progress("measuring", len(cases)) as step:
        return model.measure(cases, seed, step)


# Pictures ---------------------------------------------------------------------------------------


@frozen
class ShownProduct:
    """The product that a picture shows."""

    words: Annotated[
        Several[str],
        Argument(
            "[NAME=VALUE]...",
            "Matrices as in A=a.npy B=b.npy, sizes as in n=3 m=2, and the method's parameters.",
        ),
    ] = ()
    seed: Annotated[
        int | None,
        "SEED",
        "Seed of random matrices (default: the picture's own, where these fit).",
    ] = None
    executor: ExecutorName = "auto"

    def by(self, model: Any) -> Any:
        """The result of a picture study for the product, 4×4 unless the words say otherwise."""
        from gpgpu_legacy.predict.auto import executor_for

        whats, given = split(self.words)
        if whats:
            raise InputError(f"{whats[0]} is neither a matrix nor a parameter; write NAME=VALUE")
        own = () if given.keys() & {"n", "A", "B"} else ("n=4",)
        p, arrays = RunJob((model.METHOD.name, *own, *self.words)).built
        return model.demonstrate(executor_for(self.executor, p.plan()), p, arrays, self.seed)


@answers("study figure-2", plot="Draw the passes; a .gif shows one at a time.", picture=FILM)
def figure_2_command(product: ShownProduct) -> PassByPass:
    """Draw Figure 2 of Hall, Carr & Hart 2003 from a run: larson-mcallister, pass by pass.

    It follows the paper's description, not its picture. Matrices have up to 16 rows and
    columns.
    """
    from gpgpu_legacy.studies import figure_2

    passes: PassByPass = product.by(figure_2)
    return passes


@answers("study multichannel", plot="Draw a fragment.")
def multichannel_command(product: ShownProduct) -> Multichannel:
    """Draw one fragment of hall-carr-hart-multi: its lookups, swizzles, products and sums.

    These are equations (8) to (11) of Hall, Carr & Hart 2003, in one pass. Matrices have up to 8
    rows and columns.
    """
    from gpgpu_legacy.studies import multichannel

    fragments: Multichannel = product.by(multichannel)
    return fragments
