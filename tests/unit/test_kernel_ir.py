"""Walks over kernels: no node is left out, outer ones come first, and depth does not matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import pytest

from gpgpu_legacy.kernel.ir import (
    Barrier,
    Element,
    Expression,
    Kernel,
    Node,
    Type,
    Unary,
    Variable,
    assigned_names,
    has_barrier,
    rebuild,
    variable_names,
    walk,
)
from gpgpu_legacy.languages.glsl.kernels import parse_kernel

EVERY_NODE = """#version 430 core
layout(local_size_x = 8, local_size_y = 4) in;
layout(std430, binding = 0) buffer buffer_R { float R[]; };
uniform int n;
shared float S[4][8];
void main()
{
    int x = int(gl_GlobalInvocationID.x), y;
    vec4 v = vec4(1.0, R[x], R[int(R[n])], 4.0);
    v.y = -v.x;
    S[y][x % 8] = R[0] + 2.0 * R[1];
    for (int k = 0, j = 9; k < n && !(j == k); ++k, --j) {
        if (k > x) { R[k] += v.z; } else R[j] = x < 3 ? 0.5 : S[k][j];
        barrier();
    }
}
"""


@pytest.fixture
def kernel() -> Kernel:
    return parse_kernel(EVERY_NODE, "every_node.comp")


def nodes_by_fields(value: object) -> Iterator[object]:
    """What fields hold, whatever the nodes say of themselves; fields are in the order of text."""
    if isinstance(value, tuple):
        for part in value:
            yield from nodes_by_fields(part)
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from nodes_by_fields(getattr(value, field.name))


def test_a_walk_comes_to_every_node_outer_ones_first(kernel: Kernel) -> None:
    nodes = list(walk(*kernel.body))
    assert nodes == list(nodes_by_fields(kernel.body))
    assert {type(node) for node in nodes} == set(Node.__args__)


def test_a_walk_goes_deeper_than_frames_of_python() -> None:
    expression: Expression = Variable(Type.INT, "x")
    for _ in range(100_000):
        expression = Unary(Type.INT, "-", expression)
    assert sum(1 for _ in walk(expression)) == 100_001
    while isinstance(expression, Unary):  # Python itself takes nested objects apart by frames
        expression = expression.operand


def test_what_is_rebuilt_without_a_change_is_the_same(kernel: Kernel) -> None:
    for statement in kernel.body:
        assert rebuild(statement, lambda expression: expression) == statement


def test_rebuilding_goes_on_in_what_a_change_returns() -> None:
    """`R[x]` becomes `R[y]` where x becomes y, and R is marked on the way."""

    def changed(expression: Expression) -> Expression:
        match expression:
            case Element():
                return replace(expression, is_inside=True)
            case Variable(name="x"):
                return replace(expression, name="y")
        return expression

    x = parse_kernel(EVERY_NODE.replace("R[x]", "R[R[x] > 0.5 ? x : n]"), "small.comp")
    body = [rebuild(statement, changed) for statement in x.body]
    assert "x" in variable_names(*x.body) and "x" not in variable_names(*body)
    accesses = [node for node in walk(*body) if isinstance(node, Element)]
    assert len(accesses) == 11 and all(access.is_inside for access in accesses)


def test_names_and_barriers_are_found_in_nested_statements(kernel: Kernel) -> None:
    *declarations, component, store, loop = kernel.body
    assert assigned_names(*declarations) == {"x", "y", "v"}
    assert assigned_names(component) == {"v"}
    assert assigned_names(store) == set()
    assert assigned_names(loop) == {"k", "j"}
    assert variable_names(loop) == {"k", "j", "x", "v"}
    assert has_barrier(*kernel.body) and has_barrier(Barrier())
    assert not has_barrier(*declarations, component, store)
