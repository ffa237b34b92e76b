"""Scenes of families: what the page makes of a template is what the package makes of the plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product

from browser_pages import Modules

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.page.families import FAMILIES, LARGEST, family_of
from gpgpu_legacy.page.products import METHODS, PRODUCTS
from gpgpu_legacy.page.scenes import INTERPRETER, scene_of
from gpgpu_legacy.serial import plain

SIDE = range(1, LARGEST + 1)
THIRD = [sizes for sizes in product(SIDE, repeat=3) if sum(sizes) % 3 == 0]
"""A third of all shapes: any two sizes take all pairs of values, each with two or three values of
the third size, and the three take all triples of remainders of divisions by 2 and by 4."""
PAIRS = [(m, k, (3 * m + k + 1) % LARGEST + 1) for m in SIDE for k in SIDE]
"""In other shapes than a family is made from, any two sizes take all pairs of values."""

CHOSEN = "PRODUCTS.families.map(({ family, ...chosen }) => chosen)"
FOUND = """JSON.stringify(given.shapes.map((sizes) =>
    familyScene(PRODUCTS.families[given.number].family, ...sizes)))"""


def test_shapes_have_their_scenes(modules: Callable[..., Modules]) -> None:
    """A third of the shapes of each method's first family in the page, and pairs of the others."""
    page = modules(*INTERPRETER, FAMILIES, PRODUCTS)
    methods = set()
    for number, chosen in enumerate(page.run(CHOSEN)):
        method = find_product(chosen["method"])
        more = {"block": chosen["block"]}
        if method.name == "larson-mcallister":
            state = "program" if chosen["format"] == "r32f" else "texture-environment"
            more = {"texture_format": chosen["format"], "state": state}
        shapes = PAIRS if method in methods else THIRD
        methods.add(method)
        found = json.loads(page.run(FOUND, {"number": number, "shapes": shapes}))
        for (m, l, n), scene in zip(shapes, found, strict=True):  # noqa: E741
            plan = method.plan(m=m, l=l, n=n, **more)
            assert scene == plain(scene_of(plan)), (m, l, n, more)
    assert {method.name for method in methods} == {*METHODS}


def test_other_shapes_are_refused_in_a_sentence(modules: Callable[..., Modules]) -> None:
    family = plain(family_of(find_product("larson-mcallister"), {}))
    page = modules(*INTERPRETER, FAMILIES)
    code = (
        "(() => { try { familyScene(given, 4, 9, 4) } catch (error) { return String(error) } })()"
    )
    assert page.run(code, family).endswith("l is 9; sizes are whole numbers, 1 to 8.")
