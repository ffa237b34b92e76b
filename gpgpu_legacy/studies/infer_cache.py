"""Infer the cache: which texture caches fit the rates of products that texts of 2003 to 2006 print.

A setting is a cache of some size and lines, a texture layout, and a number of fragments in flight.
Products are simulated in each setting. For each cost of a lookup, `predict` then gives the greatest
rate that a chip can reach. All settings and costs are as likely beforehand.

The noise: a chip reaches the same share of these rates at all points of a curve. It may be any
share from the least that published times reach of their bounds (predict/mispredictions.toml) to 1.
Each point is off by a factor that is log-normal, with a standard deviation of `noise`. A printed
number is an interval, as long as its rounding or as the range that is printed; its likelihood is
the probability that the rate falls into it. Results with other shares stand beside.

The study also says what a curve over b would have told: the rates that each setting and cost would
give at CURVE_BLOCKS are fitted in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from itertools import chain, islice, product
from math import erf, log2, sqrt
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.parameters import Plain
from gpgpu_legacy.api.command.frame import Kept, answers
from gpgpu_legacy.api.command.words import Caches, Dask, Layouts, ManyInFlight
from gpgpu_legacy.chips.profile import Confidence, Name, Rate, find_profile
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.lower.numba_code import elementwise
from gpgpu_legacy.predict.mispredictions import reached_shares
from gpgpu_legacy.present.grid import Grid, RecordedResult
from gpgpu_legacy.present.plot import (
    COLOURS,
    GREY,
    label_lines,
    new_panels,
    save_figure,
)
from gpgpu_legacy.serial import (
    Line,
    Meta,
    OneLine,
    Record,
    Several,
    Size,
    as_record,
    provenance,
    read_toml,
)
from gpgpu_legacy.studies.shared.behind_cache import (
    CLOCKS,
    Served,
    memory_bytes,
    unit_seconds,
    with_clocks,
)
from gpgpu_legacy.studies.shared.cache_rows import Setting, settings
from gpgpu_legacy.studies.shared.sweep import sweep, workers

F64 = NDArray[np.float64]

MULTI = "hall-carr-hart-multi"
SHARES = 15  # of a bound, evenly spaced
OTHER_LEAST = (0.5, 0.2)
CURVE_BLOCKS = (1, 2, 4, 8, 16, 32, 64, 128)
CURVE_ROUNDING = 0.01  # of a rate, up and down, on a curve that a text might have printed
_PANEL_HEIGHT = 7.1 / 3  # inches
_MOVED = 0.1  # the least change of a probability that is drawn
PROPERTIES = ("size", "line", "layout", "in flight", "clocks")
_NEVER = 1e-9  # the likelihood of what the model excludes


class RatePoint(Record):
    """A printed rate. parameters: the candidates, of which the authors took the best."""

    parameters: Annotated[tuple[dict[str, Plain], ...], Meta(min_length=1)]
    least: Rate
    most: Rate


class Curve(Record, omit_defaults=True):
    """Rates of products of n×n matrices on a chip.

    quantity: GB/s count the bytes that programs request.
    """

    chip: Name
    method: Line
    size: Size
    quantity: Literal["GFLOPS", "GB/s"]
    source: OneLine
    confidence: Confidence
    points: Annotated[tuple[RatePoint, ...], Meta(min_length=1)]


class Curves(Record, rename={"curves": "curve"}):
    """A file of curves."""

    curves: tuple[Curve, ...]


_RATES = Path(__file__).parents[1] / "papers/published/curves/product_rates.toml"


def read_curves(path: Path | None = None) -> tuple[Curve, ...]:
    """The curves of a file; by default, of product_rates.toml."""
    return read_toml(path or _RATES, Curves).curves


# Likelihoods --------------------------------------------------------------------------------------


_ERF = elementwise(lambda x: erf(x))  # noqa: PLW0108 - numba compiles functions of Python


def priors() -> dict[str, F64]:
    """The shares of a bound that a chip may reach, by name: the prior of the study, then others."""
    recorded = np.array(reached_shares())
    uniform = {
        f"{start:.0%} to 100%": np.linspace(start, 1.0, SHARES)
        for start in (recorded.min(), *OTHER_LEAST)
    }
    return uniform | {"as recorded": recorded}


def log_likelihoods(rates: F64, least: F64, most: F64, noise: float, shares: F64) -> F64:
    """The logarithm of each setting's likelihood.

    rates: the greatest rates, [settings, points]. least, most: the interval of each point. noise:
    the standard deviation of a rate's logarithm. shares: those of the rates that a chip may reach,
    each as likely.
    """
    share = np.log(shares)[:, None, None]
    below, above = (
        _ERF((np.log(end) - np.log(rates) - share) / (noise * sqrt(2.0))) for end in (least, most)
    )
    chances = np.log(np.maximum((above - below) / 2, _NEVER)).sum(axis=-1)
    return np.asarray(np.logaddexp.reduce(chances, axis=0) - np.log(len(shares)))


def posterior(log_likelihood: F64) -> F64:
    """The probabilities of settings that were equally likely before."""
    weights = np.exp(log_likelihood - log_likelihood.max())
    return np.asarray(weights / weights.sum())


def bits(probabilities: F64) -> float:
    """The bits that these probabilities tell beyond equal ones."""
    known = probabilities[probabilities > 0]
    return log2(len(probabilities)) + float((known * np.log2(known)).sum())


def of_caches(probabilities: F64) -> F64:
    """The probabilities of the caches, whatever the cost of a lookup."""
    return np.asarray(probabilities.reshape(len(CLOCKS), -1).sum(axis=0))


def bits_of_curves(rates: F64, noise: float, shares: F64) -> float:
    """The bits about the cache in a curve, on average over the settings that may give it."""
    told = [
        log_likelihoods(
            rates, curve * (1 - CURVE_ROUNDING), curve * (1 + CURVE_ROUNDING), noise, shares
        )
        for curve in rates * shares.mean()
    ]
    return float(np.mean([bits(of_caches(posterior(one))) for one in told]))


# The result ---------------------------------------------------------------------------------------


class Weighed(Setting):
    """A cache, the clocks of a lookup, and the logarithm of their likelihood by each curve."""

    clocks: int
    log_likelihoods: tuple[Annotated[float, Meta(ge=-1e6, le=0)], ...]


class Fitted(Curve):
    """A curve, and what it tells.

    reachable: the least and the greatest rate, by cache and cost. told_bits: the bits that it tells
    of cache and cost together. cache_bits: the bits that it tells of the cache. held_out_bits: the
    bits by which the other curves make this one likelier; below 0 they mislead. curve_bits: the
    bits that a curve over b would tell of the cache.
    """

    reachable: tuple[float, float]
    told_bits: float
    cache_bits: float
    held_out_bits: float
    curve_bits: float


class ToldByTexts(Record):
    """What all texts tell if a chip reaches other shares of its bound.

    shares: in words; the first are those of the result. bits: those that tell of cache and cost
    together. cache_bits: those that tell of the cache. clocks: the probability of each of CLOCKS.
    """

    shares: Line
    bits: float
    cache_bits: float
    clocks: Annotated[tuple[float, ...], Meta(min_length=len(CLOCKS), max_length=len(CLOCKS))]


class InferredCache(RecordedResult, kw_only=True):
    """The settings, weighed by the curves. told: what all texts tell, with each prior."""

    WHAT = "caches that `gpgpu-legacy study infer-cache --output` recorded"
    HAS_LONG_LISTS = True

    noise: Rate
    curves: Several[Fitted]
    told: Annotated[tuple[ToldByTexts, ...], Meta(min_length=1)]
    weighed: Several[Weighed]

    def __post_init__(self) -> None:
        """Raise ValueError if the likelihoods do not match the curves and CLOCKS."""
        lengths = {len(one.log_likelihoods) for one in self.weighed}
        if lengths != {len(self.curves)} or len(self.weighed) % len(CLOCKS):
            raise ValueError("its likelihoods are not those of its curves and caches")

    @property
    def columns(self) -> dict[str, F64]:
        """The probabilities of the settings: beforehand, by the texts of each chip, and by all."""
        table = np.array([one.log_likelihoods for one in self.weighed]).T
        rows = (np.zeros(len(self.weighed)), *table, table.sum(0))
        names = ("before", *(curve.chip for curve in self.curves), "all")
        return dict(zip(names, map(posterior, rows), strict=True))

    def marginals(self) -> dict[tuple[str, str], list[float]]:
        """For each property and value, its probability by column."""
        totals: dict[tuple[str, str], F64] = {}
        for one, chances in zip(self.weighed, np.array([*self.columns.values()]).T, strict=True):
            size, _, line = f"{one.cache},,".split(",")[:3]
            values = (size, line, one.layout, str(one.in_flight), str(one.clocks))
            for key in zip(PROPERTIES, values, strict=True):
                totals[key] = totals.get(key, 0.0) + chances
        return {key: chances.tolist() for key, chances in totals.items()}

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """What each text tells, what all tell by each prior, and the probabilities by property."""
        single = sum(len(curve.points) == 1 for curve in self.curves)
        marginals = sorted(self.marginals().items(), key=lambda row: row[0][0])
        return [
            Grid(
                "told",
                f"What the texts tell: {log2(len(self.weighed)):.3g} bits would name one of "
                f"{len(self.weighed) // len(CLOCKS)} caches and a cost of a lookup.",
                ("chip", "printed", "reachable", "", "bits", "of cache", "held out", "by a curve"),
                tuple(
                    (
                        curve.chip,
                        "; ".join(f"{point.least:g}–{point.most:g}" for point in curve.points),
                        "–".join(f"{rate:.3g}" for rate in curve.reachable),
                        curve.quantity,
                        curve.told_bits,
                        curve.cache_bits,
                        curve.held_out_bits,
                        curve.curve_bits,
                    )
                    for curve in self.curves
                ),
                (
                    f"{single} of {len(self.curves)} texts print one number and no curve.",
                    "Reachable: with the worst and the best of the caches. Held out: the bits by "
                    "which the other texts make this one likelier. By a curve: bits of the cache "
                    f"that rates over b would tell, at {', '.join(map(str, CURVE_BLOCKS))}, "
                    f"rounded to {CURVE_ROUNDING:.0%}.",
                    f"Noise: a chip reaches {self.told[0].shares} of its rates, the same share at "
                    f"all points; each is off by a factor, log-normal with σ = {self.noise:g}.",
                    *(f"{one.chip}: {one.source} ({one.confidence.value})." for one in self.curves),
                ),
            ),
            Grid(
                "priors",
                "What all texts tell, by the shares of a bound that a chip may reach.",
                ("shares", "bits", "of cache", *(f"clocks = {n}" for n in CLOCKS)),
                tuple((one.shares, one.bits, one.cache_bits, *one.clocks) for one in self.told),
                (
                    "The first is the prior of the other tables: from the least share of a bound "
                    "that a published time reaches.",
                    "As recorded: the shares that published times reach, each as likely.",
                ),
            ),
            Grid(
                "caches",
                "The probability of each property, beforehand and by the texts.",
                ("property", "value", *self.columns),
                tuple((*key, *chances) for key, chances in marginals),
            ),
        ]

    def plot(self, path: Path) -> None:
        """Draw the probabilities of each property that a text changes: a line for each column."""
        marginals = self.marginals()
        moved = {
            name
            for (name, _), (before, *after) in marginals.items()
            if max(abs(chance - before) for chance in after) > _MOVED
        }
        named = [name for name in PROPERTIES if name in moved] or PROPERTIES
        figure, panels = new_panels(named, 2, _PANEL_HEIGHT, y="probability", sharex=False)
        for axes, name in zip(panels, named, strict=True):
            rows = {value: row for (one, value), row in marginals.items() if one == name}
            columns = zip(self.columns, zip(*rows.values(), strict=True), strict=True)
            for (label, chances), colour in zip(columns, (GREY, *COLOURS[1:]), strict=False):
                axes.plot([*rows], chances, "o-", color=colour, markersize=3, label=label)
            axes.set_ylim(0.0, 1.0)
            label_lines(axes)
        told, would = (
            ", ".join(f"{getattr(curve, name):.2f}" for curve in self.curves)
            for name in ("cache_bits", "curve_bits")
        )
        save_figure(
            figure,
            path,
            "Which texture caches fit what was printed?",
            f"{log2(len(self.weighed) / len(CLOCKS)):.3g} bits would name the cache. The texts "
            f"tell {told} of them; a curve over b would have told {would}.",
            "A property of which no text says more than before has no picture.",
        )


def infer(
    curves: Sequence[Curve],
    settings: Sequence[Setting],
    noise: float,
    pool: Executor | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> InferredCache:
    """Weigh the settings by the curves.

    Raises InputError for a chip that lacks a rate, and for products that cannot be simulated.
    """
    wanted = [products_of(curve, settings) for curve in curves]
    for curve, cases in zip(curves, wanted, strict=True):
        unit_seconds(cases[0].product.plan(), find_profile(curve.chip), None)
    served = sweep(memory_bytes, [*chain(*wanted)], pool, lambda case, _: progress(str(case)))
    totals = iter(served)
    rates = []
    for curve, cases in zip(curves, wanted, strict=True):
        best, over_b = _rates(curve, cases[:: len(settings)], [*islice(totals, len(cases))])
        least, most = np.array([(point.least, point.most) for point in curve.points]).T
        rates.append((curve, best, over_b, (best, least, most)))
    known, told, tables = priors(), [], []
    for words, shares in known.items():
        tables.append(np.array([log_likelihoods(*at, noise, shares) for *_, at in rates]))
        chances = posterior(tables[-1].sum(axis=0))
        told.append(
            ToldByTexts(
                shares=words,
                bits=bits(chances),
                cache_bits=bits(of_caches(chances)),
                clocks=tuple(chances.reshape(len(CLOCKS), -1).sum(axis=1).tolist()),
            )
        )
    table, shares = tables[0], next(iter(known.values()))
    fitted = []
    for (curve, best, over_b, _), own in zip(rates, table, strict=True):
        chances, others = np.exp(own), posterior(table.sum(axis=0) - own)
        fitted.append(
            as_record(
                Fitted,
                curve,
                reachable=(float(best.min()), float(best.max())),
                told_bits=bits(posterior(own)),
                cache_bits=bits(of_caches(posterior(own))),
                held_out_bits=log2(float(others @ chances) / float(chances.mean())),
                curve_bits=bits_of_curves(over_b, noise, shares),
            )
        )
    return InferredCache(
        **provenance(),
        noise=noise,
        curves=tuple(fitted),
        told=tuple(told),
        weighed=tuple(
            as_record(Weighed, setting, clocks=clocks, log_likelihoods=tuple(map(float, row)))
            for (clocks, setting), row in zip(product(CLOCKS, settings), table.T, strict=True)
        ),
    )


def products_of(curve: Curve, settings: Sequence[Setting]) -> list[Served]:
    """The products of a curve, then those of a curve over b, each in all settings."""
    blocks: list[dict[str, Plain]] = [{"block": b, "accumulate": "ping-pong"} for b in CURVE_BLOCKS]
    wanted = [(curve.method, one) for point in curve.points for one in point.parameters]
    wanted += [(MULTI, one) for one in blocks]
    return [
        as_record(Served, setting, method=method, parameters={"n": curve.size, **parameters})
        for (method, parameters), setting in product(wanted, settings)
    ]


def _rates(curve: Curve, products: Sequence[Served], totals: list[int | None]) -> tuple[F64, F64]:
    """The greatest rates, [clocks × settings, points], of a curve and of a curve over b.

    At a point of the first, the best of its parameters counts. totals: the bytes of the products,
    each in all settings.
    """
    chips, columns = [with_clocks(find_profile(curve.chip), n) for n in CLOCKS], []
    for one, known in zip(products, np.array(totals).reshape(len(products), -1), strict=True):
        plan = one.product.plan()
        work = 2 * curve.size**3 if curve.quantity == "GFLOPS" else count_plan(plan).bytes_requested
        seconds = (max(unit_seconds(plan, *at).values()) for at in product(chips, known.tolist()))
        columns.append([1e-9 * work / time for time in seconds])
    rates, starts = np.array(columns).T, np.cumsum([0, *(len(p.parameters) for p in curve.points)])
    return np.maximum.reduceat(rates, starts, axis=1)[:, :-1], rates[:, -len(CURVE_BLOCKS) :]


# The command --------------------------------------------------------------------------------------


@answers("study infer-cache", plot="Draw the probabilities by property.")
def infer_cache_command(
    *,
    cache: Caches = tuple(
        f"{size}K,4way,{line}B" for size in (2, 4, 8, 16, 32) for line in (32, 64, 128)
    ),
    layout: Layouts = ("linear", "4x4", "8x8"),
    in_flight: ManyInFlight = (1, 16, 256),
    noise: Annotated[float, "SIGMA", "Standard deviation of the logarithm of a rate."] = 0.1,
    data: Annotated[
        Path | None, "TOML", "Rates in a file like papers/published/curves/product_rates.toml."
    ] = None,
    dask: Dask = "",
    report: Kept,
) -> InferredCache:
    """Infer which texture caches fit the rates of products that texts of 2003 to 2006 print.

    Every size, line, layout and number in flight is simulated and weighed by its likelihood; each
    text is held out in turn. A curve over b would tell more than the texts do: it says how much.
    """
    if recorded := report.read(InferredCache):
        return recorded
    where = settings(cache, ["tiled:8x8"], layout, in_flight)
    curves = read_curves(data)
    cases = {repr(case) for curve in curves for case in products_of(curve, where)}
    with workers(dask) as pool, report.progress("simulating", len(cases)) as step:
        return infer(curves, where, noise, pool, step)
