"""On your GPU: products of 2001 and 2003 timed in the reader's browser, beside chips since 2001."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.page.products import LESSON_SCRIPTS, METHODS
from gpgpu_legacy.page.recordings import TITLES, recordings
from gpgpu_legacy.page.scenes import Scene, shaders_of
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.serialise import plan_record
from gpgpu_legacy.predict.model import predict_plan
from gpgpu_legacy.serial import plain, with_fields

SIZES = (128, 256, 512, 1024)
_TIMED = METHODS[::-1]
_OLDEST, _NEWEST = "larson-mcallister", "hall-carr-hart-multi"

_CHIPS = (
    ("geforce3", _OLDEST),
    ("radeon-9700-pro", _NEWEST),
    ("geforce-fx-5900-ultra", _NEWEST),
    ("geforce-6800-ultra", _NEWEST),
    ("geforce-7900-gtx", _NEWEST),
)
"""Chips, each with a method that it loads."""

THEN = "geforce-fx-5900-ultra"
"""The chip of 2003 that the reader's GPU is compared with."""


@frozen
class ProductRate:
    """A rate of a product of matrices of the largest size, in GFLOPS, with its source.

    id: of the chip or the device. at_most: whether it is a bound from the chip's data, and not
    measured.
    """

    id: str
    name: str
    method: str
    gflops: float
    at_most: bool
    source: str


def make_section() -> PageSection:
    """The products that the page times, and rates of other chips as a table."""
    rates = [*_bounds(), *_recorded()]
    html = rendered("sections/your-gpu.html.j2", sizes=SIZES, rates=rates)
    data = {
        "products": [_product(find_product(name), size) for size in SIZES for name in _TIMED],
        "rates": plain(rates),
        "then": THEN,
    }
    scripts = (*LESSON_SCRIPTS, "sections/your-gpu.js")
    return PageSection("your-gpu", "8. On your GPU", html, data, scripts, "8 Your GPU")


def _bounds() -> list[ProductRate]:
    """The rates that chips reach at most, by their data, if the method's plan loads."""
    rates = []
    for name, method in _CHIPS:
        known = find_product(method)
        prediction = predict_plan(known.builder(n=SIZES[-1], **dict(known.then)), name)
        profile, limit = find_profile(name), prediction.bottleneck
        if prediction.exceeds or prediction.gflops is None or limit is None:
            continue
        year = profile.released.value[:4] if profile.released else ""
        block = prediction.parameters.get("block")
        b = f" with b = {block}" if block else ""
        source = f"at most{b}, by its data: {limit.name} take the time ({limit.count:.3g})"
        title = f"{profile.title.partition(' ')[2].partition(' (')[0]}, {year}"
        rates.append(ProductRate(name, title, method, prediction.gflops, True, source))
    return rates


def _recorded() -> list[ProductRate]:
    """The multichannel product of the largest size, by device."""
    return [
        ProductRate(
            time.device,
            TITLES[time.device],
            time.method,
            2e-9 * time.size**3 / time.seconds,
            False,
            f"measured: benchmarks/{time.file}, {time.executor}",
        )
        for time in sorted(recordings().times, key=lambda time: -time.seconds)
        if time.method == _NEWEST and time.size == SIZES[-1]
    ]


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
