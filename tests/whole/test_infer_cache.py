"""Caches from rates: a known cache is found again, and likelihoods are those of drawn numbers."""

from __future__ import annotations

from math import log2
from pathlib import Path

import numpy as np
import pytest
from commands import Command, JsonCommand
from PIL import Image
from test_crossover import CHIP, LOOKUPS, MEMORY, MULTI, traffic

from gpgpu_legacy.chips.profile import Confidence
from gpgpu_legacy.studies.infer_cache import (
    Curve,
    InferredCache,
    RatePoint,
    bits,
    infer,
    log_likelihoods,
    posterior,
)
from gpgpu_legacy.studies.shared.cache_rows import settings

SIZE, BLOCKS = 16, (1, 2, 4, 8)
CACHES = {"256,fully,32B": (8, 32), "512,fully,32B": (16, 32), "512,fully,64B": (8, 64)}


def printed(cache: str, clocks: int) -> Curve:
    """80 % of the rates of a chip with a known cache, by the simulator of our own, to 1 %."""
    texels, points = SIZE // 2, []
    for block in BLOCKS:
        fragments = texels**2 * (texels // block)
        seconds = max(
            traffic(MULTI, SIZE, block, *CACHES[cache]) / MEMORY,
            clocks * fragments * (2 * block + 1) / LOOKUPS,
            fragments * (3 * block + 4) / LOOKUPS,
        )
        rate, asked = 0.8e-9 * 2 * SIZE**3 / seconds, {"block": block, "accumulate": "ping-pong"}
        points.append(RatePoint(parameters=(asked,), least=0.99 * rate, most=1.01 * rate))
    return Curve(
        chip=CHIP,
        method=MULTI,
        size=SIZE,
        quantity="GFLOPS",
        source="here",
        confidence=Confidence.HIGH,
        points=tuple(points),
    )


def inferred(*curves: Curve) -> InferredCache:
    return infer(curves, settings(CACHES, ["scan"], ["linear"], [1]), noise=0.02)


@pytest.mark.parametrize("cache", CACHES)
def test_a_known_cache_is_found_from_its_curve(cache: str) -> None:
    table = inferred(printed(cache, clocks=1))
    best = max(table.weighed, key=lambda one: one.log_likelihoods)
    assert (best.cache, best.clocks) == (cache, 1)
    size, _, line = cache.split(",")
    chances = table.marginals()
    assert (
        min(chances["size", size][-1], chances["line", line][-1], chances["clocks", "1"][-1]) > 0.9
    )
    assert table.curves[0].cache_bits > log2(len(CACHES)) - 0.5
    assert table.curves[0].curve_bits > 0.5


def test_curves_are_held_out_in_turn() -> None:
    """Another curve of the same cache makes one likelier, that of another cache less likely."""
    same = inferred(printed("256,fully,32B", 1), printed("256,fully,32B", 1))
    assert all(curve.held_out_bits > 1 for curve in same.curves)
    other = inferred(printed("256,fully,32B", 1), printed("512,fully,64B", 4))
    assert all(curve.held_out_bits < -1 for curve in other.curves)


def test_a_likelihood_is_the_share_of_drawn_rates_in_the_interval() -> None:
    rng, drawn = np.random.default_rng(1), 200_000
    known = np.linspace(0.3, 1, 15)
    shares = rng.choice(known, drawn)
    rates = np.array([[10.0, 6.0], [20.0, 9.0]])
    least, most = np.array([7.0, 4.0]), np.array([9.0, 5.0])
    for row, ours in zip(rates, log_likelihoods(rates, least, most, 0.1, known), strict=True):
        reached = shares[:, None] * row * np.exp(0.1 * rng.standard_normal((drawn, 2)))
        share = ((least <= reached) & (reached <= most)).all(axis=1).mean()
        assert np.exp(ours) == pytest.approx(share, abs=0.005)


def test_bits_by_hand() -> None:
    assert bits(np.full(8, 1 / 8)) == pytest.approx(0)
    assert bits(np.array([0.0, 1.0, 0.0, 0.0])) == 2
    assert bits(np.array([0.5, 0.5, 0.0, 0.0])) == 1
    assert posterior(np.log([1e-300, 3e-300])) == pytest.approx([0.25, 0.75])


DATA = """
[[curve]]
chip = "CHIP"
method = "hall-carr-hart-multi"
size = 16
quantity = "GB/s"
source = "here"
confidence = "low"
points = [{ parameters = [{ block = 4 }, { block = 8 }], least = 20, most = 30 }]
"""


def test_rates_of_a_file(run: Command, run_json: JsonCommand, tmp_path: Path) -> None:
    good, bad, recorded, plot = (
        str(tmp_path / name) for name in ("a.toml", "b.toml", "c.json", "d.png")
    )
    Path(good).write_text(DATA.replace("CHIP", CHIP))
    Path(bad).write_text(DATA.replace("CHIP", "hall-carr-hart-model"))
    few = ("--cache", "1K,4way,64B", "--layout", "linear", "--in-flight", "1")
    data = run_json("study", "infer-cache", *few, "--data", good, "-o", recorded, "--plot", plot)
    assert [one["clocks"] for one in data["weighed"]] == [1, 2, 3, 4]
    assert data["curves"][0]["curve_bits"] == pytest.approx(0)  # of one cache
    assert run_json("study", "infer-cache", "--from", recorded) == data
    assert np.asarray(Image.open(plot).convert("RGB")).std() > 5.0
    code, out, err = run("study", "infer-cache", *few, "--data", bad)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "hall-carr-hart-model has no rate of arithmetic: the profile has no" in err
