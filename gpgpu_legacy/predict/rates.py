"""The rates of a chip, as they follow from the numbers of its profile.

Predictions are lower bounds on times, so that where a profile has a range, its best end counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from gpgpu_legacy.chips.profile import Fact, Hardware
from gpgpu_legacy.predict.prediction import Rate, RateFact
from gpgpu_legacy.serial import as_record

T = TypeVar("T")

WORD_BITS, VECTOR_BITS = 32, 128  # of the texels whose rates profiles have


class Rates:
    """A chip's rates and the properties that decide which of them apply."""

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware

    # Properties of the chip ---------------------------------------------------------------------

    @property
    def fuses_passes(self) -> bool:
        """Whether the passes of a Repeat are fused, with partial sums in registers."""
        return _value(self.hardware.chains_passes, unknown=False)

    @property
    def stages_lookups(self) -> bool:
        """Whether fragments are computed in tiles, which stage the texels that they share."""
        return _value(self.hardware.stages_lookups, unknown=False)

    @property
    def tiles_at_once(self) -> float:
        """How many tiles the chip computes at once; 1 if that is not known."""
        return _value(self.hardware.tiles_at_once, unknown=1.0)

    @property
    def writes_overlap(self) -> bool:
        """Whether fragments are written while others are computed; true if that is not known."""
        return _value(self.hardware.writes_overlap, unknown=True)

    # Arithmetic ---------------------------------------------------------------------------------

    @property
    def instruction_width(self) -> int:
        """Components that one instruction computes; 1 if that is not known."""
        return _value(self.hardware.arithmetic_width, unknown=1)

    def fragment_arithmetic(self) -> Rate:
        """Instructions of fragments per second; the units of kernels compute them, too."""
        scale = 1e9 / (2 * self.instruction_width)
        rate = self.known("fragment_peak_gflops", scale)
        if rate.per_second is None and self.hardware.compute_peak_gflops is not None:
            rate = self.known("compute_peak_gflops", scale)
        if rate.per_second is None or self.hardware.arithmetic_width is None:
            return rate
        return Rate(rate.per_second, (*rate.facts, *self._facts("arithmetic_width")))

    def kernel_arithmetic(self) -> Rate:
        """Operations of kernels per second; the same units compute fragments."""
        rate = self.known("compute_peak_gflops")
        return rate if rate.per_second else self.known("fragment_peak_gflops")

    # Textures and targets -----------------------------------------------------------------------

    def lookups(self, bits: int) -> Rate:
        """Lookups per second of texels of that many bits."""
        size = _size_class(bits)
        if size is None:
            return Rate(None, why=f"the rate of lookups of {bits} bits is not known")
        rate = self.known(f"lookups_{size}_bits_g_per_s")
        if rate.per_second is not None:
            return rate
        why = "texture units × clock / clocks per lookup"
        clocks = f"lookup_clocks_{size}_bits"
        return self._per_clocks(clocks, ("texture_units", "core_clock_mhz"), why)

    def writes(self, kind: str, bits: int) -> Rate:
        """Fragments written per second, or added to what the target holds: "fills" or "blends".

        The measured rate; without one, one fragment per pipeline and clock.
        """
        size = _size_class(bits)
        rate = Rate(None) if size is None else self.known(f"{kind}_{size}_bits_g_per_s")
        if rate.per_second is not None:
            return rate
        why = "one per pipeline and clock"
        return self._product(("pixel_pipelines", "core_clock_mhz"), 1e6, why)

    # Memory and transfers -----------------------------------------------------------------------

    def memory(self, texture_bytes: int | None = None) -> Rate:
        """Bytes per second of the chip's own memory, or of a cache that holds all textures.

        texture_bytes: of all textures together; None if they may be larger than any cache.
        """
        mib = self.hardware.cached_mib
        if mib is not None and texture_bytes is not None and texture_bytes <= mib.value << 20:
            cached = self.known("cached_gb_per_s")
            if cached.per_second is not None:
                return cached
        return self.known("memory_gb_per_s")

    def shared_memory(self) -> Rate:
        """Steps of kernels' requests to shared memory per second."""
        return self._per_clocks("shared_memory_clocks", ("multiprocessors", "shader_clock_mhz"))

    def accesses(self) -> Rate:
        """Numbers per second that kernels load and store, by whole vector registers."""
        names = ("cores", "core_clock_mhz", "accesses_per_clock", "register_bits")
        return self._product(names, 1e6 / WORD_BITS, "a register for each core and clock")

    def transfers(self, name: str) -> Rate:
        """Bytes per second to the chip, or from it, by the name of that rate."""
        rate = self.known(name)
        return rate if rate.per_second is not None else self.known("bus_gb_per_s")

    # From facts ---------------------------------------------------------------------------------

    def known(self, name: str, scale: float = 1e9) -> Rate:
        """The rate that the profile has under that name, in units of `scale` per second."""
        return self._product((name,), scale)

    def _product(self, names: Iterable[str], scale: float, why: str = "") -> Rate:
        """The product of several numbers, each of them the highest of its range."""
        facts = {name: getattr(self.hardware, name) for name in names}
        missing = [name for name, fact in facts.items() if fact is None]
        if missing:
            return Rate(None, why=f"the profile has no {' and no '.join(missing)}")
        rate = scale
        for fact in facts.values():
            rate *= fact.most
        return Rate(rate, self._facts(*facts), why)

    def _per_clocks(self, clocks: str, names: tuple[str, str], why: str = "") -> Rate:
        """The product of a number of units and their clock in MHz, over clocks."""
        fact = getattr(self.hardware, clocks)
        if fact is None:
            return Rate(None, why=f"the profile has no {clocks}")
        rate = self._product(names, 1e6 / fact.value, why)
        return Rate(rate.per_second, (*rate.facts, _rate_fact(clocks, fact, fact.value)), rate.why)

    def of_overhead(self, name: str) -> Rate:
        """How often per second what takes a number of microseconds can be done."""
        fact = getattr(self.hardware, name)
        if fact is None:
            return Rate(None, why=f"the profile has no {name}")
        return Rate(1e6 / fact.value, (_rate_fact(name, fact, fact.value),))

    def _facts(self, *names: str) -> tuple[RateFact, ...]:
        facts = ((name, getattr(self.hardware, name)) for name in names)
        return tuple(_rate_fact(name, fact, fact.most) for name, fact in facts)


def _rate_fact(name: str, fact: Fact[Any], value: bool | float | str) -> RateFact:
    """The end of a fact's range that a rate takes, with its source."""
    return as_record(RateFact, fact, name=name, value=value)


def _value(fact: Fact[T] | None, *, unknown: T) -> T:
    return unknown if fact is None else fact.value


def _size_class(bits: int) -> int | None:
    """The size of texel whose rate applies to texels of that many bits; None if neither does."""
    if bits <= WORD_BITS:
        return WORD_BITS
    return VECTOR_BITS if bits == VECTOR_BITS else None
