"""Recorded times by device and size, as shown on the page."""

from __future__ import annotations

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.files import recorded_file
from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.measure.peers import TITLES as LIBRARIES
from gpgpu_legacy.serial import Record, as_record, read_recorded


@frozen
class RecordedDevice:
    """A device, and how programs ran on it. files: of benchmarks/; the first with a size counts."""

    id: str
    title: str
    files: tuple[str, ...]


DEVICES = (
    RecordedDevice("h100-drawn", "H100, drawn", ("lineage-h100.json",)),
    RecordedDevice("h200-drawn", "H200, drawn", ("bench-h200-drawn.json",)),
    RecordedDevice("llvmpipe", "two cores, drawn by llvmpipe", ("lineage-cpu-llvmpipe.json",)),
    RecordedDevice(
        "h200",
        "H200, lowered to kernels",
        (
            "lineage-h200-lowered.json", "lineage-h200-lowered-2048.json", "bench-h200.json",
            "bench-h200-small.json",
        ),
    ),
    RecordedDevice("cpu16", "16 cores, as native code", ("bench-cpu16.json",)),
    RecordedDevice(
        "cpu", "two cores, as native code", ("lineage-cpu-lowered.json", "bench-cpu.json")
    ),
)  # fmt: skip
"""The devices that drew stand first."""

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


@frozen
class Recordings:
    """The recorded times on all devices. peers: by device and size, the libraries' GFLOPS."""

    times: list[Time]
    peers: dict[tuple[str, int], dict[str, float]]


def recordings() -> Recordings:
    """The times of all methods. Each size comes from a device's first file that has it."""
    times: list[Time] = []
    peers: dict[tuple[str, int], dict[str, float]] = {}
    for device, file in ((one.id, file) for one in DEVICES for file in one.files):
        bench = read_recorded(recorded_file(file), Bench)
        known = {size for id_, size in peers if id_ == device}
        known |= {time.size for time in times if time.device == device}
        for one in bench.results:
            size = one.parameters["n"]
            if not isinstance(size, int) or size in known:
                continue
            if one.is_own:
                where = {"device": device, "file": file, "on": one.device or bench.device}
                times.append(as_record(Time, one, size=size, method=one.plan, **where))
            elif one.plan is None and one.gflops is not None:
                name = LIBRARIES.get(one.executor, one.executor)
                peers.setdefault((device, size), {})[name] = one.gflops
    return Recordings(times, peers)
