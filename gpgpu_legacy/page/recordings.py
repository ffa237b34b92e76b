"""Times that were recorded elsewhere, by device and size, as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpgpu_legacy.measure.bench import Bench
from gpgpu_legacy.serial import Record, as_record, read_recorded
from gpgpu_legacy.sources import recorded_file
from gpgpu_legacy.studies.lineage.result import Lineage


@dataclass(frozen=True, slots=True)
class Device:
    """A device, and how programs ran on it.

    lineages: files of benchmarks/, each of a size of its own. benches: others, of several sizes.
    """

    id: str
    title: str
    lineages: tuple[str, ...] = ()
    benches: tuple[str, ...] = ()


DEVICES = (
    Device(
        "h100",
        "H100, lowered to kernels",
        ("lineage-h100-lowered.json", "lineage-h100-lowered-2048.json"),
        ("bench-h100.json", "bench-h100-small.json"),
    ),
    Device("h100-drawn", "H100, drawn", ("lineage-h100.json",), ("bench-h100-drawn.json",)),
    Device("cpu16", "16 cores, as native code", benches=("bench-cpu16.json",)),
    Device(
        "cpu",
        "two cores, as native code",
        ("lineage-cpu-lowered.json",),
        ("bench-cpu.json",),
    ),
    Device("llvmpipe", "two cores, drawn by llvmpipe", ("lineage-cpu-llvmpipe.json",)),
)


TITLES = {device.id: device.title for device in DEVICES}


class Time(Record, rename={"size": "n"}):
    """A recorded time of a method.

    executor, on: that ran it, and its device in the driver's words. file: which recorded it.
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
    """What was recorded on all devices. peers: by device and size, the libraries' GFLOPS."""

    times: list[Time] = field(default_factory=list)
    peers: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)


def recordings() -> Recordings:
    """The times of all methods. At one size, those of a lineage, which has every method."""
    found = Recordings()
    for device in DEVICES:
        for file in device.lineages:
            lineage = read_recorded(recorded_file(file), Lineage)
            here = {"device": device.id, "size": lineage.size, "file": file}
            found.times.extend(
                as_record(Time, step, **here, method=step.plan, on=step.device)
                for step in lineage.steps
                if step.seconds is not None
            )
            found.peers[device.id, lineage.size] = {c.name: c.gflops for c in lineage.ceilings}
        for file in device.benches:
            _add_bench(found, device, file, read_recorded(recorded_file(file), Bench))
    return found


def _add_bench(found: Recordings, device: Device, file: str, bench: Bench) -> None:
    """Add the sizes that nothing recorded before on the device has."""
    known = {size for id_, size in found.peers if id_ == device.id}
    for one in bench.results:
        size = one.parameters["n"]
        if not isinstance(size, int) or size in known:
            continue
        if one.is_own:
            here = {"device": device.id, "size": size, "file": file}
            on = one.device or bench.device
            found.times.append(as_record(Time, one, **here, method=one.plan, on=on))
        elif one.plan is None and one.gflops is not None:
            found.peers.setdefault((device.id, size), {})[one.executor] = one.gflops
