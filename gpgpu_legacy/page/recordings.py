"""Recorded times by device and size, as shown on the page."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpgpu_legacy.files import recorded_file
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.peers import TITLES as LIBRARIES
from gpgpu_legacy.serial import Record, as_record, read_recorded


@dataclass(frozen=True, slots=True)
class RecordedDevice:
    """A device, and how programs ran on it. files: of benchmarks/; the first with a size counts."""

    id: str
    title: str
    files: tuple[str, ...]


DEVICES = (
    RecordedDevice("h100-drawn", "H100, drawn", ("lineage-h100.json", "bench-h100-drawn.json")),
    RecordedDevice("llvmpipe", "two cores, drawn by llvmpipe", ("lineage-cpu-llvmpipe.json",)),
    RecordedDevice(
        "h100",
        "H100, lowered to kernels",
        (
            "lineage-h100-lowered.json", "lineage-h100-lowered-2048.json", "bench-h100.json",
            "bench-h100-small.json",
        ),
    ),
    RecordedDevice("cpu16", "16 cores, as native code", ("bench-cpu16.json",)),
    RecordedDevice(
        "cpu", "two cores, as native code", ("lineage-cpu-lowered.json", "bench-cpu.json")
    ),
)  # fmt: skip
"""What drew stands first."""

TITLES = {device.id: device.title for device in DEVICES}


class Time(Record, rename={"size": "n"}):
    """A recorded time of a method.

    executor, on: the executor, and its device in the driver's words. file: with the record.
    """

    device: str
    size: int
    method: str
    executor: str
    on: str
    seconds: float
    file: str


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recorded times on all devices. peers: by device and size, the libraries' GFLOPS."""

    times: list[Time] = field(default_factory=list)
    peers: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)


def recordings() -> Recordings:
    """The times of all methods. At one size they come from a lineage, which has every method."""
    found = Recordings()
    for device in DEVICES:
        for file in device.files:
            _add(found, device.id, file, read_recorded(recorded_file(file), Bench))
    return found


def _add(found: Recordings, device: str, file: str, bench: Bench) -> None:
    """Add the sizes that the device does not have yet."""
    known = {size for id_, size in found.peers if id_ == device}
    for one in bench.results:
        size = one.parameters["n"]
        if not isinstance(size, int) or size in known:
            continue
        if one.is_own:
            on = one.device or bench.device
            time = as_record(Time, one, device=device, size=size, file=file, method=one.plan, on=on)
            found.times.append(time)
        elif one.plan is None and one.gflops is not None:
            name = LIBRARIES.get(one.executor, one.executor)
            found.peers.setdefault((device, size), {})[name] = one.gflops
