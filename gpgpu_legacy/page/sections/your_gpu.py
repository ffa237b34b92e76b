"""On your GPU: products of 2001 and 2003 timed in the reader's browser, beside recorded times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.page.recordings import TITLES, recordings
from gpgpu_legacy.page.scenes import PLAYER, Scene
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.page.shaders import shaders_of
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.serialise import plan_record
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.published.schema import Quantity
from gpgpu_legacy.serial import plain, with_fields

SIZES = (128, 256, 512, 1024)
METHODS = ("hall-carr-hart-multi", "hall-carr-hart-single", "larson-mcallister")


@dataclass(frozen=True, slots=True)
class Beside:
    """A recorded time of an n×n product, with its source."""

    method: str
    device: str
    size: int
    gflops: float | None
    source: str


def make_section() -> PageSection:
    """The products that the page times, and the recorded times as a table."""
    beside = [*_recorded(), *_published()]
    beside.sort(key=lambda one: -(one.gflops or 0.0))
    html = rendered("sections/your-gpu.html.j2", sizes=SIZES, beside=beside, digits=_digits)
    data = {
        "products": [_product(find_product(name), size) for size in SIZES for name in METHODS],
        "beside": [
            {"method": one.method, "device": one.device, "size": one.size, "gflops": one.gflops}
            for one in beside
            if one.method in METHODS
        ],
    }
    return PageSection("your-gpu", "On your GPU", html, data, (*PLAYER, "sections/your-gpu.js"))


def _product(method: Algorithm, size: int) -> dict[str, Any]:
    """The page's data to run and time a product. Nothing is copied from pass to pass."""
    way = {"accumulate": Accumulate.PING_PONG} if "accumulate" in method.parameters else {}
    p = method.builder(n=size, **way)
    block = p.parameters.get("block")
    return {"method": p.name, "size": size, "block": block, "scene": _drawn_scene(p.plan())}


def _drawn_scene(plan: Plan) -> Scene:
    """A scene for a GPU only: shaders for textures of these sizes, and no programs."""
    record = with_fields(plan_record(plan), programs={})
    shaders = shaders_of(plan, sized=True)
    return {"name": plan.name, "plan": plain(record), "programs": {}, "shaders": plain(shaders)}


def _digits(gflops: float | None) -> str:
    """Three digits, or all before the point."""
    if gflops is None:
        return "–"
    return f"{gflops:.0f}" if gflops >= 1000 else f"{gflops:.3g}"


def _recorded() -> list[Beside]:
    return [
        Beside(
            time.method,
            TITLES[time.device],
            time.size,
            2e-9 * time.size**3 / time.seconds,
            f"benchmarks/{time.file}, {time.executor}",
        )
        for time in recordings().times
        if time.method in METHODS and time.size in SIZES
    ]


def _published() -> list[Beside]:
    """For each series of published times, the largest size that the page times."""
    found = []
    for paper in papers():
        for table in paper.measured:
            for series in table.series:
                cells = [c for c in series.cells if c.size <= max(SIZES) and c.unit == "ms"]
                if series.quantity is not Quantity.TIME or series.method is None or not cells:
                    continue
                cell = max(cells, key=lambda cell: cell.size)
                gflops = 2e-6 * cell.size**3 / cell.value if cell.value else None
                source = f"{paper.short}, {table.where}: {series.label}"
                found.append(Beside(series.method, "published", cell.size, gflops, source))
    return found
