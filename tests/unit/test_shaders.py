"""The shaders of plans for the page: each distinct one once, and what their uniforms stand for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.page.scenes import PageShader, shaders_of
from gpgpu_legacy.plan.plan import Plan


def product(m: int = 8, l: int = 8, n: int = 8, **more: Any) -> Plan:  # noqa: E741
    return find_product("hall-carr-hart-multi").plan(m=m, l=l, n=n, block=2, **more)


def declared(shader: PageShader) -> set[str]:
    """The uniforms of the texts."""
    text = shader.vertex + shader.fragment
    lists = re.findall(r"uniform \w+ ([^;]+);", text)
    return {re.sub(r"\[\d\]", "", name) for names in lists for name in names.split(", ")}


def explained(shader: PageShader) -> set[str]:
    """The uniforms that a record says how to set."""
    planes = {f"{name}_{part}" for name in shader.attributes for part in ("base", "dx", "dy")}
    named = {*shader.locals, *shader.env, *shader.state, *shader.sizes}
    corners = set(re.findall(r"varying\d+_corners", shader.vertex))
    units = {f"texture{unit}" for unit in shader.units}
    return planes | named | units | corners | {"origin", "size", "zero"}


@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("way", Accumulate)
@pytest.mark.parametrize("name", ["hall-carr-hart-multi", "hall-carr-hart-single"])
def test_every_uniform_is_explained(name: str, way: Accumulate, sized: bool) -> None:
    plan = find_product(name).plan(m=5, l=7, n=3, block=2, accumulate=way)
    found = shaders_of(plan, sized=sized)
    assert all(declared(text) <= explained(text) for text in found.texts)


def test_one_text_serves_all_sizes() -> None:
    [small] = shaders_of(product(2, 6, 3), sized=False).texts
    [large] = shaders_of(product(8, 4, 7), sized=False).texts
    assert small == large
    assert set(small.sizes.values()) == {0, 1, 2} and set(small.sizes) <= declared(small)


def test_sizes_are_constants_where_they_are_known() -> None:
    [small] = shaders_of(product(), sized=True).texts
    [large] = shaders_of(product(16, 16, 16), sized=True).texts
    assert not small.sizes and small != large
    assert "texture(texture0, varying0 + vec2(0.25, 0.0))" in small.fragment
    assert "texture(texture0, varying0 + vec2(0.125, 0.0))" in large.fragment
