"""Dispatches as traces, against the same loops written out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from buffers import bindings, buffer, uniforms

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache import kernels
from gpgpu_legacy.cache.access import NO_ACCESS, AccessTrace
from gpgpu_legacy.cache.kernels import trace_kernels
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.interp.kernel import AddressMachine, Array, WorkGroups
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.numbers import Affine, Number
from gpgpu_legacy.plan.plan import ComputePass, Plan, Repeat

HOST, GLOBAL, SHARED = (f"dobravec-bulic-{kind}" for kind in ("host", "global", "shared"))
WORD = 4

Access = tuple[str, int, bool]
"""The array, the index of the element in it, and whether it is a store."""


def plan_of(name: str, m: int, l: int, n: int, **options: Any) -> Plan:  # noqa: E741
    return find_product(name).plan(m=m, l=l, n=n, **options)


def in_order(trace: AccessTrace) -> list[Access]:
    """All accesses of a trace whose lines are words."""
    assert trace.line_bytes == WORD
    found = []
    for step in trace.steps:
        for iteration in range(step.count):
            for pass_ in step.passes(iteration):
                here = []
                for chunk in pass_.chunks():
                    assert chunk.lines.dtype == np.int64 and chunk.kinds.dtype == np.int16
                    assert chunk.lines.shape == (chunk.times.size, chunk.kinds.size)
                    assert (chunk.times == 1).all()
                    for row in chunk.lines.tolist():
                        here += zip(row, chunk.kinds.tolist(), strict=True)
                here = [(line, kind) for line, kind in here if line != NO_ACCESS]
                assert pass_.accesses == len(here)
                found += here
    regions = trace.regions
    return [
        (regions[kind // 2].name, line - regions[kind // 2].base // WORD, bool(kind % 2))
        for line, kind in found
    ]


def words(plan: Plan) -> list[Access]:
    return in_order(trace_kernels(plan, line_bytes=WORD))


# The methods, by hand ------------------------------------------------------------------------


def in_groups(rows: int, columns: int, b: int) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Work groups x first, with their invocations (y, x), x first."""
    threads = [(y, x) for y in range(b) for x in range(b)]
    for by in range(-(-rows // b)):
        for bx in range(-(-columns // b)):
            yield by, bx, threads


def global_loops(n: int, b: int) -> list[Access]:
    found: list[Access] = []
    for by, bx, threads in in_groups(n, n, b):
        for e in range(n):
            found += [("A", (by * b + y) * n + e, False) for y, _ in threads]
            found += [("B", e * n + bx * b + x, False) for _, x in threads]
        found += [("C", (by * b + y) * n + bx * b + x, True) for y, x in threads]
    return found


@pytest.mark.parametrize(("n", "b"), [(8, 4), (6, 2), (4, 4), (3, 1)])
def test_from_global_memory(n: int, b: int) -> None:
    assert words(plan_of(GLOBAL, n, n, n, block=b)) == global_loops(n, b)


@pytest.mark.parametrize(
    ("chunk", "record"), [(1 << 20, 500), (100, 1 << 20), (40, 600), (1, 1 << 20)]
)
def test_batches_and_chunks_change_nothing(
    monkeypatch: pytest.MonkeyPatch, chunk: int, record: int
) -> None:
    expected = global_loops(12, 4)
    monkeypatch.setattr(kernels, "CHUNK_ACCESSES", chunk)
    monkeypatch.setattr(kernels, "LARGEST_RECORD", record)
    trace = trace_kernels(plan_of(GLOBAL, 12, 12, 12, block=4), line_bytes=WORD)
    [pass_] = trace.steps[0].passes(0)
    largest = max(each.lines.size for each in pass_.chunks())
    assert largest <= max(chunk, 2 * 16)  # a row of what is repeated is not cut
    assert in_order(trace) == expected


def test_a_work_group_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "LARGEST_RECORD", 60)
    with pytest.raises(PlanError, match="more than 60 accesses"):
        words(plan_of(GLOBAL, 12, 12, 12, block=4))


def shared_loops(n: int, b: int) -> list[Access]:
    found: list[Access] = []
    for by, bx, threads in in_groups(n, n, b):
        for step in range(0, n, b):
            found += [("A", (by * b + y) * n + step + x, False) for y, x in threads]
            found += [("As", y * b + x, True) for y, x in threads]
            found += [("B", (step + y) * n + bx * b + x, False) for y, x in threads]
            found += [("Bs", y * b + x, True) for y, x in threads]
            for k in range(b):
                found += [("As", y * b + k, False) for y, _ in threads]
                found += [("Bs", k * b + x, False) for _, x in threads]
        found += [("C", (by * b + y) * n + bx * b + x, True) for y, x in threads]
    return found


@pytest.mark.parametrize(("n", "b"), [(8, 4), (6, 2)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_from_shared_memory(n: int, b: int, dynamic: bool) -> None:
    assert words(plan_of(SHARED, n, n, n, block=b, dynamic=dynamic)) == shared_loops(n, b)


# Native code for one invocation --------------------------------------------------------------

TWISTED = """
layout(local_size_x = 1) in;
uniform int n;
uniform uint first;
layout(binding = 0) readonly buffer A_ { float A[]; };
layout(binding = 1) buffer B_ { float B[]; };
shared float S[2][3];
void main() {
    int g = int(gl_WorkGroupID.x);
    float sum = 1.5;
    vec4 four = vec4(A[g], B[3], A[2], B[1]);
    for (int i = n; i > g; i -= 2) {
        bool odd = i % 2 == 1;
        sum += odd ? A[i] * B[i / 2] : 2.0;
        if (i / 3 == 1) {
            S[i % 2][i / 3] = A[7] + sum;
        } else {
            sum *= 0.5;
        }
        int last = i;
        last += 1;
        B[last] = S[1][2] + B[last];
    }
    if (g == 1)
        sum -= four.x;
    B[first + uint(g)] = sum + B[0];
}
"""


class Recorded(AddressMachine):
    """Records names and indices."""

    recorded: list[Access]

    def access(self, element: Element, *, store: bool) -> None:
        index: Array = np.broadcast_to(self.flat_index(element), self.shape)
        mask = self.mask
        taken = index.ravel() if mask is None else index[np.broadcast_to(mask, self.shape)]
        self.recorded += [(element.array.name, i, store) for i in taken.tolist()]


def by_the_reference_machine(plan: Plan) -> list[Access]:
    """Each work group by itself."""
    recorded: list[Access] = []
    for each in passes(plan):
        assert isinstance(each, ComputePass)
        names = {b.binding: plan.texture(b.texture).extent for b in each.buffers}
        lengths = {
            b.name: names[b.binding].width * names[b.binding].height for b in each.kernel.buffers
        }
        for y in range(each.groups[1]):
            for x in range(each.groups[0]):
                machine = Recorded(each, WorkGroups((x, y), (1, 1)), lengths)
                machine.recorded = recorded
                machine.run()
    return recorded


def twisted(local_size: int = 1, groups: int = 5, first: Number = 20) -> Plan:
    text = TWISTED.replace("local_size_x = 1", f"local_size_x = {local_size}")
    step = ComputePass(
        parse_kernel(text), bindings("A", "B"), uniforms(n=9, first=first), (groups, 1)
    )
    return Plan("twisted", (), (), (buffer("A", 4, 10), buffer("B", 4, 10)), (), (step,), ())


@pytest.mark.parametrize("local_size", [1, 3])
def test_native_code_and_batches_say_what_the_reference_machine_does(local_size: int) -> None:
    plan = twisted(local_size)
    expected = by_the_reference_machine(plan)
    assert len({array for array, _, _ in expected}) == 3
    assert words(plan) == expected


@pytest.mark.parametrize("name", [HOST, GLOBAL, SHARED])
def test_the_methods_of_one_invocation_likewise(name: str) -> None:
    plan = plan_of(name, 5, 5, 5, **({} if name == HOST else {"block": 1}))
    assert words(plan) == by_the_reference_machine(plan)


# Regions, steps, errors ----------------------------------------------------------------------


def test_what_a_repeat_repeats() -> None:
    [step] = twisted().steps
    assert isinstance(step, ComputePass)
    same = replace(twisted(), steps=(Repeat(3, (step,)),))
    moving = replace(same, steps=(Repeat(3, twisted(first=Affine(20, 2)).steps),))
    for plan in (same, moving):
        assert words(plan) == by_the_reference_machine(plan)
    assert trace_kernels(same).steps[0].shifts(2) == {0: 0, 1: 0, 2: 0}
    assert trace_kernels(moving).steps[0].shifts(0) == {0: 0, 1: 0, 2: 0}
    assert trace_kernels(moving).steps[0].shifts(2) is None


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(PlanError, match="draws"):
        trace_kernels(find_product("hall-carr-hart-multi").plan(n=8, block=2))
    with pytest.raises(InputError, match="power of two of at least 4"):
        trace_kernels(plan_of(HOST, 2, 2, 2), line_bytes=2)
    with pytest.raises(InputError, match="48 bytes"):
        trace_kernels(plan_of(HOST, 2, 2, 2), line_bytes=48)
    with pytest.raises(PlanError, match="outside of B"):
        words(twisted(3, first=100))
