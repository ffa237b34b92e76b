"""Scenes of families: what the page makes of a template is what the package makes of the plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product

import pytest
from browser_pages import Modules

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.page.families import FAMILIES, LARGEST, family_of
from gpgpu_legacy.page.scenes import INTERPRETER, scene_of
from gpgpu_legacy.serial import plain

SHAPES = list(product(range(1, LARGEST + 1), repeat=3))
FOUND = "JSON.stringify(given.shapes.map((sizes) => familyScene(given.family, ...sizes)))"
CHOICES = {
    "larson-mcallister": [Options()],
    "hall-carr-hart-single": [
        Options(block=b, accumulate=a) for b in (1, 2, 4) for a in Accumulate
    ],
    "hall-carr-hart-multi": [Options(block=b, accumulate=a) for b in (1, 2, 4) for a in Accumulate],
}


@pytest.mark.parametrize("name", CHOICES)
def test_every_shape_has_its_scene(modules: Callable[..., Modules], name: str) -> None:
    method = find_method(name)
    page = modules(*INTERPRETER, FAMILIES)
    for options in CHOICES[name]:
        family = plain(family_of(method, options))
        found = json.loads(page.run(FOUND, {"family": family, "shapes": SHAPES}))
        for sizes, scene in zip(SHAPES, found, strict=True):
            assert scene == plain(scene_of(method.plan(Shape(*sizes), options))), (sizes, options)


def test_other_shapes_are_refused_in_a_sentence(modules: Callable[..., Modules]) -> None:
    family = plain(family_of(find_method("larson-mcallister"), Options()))
    page = modules(*INTERPRETER, FAMILIES)
    code = (
        "(() => { try { familyScene(given, 4, 9, 4) } catch (error) { return String(error) } })()"
    )
    assert page.run(code, family).endswith("l is 9; sizes are whole numbers, 1 to 8.")
