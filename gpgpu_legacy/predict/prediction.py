"""A prediction: terms in stages, each a count over a rate of a chip; and its tables.

Predictions are lower bounds on times, so of a range of rates the best end counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from math import inf, prod
from typing import TypeVar

from gpgpu_legacy.algorithms.parameters import Plain, titled
from gpgpu_legacy.chips.catalogue import name_and_unit, source_notes, value_text
from gpgpu_legacy.chips.profile import MEASURED, Confidence, Fact, Hardware, Profile, find_profile
from gpgpu_legacy.errors import counted
from gpgpu_legacy.present.grid import Entry, Grid, Result, plain
from gpgpu_legacy.serial import Record, as_record, with_fields


class TimeStage(Enum):
    """The stages, which follow one another; the terms of one stage overlap."""

    DRAW = "drawing"
    WRITE = "writing"
    DISPATCH = "dispatches"
    COPY = "copies"
    CLEAR = "clears"
    PASS = "passes"
    RUN = "the run"
    UPLOAD = "upload"
    READBACK = "read-back"


class Evidence(Enum):
    """What a comparison of a time with a prediction shows, by the sources of the rates behind it.

    BOUND: rates from data sheets bound the time. CALIBRATION: rates were measured on the machine
    that gave the time. CIRCULAR: a rate has the same source as the time.
    """

    BOUND = "bound"
    CALIBRATION = "calibration"
    CIRCULAR = "circular"


TRANSFERS = frozenset({TimeStage.UPLOAD, TimeStage.READBACK})

MEMORY = frozenset({"memory", "memory behind the cache", "copies", "clears"})
"""The names of the terms that the chip's own memory serves."""


class RateFact(Record):
    """A number of a chip's profile that a rate follows from. name: its field in Hardware."""

    name: str
    value: bool | int | float | str
    source: str
    confidence: Confidence


class ChipRate(Record, kw_only=False):
    """A rate per second, and the facts of the profile that it follows from.

    why: how it follows from them or, if `per_second` is None, what is missing.
    """

    per_second: float | None
    facts: tuple[RateFact, ...] = ()
    why: str = ""


class Term(Record):
    """One lower bound: a count of something, at a rate.

    unit: of the count. per_second, facts, why: of the rate, as ChipRate has them. seconds: count
    over rate; None if the rate is not known. binds: whether it is the bottleneck.
    """

    name: str
    stage: TimeStage
    count: float
    unit: str
    per_second: float | None
    seconds: float | None
    why: str
    facts: tuple[RateFact, ...]
    binds: bool = False

    @property
    def origin(self) -> str:
        """The origin of the rate: its facts with their sources, or the missing ones.

        A fact is, for example, `core clock 412 MHz (W, high)`.
        """
        if self.per_second is None:
            return self.why
        facts = []
        for fact in self.facts:
            name, unit = name_and_unit(fact.name)
            value = f"{name} {value_text(fact.value)}{' ' * bool(unit)}{unit}"
            facts.append(f"{value} ({fact.source}, {fact.confidence.value})")
        return f"{self.why}{': ' * bool(self.why)}{'; '.join(facts)}"


def make_term(stage: TimeStage, name: str, count: float, unit: str, rate: ChipRate) -> Term:
    """A term of that count at that rate."""
    seconds = None if rate.per_second is None else count / rate.per_second
    return as_record(Term, rate, name=name, stage=stage, count=count, unit=unit, seconds=seconds)


class PassTime(Record):
    """The least time of the passes of a plan that do the same work, all together.

    numbers: of the passes, from 1, in words. runs: the number of passes, fused or not. what: the
    work of each; several, if the chip fuses the passes of a Repeat. seconds: None if no rate of
    their drawing or dispatches is known. binds: the name of the term that takes most of it, in most
    of the passes; None if no rate is known.
    """

    numbers: str
    runs: int
    what: tuple[str, ...]
    seconds: float | None
    binds: str | None


class Prediction(Result, kw_only=True):
    """The least time of a plan on a chip; unknown values are None.

    parameters: that the plan was built with. terms: those with a count of 0 are left out. binds:
    the bottleneck, the name of the term that takes most of the compute time. compute_seconds:
    without transfers; None if no rate of the drawing or dispatches is known. seconds: in total.
    memory_bytes: served by the chip's own memory, behind a simulated cache if there is one. gflops:
    of the operations that the algorithm states. passes: each bound by its own slowest unit.
    exceeds: the limits of the chip that the plan exceeds, in words.
    """

    chip: str
    plan: str
    parameters: dict[str, Plain]
    terms: tuple[Term, ...]
    binds: str | None
    compute_seconds: float | None
    transfer_seconds: float | None
    seconds: float | None
    gflops: float | None = None
    memory_bytes: float
    passes: tuple[PassTime, ...] = ()
    exceeds: tuple[str, ...] = ()

    def __repr__(self) -> str:
        time = "unknown" if self.seconds is None else f"at least {1e3 * self.seconds:.4g} ms"
        binds = f", bound by {self.binds}" if self.binds else ""
        free = self._free_passes
        passes = "" if free is None else f", {int(free.count)} × the cost of a pass left out"
        return f"<Prediction {self.plan} on {self.chip}: {time}{passes}{binds}>"

    @property
    def bottleneck(self) -> Term | None:
        """The term that takes most of the compute time; None if no rate is known."""
        return next((term for term in self.terms if term.binds), None)

    def stage_seconds(self, stage: TimeStage) -> float | None:
        """Seconds of one stage; None if it has no term with a known rate.

        stage: of the time.
        """
        term = _by_stage(self.terms).get(stage)
        return None if term is None else term.seconds

    def against(self, source: str) -> Evidence:
        """What a comparison of the compute time with a measured one shows.

        source: of the measured time.
        """
        deciding = (term for s, term in _by_stage(self.terms).items() if s not in TRANSFERS)
        sources = {fact.source for term in deciding for fact in term.facts}
        if source in sources:
            return Evidence.CIRCULAR
        return Evidence.CALIBRATION if MEASURED in sources else Evidence.BOUND

    # Tables -------------------------------------------------------------------------------------

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The total and its bottleneck. whole: all terms, with their sources, and the passes."""
        return [self._total(), self._terms(), self._passes()] if whole else [self._total()]

    def _total(self) -> Grid:
        total, compute = self.seconds, self.compute_seconds
        entries: dict[str, Entry] = {
            "compute, ms": _milliseconds(compute),
            "passes alone, ms": _milliseconds(self.stage_seconds(TimeStage.PASS)),
            **({} if self.gflops is None else {"GFLOPS": self.gflops}),
            "upload, ms": _milliseconds(self.stage_seconds(TimeStage.UPLOAD)),
            "read-back, ms": _milliseconds(self.stage_seconds(TimeStage.READBACK)),
            "total, ms": _milliseconds(total),
            "transfers, %": 100.0 * (total - compute) / total
            if total and compute is not None
            else None,
            "bottleneck": self.binds,
        }
        chip = find_profile(self.chip)
        what = f"{titled(self.plan, self.parameters)}, on {chip.called}"
        bound = "an estimate from measured rates, no bound"
        if self.against("") is Evidence.BOUND:
            bound = "a lower bound on the time"
        if (passes := self._free_passes) is not None:
            count = counted(int(passes.count), "pass", "passes")
            bound += f", without the fixed cost of {count}"
        notes = tuple(self._remarks(chip.called))
        rows = (tuple(entries.values()),)
        return Grid("prediction", f"{what}: {bound}.", tuple(entries), rows, notes)

    @property
    def _free_passes(self) -> Term | None:
        """The passes, if their fixed cost is not known."""
        unknown = (t for t in self.terms if t.stage is TimeStage.PASS and t.seconds is None)
        return next(unknown, None)

    def _remarks(self, chip: str) -> Iterable[str]:
        if (term := self.bottleneck) is not None:
            yield (
                f"The bottleneck is {term.name} ({term.stage.value}): {plain(int(term.count))} "
                f"{term.unit} at {term.per_second:.4g} per second; {term.origin}."
            )
        free = self._free_passes
        if free is not None:
            yield (
                f"The fixed cost of a pass is not known, and not in the total: each microsecond "
                f"of it adds {free.count / 1000:.4g} ms. Give it with --pass-us, or as pass_us=."
            )
        terms = (term for term in self.terms if term.seconds is None and term is not free)
        unknown = {term.name: term.why for term in terms}
        if unknown:
            names = ", ".join(f"{name} ({why})" for name, why in unknown.items())
            yield f"Not known, and not in the total: {names}."
        if self.exceeds:
            yield f"It does not load on {chip}: {', '.join(self.exceeds)}."

    def _terms(self) -> Grid:
        rows = tuple(
            (
                term.name,
                term.stage.value,
                int(term.count),
                term.unit,
                term.per_second,
                _milliseconds(term.seconds),
                "unknown" if term.seconds is None else "bottleneck" if term.binds else "",
                term.origin,
            )
            for term in self.terms
        )
        notes = (
            "Terms of one stage overlap, and the longest is the stage's time; stages follow one "
            "another.",
            *source_notes(fact.source for term in self.terms for fact in term.facts),
        )
        heads = ("term", "stage", "count", "unit", "per second", "ms", "", "from")
        return Grid("terms", "Its terms.", heads, rows, notes)

    def _passes(self) -> Grid:
        rows = tuple(
            (one.numbers, one.runs, " and ".join(one.what), _milliseconds(one.seconds), one.binds)
            for one in self.passes
        )
        notes = (
            "Passes that do the same work are one row, and each is bound by its own slowest unit, "
            "without a simulated cache.",
        )
        heads = ("passes", "runs", "what", "ms", "bottleneck")
        return Grid("passes", "The least time of its passes.", heads, rows, notes)


def make_prediction(chip: str, plan: str, terms: Iterable[Term]) -> Prediction:
    """The prediction from these terms; terms with a count of 0 are left out."""
    present = [term for term in terms if term.count]
    longest = _by_stage(present)
    computed = [term for stage, term in longest.items() if stage not in TRANSFERS]
    bottleneck = max(computed, key=_seconds, default=None)
    is_known = longest.keys() & {TimeStage.DRAW, TimeStage.DISPATCH}
    compute = sum(map(_seconds, computed)) if is_known else None
    moved = [term for term in present if term.stage in TRANSFERS]
    all_known = all(term.seconds is not None for term in moved)
    transfer = sum(map(_seconds, moved)) if all_known else None
    return Prediction(
        chip=chip,
        plan=plan,
        parameters={},
        terms=tuple(with_fields(term, binds=term is bottleneck) for term in present),
        binds=None if bottleneck is None else bottleneck.name,
        compute_seconds=compute,
        transfer_seconds=transfer,
        seconds=None if compute is None or transfer is None else compute + transfer,
        memory_bytes=sum(term.count for term in present if term.name in MEMORY),
    )


def _by_stage(terms: Iterable[Term]) -> dict[TimeStage, Term]:
    """The longest known term of each stage."""
    known = (term for term in terms if term.seconds is not None)
    return {term.stage: term for term in sorted(known, key=_seconds)}


def _seconds(term: Term) -> float:
    return term.seconds or 0.0


def _milliseconds(seconds: float | None) -> float | None:
    """Seconds in milliseconds."""
    return None if seconds is None else 1e3 * seconds


# The rates of a chip ------------------------------------------------------------------------------

T = TypeVar("T")

WORD_BITS, VECTOR_BITS = 32, 128  # the sizes of texel whose rates profiles have


class Rates:
    """A chip's rates and the properties that decide which of them apply.

    fuses_passes: whether the passes of a Repeat are fused, with partial sums in registers.
    stages_lookups: whether fragments are computed in tiles, which stage the texels that they share.
    tiles_at_once: the tiles that the chip computes at once; 1 if not known. writes_overlap:
    whether fragments are written while others are computed; true if that is not known.
    instruction_width: components that one instruction computes; 1 if that is not known.
    """

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        self.fuses_passes = _value(hardware.chains_passes, unknown=False)
        self.stages_lookups = _value(hardware.stages_lookups, unknown=False)
        self.tiles_at_once = _value(hardware.tiles_at_once, unknown=1.0)
        self.writes_overlap = _value(hardware.writes_overlap, unknown=True)
        self.instruction_width = _value(hardware.arithmetic_width, unknown=1)

    # Arithmetic ---------------------------------------------------------------------------------

    def fragment_arithmetic(self) -> ChipRate:
        """Instructions of fragments per second; the units of kernels compute them, too."""
        width = None if self.hardware.arithmetic_width is None else "arithmetic_width"
        names = ("fragment_peak_gflops", "compute_peak_gflops", "fragment_peak_gflops")
        return _first(*(self.rate(name, scale=0.5e9, over=width) for name in names))

    # Textures and targets -----------------------------------------------------------------------

    def lookups(self, bits: int) -> ChipRate:
        """Lookups per second of texels of that many bits."""
        size = _size_class(bits)
        if size is None:
            return ChipRate(None, why=f"the rate of lookups of {bits} bits is not known")
        why = "texture units × clock / clocks per lookup"
        clocks = f"lookup_clocks_{size}_bits"
        return _first(
            self.known(f"lookups_{size}_bits_g_per_s"),
            self.rate("texture_units", "core_clock_mhz", scale=1e6, over=clocks, why=why),
        )

    def branches(self, most: int) -> ChipRate:
        """Branches and loops per second. most: how many the plan may execute, for messages."""
        fact = self.hardware.branch_clocks
        clocks = f" of at most {fact.up_to:g} clocks" if fact and fact.up_to else ""
        why = f"pipelines × clock / clocks, and there are up to {most} branches{clocks}"
        return self.rate(
            "pixel_pipelines", "core_clock_mhz", scale=1e6, over="branch_clocks", why=why
        )

    def writes(self, kind: str, bits: int) -> ChipRate:
        """Fragments written or blended per second.

        kind: fills or blends. bits: of a texel. It is the measured rate or, without one, a fragment
        per pipeline and clock.
        """
        size = _size_class(bits)
        measured = ChipRate(None) if size is None else self.known(f"{kind}_{size}_bits_g_per_s")
        why = "one per pipeline and clock"
        return _first(measured, self.rate("pixel_pipelines", "core_clock_mhz", scale=1e6, why=why))

    # Memory -------------------------------------------------------------------------------------

    def memory(self, texture_bytes: float = inf) -> ChipRate:
        """Bytes per second of the chip's own memory, or of a cache that holds all textures.

        texture_bytes: of all textures together.
        """
        mib = self.hardware.cached_mib
        is_cached = mib is not None and texture_bytes <= mib.value << 20
        return self.known(*["cached_gb_per_s"] * is_cached, "memory_gb_per_s")

    def shared_memory(self) -> ChipRate:
        """Steps of kernels' requests to shared memory per second."""
        names = ("multiprocessors", "shader_clock_mhz")
        return self.rate(*names, scale=1e6, over="shared_memory_clocks")

    def transfers(self, name: str) -> ChipRate:
        """Bytes per second of uploads or read-backs, or of the memory that chip and host share."""
        own = [self.memory()] * _value(self.hardware.shared_memory, unknown=False)
        return _first(self.known(name, "bus_gb_per_s"), *own)

    # From facts ---------------------------------------------------------------------------------

    def known(self, *names: str) -> ChipRate:
        """The first of these rates that the profile has; it has them in 10⁹ per second."""
        return _first(*(self.rate(name, scale=1e9) for name in names))

    def rate(self, *names: str, scale: float, over: str | None = None, why: str = "") -> ChipRate:
        """A product of the profile's numbers, each the highest of its range, and of `scale`.

        over: the number to divide by. why: how the rate follows from the numbers.
        """
        divisors = [] if over is None else [over]
        facts = {name: getattr(self.hardware, name) for name in (*names, *divisors)}
        unknown = [name for name, fact in facts.items() if fact is None]
        if missing := [name for name in divisors if name in unknown] or unknown:
            return ChipRate(None, why=f"the profile has no {' and no '.join(missing)}")
        values = {n: fact.value if n == over else fact.most for n, fact in facts.items()}
        start = scale / prod(values[name] for name in divisors)
        taken = (as_record(RateFact, facts[name], name=name, value=values[name]) for name in facts)
        return ChipRate(prod((values[name] for name in names), start=start), tuple(taken), why)


def _first(*rates: ChipRate) -> ChipRate:
    """The first known rate; if there is none, the last, which gives the reason."""
    return next((rate for rate in rates if rate.per_second is not None), rates[-1])


def _value(fact: Fact[T] | None, *, unknown: T) -> T:
    return unknown if fact is None else fact.value


def _size_class(bits: int) -> int | None:
    """The size of texel whose rate applies to texels of that many bits; None if neither does."""
    if bits <= WORD_BITS:
        return WORD_BITS
    return VECTOR_BITS if bits == VECTOR_BITS else None


# Lowered passes ----------------------------------------------------------------------------------


_NOTE = "of what is dispatched instead of drawn"
_KEPT = (
    "multiprocessors", "memory_gb_per_s", "memory_mib", "bus_gb_per_s", "upload_gb_per_s",
    "readback_gb_per_s", "coalescing", "shader_clock_mhz", "shared_memory_clocks",
)  # fmt: skip


def as_lowered(chip: Profile, *, tiled: bool) -> Profile:
    """The profile of a chip from data sheets, for passes that are lowered to dispatches.

    All its multiprocessors compute fragments, as they do for kernels, and passes of a Repeat are
    fused. tiled: whether tiles stage the texels that fragments share. The rates of units that only
    draw do not apply, and no data sheet says how fast kernels look up and share texels.
    """
    hardware = chip.hardware
    lowered = Hardware(
        **{name: getattr(hardware, name) for name in _KEPT},
        fragment_peak_gflops=hardware.compute_peak_gflops or hardware.fragment_peak_gflops,
        chains_passes=Fact(True, "derived", Confidence.HIGH, _NOTE),
        stages_lookups=Fact(tiled, "derived", Confidence.HIGH, _NOTE),
    )
    return with_fields(chip, hardware=lowered)
