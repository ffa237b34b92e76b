"""The shaders of plans for the page: each distinct one once, and what their uniforms stand for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.page.shaders import PageShader, shaders_of
from gpgpu_legacy.plan.numbers import Table
from gpgpu_legacy.plan.plan import FragmentPass, Plan, Repeat, Texcoords

FLAT = ((0.5, 0.0, 0.0, 1.0), (4.5, 0.0, 0.0, 1.0), (4.5, 4.0, 0.0, 1.0), (0.5, 4.0, 0.0, 1.0))


def product(m: int = 8, l: int = 8, n: int = 8, **more: Any) -> Plan:  # noqa: E741
    return find_product("hall-carr-hart-multi").plan(m=m, l=l, n=n, block=2, **more)


def with_pass(plan: Plan, **changes: object) -> Plan:
    """The plan with changes of its first Repeat's first pass."""
    step = next(step for step in plan.steps if isinstance(step, Repeat))
    first, *rest = step.body
    body = (replace(first, **changes), *rest)  # type: ignore[arg-type]
    return replace(plan, steps=(replace(step, body=body),))


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


def test_passes_name_their_shaders_in_the_order_of_the_plan() -> None:
    plan = product(accumulate=Accumulate.COPY)
    [passes] = shaders_of(plan, sized=True).passes
    draw, copy = passes
    assert copy is None and draw is not None
    corners = [[number.at(1) for number in varying] for varying in draw.varyings]
    assert len(corners) == 3 and all(len(numbers) == 8 for numbers in corners)
    # In the second pass A is read from texel 2 of 4 on: half a texel right of the edge at 1/2.
    assert corners[0] == [0.625, 0.0, 0.625, 0.0, 0.625, 1.0, 0.625, 1.0]


def test_what_is_bent_in_any_iteration_has_two_planes() -> None:
    *flat, last = FLAT
    bent = (*flat, (Table((0.5, 1.5)), *last[1:]))
    plan = with_pass(product(), texcoords=(Texcoords(0, bent),))  # type: ignore[arg-type]
    [text] = shaders_of(plan, sized=False).texts
    assert text.attributes["texcoord0"].bent
    assert "texcoord0_dx[2]" in text.fragment
    assert not text.attributes["texcoord1"].bent


def test_state_is_named_as_the_plan_names_it() -> None:
    text = "!!ARBfp1.0\nOPTION ARB_fog_linear;\nMOV result.color, state.light[1].diffuse;\nEND\n"
    plan = with_pass(product(), program=assemble(text, "light.fp"))
    [shader] = shaders_of(plan, sized=False).texts
    assert set(shader.state.values()) == {
        "state.light[1].diffuse", "state.fog.color", "state.fog.params",
    }  # fmt: skip
    assert set(shader.state) <= declared(shader)


def test_a_kill_that_is_known_is_hidden() -> None:
    """A browser refuses to draw where it knows that nothing is written."""
    text = "!!ARBfp1.0\nKIL {-1, 0, 0, 0};\nMOV result.color, 1;\nEND\n"
    plan = with_pass(product(), program=assemble(text, "kills.fp"))
    assert isinstance(plan.steps[0], Repeat) and isinstance(plan.steps[0].body[0], FragmentPass)
    [shader] = shaders_of(plan, sized=False).texts
    assert "&& zero < 1.0) discard;" in shader.fragment and "zero" in declared(shader)
