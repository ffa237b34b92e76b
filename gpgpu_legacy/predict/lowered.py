"""A chip as used by executors that do not draw, but compile passes to fused dispatches."""

from __future__ import annotations

from gpgpu_legacy.chips.profile import Confidence, Fact, Hardware, Profile
from gpgpu_legacy.serial import with_fields

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
