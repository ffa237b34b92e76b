"""The builder of plans: loops against loops of Python, transfers, defaults, and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy import Pipeline, Texels
from gpgpu_legacy.errors import GpgpuLegacyError, InputError, PlanError
from gpgpu_legacy.plan.expand import expand
from gpgpu_legacy.plan.plan import FragmentPass

COPY = "!!ARBfp1.0\nTEX result.color, fragment.position, texture[0], RECT;\nEND"
ADD_LOCAL = """!!ARBfp1.0
TEMP r;
TEX r, fragment.position, texture[0], RECT;
ADD result.color, r, program.local[0];
END"""

# Loops against loops of Python ------------------------------------------------------------------

NAMES = "abc"

Tree = list[Any]
"""("draw", source, target), ("swap", one, other) and ("loop", count, step, [items])."""


def _trees(depth: int) -> st.SearchStrategy[Tree]:
    pair = st.permutations(NAMES).map(lambda names: tuple(names[:2]))
    leaf = st.one_of(
        pair.map(lambda names: ("draw", *names)), pair.map(lambda names: ("swap", *names))
    )
    if depth == 0:
        return st.lists(leaf, min_size=1, max_size=3)
    loop = st.tuples(st.just("loop"), st.integers(0, 5), st.integers(0, 2), _trees(depth - 1))
    return st.lists(st.one_of(leaf, loop), min_size=1, max_size=3)


def _build(p: Pipeline, textures: dict[str, Any], tree: Tree, indices: list[Any]) -> None:
    for kind, *what in tree:
        if kind == "draw":
            value = sum((index * 10**k for k, index in enumerate(indices)), 0.5)
            source, target = (textures[name] for name in what)
            p.draw(ADD_LOCAL, {0: source}, into=target, local={0: (value, 0, 0, 1)})
        elif kind == "swap":
            p.swap(*(textures[name] for name in what))
        else:
            count, step, body = what
            with p.repeat(count + step * indices[-1] if indices else count) as i:
                _build(p, textures, body, [*indices, i])
        p.plan()  # is made again whenever something was added


def _expected(
    tree: Tree, places: dict[str, str], indices: list[int]
) -> list[tuple[str, str, float]]:
    """What runs, by Python's own loops: source, target and the parameter of every pass."""
    ran = []
    for kind, *what in tree:
        if kind == "draw":
            value = sum((index * 10**k for k, index in enumerate(indices)), 0.5)
            ran.append((places[what[0]], places[what[1]], value))
        elif kind == "swap":
            places[what[0]], places[what[1]] = places[what[1]], places[what[0]]
        else:
            count, step, body = what
            for i in range(count + step * indices[-1] if indices else count):
                ran += _expected(body, places, [*indices, i])
    return ran


@settings(max_examples=200, deadline=None)
@given(_trees(2))
def test_loops_mean_what_python_loops_mean(tree: Tree) -> None:
    p = Pipeline("loops")
    textures = {name: p.texture(name, 2, 2, initial=0.0) for name in NAMES}
    _build(p, textures, tree, [])
    p.output("out", textures["a"])
    plan = p.plan()
    places = {name: name for name in NAMES}
    ran = _expected(tree, places, [])
    passes = [step for step in expand(plan).steps if isinstance(step, FragmentPass)]
    assert [
        (pass_.bindings[0].texture, pass_.target, pass_.locals[0].value[0]) for pass_ in passes
    ] == ran
    assert plan.outputs[0].texture == places["a"]


@pytest.mark.parametrize(
    "value",
    [
        lambda i: 2**i,
        lambda i: 64 >> i,
        lambda i: (7 - i) // 2,
        lambda i: 10 % (i + 1),
        lambda i: 1 / (i + 1),
        lambda i: -i - 1,
        lambda i: 0.1 * i,
        lambda i: (i > 1) + (i == 0),
        lambda i: i * (i & 1),
    ],
)
def test_expressions_have_pythons_values(value: Callable[[Any], Any]) -> None:
    p = Pipeline("values")
    x, y = p.texture("x", 1, 1, initial=0.0), p.texture("y", 1, 1)
    listed = [5, 3, 8, 1, 0.25]
    with p.repeat(5) as i:
        p.draw(ADD_LOCAL, {0: x}, into=y, local={0: (value(i), i.map(np.cos), listed, 1)})
    vectors = [s.locals[0].value for s in expand(p.plan()).steps if isinstance(s, FragmentPass)]
    assert vectors == [(value(k), float(np.cos(k)), listed[k], 1) for k in range(5)]


def test_a_builder_goes_on_from_a_plan() -> None:
    p, x, y = _two()
    with p.repeat(3) as i:
        p.draw(ADD_LOCAL, {0: x}, into=y, local={0: i})
        p.swap(x, y)
    p.output("x", x)
    plan = p.plan()
    more = Pipeline.continuing(plan)
    assert more.plan() == plan
    z = more.texture("z", 4, 4)
    more.draw(ADD_LOCAL, {0: plan.texture("x")}, into=z, local={0: 0.5})
    more.output("z", z)
    zeros = np.zeros((4, 4))
    run = more.run(x=zeros)
    assert np.array_equal(run.x, zeros + 0 + 1 + 2)
    # x itself holds what the second pass gave: the third drew to y
    assert np.array_equal(run.z, zeros + 0 + 1 + 0.5)
    with pytest.raises(PlanError, match="is read back before"):
        Pipeline.continuing(replace(plan, inputs=(), steps=()))


# Transfers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("packing", "size", "texels"),
    [("one", (5, 7), (7, 5)), ("quadrants", (5, 7), (4, 3)), ("rows", (5, 7), (2, 5))],
)
def test_what_is_packed_comes_back(
    packing: str, size: tuple[int, int], texels: tuple[int, int]
) -> None:
    p = Pipeline("there-and-back")
    x = p.input("x", *size, packing=packing)
    assert (x.extent.width, x.extent.height) == texels
    y = p.texture("y", *texels, format=x.format.name)
    p.draw(COPY, {0: x}, into=y)
    p.output("y", y, *size, packing=packing)
    values = np.arange(35, dtype=np.float32).reshape(size)
    assert np.array_equal(p.run(x=values).y, values)


NEIGHBOURS = """!!ARBfp1.0
TEMP own, left, below, first;
TEX own, fragment.texcoord[0], texture[0], RECT;
TEX left, fragment.texcoord[1], texture[0], RECT;
TEX below, fragment.texcoord[2], texture[0], RECT;
TEX first, fragment.texcoord[3], texture[0], RECT;
MAD own, left, 2, own;
MAD own, below, 4, own;
MAD result.color, first, 8, own;
END"""


@pytest.mark.parametrize(
    "executor",
    [
        "numpy",
        "jit",
        *(pytest.param(f"gl-{n}", marks=pytest.mark.gl) for n in ("raster", "compute")),
    ],
)
@pytest.mark.parametrize("rect", [(0, 0, 7, 6), (1, 1, 5, 3), (2, 3, 4, 2)])
def test_neighbours_are_those_of_the_fragment_in_any_rectangle(
    ready: Callable[[str], Any], executor: str, rect: tuple[int, int, int, int]
) -> None:
    ready(executor)
    p = Pipeline("neighbours")
    a, b = p.input("a", 6, 7), p.texture("b", 7, 6, initial=0.0)
    with p.repeat(3):
        around = {1: Texels(-1, 0), 2: Texels(0, -1), 3: Texels(x=0, y=0)}
        p.draw(NEIGHBOURS, {0: a}, into=b, rect=rect, texcoords=around)
        p.swap(a, b)
    p.output("out", a)
    now, x, y = np.arange(42.0).reshape(6, 7), slice(rect[0], rect[0] + rect[2]), rect[1]
    given, other = now.copy(), np.zeros((6, 7))
    for _ in range(3):
        edge = np.pad(now, 1, mode="edge")
        both = now + 2 * edge[1:-1, :-2] + 4 * edge[:-2, 1:-1]
        drawn = both[y : y + rect[3], x] + 8 * now[: rect[3], : rect[2]]
        now, other = other, now
        now[y : y + rect[3], x] = drawn
    assert np.array_equal(p.run({"a": given}, executor=executor).out, now)


def test_several_targets_blending_copies_and_clears() -> None:
    p = Pipeline("targets")
    a, b, c = (p.texture(name, 2, 1, initial=1.0) for name in "abc")
    two = """!!ARBfp1.0
OPTION ARB_draw_buffers;
MOV result.color[0], 2;
MOV result.color[1], fragment.color;
END"""
    p.draw(two, into=[a, b], blend="add", color=[(0, 0), (4, 0), (4, 0), (0, 0)])
    p.copy(b, c, source_rect=(0, 0, 1, 1), target_rect=(1, 0, 1, 1))
    p.clear(a, 9)
    for name, texture in zip("abc", (a, b, c), strict=True):
        p.output(name, texture)
    run = p.run()
    assert np.array_equal(run.a, [[9, 9]])
    # a colour runs from 0 at the left to 4 at the right: 1 and 3 at the centres, added to 1
    assert np.array_equal(run.b, [[2, 4]])
    assert np.array_equal(run.c, [[1, 2]])


def test_a_kernel_is_dispatched_with_uniforms_of_the_iteration() -> None:
    kernel = """#version 430
layout(local_size_x = 4, local_size_y = 1) in;
layout(std430, binding = 0) buffer X { float X_[]; };
uniform int k;
void main() {
    uint i = gl_GlobalInvocationID.x;
    X_[i] = X_[i] + float(k);
}
"""
    p = Pipeline("kernel")
    x = p.input("x", 1, 8, kind="BUFFER")
    with p.repeat(3) as i:
        p.dispatch(kernel, [x], (2, 1), uniforms={"k": 10 * i})
    p.output("x", x)
    assert np.array_equal(p.run(x=np.ones((1, 8))).x, np.full((1, 8), 31.0))


# Mistakes, each said in the call that makes it --------------------------------------------------


def _two() -> tuple[Pipeline, Any, Any]:
    p = Pipeline("wrong")
    return p, p.input("x", 4, 4), p.texture("y", 4, 4)


MISTAKES: list[tuple[str, Callable[[Pipeline, Any, Any], object]]] = [
    ("texture x is read and written by one pass", lambda p, x, _: p.draw(COPY, {0: x}, into=x)),
    ("texture y is bound before anything was", lambda p, x, y: p.draw(COPY, {0: y}, into=x)),
    (
        r"reads fragment.texcoord\[1\], which is not given",
        lambda p, x, y: p.draw(COPY.replace("position", "texcoord[1]"), {0: x}, into=y),
    ),
    ("make it with kind='2D'", lambda p, x, y: p.draw(COPY.replace("RECT", "2D"), {0: x}, into=y)),
    ("give a whole number", lambda p, x, y: p.draw(COPY, {0: x}, into=y, rect=(0, 0, 1.5, 1))),
    (r"give \(x, y, width, height\)", lambda p, x, y: p.draw(COPY, {0: x}, into=y, rect=(0, 0))),
    ("cannot be swapped", lambda p, x, _: p.swap(x, p.texture("z", 2, 2))),
    ("not of pipeline wrong", lambda p, _, y: p.draw(COPY, {0: _stranger()}, into=y)),
    ("what p.texture or p.input returned", lambda p, _, y: p.draw(COPY, {0: "x"}, into=y)),
    ("a repeat of -1 iterations", lambda p, _x, _y: p.repeat(-1).__enter__()),
    ("a repeat needs a count, or until", lambda p, _x, _y: p.repeat().__enter__()),
    ("has 4×4; give a texture of 1×1", lambda p, x, _: _until(p, x)),
    ("asked whether a loop ends", lambda p, _x, _y: _until(p, p.texture("e", 1, 1))),
    ("uses its iteration in 5000 rounds", lambda p, _x, y: _counted(p, y)),
    ("a list of 3 values in a repeat of 2", lambda p, x, y: _in_loop(p, x, y, lambda _: [1, 2, 3])),
    ("no single value while a plan", lambda p, x, y: _in_loop(p, x, y, lambda i: [4, 5][i])),
    ("has no value: division by zero", lambda p, x, y: _in_loop(p, x, y, lambda i: 1 / i)),
    ("used after its repeat", lambda p, x, y: _after_loop(p, x, y)),  # noqa: PLW0108
    ("there is no file no.fp", lambda p, x, y: p.draw("no.fp", {0: x}, into=y)),
    ("give a Program, its text or its file", lambda p, x, y: p.draw(3, {0: x}, into=y)),
    (r"expected ';'|unexpected", lambda p, x, y: p.draw("!!ARBfp1.0\nMOV a\nEND", {0: x}, into=y)),
    ("choose from add, subtract", lambda p, x, y: p.draw(COPY, {0: x}, into=y, blend="most")),
    ("in add,src-alpha,one-minus", lambda p, x, y: p.draw(COPY, {0: x}, into=y, blend="add,one")),
    ("scissor leaves nothing", lambda p, x, y: p.draw(COPY, {0: x}, into=y, scissor=(0, 0, -1, 1))),
    ("two operands share a name, x", lambda p, _x, _y: p.operand("x", 1, 1)),
]  # fmt: skip


def _stranger() -> Any:
    return Pipeline("other").texture("x", 3, 3, initial=0.0)


def _until(p: Pipeline, texture: Any = None, **given: Any) -> None:
    texture = texture or p.texture("one", 1, 1, initial=1.0)
    p.repeat(until=texture, **{"below": 0.1, "at_most": 5, **given}).__enter__()


def _counted(p: Pipeline, y: Any) -> None:
    one = p.texture("one", 1, 1, initial=1.0)
    with p.repeat(until=one, below=0.1, at_most=5000) as i:
        p.clear(y, i)
    p.plan()


def _in_loop(p: Pipeline, x: Any, y: Any, value: Callable[[Any], Any]) -> None:
    with p.repeat(2) as i:
        p.draw(ADD_LOCAL, {0: x}, into=y, local={0: (value(i), 0, 0, 1)})


def _after_loop(p: Pipeline, x: Any, y: Any) -> None:
    with p.repeat(2) as i:
        p.draw(COPY, {0: x}, into=y)
    p.draw(ADD_LOCAL, {0: x}, into=y, local={0: (i, 0, 0, 1)})


@pytest.mark.parametrize(("message", "mistake"), MISTAKES)
def test_a_mistake_is_said_in_its_call(
    message: str, mistake: Callable[[Pipeline, Any, Any], object]
) -> None:
    p, x, y = _two()
    with pytest.raises(GpgpuLegacyError, match=message) as caught:
        mistake(p, x, y)
    assert isinstance(caught.value, InputError | PlanError) or caught.value.diagnostics  # type: ignore[attr-defined]
