"""Walks over kernels: no node is left out, and depth does not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest

from gpgpu_legacy.isa.expressions import (
    Composite,
    Expression,
    Variable,
    read,
)
from gpgpu_legacy.isa.kernel import (
    Kernel,
    applied,
    parts,
)
from gpgpu_legacy.isa.types import INT, Operator
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
