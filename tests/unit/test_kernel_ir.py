"""Walks over kernels: no node is left out, and depth does not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import pytest

from gpgpu_legacy.ir.expressions import (
    Composite,
    Element,
    Expression,
    Read,
    Variable,
    read,
)
from gpgpu_legacy.ir.kernel import (
    Kernel,
    applied,
    assigned_names,
    has_barrier,
    parts,
    variable_names,
)
from gpgpu_legacy.ir.statements import (
    Barrier,
    with_expressions,
)
from gpgpu_legacy.ir.types import INT, Operator
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


def expressions_by_fields(value: object) -> Iterator[Expression]:
    """What fields hold, whatever the nodes say of themselves."""
    if isinstance(value, tuple):
        for part in value:
            yield from expressions_by_fields(part)
    elif is_dataclass(value):
        if isinstance(value, Expression):
            yield value
        for field in fields(value):
            yield from expressions_by_fields(getattr(value, field.name))


def test_a_walk_comes_to_every_expression(kernel: Kernel) -> None:
    assert Counter(parts(*kernel.body)) == Counter(expressions_by_fields(kernel.body))


def test_a_walk_goes_deeper_than_frames_of_python() -> None:
    expression: Expression = read(Variable("x", INT))
    for _ in range(100_000):
        expression = applied(Operator.NEGATE, expression)
    assert sum(1 for _ in parts(expression)) == 100_001
    while isinstance(expression, Composite):  # Python itself takes nested objects apart by frames
        [expression] = expression.operands


def test_what_is_rebuilt_without_a_change_is_the_same(kernel: Kernel) -> None:
    for statement in kernel.body:
        assert with_expressions(statement, lambda expression: expression) == statement


def test_all_expressions_are_changed() -> None:
    """`R[x]` becomes `R[y]` where x becomes y, and R is marked on the way."""

    def changed(expression: Expression) -> Expression:
        match expression:
            case Element():
                return replace(expression, is_inside=True)
            case Read(variable=Variable(name="x")):
                return read(replace(expression.variable, name="y"))
        return expression

    x = parse_kernel(EVERY_NODE.replace("R[x]", "R[R[x] > 0.5 ? x : n]"), "small.comp")
    body = [with_expressions(statement, changed) for statement in x.body]
    names = {part.variable.name for part in parts(*body) if isinstance(part, Read)}
    assert "x" in variable_names(*x.body) and "x" not in names
    accesses = [part for part in parts(*body) if isinstance(part, Element)]
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
