"""Figure 2: the drawings of the passes of 2001 and 2003, as a picture and animated."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.page.products import LESSON_SCRIPTS
from gpgpu_legacy.page.scenes import scene_of
from gpgpu_legacy.page.section import PageSection, data_url, rendered
from gpgpu_legacy.present.animation import png_of
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.studies.figure_2 import demonstrate


def make_section() -> PageSection:
    """Figure 2: a picture of a run, and the run itself, pass by pass."""
    executor = reference()
    image = demonstrate(executor).picture().quantize(64)
    html = rendered(
        "lesson/figure-2.html.j2",
        picture=data_url(png_of(image), "image/png"),
        size=image.size,
        device=executor.device(),
    )
    scripts = (*LESSON_SCRIPTS, "sections/product-words.js", "lesson/figure-2.js")
    title = "Four rectangles multiply two matrices"
    return PageSection("figure-2", title, html, {"heart": _heart()}, scripts, short="Figure 2")


_WIDTH = 32


def _heart() -> dict[str, Any]:
    """A larger product: the columns of A are waves, and B has how much of each is in a heart."""
    k = np.arange(_WIDTH)
    y, x = np.mgrid[1.35 : -1.2 : _WIDTH * 1j, -1.3 : 1.3 : _WIDTH * 1j]
    heart = (x**2 + y**2 - 1) ** 3 < x**2 * y**3
    waves = np.sqrt(2 / _WIDTH) * np.cos(np.pi * (k[:, None] + 0.5) * k / _WIDTH)
    waves[:, 0] /= np.sqrt(2)
    plan = find_product("larson-mcallister").plan(n=_WIDTH)
    operands = {"A": waves, "B": waves.T @ heart}
    return {"scene": scene_of(plan)} | {k: v.round(5).tolist() for k, v in operands.items()}
