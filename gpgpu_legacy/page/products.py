"""The matrix products of 2001 and 2003 as the lesson plays them: of 4×4 matrices.

Several sections share them, so they are a script: its `PRODUCTS` has scenes and two matrices.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gpgpu_legacy.algorithms.matmul.larson_mcallister import DEMONSTRATION_A, DEMONSTRATION_B
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.page.scenes import PLAYER, scene_of
from gpgpu_legacy.page.section import embedded_json
from gpgpu_legacy.plan.textures import R32F

PRODUCTS = "sections/products.js"
"""The name of the script, among those of a section."""

LESSON_SCRIPTS = (
    *PLAYER,
    "player/transport.js",
    PRODUCTS,
    "sections/numbers.js",
    "sections/controls.js",
    "sections/element-grid.js",
    "sections/fragment-trace.js",
    "sections/played-product.js",
    "lesson/stage.js",
)
"""The scripts that the screens of the lesson share, each after those that it calls."""

BLOCKS = (1, 2, 4)
"""The blocks b of the single-channel method on the page."""

METHODS = ("larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi")
"""The methods on the page."""


@cache
def products_script() -> str:
    """The text of the script."""
    choices: list[tuple[str, dict[str, Any]]] = [
        ("larson-mcallister", {"texture_format": R32F.name, "state": "program"}),
        ("larson-mcallister", dict(find_product("larson-mcallister").then)),
    ]
    choices += [("hall-carr-hart-single", {"block": block}) for block in BLOCKS]
    choices.append(("hall-carr-hart-multi", {"block": 1}))
    products = {
        "plans": [_played(name, **given) for name, given in choices],
        "matrices": {"A": DEMONSTRATION_A, "B": DEMONSTRATION_B},
    }
    return f"// Made from the methods' own plans.\nconst PRODUCTS = {embedded_json(products)};\n"


def _played(name: str, **given: Any) -> dict[str, Any]:
    plan = find_product(name).plan(n=len(DEMONSTRATION_A), **given)
    return {
        "method": name,
        "block": given.get("block"),
        "format": plan.texture(plan.outputs[0].texture).format.name,
        "scene": scene_of(plan),
    }
