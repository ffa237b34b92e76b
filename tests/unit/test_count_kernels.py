"""Kernels counted: hand work, and what the reference machine does when it really runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from buffers import bindings, buffer, uniforms
from products import plan_of as product_plan

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.count.traffic import Counts, count_compute_pass, count_plan
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp import kernel as machine
from gpgpu_legacy.interp.kernel import Array, KernelMachine, WorkGroups
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.isa.types import Type
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.plan.numbers import Number
from gpgpu_legacy.plan.plan import ComputePass, Plan, Repeat, constant_groups

TILED = "opengl-compute-tiled"
HOST, GLOBAL, SHARED = (f"dobravec-bulic-{kind}" for kind in ("host", "global", "shared"))
MALI = "mali-sgemm"


def counted(name: str, shape: tuple[int, int, int], **more: Any) -> Counts:
    return count_plan(product_plan(find_product(name), shape, **more))


# Methods, by hand ------------------------------------------------------------------------------


def test_the_host_multiplies_and_adds_in_one_invocation() -> None:
    """3·4·5 = 60 steps of two loads, a product and a sum; 3·5 stores."""
    assert counted(HOST, (3, 4, 5)) == Counts(
        passes=1, dispatches=1, invocations=1, arithmetic=120, global_loads=120, global_stores=15,
        bytes_requested=4 * (120 + 15), upload_bytes=4 * (12 + 20), readback_bytes=4 * 15,
    )  # fmt: skip


def test_a_thread_an_element_of_the_padded_product() -> None:
    """3×5×6 in blocks of 4 is 4×8×8: 32 threads of 8 steps."""
    assert counted(GLOBAL, (3, 5, 6), block=4) == Counts(
        passes=1, dispatches=1, invocations=32, arithmetic=32 * 8 * 2, global_loads=32 * 8 * 2,
        global_stores=32, bytes_requested=4 * (32 * 16 + 32), upload_bytes=4 * (32 + 64),
        readback_bytes=4 * 18,
    )  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
def test_shared_blocks_are_loaded_once_a_work_group(dynamic: bool) -> None:
    """8×8 in blocks of 4: 64 threads, 2 blocks, in each 2 loads, 2 stores, 2 waits, 4 steps."""
    result = counted(SHARED, (8, 8, 8), block=4, dynamic=dynamic)
    assert (result.invocations, result.dispatches) == (64, 1)
    assert result.global_loads == result.shared_stores == result.barriers == 64 * 2 * 2
    assert result.shared_loads == result.arithmetic == 64 * 2 * 4 * 2
    assert result.bytes_requested == 4 * (256 + 64)


# Against the reference machine, run in full ------------------------------------------------------


class Heard(KernelMachine):
    """Counts what a run with data does; the masks are broadcast and summed."""

    def __init__(self, pass_: ComputePass, arrays: dict[str, Array]) -> None:
        grid = WorkGroups((0, 0), constant_groups(pass_.groups))
        super().__init__(pass_, grid, arrays)
        self.totals: Counter[str] = Counter()

    def active(self) -> int:
        return int(np.broadcast_to(True if self.mask is None else self.mask, self.shape).sum())

    def note(self, element: Element, what: str) -> None:
        space = "shared" if element.array.is_shared else "global"
        self.totals[f"{space}_{what}"] += self.active()

    def load(self, element: Element) -> Array:
        self.note(element, "loads")
        return super().load(element)

    def store(self, element: Element, value: Array) -> None:
        self.note(element, "stores")
        super().store(element, value)

    def arithmetic(self, type_: Type) -> None:
        self.totals["arithmetic"] += self.active() * type_.width

    def barrier(self) -> None:
        self.totals["barriers"] += self.active()


def run_in_full(plan: Plan, pass_: ComputePass) -> Counts:
    sizes = {b.binding: plan.texture(b.texture).extent for b in pass_.buffers}
    arrays = {
        b.name: np.ones(sizes[b.binding].width * sizes[b.binding].height, np.float32)
        for b in pass_.kernel.buffers
    }
    heard = Heard(pass_, arrays)
    heard.run()
    t = heard.totals
    moved = 4 * (t["global_loads"] + t["global_stores"])
    sums = {**t, "invocations": pass_.invocations, "bytes_requested": moved}
    return Counts(passes=1, dispatches=1, **sums)


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (33, 9, 65), (16, 32, 8)])
@pytest.mark.parametrize("name", [HOST, GLOBAL, SHARED, TILED, MALI])
def test_methods_do_what_is_counted(name: str, shape: tuple[int, int, int]) -> None:
    if name == HOST:
        shape = (min(shape[0], 6), min(shape[1], 6), min(shape[2], 6))
    plan = product_plan(find_product(name), shape)
    for pass_ in plan.as_written:
        assert isinstance(pass_, ComputePass)
        assert count_compute_pass(plan, pass_) == run_in_full(plan, pass_)


def dispatch(body: str, groups: tuple[int, int] = (3, 2), **values: Number) -> ComputePass:
    declared = "".join(f"uniform int {name};\n" for name in values)
    text = f"""#version 430 core
layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;
{declared}
layout(std430, binding = 0) readonly buffer buffer_A {{ float A[]; }};
layout(std430, binding = 1) buffer buffer_R {{ float R[]; }};
shared float S[8];
void main()
{{
    int x = int(gl_LocalInvocationID.x), y = int(gl_LocalInvocationID.y);
    int i = int(gl_WorkGroupID.x), j = int(gl_WorkGroupID.y);
    float sum = 0.0;
    {body}
}}
"""
    return ComputePass(
        parse_kernel(text, "test.comp"), bindings("A", "R"), uniforms(**values), groups
    )


def plan_of(*steps: ComputePass | Repeat) -> Plan:
    return Plan("test", (), (), (buffer("A", 8, 8), buffer("R", 8, 8)), (), steps, ())


BODIES = {
    "trips that differ by thread": "for (int k = x; k < 3 * y + i; ++k) sum += A[k];",
    "a triangle": "for (int k = 0; k < 5; ++k) for (int q = k; q < 5; ++q) sum += A[q] * 2.0;",
    "a bound made in the loop": """int s = 1;
        for (int k = 0; k < 4; ++k) { s += k + x; for (int q = 0; q < s; ++q) sum += A[q]; }""",
    "a bound made after the loop": """int s = 1; for (int k = 0; k < 4; ++k) s += 2;
        for (int q = 0; q < s; ++q) sum += A[q];""",
    "a bound that the body moves": "for (int k = 0; k < 20; ++k) { k += x; sum += A[k]; }",
    "a guard on the loop's number": """for (int k = 0; k < 6; ++k)
        if (k < x + j) sum += A[k] * A[k + 1]; else sum -= 1.0;""",
    "a guard by another name": """for (int k = 0; k < 6; ++k)
        { int q = k + k; if (q < 5) sum += A[q]; }""",
    "a guard on the thread": """for (int k = 0; k < 6; ++k)
        { if (x < 2) { S[y * 4 + x] = A[k]; barrier(); } sum += S[x]; }""",
    "a chosen side": "for (int k = 0; k < 6; ++k) sum += (k + y < 3) ? A[k] + 1.0 : 0.0;",
    "loops in a loop": """for (int k = 0; k < i + 2; ++k) {
        for (int q = 0; q < x + 1; ++q) sum += A[q] * A[k];
        for (int q = 0; q < 3; q += 2) S[x] = sum; }""",
    "a number kept from before": """int last = 0;
        for (int k = 0; k < 5; ++k) { if (last < 3) sum += A[k]; last = k; }""",
    "a number declared outside": """int q = 0;
        for (int k = 0; k < 5; ++k) for (q = 0; q < 4; ++q) sum += A[q];""",
    "addresses that move": "int a = 0; for (int k = 0; k < 5; ++k) { sum += A[a]; a += 8; }",
    "arithmetic in the step": "for (int k = 0; k < 5; ++k, sum += 1.0) sum *= 2.0;",
    "no trip at all": "for (int k = 0; k < 0; ++k) sum += A[k];",
    "down to a limit": "for (int k = 9; k >= x; k -= 2) sum += A[k];",
    "a limit on the left": "for (int k = x; 11 > k; k += 1 + x) sum += A[k];",
    "two numbers": "int b = 3; for (int a = x, b = 7; a <= 5 * y; a += 2, b -= x) sum += A[a]; "
    "for (int k = b; k < 5; ++k) sum += A[k];",
    "the number after the loop": "int k; for (k = x; k < 7; k += 3) sum += A[k]; "
    "for (int q = k; q < 12; ++q) sum += A[q];",
    "trips for some": "if (x > 1) for (int k = y; k < 4; ++k) sum += A[k]; "
    "else for (int k = x; k < 9; k += 4) sum += A[k] * 2.0;",
    "a number that wraps around": "for (uint k = 4294967290u; k > 7u; k += 3u) sum += 1.0;",
    "a step that is not the same": "for (int k = 1, s = 1; k < 40; k += s, s += 1) sum += A[k];",
    "numbers that are multiplied": "for (int k = 1; k < 40; k *= 2) sum += A[k];",
    "until it is another number": "for (int k = 0; k != 5; ++k) sum += A[k];",
    "both": "for (int k = 0; k < 9 && k < x + 3; ++k) sum += A[k];",
    "a right side that counts": "bool b = x < 2 && A[x] * 2.0 > 1.0; b = y < 1 || A[y] > 1.0;",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_loops_of_every_kind_are_counted(body: str) -> None:
    pass_ = dispatch(f"{body}\n    R[(j * 3 + i) * 8 + y * 4 + x] = sum;")
    plan = plan_of(pass_)
    result = count_compute_pass(plan, pass_)
    assert result == run_in_full(plan, pass_)
    assert result.global_stores == 48


@pytest.mark.parametrize(
    "body",
    [
        "for (int k = 0; k < 3; k += 0) sum += A[k];",
        "for (int k = 1000000000; k != 0; --k) sum += A[x];",
        "for (int a = 0; a < 100000000; ++a) { if (a % 3 == x) sum += A[x]; }",
    ],
)
def test_what_would_be_followed_for_ever_is_refused(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "MOST_STEPS", 2**14)
    pass_ = dispatch(body)
    with pytest.raises(PlanError, match=r"^test\.comp: more than 16384 steps of its loops "):
        count_compute_pass(plan_of(pass_), pass_)


# What is counted in a Repeat, and what is not counted at all -------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "if (A[x] > 0.0) sum = 1.0;",
        "float v = A[x]; float w = 2.0 * v; if (w > 0.0) sum = 1.0;",
        "sum = (A[x] > 0.0) ? A[0] : 2.0;",
        "for (int k = 0; k < int(A[0]); ++k) sum += 1.0;",
        "int k = 0; k = int(A[1]); R[k] = sum;",
        "sum = A[int(A[x])];",
        "S[x] = A[x]; sum = A[int(S[y])];",
        "for (float f = 0.0; f < 3.0; f += 1.0) { sum += f; f = A[0]; }",
    ],
)
def test_a_kernel_in_which_data_decides_is_refused_in_one_line(body: str) -> None:
    pass_ = dispatch(body)
    with pytest.raises(PlanError, match=r"test\.comp: .* depends on [AS];") as caught:
        count_compute_pass(plan_of(pass_), pass_)
    assert "\n" not in str(caught.value)
