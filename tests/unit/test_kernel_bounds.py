"""What is proven of a dispatch's accesses, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.isa.kernel import numbered, parts
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.lower.kernels.bounds import MOST_ELEMENTS, unproven
from gpgpu_legacy.plan.expand import without_tables
from gpgpu_legacy.plan.numbers import Number
from gpgpu_legacy.plan.plan import BufferBinding, ComputePass, Plan, Repeat, UniformValue

SHAPES = [
    (1, 1, 1), (37, 41, 43), (64, 64, 64), (1024, 512, 2048), (33, 1, 1), (1, 65, 3),
    (4096, 4096, 4096), (20000, 20000, 20000),
]  # fmt: skip
VARIANTS: list[dict[str, Any]] = [
    {}, {"alpha": 1.5, "beta": -0.75}, {"alpha": -3.0}, {"block": 1}, {"block": 4}, {"block": 32},
    {"block": 8, "dynamic": True}, {"as_printed": True},
]  # fmt: skip
KERNELS = [method for method in products() if method.plan(n=1).dispatches]


def all_unproven(plan: Plan) -> list[str]:
    """The accesses of a plan's dispatches that are not proven to be inside."""
    found: list[str] = []
    for step in without_tables(plan).steps:
        count, body = (step.count, step.body) if isinstance(step, Repeat) else (1, (step,))
        for pass_ in body:
            assert isinstance(pass_, ComputePass)
            bound = {b.binding: plan.texture(b.texture).extent for b in pass_.buffers}
            extents = {b.name: bound[b.binding] for b in pass_.kernel.buffers}
            lengths = {name: extent.width * extent.rows for name, extent in extents.items()}
            kernel = numbered(pass_.kernel)
            elements = (part for part in parts(*kernel.body) if isinstance(part, Element))
            named = {element.number: f"{kernel.name} {element}" for element in elements}
            found += map(named.__getitem__, unproven(pass_, lengths, count))
    return found


@pytest.mark.parametrize("method", KERNELS, ids=lambda method: method.name)
def test_all_accesses_of_the_shipped_kernels_are_proven(method: Algorithm) -> None:
    for m, l, n in SHAPES:  # noqa: E741
        for more in VARIANTS:
            if more.keys() <= method.parameters.keys():
                assert all_unproven(method.plan(m=m, l=l, n=n, **more)) == []


HEAD = """#version 430 core
layout(local_size_x = 8, local_size_y = 4) in;
layout(std430, binding = 0) buffer buffer_R { float R[]; };
uniform int n; uniform uint u; uniform int far; uniform bool flag;
shared float S[4][8];
"""
IDENTITY = """
int tx = int(gl_LocalInvocationID.x), ty = int(gl_LocalInvocationID.y);
int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y);
uint ux = gl_GlobalInvocationID.x;
"""


def remaining(body: str, iterations: int = 1, far: Number = 2**30) -> int:
    """How many accesses are not proven: n is 10, u is 3, R has 100 elements, 2×3 work groups."""
    kernel = parse_kernel(f"{HEAD}void main() {{ {IDENTITY} {body} }}", "small.comp")
    uniforms: dict[str, Number] = {"n": 10, "u": 3, "far": far, "flag": 1}
    pass_ = ComputePass(
        kernel,
        (BufferBinding(0, "R"),),
        tuple(UniformValue(name, value) for name, value in uniforms.items()),
        (2, 3),
    )
    return len(unproven(pass_, {"R": 100}, iterations))


@pytest.mark.parametrize(
    "body",
    [
        "R[x] = 1.0;",
        "R[x + 84] = 1.0;",
        "R[15 - x] = 1.0;",
        "if (x < n && y < n) R[y * n + x] = 1.0;",
        "if (!(x >= n || y >= n)) R[y * n + x] = 1.0;",
        "R[(x < 5) ? x : 99] = 1.0;",
        "R[x < 5 ? 4 - x : x] = 1.0;",
        "int i = x * 7; if (i > 99) i = 99; R[i] = 1.0;",
        "int i = x; if (i > n) { i = 3; } else { i = i + 5; } R[i] = 1.0;",
        "if (x == 99) R[x] = 1.0;",
        "R[x % 100] = R[x / 3];",
        "R[x % 4 * 25 + x / 4] = 1.0;" * 200,  # so many facts are alike
        "int i = x * 12 + y; R[(i / 20) * 10 + i % 10] = 1.0;",
        "int i = 20 * y + x; if (i < 50) R[(i / 10) * 10 + i % 10] = 1.0;",
        "for (int k = 0; k < n; ++k) R[k * n + k] = 1.0;",
        "for (int k = n - 1; k >= 0; --k) R[k * n] = 1.0;",
        "for (uint k = 0; k <= u; k += 2) R[k * 33] = 1.0;",
        "for (int k = 0, j = 99; k < x; ++k, j -= 6) R[j] = 1.0;",
        "for (int k = 0; k < n; k += 4) { R[k] = 1.0; R[k + 91] = 2.0; }",
        "int p = x; for (int k = 0; k < 4; ++k) { R[p] = 1.0; p += 5; R[p] = 2.0; p += 5; }",
        "for (int k = 0; k < 4; ++k) for (int j = k; j < 8; ++j) S[k][j] = R[j - k];",
        "for (int k = 0; k < 4; ++k) { int j; for (j = 0; j < 8; ++j) S[k][j] = 1.0; R[j] = 1.0; }",
        "for (int k = 0; k < 4; ++k) { int p = k; p += 5; R[p + 91] = 1.0; }",
        "for (int k = 5; k < 3; ++k) R[k + 1000] = 1.0;",
        "S[ty][tx] = S[3 - ty][7 - tx] + S[0][31];",
        "R[far * 4] = R[far + far + far + far + x];",
        "if (ux > 0u) R[ux + 4294967295u] = 1.0;",
        "for (int k = 0; k < 3 && R[k] > 0.0; ++k) R[k] = 1.0;",
        "int i = int(R[0]); if (i >= 0 && i < 100) R[i] = 1.0;",
        "int i = int(R[0]); i = (i < 0) ? 0 : i; i = (i > 99) ? 99 : i; R[i] = 1.0;",
        "float f = (x < n) ? R[x * 11] : 0.0; R[0] = f;",
        "float f = float(x < n && R[x * 11] > 0.0); R[0] = f;",
    ],
)  # fmt: skip
def test_what_is_inside_is_proven(body: str) -> None:
    assert remaining(body) == 0


@pytest.mark.parametrize(
    "body",
    [
        "R[x + 85] = 1.0;",
        "R[x - 1] = 1.0;",
        "R[-x] = 1.0;",
        "R[far] = 1.0;",
        "R[int(R[0])] = 1.0;",
        "if (x < n || y < n) R[y * n + x] = 1.0;",
        "if (!(x < n && y < n)) R[y * n + x] = 1.0;",
        "if (x < n) { } R[x * 7] = 1.0;",
        "int i = 3; if (flag) i = 100; R[i] = 1.0;",
        "bool inside = x < 3; if (flag) inside = true; if (inside) R[x * 40] = 1.0;",
        "for (int k = 0; k <= n; ++k) R[k * n] = 1.0;",
        "for (int k = 0; k != n; ++k) R[k] = 1.0;",
        "for (int k = 0; k < n; k += 0) R[k + 100] = 1.0;",
        "int k; for (k = 0; k < n; ++k) { } R[k * 10] = 1.0;",
        "int p = 0; for (int k = 0; k < n; ++k) { R[p] = 1.0; if (flag) p += 20; }",
        "int p = 0; for (int k = 0; k < n; ++k) { R[p] = 1.0; p = p + p + 1; }",
        "for (int k = 0; k < n; ++k) { R[k] = 1.0; if (flag) k = 1000; }",
        "for (int k = 0; k < n; ++k) { k = 1000; R[k] = 1.0; }",
        "bool b = true; for (int k = 0; k < 3; ++k) { if (b) R[k * 60] = 1.0; b = k < 1; }",
        "S[ty][tx + 1] = 1.0;",
        "S[1][-1] = 1.0;",
        "R[ux + 4294967295u] = 1.0;",
        "R[far * 3] = 1.0;",
        "R[far + far + far + far + 7 * x] = 1.0;",
        "for (int k = 2147483640; k < 2147483647; k += 5) R[k - 2147483640] = 1.0;",
        "for (uint k = 3; k >= 0u; --k) R[k] = 1.0;",
        "R[(x - 4) % 100] = 1.0;",
        "for (int k = 0; R[k] > 0.0; ++k) { }",
        "for (int k = 0; k < 100 && R[k + 1] > 0.0; ++k) { }",
        "float f = float(x < n || R[x * 11] > 0.0); R[0] = f;",
    ],
)  # fmt: skip
def test_what_may_be_outside_is_not(body: str) -> None:
    assert remaining(body) == 1


def test_in_a_buffer_too_long_for_native_code_all_is_checked_that_is_far() -> None:
    kernel = parse_kernel(f"{HEAD}void main() {{ R[0] = R[u]; }}", "small.comp")

    def far(index: int) -> frozenset[int]:
        values = {"n": 0, "u": index, "far": 0, "flag": 0}
        uniforms = tuple(UniformValue(name, value) for name, value in values.items())
        pass_ = ComputePass(kernel, (BufferBinding(0, "R"),), uniforms, (1, 1))
        return unproven(pass_, {"R": 2**33})

    assert far(MOST_ELEMENTS - 1) == frozenset()
    assert far(MOST_ELEMENTS) == far(2**32 - 1) == frozenset({2})
