"""The rates of a chip, derived from the numbers of its profile.

Predictions are lower bounds on times, so the best end of a range counts.
"""

from __future__ import annotations

from math import inf, prod
from typing import TypeVar

from gpgpu_legacy.chips.profile import Confidence, Fact, Hardware, Profile
from gpgpu_legacy.predict.prediction import ChipRate, RateFact
from gpgpu_legacy.serial import as_record, with_fields

T = TypeVar("T")

WORD_BITS, VECTOR_BITS = 32, 128  # of the texels whose rates profiles have


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
        return _first(*(self._rate(name, scale=0.5e9, over=width) for name in names))

    def kernel_arithmetic(self) -> ChipRate:
        """Operations of kernels per second; the same units compute fragments."""
        return self.known("compute_peak_gflops", "fragment_peak_gflops")

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
            self._rate("texture_units", "core_clock_mhz", scale=1e6, over=clocks, why=why),
        )

    def branches(self, most: int) -> ChipRate:
        """Branches and loops per second. most: that the plan may execute, for the reason."""
        fact = self.hardware.branch_clocks
        clocks = f" of at most {fact.up_to:g} clocks" if fact and fact.up_to else ""
        why = f"pipelines × clock / clocks, and there are up to {most} branches{clocks}"
        return self._rate(
            "pixel_pipelines", "core_clock_mhz", scale=1e6, over="branch_clocks", why=why
        )

    def writes(self, kind: str, bits: int) -> ChipRate:
        """Fragments written per second, or blended: "fills" or "blends".

        The measured rate; without one, one fragment per pipeline and clock.
        """
        size = _size_class(bits)
        measured = ChipRate(None) if size is None else self.known(f"{kind}_{size}_bits_g_per_s")
        why = "one per pipeline and clock"
        return _first(measured, self._rate("pixel_pipelines", "core_clock_mhz", scale=1e6, why=why))

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
        return self._rate(*names, scale=1e6, over="shared_memory_clocks")

    def accesses(self) -> ChipRate:
        """Loads and stores per second that kernels start, each of a number or of a vector."""
        return self._rate("cores", "core_clock_mhz", "accesses_per_clock", scale=1e6)

    def transfers(self, name: str) -> ChipRate:
        """Bytes per second of uploads or read-backs; copies in its memory if the host shares it."""
        own = [self.memory()] * _value(self.hardware.shared_memory, unknown=False)
        return _first(self.known(name, "bus_gb_per_s"), *own)

    # From facts ---------------------------------------------------------------------------------

    def known(self, *names: str) -> ChipRate:
        """The first of these rates that the profile has, in 10⁹ per second."""
        return _first(*(self._rate(name, scale=1e9) for name in names))

    def of_overhead(self, name: str) -> ChipRate:
        """The rate per second of something that takes a number of microseconds."""
        return self._rate(scale=1e6, over=name)

    def _rate(self, *names: str, scale: float, over: str | None = None, why: str = "") -> ChipRate:
        """The product of several numbers, each of them the highest of its range, over another."""
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
