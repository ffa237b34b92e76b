"""A panel of a roofline: the roofs of one executor of a machine, and the points under them."""

from __future__ import annotations

from gpgpu_legacy.measure.bench import Setting
from gpgpu_legacy.predict.prediction import Evidence
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.serial import Record


class Roof(Record):
    """A limit: GFLOPS at any intensity if it is flat, else GB/s, GFLOPS per unit of intensity."""

    name: str
    gflops: float | None = None
    gb_per_s: float | None = None

    def at(self, intensity: float) -> float:
        """The GFLOPS that it allows at an intensity."""
        return self.gflops if self.gflops is not None else (self.gb_per_s or 0.0) * intensity

    def __str__(self) -> str:
        """The roof in words."""
        unit = "GB/s" if self.gflops is None else "GFLOPS"
        return f"{self.name}, {self.at(1.0):.4g} {unit}"


class RooflinePoint(Record):
    """A product of n×n matrices, n being the size, by a plan with these parameters.

    flops_per_byte: operations per byte that memory serves; flops_per_byte_requested: per byte that
    instructions request. bound_gflops: what the prediction allows; None if nothing is known. binds:
    its bottleneck, a term's name. gflops: as published or measured; None for a prediction alone.
    whole_gflops: with the transfers.
    kind: of origin; where: the paper's table, or the file. evidence: what the comparison with the
    bound shows. above: whether it exceeds its bound.
    """

    plan: str
    size: int
    parameters: dict[str, Setting]
    flops_per_byte: float
    flops_per_byte_requested: float
    bound_gflops: float | None
    binds: str
    gflops: float | None = None
    whole_gflops: float | None = None
    kind: str = ""
    where: str = ""
    evidence: Evidence | None = None
    above: bool = False

    @property
    def place(self) -> tuple[float, float]:
        """The intensity, and the GFLOPS: those reached, else those that are allowed, else 0."""
        height = self.bound_gflops if self.gflops is None else self.gflops
        return self.flops_per_byte, height or 0.0

    @property
    def block(self) -> Setting:
        """The steps of the sum in one pass; None if the plan has none."""
        return self.parameters.get("block")


class RoofPanel(Record):
    """The roofs of one executor of a machine, and the points under them.

    chip: the profile's name. title: of the machine. executor: None for a chip that draws pass by
    pass, whoever makes it do so.
    """

    chip: str
    title: str
    executor: str | None
    roofs: tuple[Roof, ...]
    points: tuple[RooflinePoint, ...]

    @property
    def name(self) -> str:
        """Its subject; the title of a calibrated profile names the executor."""
        by = f", by {self.executor}" if self.executor else ""
        return self.title if self.title.endswith(by) else f"{self.title}{by}"

    def grid(self, name: str, *, whole: bool) -> Grid:
        """The points, one per row."""
        heads = ("plan", "n", "block", "flops / byte", "roof, GFLOPS", "bottleneck", "GFLOPS",
                 "with transfers", "", "evidence",
                 *["/ byte requested", "time from"] * whole)  # fmt: skip
        rows = tuple(
            (
                point.plan,
                point.size,
                point.block,
                point.flops_per_byte,
                point.bound_gflops,
                point.binds,
                point.gflops,
                point.whole_gflops,
                f"{point.kind}{', ABOVE' * point.above}",
                point.evidence and point.evidence.value,
                *((point.flops_per_byte_requested, point.where) if whole else ()),
            )
            for point in self.points
        )
        notes = (
            *(f"Roof: {roof}." for roof in self.roofs),
            "Flops are 2n³. Bytes are those that memory serves, each texel once in a pass.",
            *(
                f"{p.plan} at n = {p.size} is above its roof on {self.name}: {p.gflops:.4g} GFLOPS "
                f"{p.kind}, but {p.binds} allows {p.bound_gflops:.4g} ({p.where})."
                for p in self.points
                if p.above
            ),
        )
        return Grid(name, f"Every method under the roof of {self.name}.", heads, rows, notes)
