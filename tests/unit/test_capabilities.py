"""What NVIDIA's compute capabilities promise of a multiprocessor."""

from __future__ import annotations

import pytest

from gpgpu_legacy.chips.hosts import Capability, capabilities, find_capability
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.errors import InputError


@pytest.mark.parametrize("known", capabilities(), ids=lambda known: known.name)
def test_threads_are_those_of_the_warps(known: Capability) -> None:
    assert known.resident_threads.value == known.warp_threads.value * known.resident_warps.value
    assert known.block_threads.value <= known.resident_threads.value
    assert find_capability(known.name) is known


@pytest.mark.parametrize(("name", "chip"), [("1.1", "geforce-9400m-g"), ("2.0", "quadro-4000")])
def test_cores_are_those_of_the_chips(name: str, chip: str) -> None:
    hardware = find_profile(chip).hardware
    assert hardware.cores is not None and hardware.multiprocessors is not None
    cores = find_capability(f"compute-capability-{name}").cores.value
    assert hardware.cores.value == hardware.multiprocessors.value * cores


def test_an_unknown_one_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^there is no compute capability '9'; choose from "):
        find_capability("9")
